# SPDX-License-Identifier: GPL-2.0-or-later
"""The far ends of a run: origins that take a known time, name servers, and a way to them that delays or loses packets.

Run as a program (far.py SETTINGS LOG); SETTINGS is JSON.  Prints "ready", serves until its input ends.

    origins   [[address, port, ms, more], ...]: the answer is held for so long.  Paths are those of lib/origin.py.  more:
                  rate    bytes a second of a body
                  serial  answers one request at a time
                  linger  seconds that it waits before it closes a connection
                  mute    no 100 Continue
                  silent  never answers
                  answers [status, begin, end]: answers with this status for so long, in seconds from its start
                  tls     a certificate: it speaks TLS
                  cipher  the only one that it has, with TLS 1.2
                  hurry   seconds that a body may take; then it closes the connection
                  uploads a status: of its answers to requests with a body
                  clock   seconds that its clock is ahead: what its Date says
                  asks    a CA: with tls, clients must have a certificate of it
                  greets  a line that it sends as soon as somebody connects
                  connect a status: of its answers to CONNECT
                  at      [every, seconds, ms]: in the last so many seconds of each `every` an answer is held so long more
                  bans    an address: what comes from there is answered with 403
                  empty304  its answers of 304 have Content-Length: 0
                  lacks   a text: what has it in its path is answered with 404
                  closes  seconds, after which it closes the connection instead of an answer
    names     [[address, ms or null, more], ...]: name servers, answering after so long or never.  NAME.oN.test and
              oN.test have the address 127.0.1.N, with way 10.77.1.N; NAME.two.test has the two of `two`.  more:
                  drop    kinds of query that it does not answer: A, AAAA, PTR
                  slow    {"oN": ms}: names that end so take so much longer
                  later   {"A": ms}: queries of this kind take so much longer
                  serial  answers one query at a time
                  broken  [begin, end]: answers SERVFAIL for so long after its first query, in seconds
                  to      {"oN": address}: names that end so have this address; one of IPv6 is one more
                  since   {"oN": [seconds, address]}: so long after its first query names that end so have this one, too
                  ttl     seconds; the default is 3,600
                  loses   one query in so many is lost
                  stops   {"oN": seconds}: so long after its first query it answers nothing more of names that end so
                  unknown it answers NXDOMAIN to everything
                  truncated  its answers are cut, so that they are to be asked for again by TCP, on which nothing listens
    icp       [[address, port, ms, answer], ...]: neighbours that answer each ICP query after so long, with a miss unless
              the answer is "hit"
    two       [address, address]
    way       {"ms": so long each way, "loss": share of packets, "rate": bytes a second, "largest": {address: bytes}: larger
              packets from there are lost}: origins are in a network namespace of their own, behind a pair of TUN devices.
              The routes are made here
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
import ssl
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from lib.child import serve  # noqa: E402
from lib.neighbour import ICP_ANSWERS, icp_message  # noqa: E402
from lib.origin import Connection, Reader, body_bytes  # noqa: E402

BEGIN = time.monotonic()
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


class Timed(Connection):
    """A connection of an origin that takes its time before each answer."""

    def __init__(self, ms, more, turn, *others):
        super().__init__(*others)
        self.ms, self.more, self.turn = ms, more, turn

    async def serve(self):
        if "greets" in self.more:
            self.writer.write(self.more["greets"].encode() + b"\r\n")
        await super().serve()

    async def answer(self, *request):
        if "connect" in self.more and request[0].startswith("CONNECT "):
            self.writer.write(b"HTTP/1.1 %d Refused\r\nContent-Length: 0\r\n\r\n" % self.more["connect"])
            return True
        if self.more.get("silent"):
            await asyncio.sleep(3600)
        if "closes" in self.more:
            await asyncio.sleep(self.more["closes"])
            return False
        if self.more.get("serial"):
            async with self.turn:
                await asyncio.sleep(self.ms / 1000)
        else:
            await asyncio.sleep((self.ms + self.extra()) / 1000)
        keep = await super().answer(self.with_status(request[0]), *request[1:])
        if not keep:
            await asyncio.sleep(self.more.get("linger", 0))
        return keep

    def with_status(self, head):
        status, begin, end = self.more.get("answers", [0, 0, 0])
        if head.startswith("POST ") and "uploads" in self.more:
            status, begin, end = self.more["uploads"], 0, float("inf")
        if self.more.get("bans") == self.writer.get_extra_info("peername")[0]:
            status, begin, end = 403, 0, float("inf")
        if "lacks" in self.more and self.more["lacks"] in head.split("\r\n")[0]:
            status, begin, end = 404, 0, float("inf")
        if not begin <= time.monotonic() - BEGIN < end:
            return head
        return re.sub(r"(/size=[^/ ]*)", r"\1;status=%d;cc=-" % status, head, count=1)

    def header(self, *of):
        clock = time.gmtime(time.time() + self.more.get("clock", 0))
        head = re.sub(r"Date: .*", time.strftime("Date: %a, %d %b %Y %H:%M:%S GMT\r", clock), super().header(*of))
        return head[:-2] + "Content-Length: 0\r\n\r\n" if of[0] == 304 and self.more.get("empty304") else head

    def extra(self):
        every, seconds, ms = self.more.get("at", [1, 0, 0])
        return ms if (time.monotonic() - BEGIN) % every >= every - seconds else 0

    async def read_body(self, headers):
        await super().read_body(dict(headers, expect="") if self.more.get("mute") else headers)

    async def send_body(self, size, want, chunked):
        if "hurry" not in self.more:
            return await self.send_slowly(size, want, chunked)
        try:
            await asyncio.wait_for(self.send_slowly(size, want, chunked), self.more["hurry"])
        except asyncio.TimeoutError:
            self.writer.transport.abort()
            raise ConnectionError("the client is too slow") from None

    async def send_slowly(self, size, want, chunked):
        rate = self.more.get("rate")
        if not rate:
            return await super().send_body(size, want, chunked)
        piece, begin, sent = max(1000, rate // 20), time.monotonic(), 0
        while sent < size:
            self.writer.write(body_bytes(sent, min(piece, size - sent)))
            await self.writer.drain()
            sent += piece
            await asyncio.sleep(max(0, begin + min(sent, size) / rate - time.monotonic()))


class Names(asyncio.DatagramProtocol):
    """A name server.  An address is fresh for an hour."""

    KINDS = {1: "A", 28: "AAAA", 12: "PTR"}

    def __init__(self, ms, more, network, two):
        self.ms, self.more, self.network, self.two = ms, more, network, two
        self.idle_at, self.begin, self.asked = 0.0, None, 0

    def connection_made(self, transport):
        self.transport = transport

    def addresses(self, name):
        number = re.search(r"(?:^|\.)o(\d+)\.test$", name)
        return [self.network % int(number.group(1))] if number else self.two if name.endswith("two.test") else []

    def broken(self):
        begin, end = self.more.get("broken", [0, 0])
        return begin <= time.monotonic() - self.begin < end

    def elsewhere(self, name, family):
        """Addresses of this family that the name has by `to`, or by `since`."""
        later = {end: address for end, (seconds, address) in self.more.get("since", {}).items()
                 if time.monotonic() - self.begin >= seconds}
        return [address for end, address in {**self.more.get("to", {}), **later}.items()
                if re.search(r"(^|\.)%s\.test$" % end, name) and (":" in address) == (family == socket.AF_INET6)]

    def records(self, name, kind):
        if kind == "PTR":
            host = "c-%s.clients.test" % "-".join(reversed(name.split(".")[:4]))
            return [b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"]
        family = {"A": socket.AF_INET, "AAAA": socket.AF_INET6}.get(kind)
        if not family:
            return []
        found = self.elsewhere(name, family) or (self.addresses(name) if kind == "A" else [])
        return [socket.inet_pton(family, address) for address in found]

    def due(self, name, kind):
        """Seconds from now until the answer to a query of this kind for this name."""
        needs = self.ms + self.more.get("later", {}).get(kind, 0) + max(
            [ms for end, ms in self.more.get("slow", {}).items() if re.search(r"(^|\.)%s\.test$" % end, name)] or [0])
        now = asyncio.get_running_loop().time()
        self.idle_at = max(now, self.idle_at) if self.more.get("serial") else now
        self.idle_at += needs / 1000
        return self.idle_at - now

    def datagram_received(self, data, peer):
        end = data.index(b"\0", 12) + 5
        number, labels, at = struct.unpack(">H", data[end - 4:end - 2])[0], [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
            at += data[at] + 1
        name, kind = ".".join(labels), self.KINDS.get(number, "")
        self.begin = self.begin or time.monotonic()
        self.asked += 1
        if self.ms is None or kind in self.more.get("drop", []) or self.asked % self.more.get("loses", self.asked + 1) == 0:
            return
        if any(re.search(r"(^|\.)%s\.test$" % end, name) and time.monotonic() - self.begin >= seconds
               for end, seconds in self.more.get("stops", {}).items()):
            return
        truncated = self.more.get("truncated")
        code = 2 if self.broken() else 3 if self.more.get("unknown") else 0
        found = [] if code or truncated else self.records(name, kind)
        reply = data[:2] + (b"\x83" if truncated else b"\x81") + bytes([0x80 + code]) + b"\0\1"
        reply += struct.pack(">H", len(found)) + b"\0\0\0\0" + data[12:end]
        for record in found:
            reply += b"\xc0\x0c" + struct.pack(">HHIH", number, 1, self.more.get("ttl", 3600), len(record)) + record
        asyncio.get_running_loop().call_later(self.due(name, kind), self.transport.sendto, reply, peer)


class Neighbour(asyncio.DatagramProtocol):
    """Answers all alike, after so long."""

    def __init__(self, ms, answer="miss"):
        self.ms, self.answer = ms, ICP_ANSWERS[answer]

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        reply = icp_message(self.answer, struct.unpack("!I", data[4:8])[0], data[24:-1].decode("latin-1"))
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


class Line:
    """One direction of the way: takes what has come out of one end, and puts it into the other one later, or never."""

    LONGEST = 0.5  # seconds that a packet may wait for the line: others are lost

    def __init__(self, source, target, way, chance):
        self.source, self.target, self.way, self.chance, self.idle_at = source, target, way, chance, 0.0
        asyncio.get_running_loop().add_reader(source, self.carry)

    def carry(self):
        loop = asyncio.get_running_loop()
        try:
            while True:
                packet = os.read(self.source, 65536)
                if len(packet) > self.way.get("largest", {}).get(socket.inet_ntoa(packet[12:16]), 65536):
                    continue
                wait = self.way.get("ms", 0) / 1000
                if "rate" in self.way:
                    self.idle_at = max(self.idle_at, loop.time())
                    if self.idle_at - loop.time() > self.LONGEST:
                        continue
                    self.idle_at += len(packet) / self.way["rate"]
                    wait += self.idle_at - loop.time()
                if self.chance.random() >= self.way.get("loss", 0):
                    loop.call_later(wait, os.write, self.target, packet)
        except BlockingIOError:
            pass


async def start(settings, log):
    loop = asyncio.get_running_loop()
    way, origins = settings.get("way"), settings.get("origins", [])
    if way:
        near, far = lay(way, origins)
        chance = random.Random(1)
        Line(near, far, way, chance)
        Line(far, near, way, chance)
    for address, port, ms, more in origins:
        context = None
        if "tls" in more:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(more["tls"])
            if "asks" in more:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(more["asks"])
            if "cipher" in more:
                context.maximum_version = ssl.TLSVersion.TLSv1_2
                context.set_ciphers(more["cipher"])
        await loop.create_server(
            lambda ms=ms, more=more, turn=asyncio.Lock(): asyncio.StreamReaderProtocol(
                Reader(1 << 20), client(ms, more, turn, log)), address, port, backlog=settings.get("backlog", 512),
            ssl=context)
    for address, ms, more in settings.get("names", []):
        await loop.create_datagram_endpoint(
            lambda ms=ms, more=more: Names(ms, more, settings.get("network", "127.0.1.%d"), settings.get("two", [])),
            local_addr=(address, 53))
    for address, port, *how in settings.get("icp", []):
        await loop.create_datagram_endpoint(lambda how=how: Neighbour(*how), local_addr=(address, port))
    return "ready"


def client(ms, more, turn, log):
    async def accepted(reader, writer):
        await Timed(ms, more, turn, reader, writer, log).serve()
    return accepted


if __name__ == "__main__":
    serve(lambda log: start(json.loads(sys.argv[1]), log), sys.argv[2])
