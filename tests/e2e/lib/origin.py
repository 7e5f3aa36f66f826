# SPDX-License-Identifier: GPL-2.0-or-later
"""An origin server whose answers the URL asks for, and that logs its own clock.

Run as a program (origin.py HOST LOG NAMED PORT ECHO-PORT): prints its HTTP port and its echo port, serves until its
input ends.  A port of 0 is any; NAMED is the address that its DNS server gives for names.

    http://HOST:PORT/key=value;key=value/any-name

    size=N     bytes of body (default 100)          hdr=MS     hold the header so long
    body=MS    hold the body after the header       parts=N    send the body in N pieces
    gap=MS     wait between pieces                  status=N   default 200
    chunked=1  chunked instead of Content-Length    vary=NAME  Vary: NAME
    cc=TEXT    Cache-Control (default max-age=3600; "-": none)
    etag=TEXT  ETag; an If-None-Match with it is answered 304
    lm=1       Last-Modified; an If-Modified-Since is answered 304 (lm=new: it is answered 200)
    abort=N    close after N bytes of body          close=1    close when done
    drop=MS    close without an answer after so long, unless this is the connection's first request
    interim=1  a 103 before the answer              upgrade=1  a 101, then an echo
    reset=1    with abort: a reset, not an end      raw=TEXT   TEXT and the end instead of an answer
    unread=1   close without reading the body
    left=1300  close the connection if no other request comes within that many milliseconds

Log, tab separated, nanoseconds of CLOCK_MONOTONIC:
    tag  connection  nth-request  received  header-sent  body-sent  method  path
received: the last byte of the request is here; header-sent: before the header is written; body-sent: after the last
byte of the body was written.  tag is the request's X-Tag.
"""

import asyncio
import os
import re
import socket
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.child import Process, serve  # noqa: E402

LAST_MODIFIED = "Mon, 01 Jan 2024 00:00:00 GMT"
REASONS = {200: "OK", 103: "Early Hints", 204: "No Content", 304: "Not Modified", 404: "Not Found",
           500: "Internal Server Error", 503: "Service Unavailable"}
PATTERN = bytes(range(256)) * 256


def body_bytes(start, size):
    """size bytes of every body's pattern from offset start."""
    start %= 256
    whole = PATTERN
    while len(whole) < start + size:
        whole += PATTERN
    return whole[start:start + size]


def parameters(path):
    found = {}
    for word in path.split("/", 2)[1].split(";"):
        key, _, value = word.partition("=")
        found[key] = value
    return found


class Reader(asyncio.StreamReader):
    """A stream that notes when its last bytes came: some time before who waits for them has its turn."""

    def feed_data(self, data):
        self.arrived = time.monotonic_ns()
        super().feed_data(data)


