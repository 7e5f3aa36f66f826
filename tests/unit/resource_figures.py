# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of resource samples once more, for figures_oracle.py."""

import collections
from fractions import Fraction

from oracle import LEAST, dump, milli, ms, share, whole

COUNTERS = """cpu_user_us cpu_system_us voluntary_switches involuntary_switches minor_faults major_faults cpu_user_ms
    cpu_system_ms cpu_idle_ms cpu_iowait_ms cpu_steal_ms paged_in_kb paged_out_kb swapped_in_pages swapped_out_pages reads
    read_bytes read_ms writes written_bytes write_ms busy_ms queue_ms
    listen_overflows listen_drops drops""".split()


def rounded(value):
    """Half a unit goes up; None where there is no value."""
    return None if value is None else int(value + Fraction(1, 2))


class Group:
    """What was sampled in a time group, by name."""

    def __init__(self):
        self.grown = collections.Counter()  # of counters
        self.ns = collections.Counter()     # in that time
        self.gauges = collections.defaultdict(list)

    def over_time(self, name, factor=1):
        """Growth of a counter, times the factor, by nanosecond."""
        return Fraction(self.grown[name] * factor, self.ns[name]) if self.ns[name] else None

    def per_s(self, name):
        return milli(rounded(self.over_time(name, 10**12)))

    def mean(self, name):
        values = self.gauges[name]
        return rounded(Fraction(sum(values), len(values))) if values else None


def sampled(trace, first_word):
    """{(kid, source): {group: Group}} in the order of the rows of a figure."""
    found, before = {}, {}
    for r in dump(trace.path, "--table=samples")[1]:
        kid, at, value = int(r["kid"]), whole(r["time_s"]), int(r["value"])
        key = (kid, r["source"], r["name"])
        if r["source"].split()[0] != first_word or r["name"] in ("future_value", "thing"):
            continue
        groups = found.setdefault((kid, r["source"]), collections.defaultdict(Group))
        if r["name"] not in COUNTERS:
            groups[trace.group(at)].gauges[r["name"]].append(value)
            continue
        last, last_at = before.get(key, (None, None))
        before[key] = value, at
        if last is not None and value >= last:
            group = groups[trace.group(at)]
            group.grown[r["name"]] += value - last
            group.ns[r["name"]] += at - last_at
    return {key: dict(sorted(found[key].items())) for key in sorted(found)}


def text(value):
    return "-" if value is None else str(value)


def with_values(rows):
    """Those that have more than their names."""
    for row in rows:
        if any(value != "-" for column, value in row.items() if column not in ("time_s", "kid", "disk", "listener")):
            yield row


def process_rows(trace):
    for (kid, _), groups in sampled(trace, "process").items():
        for group, g in groups.items():
            yield {"time_s": trace.middle(group), "kid": str(kid),
                   "user_pct": milli(rounded(g.over_time("cpu_user_us", 10**8))),
                   "system_pct": milli(rounded(g.over_time("cpu_system_us", 10**8))),
                   "voluntary_per_s": g.per_s("voluntary_switches"), "involuntary_per_s": g.per_s("involuntary_switches"),
                   "minor_faults_per_s": g.per_s("minor_faults"), "major_faults_per_s": g.per_s("major_faults"),
                   "descriptors": text(g.mean("descriptors")), "rss_bytes": text(g.mean("rss_bytes"))}


def machine_rows(trace):
    for (kid, _), groups in sampled(trace, "machine").items():
        for group, g in groups.items():
            parts = {name: g.grown["cpu_%s_ms" % name] for name in ("user", "system", "iowait", "steal", "idle")}
            total = sum(parts.values())
            row = {"time_s": trace.middle(group), "kid": str(kid),
                   "paged_in_kb_per_s": g.per_s("paged_in_kb"), "paged_out_kb_per_s": g.per_s("paged_out_kb"),
                   "swapped_in_pages_per_s": g.per_s("swapped_in_pages"),
                   "swapped_out_pages_per_s": g.per_s("swapped_out_pages")}
            row.update((name + "_pct", milli(rounded(Fraction(part * 10**5, total)) if total else None))
                       for name, part in parts.items())
            yield row


def disk_rows(trace):
    for (kid, source), groups in sampled(trace, "disk").items():
        for group, g in groups.items():
            ios = g.grown["reads"] + g.grown["writes"]

            def by_io(*names):
                return ms(rounded(Fraction(sum(g.grown[n] for n in names) * 10**6, ios)) if ios else None)

            def kb(name):
                value = g.over_time(name, 10**12)
                return milli(None if value is None else rounded(value / 1024))

            yield {"time_s": trace.middle(group), "kid": str(kid), "disk": source.split(" ", 1)[1],
                   "reads_per_s": g.per_s("reads"), "writes_per_s": g.per_s("writes"),
                   "read_kb_per_s": kb("read_bytes"), "written_kb_per_s": kb("written_bytes"),
                   "queue": milli(rounded(g.over_time("queue_ms", 10**9))), "wait_ms": by_io("read_ms", "write_ms"),
                   "service_ms": by_io("busy_ms"), "busy_pct": milli(rounded(g.over_time("busy_ms", 10**11)))}


def backlog_rows(trace):
    names = collections.defaultdict(set)
    for row in dump(trace.path, "--table=listeners")[1]:
        names[int(row["kid"])].add(row["listener"])
    for (kid, source), groups in sampled(trace, "listener").items():
        # Numbers are those of the ports in squid.conf: here http_port, and then https_port.
        of_kid, number = sorted(names[int(kid)] - {"-"}), int(source.split()[1])
        for group, g in groups.items():
            values = g.gauges["backlog"]
            yield {"time_s": trace.middle(group), "kid": str(kid),
                   "listener": of_kid[number - 1] if number <= len(of_kid) else "-",
                   "backlog": milli(rounded(Fraction(1000 * sum(values), len(values))) if values else None),
                   "backlog_limit": text(g.mean("backlog_limit")), "drops_per_s": g.per_s("drops")}


def cache_rows(trace, hit):
    """hit: whether a request is one."""
    requests = collections.defaultdict(list)
    for r in trace.ended:
        requests[trace.group(r["begin"])].append(r)
    kids = sampled(trace, "squid").values()
    for group in range(trace.groups):
        rows = requests[group]
        row = {"time_s": trace.middle(group), "requests": str(len(rows)), "dhr_pct": share(sum(map(hit, rows)), len(rows)),
               "bhr_pct": share(sum(r["sent_bytes"] or 0 for r in rows if hit(r)), sum(r["sent_bytes"] or 0 for r in rows))}
        for name in ("memory_bytes", "memory_objects", "disk_bytes", "disk_objects"):
            means = [groups[group].mean(name) for groups in kids if group in groups]
            means = [m for m in means if m is not None]
            row[name] = text(sum(means) if means else None)
        if len(rows) >= LEAST or row["disk_bytes"] != "-":
            yield row
