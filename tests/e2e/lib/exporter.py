# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-exporter as a child process, and what it serves."""

import json
import re
import subprocess
import urllib.request

from .env import wait_for


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return answer.read().decode()


class Exporter:
    def __init__(self, env, directory, *options, listen="127.0.0.1:0", says="follows"):
        self.errors = env.path("exporter-%d.err" % len(env.closers))
        self.process = subprocess.Popen([env.tool("sqtrace-exporter"), "--listen=" + listen, *options, directory],
                                        stderr=open(self.errors, "wb"), stdin=subprocess.DEVNULL)
        env.on_close(self.process.kill)
        self.address = wait_for(lambda: re.search(r"serves http://([^/]*)/metrics", self.said()), 20, "the exporter").group(1)
        wait_for(lambda: says in self.said(), 20, "the exporter to say: " + says)

    def said(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def values(self, name):
        """{labels: value} of a metric."""
        found = re.findall(r"^%s\{([^}]*)\} ([0-9.]+)$" % name, fetch("http://%s/metrics" % self.address), re.M)
        return {tuple(sorted(re.findall(r'([a-z]+)="([^"]*)"', labels))): float(value) for labels, value in found}

    def page(self):
        """{table: rows} of the live page."""
        tables = json.loads(fetch("http://%s/live.json" % self.address))["tables"]
        return {name: [dict(zip(table["columns"], row)) for row in table["rows"]] for name, table in tables.items()}

    def private_kb(self):
        with open("/proc/%d/smaps_rollup" % self.process.pid) as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))
