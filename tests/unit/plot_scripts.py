#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""plot_scripts.py - sqtrace-dump --plot writes one script for each figure, which gnuplot draws without any other file.

The script is drawn in an empty folder.  What it draws is compared with the rows that --figure prints: gnuplot itself says
which points it took from the script (set table).  Nothing in it may be a macro, a loop or another file, and each curve has
a line of its own.
"""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
done = 0


def check(wrong, text):
    global done
    done += 1
    wrong = list(wrong)
    print("%s %d - %s" % ("not ok" if wrong else "ok", done, text))
    for line in wrong[:6]:
        print("# %s" % line)


def dump(*options):
    return subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def gnuplot(text, folder):
    """What it printed, and its pictures.  It runs where nothing else is."""
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    with open(os.path.join(folder, "alone.gp"), "w", encoding="utf-8") as file:
        file.write(text)
    out = subprocess.run(["gnuplot", "alone.gp"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False, env=dict(os.environ, LC_ALL="C.UTF-8"))
    made = sorted(set(os.listdir(folder)) - {"alone.gp"})
    return out.returncode, out.stdout.decode(), made


def split(text):
    """A script's commands without its data, and the lines of each block of data without comments."""
    blocks = dict(re.findall(r"^(\$\w+) << EOD\n(.*?)^EOD$", text, re.M | re.S))
    code = re.sub(r"^\$\w+ << EOD\n.*?^EOD$\n", "", text, flags=re.M | re.S)
    return code, {name: [line.split("\t") for line in body.splitlines() if line[:1] != "#"] for name, body in blocks.items()}


def quotes_cut(code):
    return re.sub(r"'(?:[^']|'')*'", "''", code)


def wrong_form(text):
    code, blocks = split(text)
    code = "\n".join(line for line in code.splitlines() if line[:1] != "#")
    bare = quotes_cut(code)
    head = code.splitlines()[:2]
    if not head[0].startswith("set terminal pngcairo size ") or not head[1].startswith("set output '"):
        yield "terminal and output are not the first two commands: %s" % head
    for word in ("load", "call", "@", "for [", "do for", "stats", "function", "stdin", "`", "if (", "system", "sum ["):
        if word in bare:
            yield "the script has %r" % word
    if any("set terminal" in line for line in code.splitlines()[1:]):
        yield "a second terminal"
    for line in bare.splitlines():
        if line.count(" using ") > 1:
            yield "two curves in a line: %s" % line
    if " using " not in bare:
        yield "no curve"
    for name in set(re.findall(r"\$[a-z]+[0-9]*(?= using)", bare)) ^ set(blocks):
        yield "%s is either no data or is not drawn" % name


def wrong_picture(text, folder):
    status, said, made = gnuplot(text, folder)
    if status != 0 or said:
        yield "gnuplot: status %d, %s" % (status, said[:300])
    if len(made) != 1 or not made[0].endswith(".png"):
        yield "the folder has %s" % made
        return
    with open(os.path.join(folder, made[0]), "rb") as file:
        picture = file.read()
    if picture[:4] != b"\x89PNG" or len(picture) < 3000:
        yield "no picture: %d bytes" % len(picture)


def rows_of(tsv):
    lines = [line for line in tsv.splitlines() if line[:1] != "#"]
    return lines[0].split("\t"), [line.split("\t") for line in lines[1:]]


def same(a, b):
    """A value of the series and one of the script."""
    if a == "-":
        return b in ("NaN", "-")
    return a.replace('"', "'").replace("`", "'") == b


def wrong_data(text, tsv):
    """Blocks that have all columns have the rows of the series, each once, and no value is changed."""
    names, rows = rows_of(tsv)
    _, blocks = split(text)
    whole = [row for block in blocks.values() for row in block]
    if not whole or len(whole[0]) != len(names):
        return
    left = list(rows)
    for row in whole:
        match = next((other for other in left if all(map(same, other, row))), None)
        if match is None:
            yield "a row that the series does not have: %s" % row
            return
        left.remove(match)
    if len(whole) != len(rows) and len(blocks) < 64 and not re.search("^# figure: (machine|disks)$", tsv, re.M):
        yield "%d rows of the script, %d of the series" % (len(whole), len(rows))


def points(text, folder):
    """The points of each curve, as gnuplot takes them from the script."""
    code = re.sub(r"^set terminal .*$", "set terminal unknown", text, flags=re.M)
    code = re.sub(r"^set output .*$", "set table 'points'", code, flags=re.M)
    gnuplot(code, folder)
    curves, now = [], None
    with open(os.path.join(folder, "points"), encoding="utf-8") as file:
        for line in file:
            if re.match("# Curve [0-9]+ of", line):
                now = []
                curves.append(now)
            elif line.strip() and line[0] != "#" and now is not None:
                now.append(line.split())
    return curves


def wrong_points(text, tsv, column, number, folder):
    """A curve of a figure is that column against the first one."""
    names, rows = rows_of(tsv)
    at = names.index(column)
    wanted = [(float(r[0]), float(r[at])) for r in rows if r[at] != "-"]
    got = [(float(p[0]), float(p[1])) for p in points(text, folder)[number] if p[-1] == "i"]
    if len(wanted) != len(got) or not wanted:
        yield "%d points, %d in the series" % (len(got), len(wanted))
    for a, b in zip(wanted, got):
        if not all(math.isclose(x, y, rel_tol=1e-4, abs_tol=1e-6) for x, y in zip(a, b)):
            yield "%s is drawn as %s" % (a, b)


