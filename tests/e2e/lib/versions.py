# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests know of single Squid versions.  No other file of theirs does."""

# Codes of access.log that a version does not have: it logs "?", which no test compares.
LACKS = {
    5: ("%request_attempts",),
}


def major(version):
    """Of a version such as "5.7"."""
    return int(version.split(".")[0])


def logformat(version, text):
    """A log format as that version can have it."""
    for code in LACKS.get(major(version), ()):
        text = text.replace(code, "?")
    return text


def survives_icp3(version):
    """Before 7, the access check of an ICP query of version 3 frees the request that the answer is about to use."""
    return major(version) >= 7


def makes_keys_without_peers(version):
    """Before 7, the key to look up in digests is made also where there is no peer that could have one."""
    return major(version) < 7


def gateways(version):
    """Protocols of a line of text: {scheme: what stands before the line in a URL}.  Gopher ended with 5."""
    return {"whois": "/", "gopher": "/0"} if major(version) < 6 else {"whois": "/"}
