# SPDX-License-Identifier: GPL-2.0-or-later
"""The far ends of a run: origins that take a known time, name servers, and a way to them that delays or loses packets.

Run as a program (far.py SETTINGS LOG); SETTINGS is JSON.  Prints "ready", serves until its input ends.

    origins   [[address, port, ms], ...]: the answer is held for so long.  Paths are those of lib/origin.py
    names     [[address, ms or null], ...]: name servers, answering after so long or never.  NAME.oN.test and oN.test
              have the address 127.0.1.N, with way 10.77.1.N; NAME.two.test has the two of `two`
    two       [address, address]
    way       {"ms": so long each way, "loss": share of packets}: origins are in a network namespace of their own,
              behind a pair of TUN devices.  The routes are made here
    backlog   of the origins' listening sockets
"""

import asyncio
import ctypes
import fcntl
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from lib.child import serve  # noqa: E402
from lib.origin import Connection, Reader  # noqa: E402

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


class Timed(Connection):
    """A connection of an origin that takes its time before each answer."""

    def __init__(self, ms, *others):
        super().__init__(*others)
        self.ms = ms

    async def answer(self, *request):
        await asyncio.sleep(self.ms / 1000)
        return await super().answer(*request)


class Names(asyncio.DatagramProtocol):
    """A name server.  An address is fresh for an hour."""

    def __init__(self, ms, network, two):
        self.ms, self.network, self.two = ms, network, two

    def connection_made(self, transport):
        self.transport = transport

    def addresses(self, name):
        number = re.search(r"(?:^|\.)o(\d+)\.test$", name)
        return [self.network % int(number.group(1))] if number else self.two if name.endswith("two.test") else []

    def datagram_received(self, data, peer):
        if self.ms is None:
            return
        end = data.index(b"\0", 12) + 5
        kind, labels, at = data[end - 4:end - 2], [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += data[at] + 1
        found = self.addresses(".".join(labels)) if kind == b"\0\1" else []
        reply = data[:2] + b"\x81\x80\0\1" + struct.pack(">H", len(found)) + b"\0\0\0\0" + data[12:end]
        for address in found:
            reply += b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4" + socket.inet_aton(address)
        asyncio.get_running_loop().call_later(self.ms / 1000, self.transport.sendto, reply, peer)


# ---- the way ----

def tun(name, address):
    """A TUN device in this network namespace; its descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    for words in (["addr", "add", address, "dev", name], ["link", "set", name, "up"], ["link", "set", "lo", "up"]):
        subprocess.run(["ip"] + words, check=True)
    return device


def lay(way, origins):
    """Lays the way: from here on the program is in a namespace of its own.  Returns both ends."""
    near = tun("near", "10.77.0.1/16")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    far = tun("far", "10.77.0.2/16")
    for address, *_ in origins:
        subprocess.run(["ip", "addr", "add", address + "/16", "dev", "far"], check=True)
    return near, far


def carry(source, target, way, chance):
    """Takes what has come out of one end, and puts it into the other one later, or never."""
    loop = asyncio.get_running_loop()
    try:
        while True:
            packet = os.read(source, 65536)
            if chance.random() >= way.get("loss", 0):
                loop.call_later(way.get("ms", 0) / 1000, os.write, target, packet)
    except BlockingIOError:
        pass


async def start(settings, log):
    loop = asyncio.get_running_loop()
    way, origins = settings.get("way"), settings.get("origins", [])
    if way:
        near, far = lay(way, origins)
        chance = random.Random(1)
        loop.add_reader(near, carry, near, far, way, chance)
        loop.add_reader(far, carry, far, near, way, chance)
    for address, port, ms in origins:
        await loop.create_server(lambda ms=ms: asyncio.StreamReaderProtocol(Reader(1 << 20), client(ms, log)), address,
                                 port, backlog=settings.get("backlog", 512))
    for address, ms in settings.get("names", []):
        await loop.create_datagram_endpoint(
            lambda ms=ms: Names(ms, settings.get("network", "127.0.1.%d"), settings.get("two", [])),
            local_addr=(address, 53))
    return "ready"


def client(ms, log):
    async def accepted(reader, writer):
        await Timed(ms, reader, writer, log).serve()
    return accepted


if __name__ == "__main__":
    serve(lambda log: start(json.loads(sys.argv[1]), log), sys.argv[2])
