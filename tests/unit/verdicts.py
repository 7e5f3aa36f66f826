#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""verdicts.py - pairs of made runs, before and after a change: the first sentence of sqtrace-report's comparison is right in all.
Some changes are good, some are bad, some are none, and some cannot be judged by times.

A run is a log of requests whose times are drawn from a model of a proxy: what is hit in memory, on disk, or missed, and how
long each takes.  The pairs are written down with the right answer, before and apart from what the report says.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
REQUESTS = 6000
START = 1795632956.0
done = 0


def check(good, text, more=""):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    if not good and more:
        print("# " + str(more).replace("\n", "\n# ")[:900])


class Proxy:
    """How requests come out: shares of hits, medians of times (ms), failures, and idle time before the first request."""

    def __init__(self, memory=0.2, disk=0.3, memory_ms=0.6, disk_ms=12.0, miss_ms=120.0, size=8000, failed=0.002, idle=0.0,
                 rate=50.0, large_in_memory=False, denied=0.0, aborted=0.0, not_found=0.0):
        self.__dict__.update(locals())

    def request(self, rng):
        kind = rng.random()
        size = int(rng.lognormvariate(0, 0.8) * self.size)
        if self.denied and rng.random() < self.denied:
            return "TCP_DENIED", 403, 3500, 1
        if self.not_found and rng.random() < self.not_found:
            return "TCP_MISS", 404, 300, rng.lognormvariate(0, 0.4) * 10
        if self.aborted and rng.random() < self.aborted:
            return "TCP_MISS_ABORTED", 0, 0, rng.lognormvariate(0, 0.4) * 10
        if rng.random() < self.failed:
            return "TCP_MISS", 503, 400, rng.lognormvariate(0, 0.4) * self.miss_ms * 2
        if kind < self.memory:
            # Larger objects in memory take longer to write.
            large = 3 if self.large_in_memory and rng.random() < 0.5 else 1
            return "TCP_MEM_HIT", 200, size * large, rng.lognormvariate(0, 0.4) * self.memory_ms * large
        if kind < self.memory + self.disk:
            return "TCP_HIT", 200, size, rng.lognormvariate(0, 0.6) * self.disk_ms
        return "TCP_MISS", 200, size, rng.lognormvariate(0, 0.7) * self.miss_ms

    def log(self, path, seed):
        """Squid's native format writes whole milliseconds; this one has fractions, as %ts.%06tu and %<tt would not."""
        rng, now = random.Random(seed), START
        with open(path, "w", encoding="utf-8") as file:
            for i in range(REQUESTS):
                now += rng.expovariate(self.rate) + (self.idle if i == 20 else 0)
                tag, status, size, took = self.request(rng)
                file.write("%.3f %6d 192.0.2.%d %s/%03d %d GET http://www.example.com/%d - HIER_DIRECT/192.0.2.9 text/html\n"
                           % (now, max(1, round(took)), 1 + i % 9, tag, status, size, i % 500))


PAIRS = (
    # name, before, after, the first word, what else the first sentence must name
    ("cache_mem 8 to 128 MB: larger objects move into memory", Proxy(memory=0.10, disk=0.45, disk_ms=40),
     Proxy(memory=0.45, disk=0.12, disk_ms=40, memory_ms=0.9, large_in_memory=True), "Better", "−"),
    ("a larger disk cache: fewer misses", Proxy(disk=0.2), Proxy(disk=0.45), "Better", "−"),
    ("a faster disk", Proxy(disk=0.5, disk_ms=60), Proxy(disk=0.5, disk_ms=15), "Better", "−"),
    ("a broken server is taken out: failures end", Proxy(failed=0.06, miss_ms=60), Proxy(failed=0.0, miss_ms=60), "Better", "went from 5.9 % to 0 % of the requests"),
    ("a slow parent", Proxy(), Proxy(miss_ms=180), "Worse", "+"),
    ("a smaller cache", Proxy(disk=0.45), Proxy(disk=0.15), "Worse", "+"),
    ("a rule that sends one request in twenty to a dead server", Proxy(), Proxy(failed=0.05), "Worse", "% of the requests"),
    ("a disk that is nearly full", Proxy(disk=0.5, disk_ms=15), Proxy(disk=0.5, disk_ms=45), "Worse", "+"),
    ("nothing was changed", Proxy(), Proxy(), "No difference", "did not change"),
    ("nothing was changed, and the second run begins idle", Proxy(), Proxy(idle=600), "No difference", "did not change"),
    ("a rule that denies half of the requests", Proxy(), Proxy(denied=0.5), "Not comparable, because more requests are refused",
     "Refused requests (denied, or status 400 to 499) went from 0 % to 5"),
    ("a rule that denies all requests", Proxy(), Proxy(denied=1.0), "Not comparable, because more requests are refused",
     "Refused requests (denied, or status 400 to 499) went from 0 % to 100 % of all."),
    ("a rewriter whose URLs are not there", Proxy(), Proxy(not_found=0.6), "Not comparable, because more requests are refused",
     "Refused requests (denied, or status 400 to 499) went from 0 % to 6"),
    ("what failed is denied", Proxy(failed=0.5, miss_ms=5), Proxy(denied=0.5, failed=0.0, miss_ms=5),
     "Not comparable, because more requests are refused", "to 0 % of the requests"),
    ("that rule is taken out", Proxy(denied=0.5), Proxy(), "Not comparable, because fewer requests are refused", "+"),
    ("a larger disk cache, and a rule that denies few", Proxy(disk=0.2), Proxy(disk=0.5, denied=0.04), "Better", "−"),
    ("a reply so slow that clients give up", Proxy(), Proxy(aborted=0.4), "Not comparable, because clients give up more requests",
     "Requests that clients gave up went from 0 % to 4"),
    ("all servers are gone", Proxy(), Proxy(failed=1.0, miss_ms=5), "Worse, because more requests fail, though the time fell",
     "to 100 % of the requests"),
)


