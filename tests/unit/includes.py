#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Includes follow the picture in doc/architecture.md: a folder includes what stands above it there, and no folder below.

A block of the picture whose first line says "linked into Squid" is included from itself only.  Each folder under src/ and
tools/ is in the picture, and none has more than 30 files, plots apart.  Each source is in Makefile.am: what is not there is
missing in a release.

usage: includes.py [TREE]
"""

import os
import re
import sys

TREE = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SQT_SOURCE", ".")
MOST_FILES = 30
NOT_COUNTED = "tools/plots"
PRIVATE = {"src/model/pool.h": "src/model"}  # header: the only folder that includes it
WRITERS = {"src/attach", "tools/attach"}  # they write traces with libsqtrace's own writer, and are no part of Squid
SOURCES = (".c", ".cc", ".h", ".def")
MADE = (".o", ".a", ".tmp", ".pyc")


def picture():
    """[(line, block, folder)] in the picture's order: folders on one line have the same line number."""
    with open(os.path.join(TREE, "doc", "architecture.md"), encoding="utf-8") as page:
        lines = page.read().split("```")[1].split("\n")
    folders, block = [], 0
    for number, line in enumerate(lines):
        if not line.strip():
            block += 1
        names = re.match(r" *((?:[\w-]+(?:/[\w-]+)*/ ?)*)", line).group(1).split()
        folders += [(number, block, name.rstrip("/")) for name in names]
    squid = {block for number, block, _ in folders if "linked into Squid" in lines[number]}
    return folders, squid


def sources():
    """(folder, names of its files) of each folder under src/ and tools/ that has files."""
    for top in ("src", "tools"):
        for path, folders, names in os.walk(os.path.join(TREE, top)):
            folders[:] = sorted(f for f in folders if f not in (".deps", "__pycache__"))
            names = sorted(n for n in names if not n.endswith(MADE) and n not in (".dirstamp", "README.md"))
            if names:
                yield os.path.relpath(path, TREE), names


def included(folder, name):
    """(number of the line, path in the tree) of each include of a file of this tree."""
    with open(os.path.join(TREE, folder, name), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            found = re.match(r'#\s*include\s+"([^"]+)"', line)
            for base in (folder, "src") if found else ():
                path = os.path.normpath(os.path.join(base, found.group(1)))
                if os.path.exists(os.path.join(TREE, path)):
                    yield number, path
                    break
            else:
                if found:
                    yield number, None


def against(places, squid, folder, target):
    """Why the folder must not include a file of the other one, or None."""
    here, there = places.get(folder), places.get(target)
    if folder == target or here is None or there is None:
        return None
    if there[0] >= here[0]:
        return f"{target}/ does not stand above {folder}/ in the picture"
    if there[1] in squid and here[1] != there[1] and folder not in WRITERS:
        return f"{target}/ goes into Squid, and {folder}/ does not"
    return None


def faults_of(places, squid, folder, name):
    for number, path in included(folder, name):
        if path is None:
            yield f"{folder}/{name}:{number}: no such file"
            continue
        why = against(places, squid, folder, os.path.dirname(path))
        if why:
            yield f"{folder}/{name}:{number}: {path}: {why}"
        if PRIVATE.get(path, folder) != folder:
            yield f"{folder}/{name}:{number}: {path} is for {PRIVATE[path]}/ alone"


def tap(tests):
    for number, (name, faults) in enumerate(tests, 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {name}")
        for fault in faults:
            print(f"# {fault}")
    print(f"1..{len(tests)}")
    return any(faults for _, faults in tests)


def not_released(found):
    """Sources that Makefile.am does not name."""
    with open(os.path.join(TREE, "Makefile.am"), encoding="utf-8") as rules:
        named = set(rules.read().split())
    return [f"{folder}/{name}" for folder, names in found.items() for name in names
            if name.endswith(SOURCES) and f"{folder}/{name}" not in named]


def main():
    folders, squid = picture()
    places = {name: (line, block) for line, block, name in folders}
    found = dict(sources())
    includes = sum(len(list(included(f, n))) for f, names in found.items() for n in names if n.endswith(SOURCES))
    wrong = [fault for folder, names in found.items() for name in names if name.endswith(SOURCES)
             for fault in faults_of(places, squid, folder, name)]
    return tap([
        ("the picture and the includes are found", [] if len(places) > 20 and includes > 500 and squid else
         [f"{len(places)} folders, {includes} includes"]),
        ("each folder is in the picture", [f"{f}/ is not in the picture" for f in found if f not in places]),
        ("each folder of the picture is there", [f"{f}/ is not in the tree" for f in places
                                                 if f.startswith(("src/", "tools/")) and f not in found]),
        (f"no folder has more than {MOST_FILES} files", [f"{f}/ has {len(names)} files" for f, names in found.items()
                                                        if len(names) > MOST_FILES and f != NOT_COUNTED]),
        ("includes follow the picture", wrong),
        ("each source is in Makefile.am", not_released(found)),
    ])


if __name__ == "__main__":
    sys.exit(main())
