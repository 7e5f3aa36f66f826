# SPDX-License-Identifier: GPL-2.0-or-later
"""A name server that does what the name says, and logs its own clock.

Run as a program (nameserver.py LOG ADDRESS ROLE ANSWER): serves port 53 of ADDRESS until its input ends.  Every name has
the address ANSWER, and no other.  The first label of a name holds words with "-" between; ROLE is that server's letter:

    aMS     the server of role a answers after so many milliseconds
    amute   it does not answer
    atwice  it answers twice

Log, tab separated, nanoseconds of CLOCK_MONOTONIC: first label  kind  received_ns  answered_ns (0: never)
kind: 1 for A, 28 for AAAA.
"""

import asyncio
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.child import Child, serve  # noqa: E402

COLUMNS = ("kind", "received_ns", "answered_ns")


class Names(asyncio.DatagramProtocol):
    def __init__(self, log, role, answer):
        self.log, self.role, self.address = log, role, bytes(int(part) for part in answer.split("."))

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        received = time.monotonic_ns()
        end = data.index(b"\0", 12) + 5
        label = data[13:13 + data[12]].decode("latin-1")
        kind = int.from_bytes(data[end - 4:end - 2], "big")
        reply = data[:2] + b"\x81\x80\0\1" + (b"\0\1" if kind == 1 else b"\0\0") + b"\0\0\0\0" + data[12:end]
        if kind == 1:
            reply += b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + self.address
        wait = re.search(r"\b%s(\d+)\b" % self.role, label)
        if re.search(r"\b%smute\b" % self.role, label):
            self.note(label, kind, received, 0)
        else:
            asyncio.get_running_loop().call_later(int(wait.group(1)) / 1000 if wait else 0, self.say, reply, peer,
                                                  label, kind, received)

    def say(self, reply, peer, label, kind, received):
        answered = time.monotonic_ns()
        self.transport.sendto(reply, peer)
        if re.search(r"\b%stwice\b" % self.role, label):
            self.transport.sendto(reply, peer)
        self.note(label, kind, received, answered)

    def note(self, *words):
        self.log.write("\t".join(map(str, words)) + "\n")


async def start(log):
    address, role, answer = sys.argv[2:]
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: Names(log, role, answer),
                                                              local_addr=(address, 53))
    return "53"


class NameServer(Child):
    def __init__(self, env, role, answer):
        self.address = "127.%d.%d.%d" % (1 + os.getpid() // 250 % 250, 1 + os.getpid() % 250, 53 + ord(role))
        super().__init__(env, "nameserver.py", COLUMNS, [self.address, role, answer], "names-" + role)


if __name__ == "__main__":
    serve(start, sys.argv[1])
