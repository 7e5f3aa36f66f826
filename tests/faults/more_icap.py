# SPDX-License-Identifier: GPL-2.0-or-later
"""An ICAP service whose options are fresh for a second, and take 1.5 s, as a program (more_icap.py LOG HOST PORT).  One with
"mute" in its name never has any."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from lib.child import serve_threads  # noqa: E402
from lib.icapd import COLUMNS, Connection, IcapServer  # noqa: E402


class Forgetful(Connection):
    def options(self, name):
        time.sleep(3600 if "mute" in name else 1.5)
        super().options(name)

    def say(self, data):
        super().say(data.replace(b"Options-TTL: 3600", b"Options-TTL: 1"))


class ForgetfulServer(IcapServer):
    def __init__(self, env, host="127.0.0.1"):
        super(IcapServer, self).__init__(env, os.path.abspath(__file__), COLUMNS, [host, "0"], "forgetful", host)


if __name__ == "__main__":
    serve_threads(Forgetful, sys.argv[1], sys.argv[2], int(sys.argv[3]))
