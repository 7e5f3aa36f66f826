#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and memory of sqtrace-dump on a large made trace, deflated and not.

usage: decode.py BUILDDIR [RECORDS]

--table=losses reads every record and prints next to nothing: that is reading without text.
"""

import os
import subprocess
import sys
import tempfile

RUNS = 3


def timed(args):
    """(user and system seconds, KiB of memory) of a command whose output goes to the null device."""
    with open(os.devnull, "w") as null:
        process = subprocess.Popen(args, stdout=null)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: exit status %d" % (" ".join(args), status))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    build = sys.argv[1]
    count = sys.argv[2] if len(sys.argv) > 2 else "100000000"
    print("%-14s %-10s %14s %12s %8s" % ("trace", "table", "records", "M records/s", "MiB"))
    with tempfile.TemporaryDirectory(prefix="sqtrace-bench-") as folder:
        for kind, more in (("not compressed", ["off"]), ("zlib", ["zlib"]), ("zstd", [])):
            trace = os.path.join(folder, "trace.sqt")
            made = int(subprocess.run([os.path.join(build, "many-records"), trace, count] + more, check=True,
                                      stdout=subprocess.PIPE).stdout)
            print("%-14s %-10s %14d %12s %8s %6.2f bytes a record"
                  % (kind, "-", made, "-", "-", os.path.getsize(trace) / made))
            for table in ("losses", "events", "requests", "ios"):
                runs = [timed([os.path.join(build, "sqtrace-dump"), "--quiet", "--table=" + table, trace])
                        for _ in range(RUNS)]
                seconds = sorted(run[0] for run in runs)[RUNS // 2]
                print("%-14s %-10s %14d %12.1f %8.1f" % (kind, table, made, made / seconds / 1e6,
                                                        max(run[1] for run in runs) / 1024), flush=True)
            os.unlink(trace)


if __name__ == "__main__":
    main()
