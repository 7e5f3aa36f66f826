#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""exporter_site.py - what is shipped with sqtrace-exporter: alerts, dashboard, the unit for systemd.

promtool judges the alerts and each query of the dashboard; systemd-analyze judges the unit.  Where one is missing, its cases
are skipped.  Each metric that they name must be in metrics.def.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, TOOLS = os.environ["SQT_SOURCE"], os.environ["SQT_TOOLS"]
SITE = os.path.join(SOURCE, "tools", "exporter", "site")
EXPOSURE = 2.0
done = 0


def check(good, text, skip=""):
    global done
    done += 1
    print("%s %d - %s%s" % ("ok" if good else "not ok", done, text, " # SKIP " + skip if skip else ""), flush=True)


def judged(text, *command, **how):
    """A case: the command has status 0."""
    if not shutil.which(command[0]):
        check(True, text, command[0] + " is not installed")
        return ""
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **how)
    check(found.returncode == 0, text)
    if found.returncode:
        print("# " + found.stdout.decode().replace("\n", "\n# "))
    return found.stdout.decode()


def text_of(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


def rules(folder):
    shutil.copy(os.path.join(SITE, "alerts.yml"), folder)
    shutil.copy(os.path.join(SOURCE, "tests", "unit", "exporter-alerts.yml"), folder)
    judged("promtool has nothing to say about the alerts", "promtool", "check", "rules", "alerts.yml", cwd=folder)
    judged("each alert fires where it should", "promtool", "test", "rules", "exporter-alerts.yml", cwd=folder)
    shutil.copy(os.path.join(SITE, "squid-exporter-names.yml"), folder)
    judged("and nothing about the names of squid-exporter", "promtool", "check", "rules", "squid-exporter-names.yml", cwd=folder)
    alerts = re.findall(r"alert: (\w+)", text_of(SITE, "alerts.yml"))
    tested = text_of(SOURCE, "tests", "unit", "exporter-alerts.yml")
    check(len(alerts) >= 5 and all("alertname: " + alert in tested for alert in alerts), "%d alerts are tested" % len(alerts))


def dashboard(folder):
    panels = json.loads(text_of(SITE, "dashboard.json"))["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    check(len(panels) == len({panel["id"] for panel in panels}) and all(panel["description"] for panel in panels),
          "%d panels, each with an id and a description" % len(panels))
    with open(os.path.join(folder, "dashboard.yml"), "w", encoding="utf-8") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": [
            {"record": "q%d" % i, "expr": re.sub(r"\$(instance|kid|class)\b", ".*", query.replace("$__rate_interval", "1m"))}
            for i, query in enumerate(queries)]}]}, file)
    judged("promtool reads %d queries of the dashboard" % len(queries), "promtool", "check", "rules", "dashboard.yml", cwd=folder)
    return queries


def names(queries):
    """Metrics, and labels that a query groups by or picks."""
    table = text_of(SOURCE, "tools", "exporter", "metrics.def")
    metrics = set(re.findall(r'"((?:sqtrace|process)_[a-z_]+)"', table))
    labels = set(re.findall(r"EXPORT_LABEL(?:_MADE)?\([a-z_]+, ([a-z_]+)", table)) | {"instance", "job", "le"}
    used = " ".join(queries + re.findall(r"(?:expr: |  ).*sqtrace_.*", text_of(SITE, "alerts.yml") + text_of(SITE, "squid-exporter-names.yml")))
    named = set(re.findall(r"(?:sqtrace|process)_[a-z_]+", used)) - {"sqtrace_log"}
    unknown = {name for name in named if name not in metrics and re.sub("_(bucket|sum|count)$", "", name) not in metrics}
    check(len(named) > 10 and not unknown, "each metric that they name is in metrics.def %s" % sorted(unknown))
    grouped = {label.strip() for words in re.findall(r"(?:by|on) \(([^)]*)\)", used) for label in words.split(",")}
    check(not grouped - labels, "and each label %s" % sorted(grouped - labels))


def unit():
    path = os.path.join(TOOLS, "sqtrace-exporter.service")
    text = text_of(path)
    check("@" not in text.replace("@system-service", "").replace("@privileged", "").replace("@resources", ""),
          "nothing in the unit is left to be replaced")
    found = judged("systemd-analyze judges the unit", "systemd-analyze", "security", "--offline=yes", "--no-pager", path)
    exposure = re.search(r"Overall exposure level for [^:]*: ([0-9.]+)", found)
    check(not found or float(exposure.group(1)) <= EXPOSURE, "its exposure is %s" % (exposure.group(1) if exposure else "-"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        rules(folder)
        names(dashboard(folder))
    unit()
    print("1..%d" % done)


main()
