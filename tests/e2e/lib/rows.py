# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold between the rows of `requests` and the lines of access.log, recomputed here from both."""

import bisect
import collections

from . import access, dump
from .clocks import MS, Agreement
from .dump import seconds_ns
from .pairs import check_pairs

STAGES = ("access_ns redirect_ns adapt_ns lookup_ns peer_select_ns dns_ns connect_ns tls_ns request_send_ns "
          "client_body_ns server_wait_ns server_reply_ns tunnel_ns swap_in_open_ns swap_in_first_ns swap_in_rest_ns "
          "reply_wait_ns proxy_reply_ns").split()
LATE_STAGES = "helper_ns collapsed_wait_ns held_back_ns failed_tries_ns".split()
ALL_STAGES = STAGES + LATE_STAGES
COLUMNS = ("time_s kid xid conn method status tag class size_bytes sent_bytes object client_connect_ns".split()
           + STAGES + ("unaccounted_ns total_ns first_byte_ns tries reused_conn collapsed swap_ins "
                       "outcome").split())


def brief(row):
    """What is not empty in a row, in one line."""
    return " ".join("%s=%s" % item for item in row.items() if item[1] not in ("-", "0"))


def first_few(items, count=4):
    return "; ".join(str(item) for item in items[:count])


def join(env, lines, rows):
    """Pairs (line, row) joined by kid and xid; fails for each that has no partner or two."""
    by_key = collections.defaultdict(list)
    nameless_rows = collections.Counter()
    for row in rows:
        if row["xid"] == "-":
            nameless_rows[int(row["kid"])] += 1
        else:
            by_key[int(row["kid"]), int(row["xid"])].append(row)
    nameless_lines = collections.Counter()
    pairs, alone = [], []
    seen = collections.Counter()
    for line in lines:
        if line.xid is None:
            nameless_lines[line.kid] += 1
            continue
        key = (line.kid, line.xid)
        seen[key] += 1
        if key in by_key:
            pairs.append((line, by_key[key][0]))
        else:
            alone.append(line)
    double = [key for key, found in by_key.items() if len(found) > 1]
    without = [key for key in by_key if key not in seen]
    env.check(not alone, "%d of %d lines of access.log have no row: %s" % (len(alone), len(lines), first_few(alone)))
    env.check(not double, "%d transactions have several rows: %s" % (len(double), first_few(double)))
    env.check(not without, "%d rows have no line in access.log: %s"
              % (len(without), first_few([brief(by_key[key][0]) for key in without], 2)))
    env.check(not [key for key, count in seen.items() if count > 1], "access.log names a transaction twice")
    env.equal(dict(nameless_rows), dict(nameless_lines), "rows and lines without a transaction id, by kid")
    return pairs


def check_fields(env, pairs):
    """tag, tries, status, method and size agree with the line."""
    for name, of_line, of_row in (("tag", lambda line: line.tag, lambda row: row["tag"]),
                                  ("tries", lambda line: line.tries, lambda row: row.ns("tries")),
                                  ("status", lambda line: line.status, lambda row: row.ns("status")),
                                  ("sent_bytes", lambda line: line.sent, lambda row: row.ns("sent_bytes")),
                                  ("method", lambda line: line.method.replace("NONE", "-"),
                                   lambda row: row["method"].replace("NONE", "-"))):
        wrong = ["%s is %s, not %s (%s)" % (name, of_row(row), of_line(line), line) for line, row in pairs
                 if of_line(line) is not None and of_line(line) != of_row(row)]
        env.check(not wrong, "%d of %d rows: %s" % (len(wrong), len(pairs), first_few(wrong, 3)))


def check_sums(env, rows):
    """The stages and unaccounted_ns equal total_ns in every row."""
    wrong = []
    for row in rows:
        if row["outcome"] in ("lost", "unfinished"):
            continue
        total = sum(row.ns(stage) for stage in ALL_STAGES) + row.ns("unaccounted_ns")
        if total != row.ns("total_ns") or row.ns("unaccounted_ns") < 0 or any(row.ns(s) < 0 for s in ALL_STAGES):
            wrong.append("xid %s: stages give %d, total_ns is %s" % (row["xid"], total, row["total_ns"]))
    env.check(not wrong, "%d of %d rows do not add up: %s" % (len(wrong), len(rows), first_few(wrong)))


def check_order(env, rows):
    """Rows come in the order of their ends; the first byte of a reply comes before its last."""
    ends = [row.begin_ns + row.ns("total_ns") for row in rows if row["outcome"] not in ("lost", "unfinished")]
    wrong = [index for index in range(1, len(ends)) if ends[index] < ends[index - 1]]
    env.check(not wrong, "%d of %d rows end before the row above them" % (len(wrong), len(ends)))
    late = [row["xid"] for row in rows if row["first_byte_ns"] != "-" and row.ns("first_byte_ns") > row.ns("total_ns")]
    env.check(not late, "first_byte_ns exceeds total_ns: xid %s" % first_few(late))


