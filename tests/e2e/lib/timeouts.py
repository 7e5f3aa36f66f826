# SPDX-License-Identifier: GPL-2.0-or-later
"""How long Squid may wait until a time-out of a connection ends the wait: the bounds that its source allows.

The bounds are for time-outs that Squid keeps in fde::timeout: connect_timeout, peer_connect_timeout, read_timeout,
request_timeout, request_start_timeout, icap_io_timeout and the like.  A pass of Squid's loop does, in this order:

    check   if a new second has begun since the last check, checkTimeouts() looks for time-outs that are due, and queues
            the call of each one's handler
    poll    waits until a descriptor is ready or an event is due, at most a second
    clock   sets squid_curtime, which has whole seconds
    calls   runs all calls that are queued, those of the check too

So the handler runs after the poll that follows the check, and a Squid that has nothing else to do may end a wait almost
two polls after the wait was due.  With connect_timeout 2 seconds, and polls that end 0.96 s after each whole second:

    0.03   the connect begins; it is due at 0 + 2 = 2
    1.96   a poll begins
    2.96   that poll ends; the check queues the handler's call, and the next poll begins
    3.96   that poll ends and the handler runs, after 3.93 s

Time-outs that are events of Squid (dns_timeout, icp_query_timeout, that of the rock disker) come on time: the poll ends
when an event is due, and the event runs in the next pass."""

from .clocks import MS

SECOND = 1000 * MS
ROUNDING = SECOND  # the time counts from the start of the whole second in which the wait begins
DUE_POLL = SECOND  # a poll that began before the wait was due, and ends before the check (max_poll_time, EVENT_LOOP_TIMEOUT)
CALL_POLL = SECOND  # the poll between the check and the handler's call
WORK = 200 * MS  # the passes themselves: a stage may begin or end a pass before or after Squid sets or meets the time-out


def least_ns(seconds):
    """The shortest wait that a time-out of so many seconds ends."""
    return seconds * SECOND - ROUNDING - WORK


def most_ns(seconds):
    """The longest wait that it ends."""
    return seconds * SECOND + DUE_POLL + CALL_POLL + WORK


def longer_ms(seconds):
    """A time in ms within which the time-out comes in any case: how long a server must wait to meet it."""
    return (most_ns(seconds) + SECOND) // MS


def longer_s(seconds):
    """The same in seconds: how long a test must sleep until the time-out has come."""
    return longer_ms(seconds) / 1000


def check(env, row, column, seconds, what):
    """A stage lasted as long as a time-out of so many seconds may take."""
    least, most = least_ns(seconds), most_ns(seconds)
    env.check(least <= row.ns(column) <= most + env.held.during(row),
              "%s: %s is %.0f ms; a time-out of %d s comes after %.0f to %.0f ms"
              % (what, column, row.ns(column) / MS, seconds, least / MS, most / MS))
