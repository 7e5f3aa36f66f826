# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that send each request when it is due, whatever the proxy does, and log what they waited.

Run as a program (load.py PLAN RESULTS); PLAN is a file of JSON:

    proxy     [address, port]
    requests  [[seconds from the start, method, url, [header, ...], bytes of body, more], ...] in order of time.
              CONNECT opens a tunnel to the authority `url`, in which the client sends a GET for `inside`.  TLS says
              hello to a proxy that speaks none.  more:
              {"leave": close after so many bytes of the body, "hold": seconds that a tunnel stays open, "inside": path,
              "tls": it has TLS inside ("verify": of a server that the client trusts), "cut": a tunnel that is closed
              before counts as cut, "then": [url, ...]: more requests at once on the same connection, "header": seconds
              over which the header is sent, "pace": over which the body is, "half": the client ends its side of
              the connection after its request, "rate": bytes a second that this one takes at most, on a connection of
              its own, "whole": what a tunnel waited lasts until the body inside is here, "listens": in the tunnel the
              server speaks first, "unused": a tunnel that is closed as soon as it is open, "proxied": the address of the
              client that a load balancer names in a header of the PROXY protocol, on a connection for this request,
              "plain": no TLS, though the proxy speaks it, "old": it says HTTP/1.0}
    once      a connection for each request; else idle connections serve again
    silent    so many clients connect, say nothing until they are put out, and come again
    tls       the proxy speaks TLS; "1.2": clients know no later version
    rate      bytes a second that a client takes at most, 0: no limit
    timeout   seconds, after which a request is given up
    sources   so many addresses are the clients', in turn: 127.3.0.1 and so on; 0: the system chooses
    patience  seconds that a client waits for a 100 before it sends its body
    crowd     [clients, seconds, [url, ...]]: so many more clients ask for these for so long, without a pause

Results, tab separated:
    when it was due in s
    what the client waited in ms; of a tunnel: until it was open, of one with TLS until the answer inside
    status, 0: none
    bytes of body
    how it ended: answered, cut, left, refused, closed, given_up, silent (no answer in an open tunnel)
    ms until the header
"""

import asyncio
import functools
import json
import socket
import ssl
import sys
import time


class Pool:
    def __init__(self, plan):
        self.plan, self.idle, self.opened = plan, [], 0
        self.context = None
        if plan.get("tls"):
            self.context = ssl.create_default_context()
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
            if plan["tls"] == "1.2":
                self.context.maximum_version = ssl.TLSVersion.TLSv1_2

    async def get(self, rate=0, plain=False):
        """A connection, and whether it has served before.  rate: of a client that takes so many bytes a second."""
        while self.idle and not rate:
            reader, writer = self.idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer, True
            writer.close()
        sock = socket.socket()
        sock.setblocking(False)
        rate = rate or self.plan.get("rate")
        if rate:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        if self.plan.get("sources"):
            number = self.opened % self.plan["sources"]
            sock.bind(("127.3.%d.%d" % (number // 250, 1 + number % 250), 0))
        self.opened += 1
        await asyncio.get_running_loop().sock_connect(sock, tuple(self.plan["proxy"]))
        limit = 2048 if rate else 1 << 16
        context = None if plain else self.context
        reader, writer = await asyncio.open_connection(sock=sock, limit=limit, ssl=context,
                                                       server_hostname="proxy" if context else None)
        return reader, writer, False

    def put(self, reader, writer, keep):
        if keep and not self.plan.get("once"):
            self.idle.append((reader, writer))
        else:
            writer.close()


async def body(reader, size, rate):
    """Reads the body, as fast as the client takes it.  Returns whether all of it came."""
    left = size
    while left is None or left > 0:
        piece = await reader.read(min(left or 1 << 16, max(1, rate // 20) if rate else 1 << 16))
        if not piece:
            return left is None
        left = left - len(piece) if left is not None else None
        if rate:
            await asyncio.sleep(len(piece) / rate)
    return True


class Left(Exception):
    """The client went away as it was to: it has this status, and this many bytes."""


async def head_of(reader):
    """(status, header fields) of the next answer, interim or not."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = await reader.readline()
        if not line:
            raise ConnectionError("no answer")
        head += line
    fields = dict((name.strip().lower(), value.strip()) for name, _, value in
                  (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]))
    return int(head.split()[1]), fields