def words_of(folder):
    """The lead of the comparison, and the lines behind it."""
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        text = file.read()
    first = re.search(r'<p class="lead verdict">(.*?)</p>', text, re.S)
    rest = re.search(r'<p class="lead verdict">.*?<ul class="plain">(.*?)</ul>', text, re.S)
    plain = lambda part: re.sub(r"\s+", " ", re.sub("<[^>]*>", "", part)).strip()
    return plain(first[1]) if first else "", [plain(line) for line in re.findall("<li>(.*?)</li>", rest[1] if rest else "", re.S)]


def report(folder, name, logs):
    out = os.path.join(folder, name)
    subprocess.run([os.path.join(TOOLS, "sqtrace-report"), "--data=" + os.path.join(SOURCE, "tools"), "--quiet", "--figures=load",
                    "-o", out, *["--access-log=%s=%s" % pair for pair in logs]], check=True, stdin=subprocess.DEVNULL)
    return words_of(out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, before, after, word, also) in enumerate(PAIRS):
            logs = [(label, os.path.join(folder, "%s-%d.log" % (label, i))) for label in ("before", "after")]
            before.log(logs[0][1], 2 * i + 1)
            after.log(logs[1][1], 2 * i + 2)
            first, rest = report(folder, "report-%d" % i, logs)
            check(first.startswith(word + ":") and also in first, "%s: %s" % (name, word), first)
            if i == 0:
                check(any(line.startswith("What moved: hits from memory went from 10 % to 4") for line in rest), "and what moved", rest)
                check(any(line.startswith("Hit ratio: 5") and "chance" not in line for line in rest), "and the hit ratios", rest)
            if i == 9:
                same = logs
            if i == 8:
                check(not any("What moved" in line or "The load differs" in line for line in rest), "nothing moved", rest)
        few = os.path.join(folder, "few.log")
        with open(same[0][1], encoding="utf-8") as source, open(few, "w", encoding="utf-8") as file:
            file.writelines(source.readlines()[:40])
        some = []
        for label, path in same:
            some.append((label, os.path.join(folder, "some-%s.log" % label)))
            with open(path, encoding="utf-8") as source, open(some[-1][1], "w", encoding="utf-8") as file:
                file.writelines(source.readlines()[:800])
        first, rest = report(folder, "some", some)
        check(first.startswith("No difference is certain:") and re.search(r"\(from -\d+ % to \+\d+ % is possible\)", first),
              "800 requests: what may be hidden is said", first)
        Proxy(rate=2500.0).log(os.path.join(folder, "fast.log"), 99)
        _, rest = report(folder, "fast", [same[0], ("fast", os.path.join(folder, "fast.log"))])
        check(any(re.match(r"Load: [45]\d(\.\d)? requests a second before, [12],\d\d\d after, ", line) for line in rest),
              "rates are numbers that people read", rest)
        first, _ = report(folder, "few", [("before", few), ("after", same[1][1])])
        check(first == "Too few requests to say whether the change was good.", "40 requests: nothing is claimed", first)
    print("1..%d" % done)


main()
