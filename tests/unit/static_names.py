#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A static name says its module: no function, table or variable that is static to a file has the name of one of another
file, in src/ and tools/.

usage: static_names.py [TREE]
"""

import collections
import os
import re
import sys

TREE = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SQT_SOURCE", ".")
SOURCES = (".c", ".cc", ".h")
# At the beginning of a line, up to the parameters, the dimensions, the value or the end.
STATIC = re.compile(r"^static\b(?:__attribute__\(\(.*?\)\)|[^;{}()=])*?\b(\w+)(?=\(|\[|;| = )", re.MULTILINE)
ATTRIBUTE = re.compile(r"__attribute__\(\([^\n]*?\)\)\s*")


def names_of(path):
    with open(path, encoding="utf-8") as source:
        return STATIC.findall(ATTRIBUTE.sub("", source.read()))


def main():
    files = collections.defaultdict(set)
    for top in ("src", "tools"):
        for folder, _, names in os.walk(os.path.join(TREE, top)):
            for name in names:
                path = os.path.join(folder, name)
                for static in names_of(path) if name.endswith(SOURCES) else ():
                    files[static].add(os.path.relpath(path, TREE))
    faults = [f"{name}: {', '.join(sorted(paths))}" for name, paths in sorted(files.items()) if len(paths) > 1]
    enough = len(files) > 1500
    print(f"{'ok' if enough else 'not ok'} 1 - static names are found\n# {len(files)} of them")
    print(f"{'not ok' if faults else 'ok'} 2 - each is defined in one file only")
    for fault in faults:
        print("# " + fault)
    print("1..2")
    return not enough or bool(faults)


if __name__ == "__main__":
    sys.exit(main())
