# SPDX-License-Identifier: GPL-2.0-or-later
"""access.log lines of the log format that squid.py sets.  None is what Squid's version does not log."""


class Line:
    __slots__ = ("kid", "time", "xid", "method", "tag", "status", "sent", "ms", "tries", "xtag", "error", "url")

    def __init__(self, kid, words):
        self.kid = kid
        self.time = float(words[0])
        self.xid = None if words[1] == "-" else int(words[1])
        self.method = words[2]
        self.tag = words[3]
        self.status = int(words[4])
        self.sent = int(words[5])
        self.ms = float(words[6])
        self.tries = None if words[7] == "?" else 0 if words[7] == "-" else int(words[7])
        self.xtag = words[8]
        self.error = words[9]
        self.url = words[10] if len(words) > 10 else ""

    def __repr__(self):
        return "kid %d xid %s %s %s %d %s %.3f ms %s" % (self.kid, self.xid, self.method, self.tag, self.status,
                                                        self.xtag, self.ms, self.url)


def read(squid):
    """Every line of every kid's log."""
    lines = []
    for kid, paths in squid.access_logs().items():
        for path in paths:
            with open(path, errors="replace") as log:
                for text in log:
                    words = text.rstrip("\n").split(" ", 10)
                    if len(words) >= 10:
                        lines.append(Line(kid, words))
    return lines
