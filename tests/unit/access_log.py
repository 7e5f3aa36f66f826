#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""access_log.py - --access-log without a TRACE: the logs of any Squid as requests.

The same requests are written in each form, so their rows must be the same in all that the form has.  Then lines and files
are damaged, and the rest must stay.
"""
import gzip
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
from sanitized import SANITIZED  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP, REPORT = (os.path.join(TOOLS, "sqtrace-" + name) for name in ("dump", "report"))
START = 1795842075
done = 0


def check(good, text, more=""):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    if not good and more:
        print("# " + str(more)[:1500].replace("\n", "\n# "))


def run(*options, program=DUMP, data=None):
    out = subprocess.run([program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, input=data, check=False)
    return out.returncode, out.stdout.decode("utf-8", "replace"), out.stderr.decode("utf-8", "replace")


def rows(*options, data=None, table="requests"):
    status, text, said = run("--table=" + table, "--no-comments", "--format=tsv", *options, data=data)
    lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]] if lines else (status, said)


class Request:
    """What a line is written of."""

    def __init__(self, number, draw):
        self.xid, self.kid = 100 + number, 1 + number % 2
        self.at = START * 1000 + number * 40 + draw.randrange(20)
        self.took = draw.randrange(1, 30)
        self.client = "10.0.%d.%d" % (number % 3, number % 7)
        hit = number % 3 == 0
        self.tag = "TCP_MEM_HIT" if hit else "TCP_MISS"
        self.status, self.sent, self.method = 200, draw.randrange(300, 9000), "GET"
        self.host = "site%d.example.com" % (number % 5)
        self.url = "http://%s:8080/%d?%%41=\\" % (self.host, number % 11)
        self.user = "me" if number % 4 == 0 else "-"
        self.server = "-" if hit else "127.0.1.%d" % (1 + number % 5)
        self.hierarchy = "HIER_NONE" if hit else "HIER_DIRECT"
        self.dns, self.forwarding = 0, self.took - 1

    def quoted(self):
        return self.url.replace("\\", "\\\\")

    def native(self):
        return "%d.%03d %6d %s %s/%03d %d %s %s %s %s/%s text/html" % (
            self.at // 1000, self.at % 1000, self.took, self.client, self.tag, self.status, self.sent, self.method, self.url,
            self.user, self.hierarchy, self.server)

    def native_join(self):
        return "%s %d %d" % (self.native(), self.xid, self.kid)

    def sqtrace(self):
        return "%d %d %d.%03d %d %s %s/%03d %d %s %s" % (
            self.kid, self.xid, self.at // 1000, self.at % 1000, self.took, self.client, self.tag, self.status, self.sent,
            self.method, self.url)

    def elastic(self):
        return "%s transaction=%d kid=%d dns=%d server=%d" % (self.native(), self.xid, self.kid, self.dns, self.forwarding)

    def ltsv(self):
        return ("time:%d.%03d\ttook_ms:%d\tclient:%s\tresult:%s\tstatus:%d\tsent:%d\tmethod:%s\turl:%s\tuser:%s\t"
                "hierarchy:%s\tserver:%s\tdns_ms:%d\tserver_ms:%d\ttransaction:%d\tkid:%d") % (
                    self.at // 1000, self.at % 1000, self.took, self.client, self.tag, self.status, self.sent, self.method,
                    self.url, self.user, self.hierarchy, self.server, self.dns, self.forwarding, self.xid, self.kid)

    def ecs(self):
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.at // 1000))
        return ('{"@timestamp":"%s.%03dZ","ecs.version":"8.11.0","event.dataset":"squid.access","event.duration":"%d000000",'
                '"source.ip":"%s","user.name":"%s","http.request.method":"%s","url.original":"%s",'
                '"http.response.status_code":%d,"http.response.bytes":%d,"squid.result":"%s","squid.hierarchy":"%s",'
                '"destination.address":"%s","transaction.id":"%d","labels.kid":"%d"}') % (
                    when, self.at % 1000, self.took, self.client, self.user, self.method, self.quoted(), self.status,
                    self.sent, self.tag, self.hierarchy, self.server, self.xid, self.kid)

    def combined(self):
        when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(self.at // 1000))
        return '%s - %s [%s] "%s %s HTTP/1.1" %d %d "-" "Some \\"browser\\"" %s:%s' % (
            self.client, self.user, when, self.method, self.quoted(), self.status, self.sent, self.tag, self.hierarchy)


draw = random.Random(7)
REQUESTS = [Request(i, draw) for i in range(400)]
FIRST = min(r.at - r.took for r in REQUESTS)


def wanted(r, has, escaped=False):
    """The cells of a row."""
    all_of = {
        "time_s": "%d.%03d000000" % divmod(r.at - r.took - FIRST, 1000), "total_ns": str(r.took * 1000000),
        "sent_bytes": str(r.sent), "status": str(r.status), "method": r.method, "tag": r.tag,
        "class": "mem_hit" if r.tag == "TCP_MEM_HIT" else "miss", "client": r.client, "url_host": r.host,
        "url": r.quoted() if escaped else r.url, "user_name": r.user, "server": r.server, "hierarchy": r.hierarchy,
        "xid": str(r.xid), "kid": str(r.kid), "outcome": "complete", "unaccounted_ns": "-", "server_wait_ns": "-",
        "size_bytes": "-", "log_dns_ns": str(r.dns * 1000000), "log_server_ns": str(r.forwarding * 1000000)}
    return {name: value if name in has else "-" for name, value in all_of.items()}


USUAL = {"time_s", "total_ns", "sent_bytes", "status", "method", "tag", "class", "client", "url_host", "url", "outcome"}
NATIVE = USUAL | {"user_name", "server", "hierarchy"}
JOIN = {"xid", "kid"}
TIMES = {"log_dns_ns", "log_server_ns"}
FORMS = [("squid", Request.native, NATIVE, False), ("squid-join", Request.native_join, NATIVE | JOIN, False),
         ("sqtrace", Request.sqtrace, USUAL | JOIN, False), ("elastic", Request.elastic, NATIVE | JOIN | TIMES, False),
         ("ltsv", Request.ltsv, NATIVE | JOIN | TIMES, False), ("ecs", Request.ecs, NATIVE | JOIN, True)]


def same(found, has, escaped=False, requests=None):
    """The first difference; "" if there is none.  A tab-separated cell shows a backslash as it is."""
    requests = REQUESTS if requests is None else requests
    if not isinstance(found, list) or len(found) != len(requests):
        return "%s rows of %d" % (len(found) if isinstance(found, list) else found, len(requests))
    for row, request in zip(found, requests):
        for name, value in wanted(request, has, escaped).items():
            if row[name] != value:
                return "xid %d: %s is %s, and should be %s" % (request.xid, name, row[name], value)
    return ""


def write(name, lines, mode="text"):
    path = os.path.join(folder, name)
    text = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    with open(path, "wb") as log:
        log.write(gzip.compress(text) if mode == "gzip" else zlib.compress(text) if mode == "zlib" else text)
    return path


def forms():
    for name, form, has, escaped in FORMS:
        path = write(name + ".log", [form(r) for r in REQUESTS])
        for options in ([], ["--log-format=" + name]):
            found = same(rows("--access-log=" + path, *options), has, escaped)
            check(not found, "%s %s" % (name, "named" if options else "found out"), found)
    for what, more in (("a server's ms and DNS's", lambda r: "%d %d" % (r.forwarding, r.dns)),
                       ("bytes both ways", lambda r: "%d %d" % (r.sent // 2, r.sent)), ("a kid alone", lambda r: "7 %d" % r.kid)):
        found = same(rows("--access-log=" + write("more.log", ["%s %s" % (r.native(), more(r)) for r in REQUESTS])), NATIVE)
        check(not found, "numbers behind the native format that do not join: " + what, found)
    unasked = "%s 0 10.0.0.9 NONE_NONE/000 0 - error:transaction-end-before-headers - HIER_NONE/- - - 1"
    path = write("checked.log", [line for r in REQUESTS for line in
                                 (unasked % ("%d.%03d" % divmod(r.at, 1000)), r.native_join())])
    found = [row for row in rows("--access-log=" + path) if row["client"] != "10.0.0.9"]
    found = same(found, NATIVE | JOIN)
    check(not found, "squid-join found out where half of the lines have no transaction", found)
    for mode in "gzip", "zlib":
        path = write("native." + mode, [r.native() for r in REQUESTS], mode)
        found = same(rows("--access-log=" + path), NATIVE)
        check(not found, "compressed by " + mode, found)
    both = os.path.join(folder, "two.gz")
    with open(both, "wb") as log:
        for half in REQUESTS[:150], REQUESTS[150:]:
            log.write(gzip.compress(b"".join(r.native().encode() + b"\n" for r in half)))
    found = same(rows("--access-log=" + both), NATIVE)
    check(not found, "two files of gzip, one behind the other", found)
    text = "".join(r.native() + "\r\n" for r in REQUESTS).encode()
    found = same(rows("--access-log=-", data=text), NATIVE)
    check(not found, "from a pipe, with lines that end as in DOS", found)


def combined():
    path = write("combined.log", [r.combined() for r in REQUESTS])
    found = rows("--access-log=" + path)
    has = {"sent_bytes", "status", "method", "tag", "class", "client", "url_host", "user_name", "hierarchy", "outcome"}
    bad = [name for row, r in zip(found, REQUESTS) for name, value in wanted(r, has).items()
           if name not in ("time_s", "url") and row[name] != value]
    check(len(found) == len(REQUESTS) and not bad, "combined: all but durations", bad)
    check(found[-1]["time_s"] == "%d.000000000" % (REQUESTS[-1].at // 1000 - START), "combined: whole seconds")
    said = rows("--access-log=" + path, table="findings")
    check(len(said) == 1 and said[0]["cause"] == "too_few" and "%tr" in said[0]["sentence"],
          "combined: findings say what the log lacks", said)


def own_format():
    conf = os.path.join(folder, "squid.conf")
    with open(conf, "w", encoding="ascii") as out:
        out.write("logformat other %ts %ru\n\f\vlogformat mine %ru %\\\n>a [%ts.%03tu] %tr %Ss %>Hs  \t\f\n"
                  "access_log none\naccess_log stdio:/x/other.log logformat=other\n"
                  "access_log daemon:/x/mine-${process_number}.log logformat=mine buffer-size=1KB all\n")
    lines = ["%s %s [%d.%03d] %d %s %d" % (r.url, r.client, r.at // 1000, r.at % 1000, r.took, r.tag, r.status)
             for r in REQUESTS]
    has = {"time_s", "total_ns", "status", "tag", "class", "client", "url_host", "url", "outcome"}
    path = write("mine-3.log.1", lines)
    for text in "--log-format=%ru %>a [%ts.%03tu] %tr %Ss %>Hs", "--log-format=" + conf:
        found = same(rows("--access-log=" + path, text), has)
        check(not found, text[:30], found)
    status, _, said = run("--access-log=" + write("elsewhere.log", lines), "--log-format=" + conf)
    check(status == 1 and "no line is of the format other" in said, "the first access_log where no name fits", said)


def rotated():
    pieces = [REQUESTS[:100], REQUESTS[100:250], REQUESTS[250:]]
    sub = os.path.join(folder, "rotated")
    os.mkdir(sub)
    write("rotated/access.log.1.gz", [r.native() for r in pieces[0]], "gzip")
    write("rotated/access.log.0", [r.native() for r in pieces[1]])
    write("rotated/access.log", [r.native() for r in pieces[2]])
    for text, options in (("a pattern", ["--access-log=%s/access.log*" % sub]), ("a folder", ["--access-log=" + sub]),
                          ("files in any order", ["--access-log=%s/%s" % (sub, name) for name in
                                                  ("access.log", "access.log.1.gz", "access.log.0")])):
        found = same(rows(*options), NATIVE)
        check(not found, "rotated files: " + text, found)


def times():
    path = write("times.log", [r.native() for r in REQUESTS])
    for options in (["--since=2s", "--until=5s"], ["--since=-3s"], ["--since=%d" % (START + 6)]):
        found = rows("--access-log=" + path, *options)
        low = {"--since=2s": FIRST + 2000, "--since=-3s": REQUESTS[-1].at - 3000}.get(options[0], (START + 6) * 1000)
        high = FIRST + 5000 if len(options) > 1 else 1 << 60
        asked = [r for r in REQUESTS if low <= r.at - r.took < high]
        check(len(found) == len(asked) and 0 < len(asked) < len(REQUESTS), " ".join(options), (len(found), len(asked)))
    found = rows("--access-log=" + path, "--group-by=url_host", "--of=total_ns")
    sums = {"site%d.example.com" % k: sum(r.took for r in REQUESTS if r.host.startswith("site%d." % k)) for k in range(5)}
    check({row["url_host"]: int(row["sum_ns"]) // 1000000 for row in found} == sums, "--group-by=url_host", found[:1])
    found = rows("--access-log=" + path, "--where=url_host ~ site1.* and client == 10.0.1.1 or user_name == nobody")
    check(len(found) == sum(r.host.startswith("site1.") and r.client == "10.0.1.1" for r in REQUESTS) > 0,
          "--where with the log's columns")
    found = rows("--access-log=" + path, "--where=url_host ~ site1.*", "--columns=stage,count", table="summary")
    check([row["count"] for row in found if row["stage"] == "total"][0] == "80", "the same of a summary", found)
    status, _, said = run("--access-log=" + path, "--fail-if=max(total_ns) > 1s")
    check(status == 0, "--fail-if", said)


def hostile():
    noise = random.Random(11)
    bad = [b"", b"\xff\xfe \x1b[2J\x00", b"x" * 300000, b"1 " * 3000000, b"9" * 4000 + b".000 1 a b/200 1 GET u - c/d e",
           b"%" * 500, b"1795842075.806     14 10.0.0.7 TCP_MISS/200 6604", b"\x00" * 100,
           b"1795842075.806 " + b"9" * 19 + b" 10.0.0.7 TCP_MISS/200 1 GET http://a/ - HIER_DIRECT/1 -"]
    bad += [bytes(noise.randrange(256) for _ in range(noise.randrange(400))).replace(b"\n", b"") for _ in range(200)]
    lines, understood = [], 0
    for i, request in enumerate(REQUESTS):
        lines += [request.native(), bad[i % len(bad)]]
    path = write("hostile.log", lines)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    status, text, said = run("--access-log=" + path, "--no-comments", "--format=tsv")
    found = [line.split("\t") for line in text.splitlines()]
    found = [dict(zip(found[0], line)) for line in found[1:]]
    check(status == 0 and not same(found, NATIVE), "between lines that are none, all others are read", same(found, NATIVE))
    empty = sum(not bad[i % len(bad)] for i in range(len(REQUESTS)))
    check("%d lines of %d are not of the format squid" % (len(REQUESTS) - empty, 2 * len(REQUESTS) - empty) in said,
          "they are counted", said[-300:])
    check("\x1b" not in said and "\\x1b[2J" in said, "and shown safely", said[:300])
    check(run("--access-log=" + path, "--strict", "--quiet")[0] == 3, "--strict")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(used - before < 64 << 10, "memory stays bounded", "%d KB" % (used - before))
    evil = REQUESTS[0].native().replace("http://", "http://\x1b]0;x\x07\u202e")
    text = run("--access-log=" + write("evil.log", [evil, REQUESTS[1].native()]))[1]
    check("\x1b" not in text and "\\x1b]0;x\\x07" in text and "\u202e" not in text, "a URL is shown safely")
    cut = write("cut.gz", [])
    with open(cut, "wb") as log:
        log.write(gzip.compress(b"".join(r.native().encode() + b"\n" for r in REQUESTS))[:-200])
    status, text, said = run("--access-log=" + cut, "--no-comments", "--no-header")
    check(status == 0 and 0 < len(text.splitlines()) < len(REQUESTS) and "end before their end" in said,
          "a compressed file that is cut off", said)
    names = write("names.log", [REQUESTS[1].native().replace("127.0.1.2", "h%d" % i).replace("GET", "M%d" % (i % 300))
                                for i in range(70000)])
    found = rows("--access-log=" + names, "--where=server == OTHER", "--columns=server")
    check(len(found) == 70000 - 65536, "servers beyond 65,536 are OTHER", len(found))


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def without_lines():
    """Holes and empty lines: a look at the first lines ends soon, and reading ends where 64 MiB have no line."""
    sparse, packed, middle = (os.path.join(folder, name) for name in ("sparse.log", "packed.gz", "middle.log"))
    write("sparse.log", [])
    os.truncate(sparse, 1 << 42)
    with gzip.open(packed, "wb", 6) as log:
        for _ in range(100):
            log.write(b"\n" * 1000000)
    lines = [r.native() for r in REQUESTS]
    write("middle.log", lines)
    with open(middle, "r+b") as log:
        log.seek(1 << 42)
        log.write(lines[0].encode() + b"\n")
    for name, more, status, words in (
            (sparse, [], 1, "no line is of a format that is known"), (packed, [], 1, "no line is of a format that is known"),
            (sparse, ["--log-format=squid"], 0, "no line follows in 64 MiB; what comes before was read"),
            (packed, ["--log-format=squid"], 0, "no line follows in 64 MiB; what comes before was read"),
            (middle, [], 0, "no line follows in 64 MiB; what comes before was read")):
        before = processor_seconds()
        try:
            out = subprocess.run([DUMP, "--access-log=" + name, "--format=tsv", "--no-comments", *more], timeout=60, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            got, text, said = out.returncode, out.stdout, out.stderr.decode()
        except subprocess.TimeoutExpired:
            got, text, said = None, b"", "not done after 60 s"
        took, what = processor_seconds() - before, os.path.basename(name) + (" of a known format" if more else "")
        check(got == status and words in said, "no line far and wide: " + what, (got, said))
        check(took < 2 or SANITIZED, "it takes no time: " + what, "%.2f s" % took)
        check(name != middle or len(text.splitlines()) == 1 + len(lines), "lines before come: " + what, len(text.splitlines()))
    found = same(rows("--access-log=" + write("gaps.log", [b"\n" * 100000 + lines[0].encode() + b"\r\n\r\n"] + lines[1:])), NATIVE)
    check(not found, "empty lines between others", found)
    said = run("--access-log=" + write("counted.log", ["", ""] + lines + ["", "\r", "odd"]))[2]
    check("line %d is not of the format squid: odd" % (len(lines) + 5) in said, "empty lines count as lines", said)


def many_files():
    sub = os.path.join(folder, "many")
    os.mkdir(sub)
    write("many/access.log", [r.native() for r in REQUESTS])
    for number in range(5000):
        write("many/access.log.%d" % number, [])
    before = processor_seconds()
    status, text, said = run("--access-log=" + sub, "--no-comments", "--no-header")
    check(status == 0 and len(text.splitlines()) == len(REQUESTS) and
          "--access-log: more than 4096 files; the others are left out" in said, "of 5,000 files 4,096 are read", said)
    check(processor_seconds() - before < 2 or SANITIZED, "it takes no time")
    shutil.rmtree(sub)


def first_lines():
    """One line, damaged or of something else, does not decide what a log is and when it begins."""
    native = [r.native() for r in REQUESTS]
    past, future = (native[0].replace(native[0].split()[0], at) for at in ("1.000", "8589934590.000"))
    for name, first in (("a time long ago", past), ("a time to come", future), ("as zlib begins", b"x^damaged"),
                        ("the same", b"x\x9c"), ("of another format", REQUESTS[0].combined()),
                        ("a long line", "1" * 300000), ("a longer one", "1" * 3000000)):
        path = write("first.log", [first] + native)
        with open(path, "rb") as log:
            data = log.read()
        for how, options in ("", {}), (", from a pipe", {"data": data}):
            name_of = "--access-log=" + ("-" if options else path)
            found, said = rows(name_of, **options), run(name_of, **options)[2]
            check(not same(found, NATIVE), "first line: " + name + how, same(found, NATIVE))
            check("line 1 has a time far" in said or "line 1 is not of the format" in said or ": 1 lines are longer" in said,
                  "it is shown or counted, once" + how, said)
    pause = [native[0].replace(native[0].split()[0], "%d.000" % (START + 40000000 * year)) for year in range(3) for _ in range(2)]
    found = rows("--access-log=" + write("pause.log", pause))
    check(len(found) == 4 and found[0]["time_s"] == "0.000000000", "behind a pause of a year only one line is passed over",
          [row["time_s"] for row in found])
    path = write("last.log", native + [future])
    found = rows("--access-log=" + path, "--since=-3s", "--until=1h")
    check(len(found) == sum(r.at - r.took >= REQUESTS[-1].at - 3000 for r in REQUESTS), "last line: a time to come", len(found))
    folder_of = os.path.join(folder, "begun")
    os.mkdir(folder_of)
    write("begun/access.log.0", [future] + native[:200])
    write("begun/access.log", [past] + native[200:])
    found = rows("--access-log=" + folder_of, "--until=1h", "--since=0s")
    check(not same(found, NATIVE), "first lines of several files", same(found, NATIVE))


def large_conf():
    path = write("good.log", [r.native() for r in REQUESTS])
    for more, status in (0, 0), (1, 1):
        text = b"logformat mine %ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %un %Sh/%<a %mt\naccess_log /x/good.log mine\n"
        conf = os.path.join(folder, "large.conf")
        with open(conf, "wb") as out:
            out.write(text + b"#" * ((16 << 20) - len(text) + more))
        got, _, said = run("--access-log=" + path, "--log-format=" + conf)
        check(got == status and ("larger than 16 MiB" in said) == (status == 1), "a squid.conf of 16 MiB and %d" % more, said)


def no_file_conf():
    """--log-format names a squid.conf that is no file: nobody waits for it."""
    log = write("good.log", [r.native() for r in REQUESTS])
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    for conf in fifo, "/dev/zero", folder:
        out = subprocess.run([DUMP, "--access-log=" + log, "--log-format=" + conf], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=False, timeout=20)
        check(out.returncode == 1 and b"it is not a regular file" in out.stderr, "a squid.conf that is " + conf, out.stderr)


def refused():
    log = write("good.log", [r.native() for r in REQUESTS])
    for options, status, words in (
            (["--access-log=" + log, "--log-format=apache"], 1, "is no format"),
            (["--access-log=" + log, "--log-format=%ru"], 1, "has no time"),
            (["--access-log=" + log, "--log-format=%ts %{"], 1, "expected a code"),
            (["--access-log=" + log, "--log-format=/nowhere/squid.conf"], 1, "cannot be opened"),
            (["--access-log=" + log, "--log-format=ltsv"], 1, "no line is of the format ltsv"),
            (["--access-log=%s/none*.log" % folder], 1, "no file is called so"),
            (["--access-log=%s/none.log" % folder], 1, "cannot be opened"),
            (["--access-log=" + write("words.log", ["some words", "and more"])], 1, "of a format that is known"),
            (["--access-log=" + log, "--table=swaps"], 2, "needs a TRACE"),
            (["--access-log=" + log, "--figure=stalls"], 2, "needs a TRACE"),
            (["--access-log=" + log, "--follow"], 2, "does not go with --follow"),
            (["--log-format=squid", os.path.join(SOURCE, "doc", "sample")], 2, "goes with --access-log"),
            (["--access-log"], 2, "needs a value"), ([], 2, "--access-log=FILE")):
        got, text, said = run(*options)
        check(got == status and words in said and not text, "refused: " + " ".join(options)[-40:], (got, said))
    status, text, said = run("--access-log=" + write("empty.log", []), "--no-comments")
    check(status in (0, 1) and len(text.splitlines()) <= 1, "an empty log", (status, said))


def line(at, took, host, status=200, tag="TCP_MISS", server="10.1.1.1", method="GET", sent=5000):
    hierarchy = "HIER_NONE/-" if server == "-" else "HIER_DIRECT/" + server
    url = host + ":443" if method == "CONNECT" else "http://%s/%d" % (host, at)
    return "%d.%03d %6d 10.0.0.7 %s/%03d %d %s %s - %s -" % (
        START + at // 1000, at % 1000, took, tag, status, sent, method, url, hierarchy)


def findings():
    pick = random.Random(5)
    for name, lines, cause, culprit in (
            ("healthy", [line(20 * i, pick.randrange(5, 40), "h%d" % (i % 5), server="10.1.1.%d" % (i % 5))
                         for i in range(1500)], "none_seen", "-"),
            ("a server", [line(20 * i, pick.randrange(5, 40) + 300 * (i % 5 == 2), "h%d" % (i % 5),
                               server="10.1.1.%d" % (i % 5)) for i in range(1500)], "slow_at_server", "10.1.1.2"),
            ("a host of a parent", [line(20 * i, pick.randrange(5, 40) + 300 * (i % 5 == 2), "h%d" % (i % 5))
                                    for i in range(1500)], "set_apart", "h2"),
            ("failures", [line(20 * i, 20, "h%d" % (i % 5), *((503, "TCP_MISS_ABORTED", "-") if i % 5 == 1 else ()))
                          for i in range(1500)], "failed_requests", "h1"),
            ("failures of hosts that have no place of their own",
             [line(20 * i, 20, "h%d" % i, *((503, "TCP_MISS_ABORTED", "-") if i > 1100 else ())) for i in range(1500)],
             "failed_requests", "-"),
            ("all is slow", [line(20 * i, pick.randrange(900, 1500), "h%d" % (i % 5)) for i in range(1500)], "unexplained",
             "-"),
            ("tunnels", [line(20 * i, 20000, "h%d" % (i % 5), method="CONNECT", tag="TCP_TUNNEL") for i in range(300)],
             "too_few", "-")):
        found = rows("--access-log=" + write("finding.log", lines), table="findings")
        first = found[0]
        check(first["cause"] == cause and first["culprit"] == culprit, "findings: " + name, first)
        check(not any(word in first["sentence"] for word in ("first byte", "name server ", "disk ", "waiting for Squid's")),
              "findings claim no stage: " + name, first["sentence"])
        if cause in ("none_seen", "unexplained"):
            check("only a trace says" in first["sentence"], "and say what a trace would add: " + name)
        if cause in ("slow_at_server", "set_apart", "failed_requests") and culprit != "-":
            command = first["command"].replace("FILE", os.path.join(folder, "finding.log"))
            ran = subprocess.run(["sh", "-c", command.replace("sqtrace-dump", DUMP, 1)], stdout=subprocess.PIPE, check=False)
            check(ran.returncode == 0 and 200 < len(ran.stdout.splitlines()) < 400, "its command finds them: " + name, command)
    centuries = [line(20 * i, 2**31 - 1, "h%d" % (i % 5), sent=10**15 if i % 2 else 5000) for i in range(12000)]
    first = rows("--access-log=" + write("finding.log", centuries), table="findings")[0]
    check(first["cause"] == "unexplained" and 50 <= float(first["share_pct"]) <= 100,
          "a sum of times that does not fit into 64 bits is no small one", first)


def tunnels():
    """Before 6.7, a tunnel that its server closed has the status 500; one that was never set up may have it, too."""
    for name, tail, tag, end, failed in (
            ("that its server closed", " %Sh/%<a", "TCP_TUNNEL", " HIER_DIRECT/10.1.1.1", False),
            ("the same with the server's status", " %Sh/%<a %<Hs", "TCP_TUNNEL", " HIER_DIRECT/10.1.1.1 -", False),
            ("that a parent refused", " %Sh/%<a %<Hs", "TCP_TUNNEL", " FIRSTUP_PARENT/10.1.1.1 500", True),
            ("that nobody was asked for", " %Sh/%<a", "TCP_TUNNEL", " HIER_NONE/-", True),
            ("of which the log does not say who was asked", "", "TCP_TUNNEL", "", True),
            ("that its client gave up", " %Sh/%<a", "TCP_TUNNEL_ABORTED", " HIER_DIRECT/10.1.1.1", True)):
        path = write("tunnel.log", ["%d.000 20 10.0.0.7 %s 500 5000 CONNECT h1:443%s" % (START, tag, end)])
        status, text, said = run("--access-log=" + path, "--log-format=%ts.%03tu %tr %>a %Ss %>Hs %<st %rm %ru" + tail,
                                 "--format=otlp")
        check(status == 0 and ('"status":{"code":2}' in text) == failed, "status 500 of a tunnel " + name, text + said)


SAMPLE = os.path.join(SOURCE, "doc", "sample")
TEXTS = "client", "url", "url_host", "user_name", "hierarchy"


def join_line(end, kid, xid, url, client="10.9.8.7"):
    return "%d.%03d      1 %s TCP_MISS/200 500 GET %s me HIER_DIRECT/127.0.0.1 - %s %s" % (
        end // 1000, end % 1000, client, url, xid, kid)


def joined():
    status, text, said = run("--table=requests", "--no-comments", "--format=tsv", "--columns=time_ns,kid,xid,total_ns,ring", SAMPLE)
    of_trace = [line.split("\t") for line in text.splitlines()[1:]]
    ends = [(int(at) + (0 if total == "-" else int(total))) // 1000000 for at, _, _, total, _ in of_trace]
    lines, urls = [], []
    for number, ((_, kid, xid, _, _), end) in enumerate(zip(of_trace, ends)):
        urls.append("-" if xid == "-" or number % 10 == 9 else "http://h%d.example.com/%d" % (number % 4, number))
        if urls[-1] != "-":
            lines.append((end, join_line(end, kid, xid, urls[-1])))
    lines.sort(key=lambda pair: pair[0])
    good = [text for _, text in lines]
    path = write("join.log", good)
    found = rows("--access-log=" + path, SAMPLE)
    check([row["url"] for row in found] == urls, "each request of a trace has its own line",
          [pair for pair in zip((row["url"] for row in found), urls) if pair[0] != pair[1]][:5])
    check(all(row["client"] == "10.9.8.7" and row["user_name"] == "me" and row["url_host"].endswith(".example.com")
              for row in found if row["url"] != "-"), "its client, user and host, too")
    plain = rows(SAMPLE)
    check(not any(name in plain[0] for name in TEXTS) and
          all(other[name] == value for row, other in zip(plain, found) for name, value in row.items()),
          "nothing else differs, and without a log there are no such columns")
    same_group = rows("--access-log=" + path, "--group-by=url_host", SAMPLE)
    check({row["url_host"]: int(row["count"]) for row in same_group if row["url_host"] != "-"} ==
          {"h%d.example.com" % k: sum(url.startswith("http://h%d." % k) for url in urls) for k in range(4)},
          "--group-by=url_host beside a trace", same_group)
    asked = rows("--access-log=" + path, "--where=url ~ *h2*", "--columns=stage,class,count", SAMPLE, table="summary")
    ended = sum(url.startswith("http://h2.") and row["outcome"] not in ("lost", "clock", "unfinished")
                for url, row in zip(urls, found))
    check([int(row["count"]) for row in asked if row["stage"] == "total" and row["class"] == "all"] == [ended],
          "--where on the log's columns, of a table that sums up", asked[:2])
    figures = [run("--access-log=" + path, "--figure=load", "--where=" + where, "--no-comments", SAMPLE)[1]
               for where in ("url ~ *h2*", "url ~ *", "url ~ *nowhere*")]
    check(len(figures[0].splitlines()) > 1 and figures[0] != figures[1] and len(figures[2].splitlines()) <= 1,
          "and of a figure", figures[0][:200])
    middle = len(good) // 2
    first_end, first = lines[0]
    evil = [join_line(first_end + i % 40, *first.split()[:-3:-1], "http://evil/%d" % i) for i in range(60000)]
    hostile_log = good[:middle] + ["\xff" * 5000, join_line(8589934590000, 1, 54, "http://future/"), "x y z",
                                   join_line(0, 1, 55, "http://past/")] + good[middle:]
    found = rows("--access-log=" + write("evil.log", hostile_log), SAMPLE)
    check([row["url"] for row in found] == urls, "lines from other times, and lines that are none, change nothing",
          [pair for pair in zip((row["url"] for row in found), urls) if pair[0] != pair[1]][:5])
    begin = time.process_time() + sum(os.times()[2:4])
    found = rows("--access-log=" + write("alike.log", evil + good), "--log-format=squid-join", SAMPLE)
    used = time.process_time() + sum(os.times()[2:4]) - begin
    check(len(found) == len(urls) and (used < 2 or SANITIZED), "60,000 lines of one transaction cost no time", used)
    slow = "203.0.113.20:80"
    by_server = [(end, join_line(end, kid, xid, "http://%s/" % ("slow.example.com" if row["server"] == slow else "h%d" % (end % 3))))
                 for (_, kid, xid, _, _), end, row in zip(of_trace, ends, plain) if xid != "-"]
    path = write("hosts.log", [text for _, text in sorted(by_server, key=lambda pair: pair[0])])
    said = [row["sentence"] for row in rows("--access-log=" + path, SAMPLE, table="findings") if row["culprit"] == slow]
    check(len(said) == 1 and said[0].endswith("Its requests are for host slow.example.com."),
          "findings name a server's host", said)
    for form in "squid", "combined":
        status, _, said = run("--access-log=" + os.path.join(folder, form + ".log"), SAMPLE)
        check(status == 1 and "does not join: it needs %master_xaction" in said, form + " does not join", said)
    name = os.path.join(folder, "kid-${process_number}.log")
    for kid in {kid for _, kid, _, _, _ in of_trace}:
        write("kid-%s.log" % kid, [text.rsplit(" ", 1)[0] for _, text in lines if text.endswith(" " + kid)])
    found = rows("--access-log=" + name, "--log-format=%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %un %Sh/%<a %mt %master_xaction",
                 SAMPLE)
    check([row["url"] for row in found] == urls, "a log of each kid, whose number is in the file's name")
    merged = rows("--access-log=" + name, "--log-format=%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %un %Sh/%<a %mt %master_xaction")
    order = [float(row["time_s"]) for row in merged]
    check(len(merged) == len(good) and order == sorted(order), "without a trace their lines are merged by time")


def documented():
    listed = {text.split(" ")[1]: text for text in run("--list")[1].splitlines() if text.startswith("logformat ")}
    check(len(listed) == 8, "--list has the formats that have names", sorted(listed))
    with open(os.path.join(SOURCE, "doc", "access-log.md"), encoding="utf-8") as page:
        text = page.read()
    check(all("`%s`" % name in text for name in listed), "doc/access-log.md names each")
    check(listed["squid-join"] in text, "and has the one that is written out as --list prints it")
    conf = os.path.join(folder, "listed.conf")
    for name, form, has, escaped in FORMS:
        with open(conf, "w", encoding="utf-8") as out:
            out.write(listed[name].replace("logformat " + name, "logformat x") + "\naccess_log /x/y x\n")
        found = same(rows("--access-log=" + os.path.join(folder, name + ".log"), "--log-format=" + conf), has, escaped)
        check(not found, "--list's line of %s, in a squid.conf" % name, found)


def report():
    slow = write("after.log", [line(20 * i, 60 + i % 30, "h%d" % (i % 5)) for i in range(3000)])
    fast = write("before.log", [line(20 * i, 20 + i % 30, "h%d" % (i % 5)) for i in range(3000)])
    bin_folder = os.path.join(folder, "bin")
    os.mkdir(bin_folder)
    with open(os.path.join(bin_folder, "gnuplot"), "w", encoding="ascii") as script:
        script.write("#!/bin/sh\n[ \"$1\" = --version ]\n")
    os.chmod(os.path.join(bin_folder, "gnuplot"), 0o755)
    os.environ["PATH"] = bin_folder + ":" + os.environ["PATH"]
    out = os.path.join(folder, "page")
    base = ["--data=" + os.path.join(SOURCE, "tools"), "--quiet", "-o", out]
    status, _, said = run(*base, "--access-log=" + fast, program=REPORT)
    with open(os.path.join(out, "index.html"), encoding="utf-8") as page:
        html = page.read()
    check(status in (0, 3), "a report of a log", said)
    check("This page is made of an access.log" in html and "A trace has what an access.log has not" in html and
          "All 3,000 lines are of the format squid" in html, "it says so, and what a trace would add")
    check("of their time is" not in html and "stages that do not add up" not in html and "figure=stalls" not in html,
          "it speaks of no stage")
    status, _, said = run(*base, "--access-log=before=" + fast, "--access-log=after=" + slow, program=REPORT)
    with open(os.path.join(out, "index.html"), encoding="utf-8") as page:
        html = page.read()
    check(status in (0, 3) and "Misses: slower." in html, "two logs compared", said)
    status, _, said = run(*base, "--access-log=" + fast, "--figures=stalls", program=REPORT)
    check(status == 2 and "needs a TRACE" in said, "a figure that a log does not have", said)


folder = tempfile.mkdtemp()
try:
    forms()
    combined()
    own_format()
    rotated()
    times()
    hostile()
    without_lines()
    many_files()
    first_lines()
    large_conf()
    no_file_conf()
    refused()
    findings()
    tunnels()
    joined()
    documented()
    report()
finally:
    shutil.rmtree(folder)
print("1..%d" % done)
