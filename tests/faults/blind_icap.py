# SPDX-License-Identifier: GPL-2.0-or-later
"""An ICAP service that takes 1.2 s for its options, which are fresh for an hour, as a program (blind_icap.py LOG HOST
PORT)."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from lib.child import serve_threads  # noqa: E402
from lib.icapd import COLUMNS, Connection, IcapServer  # noqa: E402


class Considering(Connection):
    def options(self, name):
        time.sleep(1.2)
        super().options(name)


class ConsideringServer(IcapServer):
    def __init__(self, env, host="127.0.0.1"):
        super(IcapServer, self).__init__(env, os.path.abspath(__file__), COLUMNS, [host, "0"], "considering", host)


if __name__ == "__main__":
    serve_threads(Considering, sys.argv[1], sys.argv[2], int(sys.argv[3]))