class Connection:
    serial = 0

    def __init__(self, reader, writer, log):
        Connection.serial += 1
        self.number = Connection.serial
        self.reader, self.writer, self.log = reader, writer, log
        self.keeps = None  # seconds until it closes an idle connection; None: it does not

    async def serve(self):
        nth = 0
        try:
            while True:
                head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), self.keeps)
                nth += 1
                if not await self.answer(head.decode("latin-1"), nth, self.reader.arrived):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, asyncio.TimeoutError):
            pass
        self.writer.close()

    async def read_body(self, headers):
        if headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "content-length" in headers:
            left = int(headers["content-length"])
            while left:
                piece = await self.reader.read(min(left, 65536))
                if not piece:
                    raise ConnectionError()
                left -= len(piece)
        elif "chunked" in headers.get("transfer-encoding", ""):
            while True:
                size = int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16)
                await self.reader.readexactly(size + 2)
                if not size:
                    break

    async def answer(self, head, nth, received):
        """Serves one request; returns whether the connection may serve another."""
        lines = head.split("\r\n")
        method, path = lines[0].split(" ")[:2]
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                headers[name.strip().lower()] = value.strip()
        if path.startswith("http://"):
            path = "/" + path.split("/", 3)[3]
        want = parameters(path)
        self.keeps = int(want["left"]) / 1000 if "left" in want else None
        if "unread" in want:
            return False
        if "content-length" in headers or "transfer-encoding" in headers:
            await self.read_body(headers)
            received = self.reader.arrived
        if "drop" in want and nth > 1:
            await self.hold(want["drop"])
            return False
        await self.hold(want.get("hdr"))
        if "raw" in want:
            self.writer.write(urllib.parse.unquote_plus(want["raw"]).encode())
            return False
        if "upgrade" in want:
            await self.upgrade(headers, nth, received, method, path)
            return False
        status, size = int(want.get("status", 200)), int(want.get("size", 100))
        if ("etag" in want and headers.get("if-none-match") == '"%s"' % want["etag"]) or \
                (want.get("lm") == "1" and headers.get("if-modified-since") == LAST_MODIFIED):
            status = 304
        if want.get("interim"):
            self.writer.write(b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
            await self.writer.drain()
            await asyncio.sleep(0.03)
        bodyless = method == "HEAD" or status in (204, 304)
        chunked = "chunked" in want and not bodyless
        keep = "close" not in want and "abort" not in want and headers.get("connection", "").lower() != "close"
        header = self.header(status, size, want, chunked, bodyless, keep).encode("latin-1")
        header_sent = time.monotonic_ns()
        self.writer.write(header)
        if "body" in want:
            await self.writer.drain()
            await self.hold(want["body"])
        if not bodyless:
            await self.send_body(size, want, chunked)
        if "reset" in want:
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.writer.transport.abort()
        self.note(headers, nth, received, header_sent, time.monotonic_ns(), method, path)
        return keep

    def note(self, headers, nth, received, header_sent, body_sent, method, path):
        self.log.write("%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n" % (headers.get("x-tag", "-"), self.number, nth, received,
                                                             header_sent, body_sent, method, path))

    async def upgrade(self, headers, nth, received, method, path):
        header_sent = time.monotonic_ns()
        self.writer.write(("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n"
                           % headers.get("upgrade", "none")).encode())
        await echo(self.reader, self.writer)
        self.note(headers, nth, received, header_sent, time.monotonic_ns(), method, path)

    @staticmethod
    async def hold(milliseconds):
        if milliseconds:
            await asyncio.sleep(int(milliseconds) / 1000)

    @staticmethod
    def header(status, size, want, chunked, bodyless, keep):
        lines = ["HTTP/1.1 %d %s" % (status, REASONS.get(status, "Status")),
                 "Date: " + time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())]
        if want.get("cc", "max-age=3600") != "-":
            lines.append("Cache-Control: " + want.get("cc", "max-age=3600").replace("+", ", "))
        if "etag" in want:
            lines.append('ETag: "%s"' % want["etag"])
        if "lm" in want:
            lines.append("Last-Modified: " + LAST_MODIFIED)
        if "vary" in want:
            lines.append("Vary: " + want["vary"])
        if chunked:
            lines.append("Transfer-Encoding: chunked")
        elif status not in (204, 304):
            lines.append("Content-Length: %d" % size)
        if not keep:
            lines.append("Connection: close")
        return "\r\n".join(lines) + "\r\n\r\n"

    async def send_body(self, size, want, chunked):
        end = int(want["abort"]) if "abort" in want else size
        parts = int(want.get("parts", 1))
        for part in range(parts):
            begin, until = end * part // parts, end * (part + 1) // parts
            if part:
                await self.writer.drain()
                await self.hold(want.get("gap"))
            for offset in range(begin, until, 65536):
                piece = body_bytes(offset, min(65536, until - offset))
                if chunked:
                    piece = b"%x\r\n%s\r\n" % (len(piece), piece)
                self.writer.write(piece)
                await self.writer.drain()
        if chunked and "abort" not in want:
            self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()


