#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""planted.py - texts that could do harm, planted wherever a text can stand in a trace, reach no output as they are.

The sample trace gets other texts: names of definitions and of events, the service, Squid's version, and names of files.
Every program reads that trace.  What it prints and writes must be well-formed UTF-8 without the characters that visible.h calls
harmful, pages must have no element of ours, and JSON, CTF's metadata and metrics must be what they claim to be.
"""
import atexit
import glob
import http.client
import http.server
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

sys.dont_write_bytecode = True
from shipped import FRAME_TEXT, frames  # noqa: E402
from told import all_said, check, plan, until  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
SAMPLE = os.path.join(SOURCE, "doc", "sample")
HARMFUL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|"
                     "(?m:^)PLANTED|\tPLANTED")
MARKUP = re.compile(r"</script>PLANTED|<!--PLANTED")
ELEMENT = re.compile(r"<b>PLANTED")
SCRIPT = re.compile(r"<script.*?</script>", re.S)
# Each has a mark that makes it easy to find; a trace writes a line feed as \n, and a tab as \t.
PLANTED = (b"\x1b[31mP", b"\x1b]0;P\x07", b"\xc2\x9b31mP", b"\x9b31mP", b"\xe2\x80\xaeP", b"\xe2\x81\xa6P", b"\xd8\x9cP",
           b"\xef\xbb\xbfP", b"\xe2\x80\xa8P", b"\rP\x7f\x08", b"\\nPLANTED 1", b"\\tPLANTED", b'"P\\\\"{}', b"'P;--",
           b"</script>PLANTED", b"<b>PLANTED", b"<!--PLANTED", b"\xff\xfe\xc0\xafP", b"\xed\xa0\x80P", b"$(P)`P`%sP",
           b'",P="')
RENAMED = (b"CLIENT_READ", b"ACCESS_END", b"CONNECT_END", b"REPLY_WRITTEN")
STDERR = []


# ---- the trace ----

def plant_text(body, number):
    lines = body.split(b"\n")
    for i, line in enumerate(lines):
        if line.startswith(b"def\t"):
            number += 1
            lines[i] = line + PLANTED[number % len(PLANTED)] + b"%d" % number
        words = line.split(b"\t")
        if words[0] == b"event" and words[2] in RENAMED:
            words[2] += PLANTED[RENAMED.index(words[2])]
            lines[i] = b"\t".join(words)
    return b"\n".join(lines), number


def plant_header(header):
    """Version and service are the last two texts of the identity, of 32 bytes each."""
    changed = bytearray(header)
    changed[120:152] = b"7\x1b[31m\xe2\x80\xaeP".ljust(32, b"\0")
    changed[152:184] = b"s\x1b[31m\xe2\x80\xaeP".ljust(32, b"\0")
    struct.pack_into("<I", changed, 188, 0)
    struct.pack_into("<I", changed, 188, zlib.crc32(bytes(changed)))
    return bytes(changed)


def plant(folder):
    number = 0
    for path in sorted(glob.glob(os.path.join(SAMPLE, "*.sqt"))):
        header, found = frames(path)
        data = plant_header(header)
        for i, (kind, frame, *_) in enumerate(found):
            body = frame[16:]
            if kind == FRAME_TEXT:
                more = b"def\t16\t0\thost\n" if i == 0 else b""
                body, number = plant_text(more + body, number)
            head = frame[:8] + struct.pack("<I", len(body))
            data += head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head + bytes(4)))) + body
        with open(os.path.join(folder, os.path.basename(path)), "wb") as file:
            file.write(data)
    check(number > len(PLANTED), "%d definitions have texts of ours" % number)


# ---- what is looked for ----

def harm(data, ending=b""):
    """What may not stand there, with what is around it."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return ["no UTF-8 at byte %d: %r" % (error.start, data[max(0, error.start - 60):error.start + 20])]
    found = [(text, match) for match in HARMFUL.finditer(text)]
    if ending in (b".html", b".svg"):
        found += [(text, match) for match in MARKUP.finditer(text)]
        bare = SCRIPT.sub("", text)
        found += [(bare, match) for match in ELEMENT.finditer(bare)]
    return [repr(where[max(0, match.start() - 60):match.end() + 20]) for where, match in found[:3]]


def harm_in_binary(data):
    """Of texts of ours only, as they are: the rest may be any byte."""
    return [repr(text) for text in (*PLANTED[:10], b"\x1b[31m\xe2\x80\xae") if len(text) > 4 and text in data]


def harm_in_folder(folder):
    found = []
    for place, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            found += ["name: " + text for text in harm(name)]
        for name in files:
            with open(os.path.join(place, name), "rb") as file:
                data = file.read()
            ending = os.path.splitext(name)[1]
            binary = ending == b".parquet" or (name != b"metadata" and os.path.basename(place) == b"ctf")
            problems = harm_in_binary(data) if binary else harm(data, ending)
            found += ["%s: %s" % (os.fsdecode(name), text) for text in problems]
    return found


