#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Circles of files: a file of src/read needs no other one that needs it, at whatever distance, and in src/model at most three
files need each other.

What a header needs is what it includes.  What a source needs are the sources that define its object's symbols (nm): a header
that many share makes no circle, and a function that is declared by hand does.  A circle that goes through a pointer to a
function is not seen.  The objects are those of sqtrace-dump.

usage: circles.py [--all]    --all: print the circles of each folder under src/
"""

import os
import re
import subprocess
import sys

TREE = os.environ.get("SQT_SOURCE", ".")
TOOLS = os.environ.get("SQT_TOOLS", ".")
MOST = {"src/read": 1, "src/model": 3}  # files of a circle


def files_of(top):
    """Paths in the tree of the sources and headers below a folder."""
    return sorted(os.path.relpath(os.path.join(path, name), TREE)
                  for path, _, names in os.walk(os.path.join(TREE, top)) for name in names if name.endswith((".c", ".h")))


def included(files):
    """{header: the headers that it includes}."""
    known, needs = set(files), {}
    for name in files:
        if not name.endswith(".h"):
            continue
        with open(os.path.join(TREE, name), encoding="utf-8") as source:
            for found in re.findall(r'^#\s*include\s+"([^"]+)"', source.read(), re.M):
                for base in (os.path.dirname(name), "src"):
                    path = os.path.normpath(os.path.join(base, found))
                    if path in known:
                        needs.setdefault(name, set()).add(path)
                        break
    return needs


def symbols_of(source):
    """(defined, needed) symbols of a source's object; None: it is not built."""
    path = os.path.join(TOOLS, source[:-2] + ".o")
    if not os.path.exists(path):
        return None
    defined, needed = set(), set()
    for line in subprocess.run(["nm", path], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
        words = line.split()
        if words[-2] == "U":
            needed.add(words[-1])
        elif words[-2] in "TDBRVW":
            defined.add(words[-1])
    return defined, needed


def linked(files):
    """({source: the sources that define what it needs}, sources without an object)."""
    symbols = {name: symbols_of(name) for name in files if name.endswith(".c")}
    missing = [name for name, found in symbols.items() if found is None]
    where = {symbol: name for name, found in symbols.items() if found for symbol in found[0]}
    return {name: {where[symbol] for symbol in found[1] if symbol in where} - {name}
            for name, found in symbols.items() if found}, missing


def reached(needs, start):
    seen, todo = set(), [start]
    while todo:
        for name in needs.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def circles(needs):
    """Sets of files each of which needs all others of its set."""
    far = {name: reached(needs, name) for name in needs}
    found = {frozenset(other for other in far[name] if name in far.get(other, ())) for name in far if name in far[name]}
    return sorted((sorted(circle) for circle in found), key=len, reverse=True)


def show(needs, circle):
    for name in circle:
        yield "%s needs %s" % (name, ", ".join(sorted(set(needs[name]) & set(circle))))


def main():
    number = 0
    tops = sorted({"src/" + name for name in os.listdir(os.path.join(TREE, "src"))}) if "--all" in sys.argv else sorted(MOST)
    for top in tops:
        files = files_of(top)
        needs, missing = linked(files)
        headers = included(files)
        found = circles(needs), circles(headers)
        if "--all" in sys.argv:
            print("# %s: sources %s, headers %s" % ((top,) + tuple([len(circle) for circle in some] for some in found)))
            continue
        wrong = ["%s has no object" % name for name in missing]
        wrong += [] if sum(map(len, needs.values())) > 10 else ["hardly any symbol was found"]
        for some, of in zip((needs, headers), found):
            wrong += [line for circle in of if len(circle) > MOST[top] for line in show(some, circle)]
        number += 1
        print("%s %d - %s: %s" % ("not ok" if wrong else "ok", number, top,
                                  "no file needs another one that needs it" if MOST[top] == 1 else
                                  "at most %d files need each other" % MOST[top]))
        for line in wrong:
            print("# " + line)
    print("1..%d" % number)


if __name__ == "__main__":
    main()
