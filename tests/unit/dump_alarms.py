#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_alarms.py - --fail-if and --nagios.

Python computes the same numbers from the rows of the same table.  A condition must hold for a bound just below the
number, and must not hold for a bound just above it.
"""
import fractions
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP = os.path.join(TOOLS, "sqtrace-dump")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
done = 0
tables = {}


def check(good, text):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))


def run(*options, trace=SAMPLE):
    out = subprocess.run([DUMP, *options, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return out.returncode, out.stdout.decode(), out.stderr.decode()


def rows_of(table, *options):
    key = (table,) + options
    if key not in tables:
        text = run("--table=" + table, "--no-comments", "--quiet", "--format=tsv", *options)[1]
        lines = [line.split("\t") for line in text.splitlines()]
        tables[key] = [dict(zip(lines[0], line)) for line in lines[1:]]
    return tables[key]


def numbers(rows, column):
    return sorted(fractions.Fraction(row[column]) for row in rows if row[column] != "-")


def percentile(values, percent):
    if percent == 50:
        middle = len(values) // 2
        return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2
    return values[max(1, -(-len(values) * fractions.Fraction(percent) // 100)) - 1]


def number(function, column, picked, everything):
    if function == "count":
        return len([row for row in picked if not column or row[column] != "-"])
    if function == "share" and not column:
        return fractions.Fraction(100 * len(picked), len(everything))
    values = numbers(picked, column)
    if function == "share":
        return 100 * sum(values) / sum(numbers(everything, column))
    if function[0] == "p":
        return percentile(values, fractions.Fraction(function[1:]))
    return {"sum": sum, "min": min, "max": max, "mean": lambda all: sum(all) / len(all)}[function](values)


def decimal(value, digits):
    """Rounded down."""
    scaled = value * 10 ** digits // 1
    return "%s%d.%0*d" % ("-" if scaled < 0 else "", abs(scaled) // 10 ** digits, digits, abs(scaled) % 10 ** digits)


def judged(function, column, expression, pick, *options, table="requests", digits=0):
    """The condition holds on the right side of the number only; digits: of the unit of bounds."""
    everything = rows_of(table, *options)
    value = number(function, column, [row for row in everything if pick(row)], everything)
    step = fractions.Fraction(1, 10 ** digits)
    below, above = ((decimal(value - step, digits), decimal(value + step, digits)) if digits else
                    (str(int(value // 1 - 1)), str(int(value // 1 + 1))))
    where = " where " + expression if expression else ""
    good = True
    for operator, bound, wanted in ((">", below, 4), (">", above, 0), ("<", above, 4), ("<", below, 0),
                                    (">=", below, 4), ("<=", below, 0), ("!=", above, 4), ("==", above, 0)):
        condition = "%s(%s) %s %s%s" % (function, column, operator, bound, where)
        status, out, _ = run("--table=" + table, "--quiet", *options, "--fail-if=" + condition)
        good = good and status == wanted and out.startswith("FAILED " if wanted else "ok ")
        good = good and out.count("\n") == 1 and condition in out
        if not good:
            print("# %s: status %d, expected %d: %s" % (condition, status, wanted, out))
            break
    check(good and value > 0, "%s(%s)%s of %s%s" % (function, column, where, table, " ".join(("",) + options)))


def numbers_agree():
    def anything(row):
        return row is not None

    def miss(row):
        return row["class"] == "miss"

    def failed(row):
        return row["outcome"] != "complete" and row["class"] != "tunnel"

    for function in ("count", "sum", "mean", "min", "max", "share", "p1", "p50", "p90", "p99", "p99.9", "p100"):
        digits = 3 if function == "share" else 0
        judged(function, "total_ns", "class == miss", miss, digits=digits)
    judged("count", "", "", anything)
    judged("count", "", "outcome != complete and class != tunnel", failed)
    judged("count", "dns_ns", "", anything)
    judged("count", "miss_reason", "class == miss", miss)
    judged("share", "", "outcome != complete and class != tunnel", failed, digits=3)
    judged("share", "", "class == miss", miss, "--where=kid == 1", digits=3)
    judged("mean", "tries", "", anything, digits=3)
    judged("max", "size_bytes", "class == miss", miss, "--since=30s", "--until=2min")
    judged("p90", "total_ns", "", anything, "--kid=1")
    judged("p99", "service_ns", "direction == in", lambda row: row["direction"] == "in", table="ios")
    judged("max", "p99_ms", "stage == server_wait", lambda row: row["stage"] == "server_wait", table="summary", digits=6)


def units():
    largest = max(numbers(rows_of("requests"), "total_ns"))
    for text, ns in (("1ns", 1), ("1us", 10 ** 3), ("1ms", 10 ** 6), ("1s", 10 ** 9), ("1min", 60 * 10 ** 9), ("1h", 3600 * 10 ** 9)):
        status = run("--quiet", "--fail-if=max(total_ns) > " + text)[0]
        check(status == (4 if largest > ns else 0), "a bound of " + text)
    exact = "max(total_ns) == %d" % largest
    status, out, _ = run("--quiet", "--fail-if=" + exact)
    check(status == 4 and out.rstrip().endswith("just as much"), "the exact bound")
    status, out, _ = run("--quiet", "--fail-if=share()>=100%")
    check(status == 4 and "100.000 % of" in out, "a percentage, and no spaces")


def by_how_much():
    status, out, _ = run("--quiet", "--fail-if=count() > 1000")
    count = len(rows_of("requests"))
    check(status == 4 and out == "FAILED count() > 1000: %s of %s rows, %s (%.1f %%) above 1,000\n" % (
        format(count, ","), format(count, ","), format(count - 1000, ","), (count - 1000) / 10), "it says by how much")
    status, out, _ = run("--quiet", "--fail-if=count() > 1", "--fail-if=count() < 1", "--fail-if=max(total_ns) > 1ns")
    check(status == 4 and [line.split()[0] for line in out.splitlines()] == ["FAILED", "ok", "FAILED"],
          "several conditions, a line each, in their order")
    status = run("--quiet", "--fail-if=count() < 1", "--fail-if=count() > 1000000")[0]
    check(status == 0, "none of several holds")


def without_rows():
    for condition, options in (("p99(total_ns) > 1s where xid == 999999999", ()), ("max(total_ns) < 1h", ("--since=30d",)),
                               ("share() < 1", ("--where=xid == 999999999",)), ("mean(dns_ns) >= 0", ("--where=dns_ns == -",))):
        options = tuple("--since=20h" if option == "--since=30d" else option for option in options)
        status, out, _ = run("--quiet", "--fail-if=" + condition, *options)
        check(status == 0 and out == "ok %s: no rows\n" % condition, "no rows: %s %s" % (condition, options))
        status, out, _ = run("--quiet", "--strict", "--fail-if=" + condition, *options)
        check(status == 4 and out == "FAILED %s: no rows\n" % condition, "the same with --strict")
    check(run("--quiet", "--strict", "--fail-if=count() > 5 where xid == 999999999")[0] == 0, "the count of no rows is 0")
    check(run("--quiet", "--fail-if=count() < 5 where xid == 999999999")[0] == 4, "so it can be too small")
    check(run("--quiet", "--strict", "--fail-if=count() > 5", "--since=20h")[0] == 4, "with --strict not of an empty table")


def precedence(folder):
    holds, fails = "--fail-if=count() > 0", "--fail-if=count() > 100000000"
    segments = sorted(name for name in os.listdir(SAMPLE) if name.endswith(".sqt"))
    cut = os.path.join(folder, segments[0])
    shutil.copy(os.path.join(SAMPLE, segments[0]), cut)
    os.truncate(cut, os.path.getsize(cut) - 7)
    check(run("--quiet", fails, "--strict", trace=cut)[0] == 3, "a damaged trace: 3 with --strict")
    check(run("--quiet", fails, trace=cut)[0] == 0, "0 without")
    check(run("--quiet", holds, "--strict", trace=cut)[0] == 4, "4 comes before 3")
    check(run("--quiet", holds, trace=os.path.join(folder, "none"))[0] == 1, "1 comes before 4")
    check(run("--quiet", holds, "--limit=1")[0] == 2, "2 comes before 4")
    return cut


def nagios(cut):
    def line(status, begin, *options, trace=SAMPLE):
        got, out, _ = run("--quiet", "--nagios", *options, trace=trace)
        check(got == status and out.startswith("SQTRACE " + begin) and out.count("\n") == 1,
              "--nagios: %d, %s" % (status, begin))
        return out

    count = len(rows_of("requests"))
    out = line(0, "OK: count() > 100000: ", "--fail-if=count() > 100000", "--fail-if=p50(total_ns) > 1h")
    median = number("p50", "total_ns", rows_of("requests"), [])
    figures = re.findall(r"'([^']*)'=([0-9.]*)([sB%]?);;(\S*)", out.split("|")[1])
    check(figures == [("count()", str(count), "", "~:100000"),
                      ("p50(total_ns) 2", "%d.%09d" % divmod(int(median), 10 ** 9), "s", "~:3600.000000000")],
          "its figures")
    out = line(2, "CRITICAL: count() > 1", "--fail-if=count() < 1", "--fail-if=count() > 1",
               "--fail-if=count() > 5 where tag == 'a|b'")
    check("count() < 1" not in out and out.count("|") == 1, "only what holds, and one bar")
    line(3, "UNKNOWN: --fail-if: at character 8: ", "--fail-if=count( > 1")
    line(3, "UNKNOWN: unknown option '--tabel'", "--fail-if=count() > 1", "--tabel=x")
    line(3, "UNKNOWN: /none/at/all: ", "--fail-if=count() > 1", trace="/none/at/all")
    line(3, "UNKNOWN: the trace is damaged", "--fail-if=count() > 100000000", "--strict", trace=cut)
    line(2, "CRITICAL: count() > 0", "--fail-if=count() > 0", "--strict", trace=cut)
    line(0, "OK: max(total_ns) > 1: no rows", "--fail-if=max(total_ns) > 1", "--since=20h")


def mistakes():
    def fails(message, *options):
        status, out, error = run(*options)
        check(status == 2 and error == "sqtrace-dump: %s\n" % message and not out, message)

    for text, message in (
            ("", "at character 1: there is no function ''; write count, sum, mean, min, max, share or p99"),
            ("p0(total_ns) > 1", "at character 1: there is no function 'p0'; write count, sum, mean, min, max, share or p99"),
            ("p100.1(total_ns) > 1", "at character 1: there is no function 'p100.1'; write count, sum, mean, min, max, share or p99"),
            ("cuont() > 1", "at character 1: there is no function 'cuont'; did you mean count?"),
            ("count > 1", "at character 7: expected an opening parenthesis"),
            ("count( > 1", "at character 8: expected a closing parenthesis"),
            ("max() > 1", "at character 5: expected a column of requests"),
            ("p99() > 1", "at character 5: expected a column of requests"),
            ("max(totl_ns) > 1", "at character 5: requests has no column 'totl_ns'; did you mean total_ns?"),
            ("max(tag) > 1", "at character 5: tag has no numbers; count(tag) counts its values"),
            ("max(total_ns) ~ 1", "at character 15: expected one of == != < <= > >="),
            ("max(total_ns) >", "at character 16: expected a value"),
            ("max(total_ns) > 1KB", "at character 17: '1KB': the unit is none of ns, us, ms, s, min, h"),
            ("share() > 1s", "at character 11: '1s': expected a number without a unit"),
            ("count() > 1 and", "at character 13: expected 'where' or the end"),
            ("count() > 1 where", "at character 18: the expression ends too early"),
            ("count() > 1 where clas == miss", "at character 19: requests has no column 'clas'; did you mean class?")):
        fails("--fail-if: " + message, "--fail-if=" + text)
    fails("--fail-if: more than 32 conditions", *["--fail-if=count() > 1"] * 33)
    for option in ("--columns=xid", "--sort=xid", "--limit=1", "--group-by=class", "--histogram=total_ns", "--clock=wall",
                   "--format=tsv", "--output=x", "--no-header", "--no-comments"):
        fails("%s does not go with --fail-if" % option.split("=")[0], "--fail-if=count() > 1", option)
    fails("--figure does not go with --fail-if", "--fail-if=count() > 1", "--figure=load")
    status, out, error = run("--nagios")
    check(status == 3 and out == "SQTRACE UNKNOWN: --nagios goes with --fail-if\n" and
          error == "sqtrace-dump: --nagios goes with --fail-if\n", "--nagios alone")


numbers_agree()
units()
by_how_much()
without_rows()
with tempfile.TemporaryDirectory() as work:
    nagios(precedence(work))
mistakes()
print("1..%d" % done)
