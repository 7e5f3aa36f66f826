# SPDX-License-Identifier: GPL-2.0-or-later
"""Every event and every hook is fired by one of the tests before this one.

With `run --coverage=FILE` the list of which test fires what is written to FILE.  Run it with the others, or with those
that matter: `run 15 22 99`.
"""

import collections
import re

from lib import native
from lib.env import Skip
from lib.witness import Sites

# Events that no test fires, and why.
UNREACHABLE = {"CLOCK_STEP": "no clock is stepped under a Squid; tests/unit/trace_steps does that to libsqtrace"}

# Hooks that record nothing themselves, or not on their line: what they are for, and the test that fails without them.
# That they are in the tree that was built is looked at here.
SILENT = {
    "LookupAnswered": "gives LOOKUP_END its object: 15",
    "FreshnessIsJudged": "gives XACT_END the reason of a miss: 39",
    "EntryIsStale": "gives XACT_END the reason of a miss: 39",
    "LookupMisses": "gives XACT_END the reason of a miss: 39",
    "ServerIsUsed": "gives SERVER_DONE its connection: 15",
    "HasRunIn": "gives DNS_BEGIN, SWAPIN_OPEN and, with Squid 5, SWAPOUT_OPEN their transactions: 05",
    "ContextOfFirst": "gives SWAPOUT_OPEN and SWAP_REFUSED their transactions: 16, two workers",
    "Delivery": "hands the stamps of an I/O over: 06; what it records at its end has the line of the end: 26",
    "ServiceBegins": "stamps an I/O where it runs: 06",
    "ServiceEnds": "stamps an I/O where it runs: 06",
    "RequestComesBack": "hands the stamps of an I/O over: 06, 26; what it records where an operation was cancelled, no"
                        " test fires: 26, clients that leave while their reads are queued, says why",
    "ResultIsPutBack": "stamps an I/O where it runs: 26",
    "SecondQueueMoves": "stamps an I/O that waits twice: 26, as Squid counts them: aufs",
    "QuestionIsNumbered": "gives DISKOP_BEGIN its number: 26",
    "TakeQuestion": "gives DISKOP_BEGIN its file: 26",
    "ParseDirective": "the directive: 02",
    "ReadConfFile": "the directive in sqtrace.conf: 49",
    "FreeDirective": "the directive: 14, a directive that is removed",
    "HasTrace": "mgr:sqtrace: 14",
    "Report": "mgr:sqtrace: 14",
    "EachSecond": "says what is done each second: 27",
    "AufsQueueIsToldBy": "gives SAMPLE the queue of aufs: 27",
    "LoopDid": "tells what a pass of the event loop did longest: 24",
    "PartBegins": "gives the profile the time of what begins there: 38, an ACL of 20,000 regular expressions",
    "AclIsChecked": "names a part of a pass in the profile: 38, an ACL of 20,000 regular expressions",
    "LogIsWritten": "names a part of a pass in the profile; tests/unit/hooks",
    "DigestWorkBegins": "gives the events of digests their durations: 28",
    "DigestIsUpdated": "gives PART_DIGEST_UPDATES its entries: 28",
    "BlockTravels": "gives a disker's operation its number and clock, and so IO_LATE its block: 16",
    "EntryIsBrought": "gives a follower in another worker its leader: 16",
    "EntryIsBroughtElsewhere": "gives a follower in another worker its leader: 16",
    "BareErrorPageIsReady": "gives XACT_END the flag of an error page: 17, 22",
    "HelperIsToBeAsked": "gives HELPER_BEGIN its transaction and its name: 37",
    "ExternalAclIsToBeAsked": "gives HELPER_BEGIN its transaction and its name: 37",
    "ChildIsAsked": "gives PART_HELPER the time at which a child got the question: 37",
    "QueryIsMade": "gives QUERY_END its transaction: 37",
    "QueryIsMadeBeside": "gives QUERY_END its transaction: 37",
    "QueryIsShared": "keeps the transaction of a look-up without a query from the next query; tests/unit/hooks",
    "QueryIsSent": "gives QUERY_END its name and begin: 37",
    "ValueIsRead": "gives LIST_READ its values: 52",
    "ChildIsReaped": "gives CHILD_DIED its status: 52",
    "LineIsLogged": "gives SAMPLE the lines of cache.log: 52",
    "RequestHeaderIsMade": "sends a span of Squid's own to the server: 48",
    "AccessIsDenied": "emits DENIED, with the ACL, where compilers do not always tell its line: 22",
    "SettingsAreTold": "gives the trace the settings that table whatif needs: 54",
    "TunnelCopies": "gives TUNNEL_END and its parts their times: 22, what goes through tunnels",
    "TunnelServerTookAll": "gives PART_TUNNEL_UPLOAD its time: 22, what goes through tunnels",
    "TunnelIsHeldBack": "gives PART_TUNNEL_HELD its time: 22, what goes through tunnels",
    "TunnelReads": "gives PART_TUNNEL_HELD and PART_TUNNEL_DOWNLOAD their times: 22, what goes through tunnels",
    "NameServerSpeaks": "gives QUERY_END its outcome: 37, a late answer is first",
}

