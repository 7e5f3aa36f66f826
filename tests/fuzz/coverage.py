#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""coverage.py - the share of lines that ran, of each folder, against thresholds.

usage: coverage.py SUMMARY THRESHOLDS
  SUMMARY     what `llvm-cov export -summary-only` printed
  THRESHOLDS  lines of a folder, a tab, and a share in %
"""
import json
import sys


def lines_of(files, folder):
    """(name, lines that ran, all lines) of the folder's files."""
    for file in sorted(files, key=lambda f: f["filename"]):
        name = file["filename"].rsplit("/" + folder + "/", 1)
        if len(name) == 2:
            lines = file["summary"]["lines"]
            yield name[1], lines["covered"], lines["count"]


def main():
    with open(sys.argv[1], encoding="utf-8") as summary:
        files = json.load(summary)["data"][0]["files"]
    good = True
    with open(sys.argv[2], encoding="utf-8") as thresholds:
        for line in thresholds:
            if line.startswith("#") or not line.strip():
                continue
            folder, least = line.split("\t")
            covered = count = 0
            for name, ran, lines in lines_of(files, folder):
                covered += ran
                count += lines
                if ran < lines:
                    print(f"    {folder}/{name}: {lines - ran} of {lines} lines are not reached")
            share = 100 * covered / count if count else 0
            good &= share >= float(least)
            print(f"{folder}: {share:.1f} % of {count} lines are reached; {float(least):g} % are wanted")
    return 0 if good else 1


sys.exit(main())