def figure_names():
    return re.findall("^figure ([^ ]*) - ", dump("--list").stdout, re.M)


def check_all(work):
    sample = os.path.join(SOURCE, "doc", "sample")
    for name in figure_names():
        script = os.path.join(work, "it", name + ".gp")
        options = ["--figure=" + name, "--group=10s", "--batch=200"]
        made = {"diskops-lost": "mixed.sqt"}.get(name, "whatif.sqt" if name.startswith("whatif-") else None)
        trace = os.path.join(work, "t", made) if made else sample
        made = dump(*options, "--plot=" + script, trace)
        if made.returncode != 0 or made.stdout or made.stderr:
            check(["status %d: %s" % (made.returncode, made.stderr)], "--plot of %s" % name)
            continue
        with open(script, encoding="utf-8") as file:
            text = file.read()
        tsv = dump(*options, trace).stdout
        check([*wrong_form(text), *wrong_picture(text, os.path.join(work, "alone")), *wrong_data(text, tsv)],
              "%s: a script that stands alone, with the series in it" % name)


def check_points(work):
    sample, folder = os.path.join(SOURCE, "doc", "sample"), os.path.join(work, "alone")
    for name, column, number in (("load", "misses_per_s", 1), ("response-time", "hits_p50_ms", 0),
                                 ("response-time-cdf", "all_pct", 2), ("hit-ratio", "bhr_pct", 1),
                                 ("loop-rate", "waiting_pct", 1)):
        options = ["--figure=" + name, "--group=10s", sample]
        text, tsv = dump("--plot=-", *options).stdout, dump(*options).stdout
        check(wrong_points(text, tsv, column, number, folder), "%s: what gnuplot draws of %s" % (name, column))


def check_odd(work):
    """Names of servers that a shell or gnuplot might take for something else."""
    trace, folder = os.path.join(work, "t", "odd.sqt"), os.path.join(work, "alone")
    for name in ("server-waits", "leader-stages"):
        text = dump("--figure=" + name, "--group=10s", "--plot=-", trace).stdout
        check([] if "odd" in text else ["the name is not there"], "%s has the odd names" % name)
        check([*wrong_form(text), *wrong_picture(text, folder)], "%s of servers with odd names" % name)


def check_terminals(work):
    """Other terminals, as the head of the script suggests."""
    text = dump("--figure=response-time", "--group=10s", "--plot=-", os.path.join(SOURCE, "doc", "sample")).stdout
    for terminal, name in re.findall(r"^#   (set terminal .*?) +and  (set output '.*')$", text, re.M):
        code = re.sub(r"^set terminal .*$", terminal, text, flags=re.M)
        code = re.sub(r"^set output .*$", name, code, flags=re.M)
        status, said, made = gnuplot(code, os.path.join(work, "alone"))
        check([] if status == 0 and not said and made else [said, str(made)], terminal)


def check_refused(work):
    sample, script = os.path.join(SOURCE, "doc", "sample"), os.path.join(work, "no.gp")
    for options, word in ((["--plot=" + script, sample], "--figure"),
                          (["--plot=" + script, "--figure=load", "--format=tsv", sample], "--format"),
                          (["--plot=" + script, "--figure=load", "--output=x", sample], "--output"),
                          (["--plot=" + script, "--figure=load", "--columns=time_s", sample], "--columns"),
                          (["--plot=" + script, "--figure=diskops-lost", sample], "nothing to draw"),
                          (["--plot=" + script, "--figure=response-time", "--until=1us", sample], "nothing to draw")):
        out = dump(*options)
        good = out.returncode in (1, 2) and word in out.stderr and out.stderr.count("\n") == 1
        check([] if good and not os.path.exists(script) else [str(out.returncode), out.stderr], "refused: " + " ".join(options[1:-1]))


def check_colours():
    """What has a colour has it in tools/plots, too."""
    with open(os.path.join(SOURCE, "src", "sink", "plot", "colours.def"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(SOURCE, "tools", "plots", "common.gp"), encoding="utf-8") as file:
        curves = dict(re.findall(r" (\w+):(#\w{6})", file.read()))
    with open(os.path.join(SOURCE, "tools", "plots", "stage-colours.gp"), encoding="utf-8") as file:
        plots = file.read()
    stages = list(zip(*(re.search('^%s = "(.*)"' % name, plots, re.M)[1].split() for name in ("STAGES", "STAGE_COLOURS"))))
    check([] if dict(re.findall(r'SQT_PLOT_COLOUR\((\w+), "(#\w+)"\)', text)) == curves else ["they differ"], "colours of curves")
    check([] if re.findall(r'SQT_PLOT_STAGE\((\w+), "(#\w+)"\)', text) == stages else ["they differ"], "colours of stages")


def main():
    if not shutil.which("gnuplot"):
        print("1..0 # SKIP gnuplot is not installed")
        return
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "it"))
        subprocess.run([os.path.join(TOOLS, "tests", "unit", "figure_traces"), os.path.join(work, "t")], check=True)
        check_all(work)
        check_points(work)
        check_odd(work)
        check_terminals(work)
        check_refused(work)
        check_colours()
    print("1..%d" % done)


main()