async def final(reader):
    """The next answer that is not an interim one."""
    while True:
        status, fields = await head_of(reader)
        if status >= 200 or status == 101:
            return status, fields


async def whole_request(writer, head, sends, more):
    """Sends what is left of a header, and the body."""
    pieces = 20 if more.get("pace") else 1
    writer.write(head)
    for n in range(pieces):
        writer.write(b"b" * (sends // pieces))
        await asyncio.sleep(more.get("pace", 0) / 20)
    writer.write(b"b" * (sends % pieces))
    if more.get("half"):
        writer.write_eof()


async def send(pool, request, reader, writer):
    """Sends a request.  Returns the answer's head if it came before the body was sent, else None."""
    _, method, url, headers, sends = request[:5]
    if method == "TLS":
        writer.write(b"\x16\x03\x01\x00\x80\x01\x00\x00\x7c\x03\x03" + b"\x11" * 122)
        return None
    more = request[5] if len(request) > 5 else {}
    if "proxied" in more:
        writer.write(b"PROXY TCP4 %s 127.0.0.1 40000 3128\r\n" % more["proxied"].encode())
    lines = ["%s %s HTTP/1.%d" % (method, url, not more.get("old")),
             "Host: " + (url if method == "CONNECT" else url.split("/")[2])] + headers
    head = ("\r\n".join(lines + (["Content-Length: %d" % sends] if sends else [])) + "\r\n\r\n").encode()
    for n in range(9 if more.get("header") else 0):
        writer.write(head[n * len(head) // 10:(n + 1) * len(head) // 10])
        await asyncio.sleep(more["header"] / 9)
    if more.get("header"):
        head = head[9 * len(head) // 10:]
    if not any(header.lower().startswith("expect:") for header in headers):
        await whole_request(writer, head, sends, more)
        return None
    writer.write(head)
    first = asyncio.create_task(head_of(reader))
    await asyncio.wait([first], timeout=pool.plan.get("patience", 1))
    writer.write(b"b" * sends)
    status, fields = await first
    return (status, fields) if status >= 200 else None


async def exchange(pool, request, connection, times):
    """(status, bytes, whether the connection may serve again)"""
    reader, writer = connection
    more = request[5] if len(request) > 5 else {}
    rate = more.get("rate") or pool.plan.get("rate", 0)
    early = await send(pool, request, reader, writer)
    for url in more.get("then", []):
        writer.write(("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (url, url.split("/")[2])).encode())
    status, fields = early or await final(reader)
    times["header"] = time.monotonic()
    if request[1] == "CONNECT":
        if status == 200:
            await tunnel(reader, writer, request[2], more, times)
        return status, 0, False
    size = 0 if status in (204, 304) else int(fields["content-length"]) if "content-length" in fields else None
    if more.get("leave") and (size is None or size > more["leave"]):
        await body(reader, more["leave"], rate)
        writer.close()
        raise Left(status, more["leave"])
    times["whole"] = await body(reader, size, rate)
    for _ in more.get("then", []):
        times.setdefault("then", []).append(await one_more(reader))
    return status, size or 0, size is not None and fields.get("connection") != "close" and not more.get("rate")


async def one_more(reader):
    """(status, bytes, when it was here) of a further reply on a connection."""
    status, fields = await final(reader)
    size = int(fields.get("content-length", 0))
    await body(reader, size, 0)
    return status, size, time.monotonic()


@functools.lru_cache(maxsize=None)
def inside(verify):
    """What TLS inside of a tunnel needs: made once, because that takes 25 ms, which no client takes for each tunnel."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def tunnel(reader, writer, authority, more, times):
    """A GET in an open tunnel, which then stays open for a while."""
    try:
        if more.get("unused"):
            times["inside"] = time.monotonic()
            return
        if more.get("listens"):
            await reader.readuntil(b"\n")
            times["inside"] = time.monotonic()
            return
        if more.get("tls"):
            await writer.start_tls(inside(more["tls"] == "verify"), server_hostname=authority.split(":")[0])
        writer.write(("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (more.get("inside", "/x/t"), authority)).encode())
        _, fields = await final(reader)
        times["inside"] = time.monotonic()
        await body(reader, int(fields.get("content-length", 0)), 0)
        times["body"] = time.monotonic()
        piece = await asyncio.wait_for(reader.read(1), more.get("hold", 0) or 0.001)
        times["whole"] = bool(piece) or not more.get("cut")
    except (asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
        pass


async def one(pool, request, times):
    """(status, bytes, end) of a request; once more where a kept connection was closed meanwhile."""
    more = request[5] if len(request) > 5 else {}
    while True:
        try:
            reader, writer, used = await pool.get(more.get("rate", 0), more.get("plain", False))
        except OSError:
            return 0, 0, "refused"
        try:
            status, size, keep = await exchange(pool, request, (reader, writer), times)
        except Left as left:
            return left.args + ("left",)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            if used and "header" not in times:
                continue
            return 0, 0, "closed"
        except asyncio.CancelledError:
            writer.close()
            raise
        pool.put(reader, writer, keep)
        return status, size, "answered" if times.get("whole", True) else "cut"


async def due(pool, request, start, results):
    await asyncio.sleep(max(0, start + request[0] - time.monotonic()))
    begin, times = time.monotonic(), {}
    try:
        status, size, end = await asyncio.wait_for(one(pool, request, times), pool.plan.get("timeout", 60))
    except asyncio.TimeoutError:
        status, size, end = 0, 0, "given_up"
    now = time.monotonic()
    header = times.get("header", now)
    if request[1] == "CONNECT" and "header" in times:
        now = header = times.get("inside", now) if request[5].get("tls") else header
        now = times.get("body", now) if request[5].get("whole") else now
        end = end if status >= 300 or end == "cut" else "answered" if "inside" in times else "silent"
    results.write("%.6f\t%.3f\t%d\t%d\t%s\t%.3f\n" % (request[0], 1000 * (now - begin), status, size, end,
                                                     1000 * (header - begin)))
    for status, size, at in times.get("then", []):
        results.write("%.6f\t%.3f\t%d\t%d\tanswered\t%.3f\n" % (request[0], 1000 * (at - begin), status, size,
                                                                1000 * (at - begin)))
    results.flush()


async def silent(plan, first):
    await asyncio.sleep(first)
    while True:
        try:
            reader, writer = await asyncio.open_connection(*plan["proxy"])
            await reader.read()
            writer.close()
        except OSError:
            await asyncio.sleep(0.1)


async def restless(pool, number, start, results):
    """One of the crowd."""
    _, seconds, urls = pool.plan["crowd"]
    while time.monotonic() < start + seconds:
        await due(pool, [time.monotonic() - start, "GET", urls[number % len(urls)], [], 0, {}], start, results)
        number += 1


async def main(plan, results):
    pool, start = Pool(plan), time.monotonic() + 0.2
    quiet = [asyncio.create_task(silent(plan, n * 0.01)) for n in range(plan.get("silent", 0))]
    crowd = [restless(pool, n, start, results) for n in range(plan.get("crowd", [0])[0])]
    await asyncio.gather(*crowd, *[due(pool, request, start, results) for request in plan["requests"]])
    for task in quiet:
        task.cancel()


if __name__ == "__main__":
    with open(sys.argv[1]) as file, open(sys.argv[2], "w") as out:
        asyncio.run(main(json.load(file), out))
