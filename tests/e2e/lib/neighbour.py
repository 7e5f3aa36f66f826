# SPDX-License-Identifier: GPL-2.0-or-later
"""A neighbour that answers ICP and HTCP queries as the URL asks for, and logs its own clock.

Run as a program (neighbour.py LOG HOST): prints its UDP port, serves until its input ends.  The URL is one of the
origin's; these of its words are for the neighbour:

    ask=hit, miss (the default), denied or never   what it answers
    late=MS                                        how late

Log, tab separated, nanoseconds of CLOCK_MONOTONIC:
    last part of the URL  protocol  received_ns  answered_ns
"""

import asyncio
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.child import Child, serve  # noqa: E402

COLUMNS = ("protocol", "received_ns", "answered_ns")
ICP_QUERY = 1
ICP_ANSWERS = {"hit": 2, "miss": 3, "denied": 22}
HTCP_NOP, HTCP_TST, HTCP_CLR = 0, 1, 4


def icp_message(opcode, serial, url, version=2):
    """A datagram; a query holds the address of its requester before the URL."""
    payload = (b"\0" * 4 if opcode == ICP_QUERY else b"") + url.encode("latin-1") + b"\0"
    return struct.pack("!BBHIIII", opcode, version, 20 + len(payload), serial, 0, 0, 0) + payload


def htcp_message(opcode, serial, payload, response=0, is_response=False, f1=False):
    data = struct.pack("!HBBI", 8 + len(payload), opcode << 4 | response, is_response | f1 << 1, serial) + payload
    return struct.pack("!HBB", 4 + len(data) + 2, 0, 1) + data + struct.pack("!H", 2)


def htcp_text(text):
    return struct.pack("!H", len(text)) + text.encode("latin-1")


def htcp_specifier(url):
    return b"".join(htcp_text(text) for text in ("GET", url, "1/1", ""))


class Neighbour(asyncio.DatagramProtocol):
    def __init__(self, log):
        self.log = log
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        received = time.monotonic_ns()
        if data[1] == 2 and data[0] == ICP_QUERY:
            protocol, url, serial = "icp", data[24:-1].decode("latin-1"), struct.unpack("!I", data[4:8])[0]
        elif struct.unpack("!H", data[:2])[0] == len(data) and data[6] >> 4 == HTCP_TST and not data[7] & 1:
            protocol, serial = "htcp", struct.unpack("!I", data[8:12])[0]
            method_size = struct.unpack("!H", data[12:14])[0]
            url_at = 14 + method_size
            url_size = struct.unpack("!H", data[url_at:url_at + 2])[0]
            url = data[url_at + 2:url_at + 2 + url_size].decode("latin-1")
        else:
            return
        want = dict(word.partition("=")[::2] for word in re.split("[/;]", url) if "=" in word)
        answer = want.get("ask", "miss")
        if answer == "never":
            self.note(url, protocol, received, 0)
            return
        if protocol == "icp":
            reply = icp_message(ICP_ANSWERS[answer], serial, url)
        else:
            reply = htcp_message(HTCP_TST, serial, htcp_text("") * 3, response=answer != "hit", is_response=True)
        asyncio.get_running_loop().call_later(int(want.get("late", 0)) / 1000, self.send, reply, peer, url, protocol,
                                              received)

    def send(self, reply, peer, url, protocol, received):
        self.note(url, protocol, received, time.monotonic_ns())
        self.transport.sendto(reply, peer)

    def note(self, url, protocol, received, answered):
        self.log.write("%s\t%s\t%d\t%d\n" % (url.rsplit("/", 1)[1], protocol, received, answered))


async def start(log):
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Neighbour(log),
                                                                             local_addr=(sys.argv[2], 0))
    return transport.get_extra_info("sockname")[1]


class NeighbourServer(Child):
    def __init__(self, env, host, name="neighbour"):
        Child.__init__(self, env, "neighbour.py", COLUMNS, [host], name)


if __name__ == "__main__":
    serve(start, sys.argv[1])
