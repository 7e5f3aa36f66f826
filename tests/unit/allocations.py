#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory has one policy in the reader and the programs: src/base/memory.h.  So nothing else there calls a function of the C
library that allocates.  src/trace/ and src/format/ are linked into Squid, which must not end, and have a policy of their own.

usage: allocations.py [TREE]
"""

import os
import re
import sys

TREE = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SQT_SOURCE", ".")
CALL = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|strdup|strndup|v?asprintf|fopen|fdopen|tmpfile|"
                  r"popen|fmemopen|open_memstream|fopencookie|opendir|fdopendir|scandir|getline|getdelim)\(")
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
APART = os.path.join("src", "trace", ""), os.path.join("src", "format", ""), os.path.join("src", "base", "memory.")
# Without threads of its own a program reads in one.
ALLOWED = {(os.path.join("src", "base", "crew.c"), "calloc")}


def calls(path):
    """Where a file calls such a function: (line, function)"""
    with open(path, encoding="utf-8") as source:
        text = COMMENT.sub(lambda found: "\n" * found.group().count("\n"), source.read())
    return [(text.count("\n", 0, found.start()) + 1, found.group(1)) for found in CALL.finditer(text)]


def main():
    faults, files, allowed = [], 0, set()
    for top in ("src", "tools"):
        for folder, _, names in os.walk(os.path.join(TREE, top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                short = os.path.relpath(path, TREE)
                if not name.endswith((".c", ".h")) or short.startswith(APART):
                    continue
                files += 1
                for line, function in calls(path):
                    if (short, function) in ALLOWED:
                        allowed.add((short, function))
                    else:
                        faults.append(f"{short}:{line}: {function}()")
    found = sum(function == "malloc" for _, function in calls(os.path.join(TREE, "src", "base", "memory.c")))
    print(f"{'ok' if files > 500 and found else 'not ok'} 1 - files are read, and calls are seen\n# {files} files")
    print(f"{'not ok' if faults else 'ok'} 2 - memory is asked for in src/base/memory.c")
    for fault in sorted(faults):
        print("# " + fault)
    print(f"{'ok' if allowed == ALLOWED else 'not ok'} 3 - what is allowed is there")
    print("1..3")
    return not (files > 500 and found) or bool(faults) or allowed != ALLOWED


if __name__ == "__main__":
    sys.exit(main())
