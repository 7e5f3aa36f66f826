#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences that people read are short: at most 35 words each, and a median of at most 16 in each file.

It reads README.md, those of folders, HACKING.md, doc/*.md, the manual pages (as written and as made), squid.conf's documentation, what
--help prints, and the report of doc/sample.  What counts as a sentence is in prose_texts.py.

usage: prose.py [FILE...]   (only these: counts them and prints each long sentence)
"""

import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import prose_texts  # noqa: E402

LONGEST, MEDIAN = 35, 16
SOURCE = os.environ.get("SQT_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOOLS = os.environ.get("SQT_TOOLS", os.path.join(SOURCE, "build", "sqtrace"))
NUMBER = 0


def check(good, name):
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("ok" if good else "not ok", NUMBER, name))


def files():
    """[(name, path)] of what stands in files."""
    found = [os.path.join(SOURCE, name) for name in ("README.md", "HACKING.md") if os.path.exists(os.path.join(SOURCE, name))]
    found += sorted(glob.glob(os.path.join(SOURCE, "doc", "*.md")))
    for top in ("src", "tools", "tests"):
        found += sorted(glob.glob(os.path.join(SOURCE, top, "**", "README.md"), recursive=True))
    found += sorted(glob.glob(os.path.join(SOURCE, "doc", "*.[1-9]")) + glob.glob(os.path.join(SOURCE, "doc", "*.[1-9].in")))
    found.append(os.path.join(SOURCE, "patches", "0010-configuration.patch"))
    named = [(os.path.relpath(path, SOURCE), path) for path in found]
    return named + [(os.path.basename(path), path) for path in sorted(glob.glob(os.path.join(TOOLS, "sqtrace*.[1-9]")))]


def reports(folder):
    """The report of a trace, and one that compares two stretches of it; every caption is in sqtrace-figures(7)."""
    report, sample = os.path.join(TOOLS, "sqtrace-report"), os.path.join(SOURCE, "doc", "sample")
    for name, traces in (("report", [sample]), ("comparison", ["before=" + sample, "after=" + sample])):
        path = os.path.join(folder, name)
        subprocess.run([report, "--quiet", "--data=" + os.path.join(SOURCE, "tools"), "--figures=hit-stages,slowest,stalls",
                        "-o", path] + traces, check=True, stdin=subprocess.DEVNULL)
        yield "%s of doc/sample" % name, os.path.join(path, "index.html")


def helps(folder):
    """What each program says of itself."""
    for program in [os.path.join(TOOLS, "sqtrace-" + name) for name in ("dump", "ship", "report", "load", "top", "exporter")] + [
            os.path.join(SOURCE, "tools", name) for name in ("sqtrace-build", "sqtrace-experiment", "check", "demo")]:
        path = os.path.join(folder, os.path.basename(program) + ".help")
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([program, "--help"], check=True, stdin=subprocess.DEVNULL, stdout=file)
        yield os.path.basename(program) + " --help", path


def paragraphs(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".md"):
        return prose_texts.markdown(text)
    if path.endswith(".html"):
        return prose_texts.page(text)
    if path.endswith(".help"):
        return prose_texts.help_text(text)
    if path.endswith(".patch"):
        return prose_texts.squid_conf(text)
    return prose_texts.manual_page(text)


def judge(name, path):
    found = prose_texts.sentences(paragraphs(path))
    lengths = [words for _, _, words in found] or [0]
    middle, most = statistics.median(lengths), max(lengths)
    for line, sentence, words in found:
        if words > LONGEST:
            print("# %s:%d: %d words: %s" % (name, line, words, sentence))
    print("# %s: %d sentences, median %g words, longest %d" % (name, len(found), middle, most))
    check(found and most <= LONGEST, "%s: no sentence has more than %d words" % (name, LONGEST))
    check(middle <= MEDIAN, "%s: the median is at most %d words" % (name, MEDIAN))


def counting():
    """The counter itself, on texts that are known."""
    def lengths(found):
        return [words for _, _, words in prose_texts.sentences(found)]

    check(lengths(prose_texts.markdown("# A heading of many words in one line\n\nOne two three `four five` six. Only four words here.\n"
                                       "- seven eight nine ten eleven\n  twelve\n- one more item of six words\n\n    code in a block of code\n"
                                       "| a table of many words is none |\n")) == [5, 6, 6],
          "Markdown: a paragraph, two items; no heading, code or table")
    check(lengths(prose_texts.manual_page(".SH NAME\na \\- b c d e f g\n.SH TEXT\nOne two\n.BR three (1)\nfour five.\nSix seven eight nine ten\n"
                                          ".TP\n.B a tag is no part of it\nbut the text is one\n.nf\nan example is no sentence at all\n.fi\n"))
          == [5, 5, 5], "manual pages: no NAME, tag or example")
    check(lengths(prose_texts.page("<head><title>a b c d e f</title></head><h1>a b c d e f</h1><p>one two <b>three</b> four 5</p>"
                                   "<ul><li>1 2 3 4 5 6</li></ul><table><tr><td>a b c d e f</td></tr></table>"
                                   "<ul class=legend><li>a b c d e f<br></li></ul><p><span class=label>a</span> 1 2 3 4 5</p>"))
          == [5, 6, 5], "HTML: paragraphs and an item; no heading, table, legend or label")
    check(lengths(prose_texts.squid_conf("+DOC_START\n+\tOne two three four five.\n+\n+\t    ring=SIZE\t\tHow much memory there is\n"
                                         "+\t\t\tfor a ring.\n+\n+\tExample:\n+\t\ta b c d e f\n+DOC_END\n")) == [5, 8],
          "squid.conf: a paragraph and an option; no example")
    check(lengths(prose_texts.help_text("usage: a b c d e f g\n       h i j k l m\nOne two three four five.\n\n"
                                        "  --file=NAME    six words about this file name\n                 and two\n"
                                        "  -h, --help     this text is of five\n"
                                        "  --squid=VERSION,...\n                 the Squids to be tested\n"))
          == [5, 8, 5, 5], "--help: a paragraph and options; no usage")


def main():
    if sys.argv[1:]:
        for path in sys.argv[1:]:
            judge(path, path)
        return
    counting()
    for name, path in files():
        judge(name, path)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in helps(folder):
            judge(name, path)
    if shutil.which("gnuplot"):
        with tempfile.TemporaryDirectory() as folder:
            for name, path in reports(folder):
                judge(name, path)
    else:
        check(True, "the reports # SKIP gnuplot is not installed")
    print("1..%d" % NUMBER)


main()