def check_outcomes(env, pairs):
    """A tag that says how it ended, and an outcome that says the same.  Squid calls a fetch that failed _ABORTED, too,
    and sends an error page of its own."""
    wrong = []
    for line, row in pairs:
        if line.tag.endswith("_TIMEDOUT"):
            wanted = ("timeout",)
        elif line.tag.endswith("_ABORTED"):
            wanted = ("error",) if line.status >= 500 else ("aborted",)
        else:
            wanted = ("complete", "error")
        if row["outcome"] not in wanted:
            wrong.append("%s is %s" % (line, row["outcome"]))
    env.check(not wrong, "%d rows with a wrong outcome: %s" % (len(wrong), first_few(wrong)))


def check_run(env, squid):
    """All of the above for a run that was stopped cleanly, and that what began has ended.  {X-Tag: (line, row)}, and
    under None the pairs without one."""
    requests = dump.table(env, squid.directory, "requests")
    pairs = join(env, access.read(squid), requests)
    check_fields(env, pairs)
    check_outcomes(env, pairs)
    check_sums(env, requests)
    check_order(env, requests)
    check_pairs(env, squid.directory)
    found = {line.xtag: (line, row) for line, row in pairs if line.xtag != "-"}
    found[None] = [(line, row) for line, row in pairs if line.xtag == "-"]
    return found


def check_unaccounted(env, rows, limit=0.02, alone=False):
    """unaccounted_ns is less than that share of total_ns over the misses.  alone: requests came one at a time, so that
    what Squid was held up for while a row lasted is that row's."""
    def unaccounted(row):
        begin, end = env.held.ends(row)
        return max(0, row.ns("unaccounted_ns") - (env.held.within((begin, end)) if alone else 0))
    misses = [row for row in rows if row["class"] == "miss" and row["outcome"] == "complete"]
    total = sum(row.ns("total_ns") for row in misses)
    if not env.check(total, "no miss has a row"):
        return
    raw = sum(row.ns("unaccounted_ns") for row in misses) / total
    share = sum(unaccounted(row) for row in misses) / total
    env.note("unaccounted share over misses: %.3f %%, %.3f %% of it unexplained" % (raw * 100, share * 100))
    env.check(share < limit, "unaccounted_ns is %.2f %% of the total over misses; the worst: %s"
              % (share * 100, first_few([brief(row) for row in sorted(misses, key=unaccounted)[-2:]], 2)))


def check_one_at_a_time(env, pairs):
    """total_ns is within 1 ms of %.3tr for 99.9 % of the rows."""
    off = Agreement(env)
    for line, row in pairs:
        off.add("total_ns and %.3tr", line, row.ns("total_ns"), line.ms * MS, *env.held.ends(row))
    off.check(share=0.999)


def check_stage(env, row, stage, wanted_ns, within_ns, what):
    """A stage lasted as long as it should."""
    off = abs(row.ns(stage) - wanted_ns)
    env.check(off <= within_ns or off <= within_ns + env.held.during(row), "%s: %s is %.3f ms, wanted %.3f within %.1f"
              % (what, stage, row.ns(stage) / MS, wanted_ns / MS, within_ns / MS))


def check_no_other(env, row, stages, what, limit_ns=15 * MS):
    """No stage but these took long."""
    for stage in ALL_STAGES + ["unaccounted_ns"]:
        if stage not in stages and row.ns(stage) >= limit_ns:
            env.check(row.ns(stage) < limit_ns + env.held.during(row), "%s: %s is %.3f ms"
                      % (what, stage, row.ns(stage) / MS))


class Passes:
    """The passes of the event loop of each kid, from WAIT_BEGIN and WAIT_END in the `events` table."""

    def __init__(self, wait_begins, wait_ends):
        self.begins = collections.defaultdict(list)  # kid -> when the work of a pass begins
        self.works = collections.defaultdict(list)   # kid -> how long it lasts
        waits = collections.defaultdict(list)
        for row in wait_begins:
            waits[int(row["kid"])].append(seconds_ns(row["time_s"]))
        for row in wait_ends:
            kid, begin = int(row["kid"]), seconds_ns(row["time_s"])
            index = bisect.bisect_left(waits[kid], begin)
            if index < len(waits[kid]):
                self.begins[kid].append(begin)
                self.works[kid].append(waits[kid][index] - begin)

    def work_at(self, kid, moment):
        """Work time of the pass that moment lies in (the last that began before it), nanoseconds."""
        index = bisect.bisect_right(self.begins[kid], moment) - 1
        return self.works[kid][index] if index >= 0 else None


def check_by_passes(env, pairs, passes, slack_ns=2000):
    """total_ns differs from %.3tr by no more than the work of the passes in which the request began and ended."""
    wrong, checked = [], 0
    for line, row in pairs:
        begin, total = row.begin_ns, row.ns("total_ns")
        works = [passes.work_at(line.kid, begin), passes.work_at(line.kid, begin + total)]
        if None in works:
            continue
        checked += 1
        off = abs(total - line.ms * 1e6)
        if off > max(works) + slack_ns:
            wrong.append("off by %.1f us, passes worked %.1f and %.1f us: %s"
                         % (off / 1e3, works[0] / 1e3, works[1] / 1e3, line))
    env.note("checked %d rows against the passes of the loop" % checked)
    env.check(checked > len(pairs) * 0.98, "only %d of %d rows lie in known passes" % (checked, len(pairs)))
    env.check(not wrong, "%d of %d rows are off by more than their passes: %s"
              % (len(wrong), checked, first_few(wrong)))