# Hooks that no test fires, and why: {(file, function, a part of the line): reason}.
UNREACHABLE_HOOKS = {
    ("src/comm/ModPoll.cc", "", "Loop"): "an event loop that this Squid is not built with",
    ("src/comm/ModSelect.cc", "", "Loop"): "an event loop that this Squid is not built with",
    ("src/client_side.cc", "ConnStateData::handleSslBumpHandshakeError", "ClientHandshakeFails"):
        "OpenSSL refuses at once a hello that Squid has parsed; those that were tried are refused later",
    ("src/helper.cc", "statefulhelper::", "Helper"): "a helper of NTLM or Negotiate, which this Squid is not built with",
    ("src/helper.cc", "statefulhelper::", "ChildStarts"): "a helper of NTLM or Negotiate, which this Squid is not built with",
    ("src/helper.cc", "helperStatefulOpenServers", "ChildStarts"):
        "a helper of NTLM or Negotiate, which this Squid is not built with",
    ("src/fatal.cc", "fatal_dump", "SquidGivesUp"): "no test makes Squid dump its memory",
    ("src/debug/debug.cc", "xassert", "SquidFails"): "no assertion is known to fail",
    ("src/debug.cc", "xassert", "SquidFails"): "no assertion is known to fail",
    ("src/helper.cc", "helperStatefulHandleRead", "HelperAnswers"):
        "a helper of NTLM or Negotiate, which this Squid is not built with",
    ("src/helper.cc", "Helper::Client::dropQueued", "HelperDies"):
        "the last child ends while questions wait, and no other can be started",
}

# Tests that are skipped, or leave a part out, where something is not there for them, and what nobody else fires then:
# {what a test's name begins with: (an event, or the end of a file's name and a hook, ...)}.
FIRED_BY_ONE = {
    "09 ": ("LOST",),
    "17 ": ("client_side.cc:ClientHandshakeFails", "client_side.cc:ClientHandshakeEnds",
            "tunnel.cc:ClientHandshakeEnds", "client_side_request.cc:ReplyIsWritten",
            "client_side_request.cc:BumpIsAnswered"),
    "22 both families": ("HappyConnOpener.cc:ConnectIsCancelled",),
    "23 clients leave at every stage": ("HappyConnOpener.cc:ConnectIsCancelled",),
    "25 ": ("CALLS", "PART_CALLS", "CALLS_TOLD"),
}


def excuses(env, what):
    """Tests that would have fired that, but were skipped or have left a part out."""
    return [test for test, fired in env.fired.items() if fired.skipped
            and any(test.startswith(name) and any(what.endswith(item) for item in items)
                    for name, items in FIRED_BY_ONE.items())]


def not_fired(env, what, text, excused):
    """That no test fires `what` is a failure, unless the test that would is excused."""
    tests = excuses(env, what)
    if tests:
        excused.append("%s (%s)" % (text, short(tests)))
    else:
        env.check(False, text)


def unreachable(path, function, text):
    """Why no test fires a hook; None if one must."""
    for (file, inside, part), reason in UNREACHABLE_HOOKS.items():
        if file == path and inside in function and part in text:
            return reason
    return None


def hook_name(text):
    """Of the line that a hook stands on."""
    return re.search(r"\bSqtrace::(\w+)", text).group(1)


def short(names):
    return ", ".join(sorted({name.split()[0] for name in names}))


def events_of(fired):
    """{event: {test: records}}"""
    names = native.declared_events()
    found = collections.defaultdict(dict)
    for test, what in fired.items():
        for number, count in what.events.items():
            found[names[number - 1] if 0 < number <= len(names) else "number %d" % number][test] = count
    return found


def check_events(env, lines, excused):
    found = events_of(env.fired)
    for name in native.declared_events():
        tests = found.pop(name, {})
        if name in UNREACHABLE:
            env.check(not tests, "%s is listed as unreachable, but %s fires it" % (name, short(tests)))
            lines.append("event\t%s\t0\t%s" % (name, UNREACHABLE[name]))
            continue
        if not tests:
            not_fired(env, name, "no test fires %s" % name, excused)
        lines.append("event\t%s\t%d\t%s" % (name, sum(tests.values()), short(tests)))
    env.check(not found, "events that the table does not declare: %s" % sorted(found))


def check_hooks(env, lines, excused):
    sites = Sites(env.squid)
    env.check(len(sites.wanted) > 60, "the series has only %d hooks" % len(sites.wanted))
    for hook in sites.missing():
        env.check(False, "not in the tree that was built: " + hook)
    tests_of = collections.defaultdict(set)
    places = sites.of_stacks(env.witness, {stack for what in env.fired.values() for stack in what.stacks})
    for test, what in env.fired.items():
        for stack in what.stacks:
            tests_of[places[stack]].add(test)
    for (path, number), text in sorted(sites.lines.items()):
        reason = unreachable(path, sites.functions[path, number], text)
        silent = SILENT.get(hook_name(text))
        tests = tests_of[path, number]
        if reason:
            env.check(not tests, "%s:%d is listed as unreachable, but %s fires it" % (path, number, short(tests)))
        elif not silent and not tests:
            not_fired(env, path + ":" + hook_name(text), "no test fires %s:%d %s (or its call became a jump: "
                      "StayOnStack in src/squid/ids.h)" % (path, number, text), excused)
        lines.append("hook\t%s:%d %s\t%d\t%s" % (path, number, text, len(tests), reason or silent or short(tests)))


def coverage(env):
    env.require(env.fired, "no test was run before this one")
    lines = ["# what\tname\tcount\ttests, or why none"]
    excused = []
    check_events(env, lines, excused)
    check_hooks(env, lines, excused)
    for line in lines:
        env.note(line)
    if env.coverage:
        with open(env.coverage, "w") as out:
            out.write("\n".join(lines) + "\n")
    if excused and not env.failures:
        raise Skip("skipped tests would have fired what is missing: " + "; ".join(excused[:3]))


ALONE = True  # and last: it looks at what the others have fired

TESTS = [
    ("coverage: every event and every hook is fired by a test", coverage, 300),
]
