# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that send each request when it is due, whatever the proxy does, and log what they waited.

Run as a program (load.py PLAN RESULTS); PLAN is a file of JSON:

    proxy     [address, port]
    requests  [[seconds from the start, method, url, [header, ...], bytes of body], ...] in order of time
    once      a connection for each request; else idle connections serve again
    silent    so many clients connect, say nothing until they are put out, and come again
    tls       the proxy speaks TLS
    rate      bytes a second that a client takes at most, 0: no limit
    timeout   seconds, after which a request is given up

Results, tab separated: when it was due in s, what the client waited in ms, status (0: none), bytes of body
"""

import asyncio
import json
import socket
import ssl
import sys
import time


class Pool:
    def __init__(self, plan):
        self.plan, self.idle = plan, []
        self.context = None
        if plan.get("tls"):
            self.context = ssl.create_default_context()
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE

    async def get(self):
        """A connection, and whether it has served before."""
        while self.idle:
            reader, writer = self.idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer, True
            writer.close()
        sock = socket.socket()
        sock.setblocking(False)
        if self.plan.get("rate"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.get_running_loop().sock_connect(sock, tuple(self.plan["proxy"]))
        limit = 2048 if self.plan.get("rate") else 1 << 16
        reader, writer = await asyncio.open_connection(sock=sock, limit=limit, ssl=self.context,
                                                       server_hostname="proxy" if self.context else None)
        return reader, writer, False

    def put(self, reader, writer, keep):
        if keep and not self.plan.get("once"):
            self.idle.append((reader, writer))
        else:
            writer.close()


async def body(reader, size, rate):
    """Reads the body, as fast as the client takes it."""
    left = size
    while left is None or left > 0:
        piece = await reader.read(min(left or 1 << 16, max(1, rate // 20)) if rate else 1 << 16)
        if not piece:
            break
        left = left - len(piece) if left is not None else None
        if rate:
            await asyncio.sleep(len(piece) / rate)


async def exchange(pool, request, connection):
    """(status, bytes, whether the connection may serve again)"""
    _, method, url, headers, sends = request
    reader, writer = connection
    lines = ["%s %s HTTP/1.1" % (method, url), "Host: " + url.split("/")[2]] + headers
    writer.write(("\r\n".join(lines + (["Content-Length: %d" % sends] if sends else [])) + "\r\n\r\n").encode()
                 + b"b" * sends)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = await reader.readline()
        if not line:
            raise ConnectionError("no answer")
        head += line
    fields = dict((name.strip().lower(), value.strip()) for name, _, value in
                  (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]))
    status = int(head.split()[1])
    size = 0 if status == 304 else int(fields["content-length"]) if "content-length" in fields else None
    await body(reader, size, pool.plan.get("rate", 0))
    return status, size or 0, size is not None and fields.get("connection") != "close"


async def one(pool, request):
    """(status, bytes) of a request; once more where a kept connection was closed meanwhile."""
    while True:
        reader, writer, used = await pool.get()
        try:
            status, size, keep = await exchange(pool, request, (reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()
            if used:
                continue
            return 0, 0
        pool.put(reader, writer, keep)
        return status, size


async def due(pool, request, start, results):
    await asyncio.sleep(max(0, start + request[0] - time.monotonic()))
    begin = time.monotonic()
    try:
        status, size = await asyncio.wait_for(one(pool, request), pool.plan.get("timeout", 60))
    except (asyncio.TimeoutError, OSError):
        status, size = 0, 0
    results.write("%.6f\t%.3f\t%d\t%d\n" % (request[0], 1000 * (time.monotonic() - begin), status, size))


async def silent(plan, first):
    await asyncio.sleep(first)
    while True:
        try:
            reader, writer = await asyncio.open_connection(*plan["proxy"])
            await reader.read()
            writer.close()
        except OSError:
            await asyncio.sleep(0.1)


async def main(plan, results):
    pool, start = Pool(plan), time.monotonic() + 0.2
    quiet = [asyncio.create_task(silent(plan, n * 0.01)) for n in range(plan.get("silent", 0))]
    await asyncio.gather(*[due(pool, request, start, results) for request in plan["requests"]])
    for task in quiet:
        task.cancel()


if __name__ == "__main__":
    with open(sys.argv[1]) as file, open(sys.argv[2], "w") as out:
        asyncio.run(main(json.load(file), out))