async def echo(reader, writer):
    """The far end of a tunnel: gives back what it gets."""
    try:
        while True:
            piece = await reader.read(65536)
            if not piece:
                break
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


class Names(asyncio.DatagramProtocol):
    """A DNS server: every name has the same address; dN-anything is answered after N milliseconds;
    both-anything has ::1 as well, which is answered first."""

    def __init__(self, named):
        self.address = bytes(int(part) for part in named.split("."))

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        question_end = data.index(b"\0", 12) + 5
        first = data[13:13 + data[12]].decode("latin-1")
        kind = data[question_end - 4:question_end - 2]
        both = first.startswith("both")
        is_a = kind == b"\0\1" and not first.startswith("nowhere")
        is_aaaa = kind == b"\0\x1c" and both
        reply = data[:2] + (b"\x81\x83" if first.startswith("nowhere") else b"\x81\x80") + b"\0\1"
        reply += (b"\0\1" if is_a or is_aaaa else b"\0\0") + b"\0\0\0\0" + data[12:question_end]
        if is_a:
            reply += b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + self.address
        if is_aaaa:
            reply += b"\xc0\x0c\0\x1c\0\1\0\0\0\1\0\x10" + b"\0" * 15 + b"\1"
        asked_for = re.match(r"d(\d+)(-|$)", first)
        delay = int(asked_for.group(1)) if asked_for else 20 if both and is_a else 0
        asyncio.get_running_loop().call_later(delay / 1000, self.transport.sendto, reply, peer)


async def start(host, log, named, port, echo_port):
    async def client(reader, writer):
        await Connection(reader, writer, log).serve()

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: asyncio.StreamReaderProtocol(Reader(1 << 20), client), host, port,
                                      backlog=512)
    echo_server = await asyncio.start_server(echo, host, echo_port, backlog=512)
    names = 1
    try:
        await loop.create_datagram_endpoint(lambda: Names(named), local_addr=(host, 53))
    except OSError:
        names = 0
    return "%d %d %d" % (server.sockets[0].getsockname()[1], echo_server.sockets[0].getsockname()[1], names)


class Deaf:
    """A listener whose queue is full: who connects to it waits."""

    def __init__(self, env, host, port=0):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sockets = [socket.socket(family) for _ in range(5)]
        self.sockets[0].bind((host, port))
        self.sockets[0].listen(0)
        self.port = self.sockets[0].getsockname()[1]
        for filler in self.sockets[1:]:
            filler.setblocking(False)
            filler.connect_ex((host, self.port))
        env.on_close(self.close)

    def close(self):
        for one in self.sockets:
            one.close()


class Origin(Process):
    """The origin as a child process, and its log."""

    def __init__(self, env, name="origin", host=None, named=None, port=0, echo_port=0):
        self.log = env.path(name + ".log")
        # An address of loopback that is this process's alone, so that its DNS server can have port 53.
        self.host = host or "127.%d.%d.53" % (1 + os.getpid() // 250 % 250, 1 + os.getpid() % 250)
        super().__init__(env, "origin.py", [self.host, self.log, named or self.host, str(port), str(echo_port)], name)
        self.port, self.echo_port, self.has_names = int(self.said[0]), int(self.said[1]), self.said[2] == "1"

    def url(self, name, host=None, **want):
        return "http://%s:%d/%s/%s" % (host or self.host, self.port,
                                       ";".join("%s=%s" % item for item in sorted(want.items())) or "x", name)

    def entries(self):
        """The log so far: {tag: dict}, the last entry of a tag."""
        found = {}
        for tag, conn, nth, received, header_sent, body_sent, method, path in self.lines(self.log):
            found[tag] = {"conn": int(conn), "nth": int(nth), "received": int(received),
                          "header_sent": int(header_sent), "body_sent": int(body_sent), "method": method,
                          "path": path}
        return found


if __name__ == "__main__":
    serve(lambda log: start(sys.argv[1], log, sys.argv[3], int(sys.argv[4]), int(sys.argv[5])), sys.argv[2])
