# SPDX-License-Identifier: GPL-2.0-or-later
"""fleet_answers.py - the questions of doc/fleet.md, and what make_fleet planted as their answers."""
import re


def first(**wanted):
    """The first row has these values."""
    return lambda rows: bool(rows) and all(str(rows[0].get(name)) == str(value) for name, value in wanted.items())


def near(row, name, value):
    return abs(float(row[name]) - value) < 0.02 * value


ANSWERS = {
    "Which proxies got slower since Tuesday?":
        lambda rows: rows[0]["host"] == "proxy-2.paris.example" and near(rows[0], "times", 10.49) and
        rows[1]["host"] == "proxy-2.berlin.example" and near(rows[1], "times", 1.11) and
        all(float(row["times"]) < 1.01 for row in rows[2:]),
    "Which origin is slow for whom?":
        lambda rows: first(site="berlin.example", server="origin-far")(rows) and near(rows[0], "wait_p50_ms", 260.5) and
        near([row for row in rows if row["site"] == "paris.example" and row["server"] == "origin-far"][0], "wait_p50_ms", 4.5),
    "Is it one disk or all?":
        lambda rows: first(host="proxy-2.paris.example", cache_dir="aufs:1")(rows) and near(rows[0], "p99_ms", 30.4) and
        len(rows) == 8 and all(near(row, "p99_ms", 1.4) for row in rows[1:]),
    "Where does the time of each site go?":
        lambda rows: first(site="berlin.example", stage="server_wait")(rows) and
        {row["stage"] for row in rows if row["site"] == "paris.example"} >= {"server_wait", "swap_in_first", "swap_in_rest"},
    "Which proxies serve few hits?":
        lambda rows: len(rows) == 4 and all(near(row, "dhr_pct", 66.7) for row in rows),
    "Where do requests fail, and when?":
        lambda rows: len(rows) == 1 and first(host="proxy-2.berlin.example", failed=20, lost_records=0)(rows) and
        "2026-11-24" in str(rows[0]["hour"]),
    "What do the slowest requests of each proxy wait for?":
        lambda rows: {(row["host"], row["stage"]) for row in rows} >= {("proxy-2.paris.example", "swap_in_rest"),
                                                                      ("proxy-1.berlin.example", "server_wait")},
    "Which hosts have which finding?":
        lambda rows: [(row["host"], row["cause"], row["culprit"]) for row in rows] ==
        [("proxy-2.berlin.example", "failed_answer", "origin-near"), ("proxy-1.berlin.example", "slow_server", "origin-far"),
         ("proxy-2.berlin.example", "slow_server", "origin-far"), ("proxy-2.paris.example", "disk_slow", "aufs:1 /cache/1")] and
        first(requests=20, failures=20)(rows) and near(rows[1], "waiting_s", 52.12),
    "Which cause grew since last week?":
        lambda rows: [row["cause"] for row in rows] == ["failed_answer", "slow_server", "disk_slow"] and
        int(rows[1]["hosts"]) == 2 and near(rows[1], "this_week_s", 21.72),
    "Which requests were the slowest, and did they wait for a disk?":
        lambda rows: len(rows) == 10 and first(host="proxy-2.berlin.example", outcome="error")(rows),
    "What would larger caches bring to the fleet?":  # make_fleet's traces do not say how large caches are; see ship_whatif.py
        lambda rows: not rows,
    "Can I trust these numbers?":
        lambda rows: len(rows) == 4 and first(host="proxy-1.berlin.example", lost_records=5000)(rows) and
        all(int(row["left_out"] or 0) == 0 for row in rows),
}


def questions(page):
    """[(title, name of the query's file, the page's copy of it, whether rows are the answer)] of each section with SQL."""
    with open(page, encoding="utf-8") as text:
        sections = re.split(r"^### ", text.read(), flags=re.M)[1:]
    for section in sections:
        title = section.split("\n", 1)[0]
        for name, query in re.findall(r"^`([a-z-]+\.sql)`:\n\n```sql\n(.*?)^```", section, re.M | re.S):
            yield title, name, query, ANSWERS.get(title)
