# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests know of single Squid versions.  No other file of theirs does."""

# Codes of access.log that a version does not have: it logs "?", which no test compares.
LACKS = {
    5: ("%request_attempts",),
}


def major(version):
    """Of a version such as "5.7"."""
    return int(version.split(".")[0])


def release(version):
    """As numbers, to compare: "5.7" comes before "5.10".  A tree of version control is "5.7-VCS"."""
    return tuple(int(number) for number in version.split("-")[0].split("."))


def logformat(version, text):
    """A log format as that version can have it."""
    for code in LACKS.get(major(version), ()):
        text = text.replace(code, "?")
    return text


def survives_icp3(version):
    """Before 7.5, the access check of an ICP query of version 3 frees the request that the answer is about to use."""
    return release(version) >= (7, 5)


def makes_keys_without_peers(version):
    """Before 7, the key to look up in digests is made also where there is no peer that could have one."""
    return major(version) < 7


def gateways(version):
    """Protocols of a line of text: {scheme: what stands before the line in a URL}.  Gopher ended with 5."""
    return {"whois": "/", "gopher": "/0"} if major(version) < 6 else {"whois": "/"}


def refusal(version):
    """What squid -k parse says before the fault that a directive's parser found."""
    return "configuration error: " if major(version) < 6 else "ERROR: "


def status_without_address(version):
    """Of the reply for a host without an address: 5 hands the selection of paths an empty list instead of none, so no
    error says why there is no path.  Before 5.7 that list also fails a check (Squid's bug 5186)."""
    return 500 if release(version) < (5, 7) else 502 if major(version) < 6 else 503


def revives_killed_kids(version):
    """5.5 takes SIGKILL to a worker for the end of its work (Squid's bug 5208)."""
    return release(version) >= (5, 6)


def fetch_failed(version, outcome, status):
    """The outcome of a request whose fetch failed, with the status of its error page, or None for a reply that broke
    off.  5 writes over what it knew of the failure when it logs the request (ClientHttpRequest::logRequest)."""
    if major(version) >= 6:
        return outcome
    return "error" if status and status >= 500 else "complete"


def tag_of_failed_fetch(version, tag):
    """As above: in 5 only a client that leaves makes a tag longer."""
    return tag.replace("_ABORTED", "").replace("_TIMEDOUT", "") if major(version) < 6 else tag


def tag_of_purge(version):
    """5 calls a PURGE a miss."""
    return "TCP_MISS" if major(version) < 6 else "NONE_NONE"


def tunnel_that_is_none(version, outcome):
    """Class, outcome and tag of a CONNECT that is answered with an error: 5 calls it a tunnel only when there is a
    connection to the server."""
    return ("error", "error", "NONE_NONE") if major(version) < 6 else ("tunnel", outcome, "TCP_TUNNEL")


def header_cut_short(version):
    """Status and outcome of a reply whose header ends with the connection: 5 takes the end for an empty line."""
    return (200, "complete") if major(version) < 6 else (502, "error")


def acl_that_looks_up(version):
    """A type of ACL that looks a name up.  5 asks for the name of each client when it connects, for no transaction,
    because url_rewrite_extras has it (%>A); so it uses the server's."""
    return "dstdomain" if major(version) < 6 else "srcdomain"


def said_of_digests(version):
    """What cache.log says when it looks a peer up, when the peer has a digest, and when that says hit."""
    if major(version) < 6:
        return "peerDigestLookup: peer \\S+\n", "peerDigestLookup: OK to lookup", "peerDigestLookup: peer \\S+ says HIT"
    return "peerDigestLookup: cache_peer ", "peerDigestLookup: OK to lookup", "peerDigestLookup: HIT for"


def waits_for_goodbye(version):
    """5 ends an FTP request whose length it knows once the client has all of it, and reads the server's last words
    alone."""
    return major(version) >= 6


def keeps_after_own_answer(version):
    """5 takes what a REQMOD service answers itself for cut short, and closes the client's connection after it."""
    return major(version) >= 6