def run(name, *words, statuses=(0,)):
    got = subprocess.run([os.path.join(TOOLS, name), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdin=subprocess.DEVNULL, timeout=600, check=False)
    STDERR.append((" ".join([name, *map(str, words[:3])]), got.stderr))
    if got.returncode not in statuses:
        check(False, "%s %s: status %d" % (name, words, got.returncode), got.stderr[-500:])
    return got.stdout


# ---- the programs ----

def dump(trace, work):
    listed = run("sqtrace-dump", "--list").decode()
    tables = re.search(r"^tables: (.*)$", run("sqtrace-dump", "--help").decode(), re.M).group(1).split()
    figures = re.search(r"^figures: (.*)$", run("sqtrace-dump", "--help").decode(), re.M).group(1).split()
    check(not harm(listed.encode()), "--list")
    found, planted = [], 0
    for table in tables:
        for form in ("tsv", "table", "json"):
            output = run("sqtrace-dump", "--table=" + table, "--format=" + form, trace, statuses=(0, 1))
            planted += output.count(b"\\x1b[31m")
            found += ["%s, %s: %s" % (table, form, text) for text in harm(output)]
    check(not found, "tables", *found[:5])
    check(planted > 100, "texts of ours are in them %d times, made visible" % planted)
    found = [text for figure in figures for more in ([], ["--plot=-"])
             for text in harm(run("sqtrace-dump", "--figure=" + figure, *more, trace, statuses=(0, 1, 2)))]
    check(not found, "figures, as rows and as scripts", *found[:5])
    found = harm(run("sqtrace-dump", "--group-by=server,tag", trace))
    found += harm(run("sqtrace-dump", "--group-by=server,tag", "--wide", trace))
    found += harm(run("sqtrace-dump", "--where=tag == 'a\x1b[31m'", "--limit=2", trace, statuses=(0, 1, 2)))
    found += harm(run("sqtrace-dump", "--where=\x1b[31m == 1", trace, statuses=(2,)))
    found += harm(run("sqtrace-dump", "--nagios", "--fail-if=max(total_ns) > 0 where tag != x\x1b[31m", trace, statuses=(0, 2, 3, 4)))
    check(not found, "groups, conditions and --nagios", *found[:5])
    for form in ("chrome", "otlp"):
        output = run("sqtrace-dump", "--format=" + form, trace)
        json.loads(output) if form == "chrome" else [json.loads(line) for line in output.splitlines()]
        check(not harm(output), "--format=" + form, *harm(output))
    for form in ("ctf", "parquet"):
        out = os.path.join(work, form)
        run("sqtrace-dump", "--format=" + form, "--output=" + out, trace)
        found = harm_in_folder(out)
        check(not found, "--format=" + form, *found[:5])


def access_log(work):
    """Texts of ours as methods, URLs, users and servers of an access.log."""
    log, texts = os.path.join(work, "access.log"), [text.replace(b"\\n", b"") for text in PLANTED if b" " not in text]
    with open(log, "wb") as file:
        for number, text in enumerate(texts * 3):
            file.write(b"17958420%02d.007 19 10.0.0.1 TCP_MISS/200 2436 GET%s http://a%s.b/%s u%s HIER_DIRECT/s%s t/%s\n" % (
                (number % 60,) + (text.replace(b"\t", b""),) * 6))
    found, seen = [], 0
    for words in (("--table=requests",), ("--table=servers",), ("--table=findings",), ("--table=whatif",), ("--group-by=url_host,method", "--wide")):
        for form in ("tsv", "table", "json"):
            output = run("sqtrace-dump", "--access-log=" + log, *words, "--format=" + form, statuses=(0, 1, 2))
            seen += output.count(b"\\x1b[31m")
            found += ["%s, %s: %s" % (words[0], form, text) for text in harm(output)]
    run("sqtrace-report", "--data=" + os.path.join(SOURCE, "tools"), "--access-log=" + log, "-o", os.path.join(work, "log-report"), statuses=(0, 3))
    found += harm_in_folder(os.path.join(work, "log-report"))
    check(not found and seen > 20, "an access.log, made visible %d times" % seen, *found[:5])


def damaged(trace, work):
    """Messages about a file whose name could do harm, and which is cut."""
    name = os.path.join(os.fsencode(work), b"cut\x1b[31m\xff\n.sqt")
    with open(os.path.join(trace, "kid-1.sqt"), "rb") as file, open(name, "wb") as cut:
        cut.write(file.read(100000)[:-77])
    for program, *words in (("sqtrace-dump",), ("sqtrace-top", "--once"), ("sqtrace-dump", "--strict", "--format=table")):
        output = run(program, *words, name, statuses=(0, 1, 3))
        check(not harm(output), "%s of a damaged file" % " ".join((program, *words)), *harm(output))


def report(trace, work):
    for words, out in ((("-o",), "report"), (("--single-file", "-o"), "page.html")):
        made = os.path.join(work, "pages", out)
        os.makedirs(os.path.join(work, "pages"), exist_ok=True)
        run("sqtrace-report", "--data=" + os.path.join(SOURCE, "tools"), *words, made, trace, statuses=(0, 3))
    found = harm_in_folder(os.path.join(work, "pages"))
    check(not found, "report, as a folder and as one file", *found[:5])


def ship_and_snapshot(trace, work):
    out = os.path.join(work, "out")
    run("sqtrace-ship", trace, "--to=" + out, "--make-folder", "--least-age=0s", statuses=(0, 1))
    run("sqtrace-ship", "--compact", "--to=" + out, "--least-age=0s", statuses=(0, 1))
    shipped = [path for path in glob.glob(out + "/**/*.parquet", recursive=True) if "host=host" in path]
    check(shipped, "files are shipped")
    found = [text for path in shipped for text in harm(os.fsencode(path))]
    run("sqtrace-snapshot", trace, "--to=" + os.path.join(work, "snapshots"), "--last=5min", statuses=(0, 1))
    found += [text for place, _, files in os.walk(os.path.join(work, "snapshots")) for name in files
              for text in harm(os.fsencode(os.path.join(place, name)))]
    check(not found, "names of shipped files and of snapshots", *found[:5])


class Receiver(http.server.BaseHTTPRequestHandler):
    bodies = []

    def do_POST(self):
        Receiver.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def exporter(trace, work):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder, said = os.path.join(work, "followed"), tempfile.TemporaryFile()
    os.mkdir(folder)
    with open(os.path.join(SOURCE, "tests", "golden", "good.sqt"), "rb") as good:
        open(os.path.join(folder, "good.sqt"), "wb").write(good.read())
    process = subprocess.Popen([os.path.join(TOOLS, "sqtrace-exporter"), "--listen=127.0.0.1:0", "--detail", "--top=1000",
                                "--series=100000", "--otlp=http://127.0.0.1:%d" % server.server_address[1], folder],
                               stderr=said)
    atexit.register(process.kill)
    until(lambda: "follows" in all_said(said), 30, "follows")
    time.sleep(1.5)
    for path in glob.glob(os.path.join(trace, "*.sqt")):
        os.link(path, os.path.join(folder, "new-" + os.path.basename(path)))
    until(lambda: sum(body.count(b'"spanId"') for body in Receiver.bodies) > 1000, 60, "spans")
    port = int(re.search(r":(\d+)/metrics", all_said(said)).group(1))
    for accept in ("text/plain", "application/openmetrics-text"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/metrics", headers={"Accept": accept})
        text = connection.getresponse().read()
        line = re.compile(rb'(#.*|[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? [-0-9.]+( # .*)?)')
        found = harm(text) + [each for each in text.splitlines() if not line.fullmatch(each)]
        check(not found and text.count(b"\\\\x") > 5, "metrics as %s" % accept, *found[:5], text.count(b"\\\\x"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/live.json")
    live_rows = connection.getresponse().read()
    check(not harm(live_rows) and json.loads(live_rows), "what the live page asks for", *harm(live_rows))
    process.terminate()
    process.wait(30)
    found = [text for body in list(Receiver.bodies) for text in harm(body)]
    check(not found and all(json.loads(body) for body in Receiver.bodies), "spans that are sent", *found[:5])
    said.seek(0)
    STDERR.append(("sqtrace-exporter", said.read()))


def top(trace, work):
    found = harm(run("sqtrace-top", "--once", trace))
    for table in ("requests", "classes", "stages", "waits", "loops", "totals", "findings"):
        for form in ("tsv", "table"):
            found += harm(run("sqtrace-top", "--once", "--table=" + table, "--format=" + form, trace))
    check(not found, "sqtrace-top", *found[:5])
    live(os.path.join(work, "live"))


def live(folder):
    """A process whose main thread is blocked, and whose ring is written to: the screen names its last event."""
    os.mkdir(folder)
    process = subprocess.Popen([os.path.join(TOOLS, "tests", "unit", "make_flights"), folder], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)
    process.stdout.readline()
    with open(glob.glob(os.path.join(folder, "*.ring"))[0], "rb") as pointer:
        ring = re.search(rb"/[!-~]+", pointer.read()).group()
    with open(ring, "r+b") as file:
        at = file.read(65536).index(b"\tREPLY_WRITTEN\t")
        file.seek(at + 1)
        file.write(b"\x1b[31m\xe2\x80\xaeXXXXX")
        file.seek(0)
        at = file.read(65536).index(b"\tupstream\n")
        file.seek(at + 1)
        file.write(b"\x1b[31mup\x07")
    process.stdin.write(b"b\n")
    process.stdin.flush()

    def blocked():
        output = run("sqtrace-top", "--once", folder)
        return output if b"loop is blocked" in output else None

    output = until(blocked, 30, "the loop is blocked")
    check(not harm(output) and b"\\x1b[31m\\xe2\\x80\\xae" in output, "sqtrace-top of a blocked loop", *harm(output), output[:600])
    process.stdin.close()
    process.wait(30)


def main():
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "trace")
        os.mkdir(trace)
        plant(trace)
        for part in (dump, damaged, report, ship_and_snapshot, exporter, top):
            part(trace, work)
        access_log(work)
    found = ["%s: %s" % (words, text) for words, said in STDERR for text in harm(said)]
    check(not found, "messages of %d runs" % len(STDERR), *found[:5])
    plan()


main()
