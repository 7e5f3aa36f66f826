# SPDX-License-Identifier: GPL-2.0-or-later
"""A client that does on a connection to Squid what it is told, byte for byte."""

import socket
import threading
import time


class Broken(Exception):
    """The connection ended before the response did."""


class Response:
    def __init__(self, status, headers, body_size, first_ns, end_ns, keep):
        self.status = status
        self.headers = headers
        self.body_size = body_size
        self.first_ns = first_ns
        self.end_ns = end_ns
        self.keep = keep
        self.begin_ns = 0

    @property
    def seconds(self):
        return (self.end_ns - self.begin_ns) / 1e9


class Client:
    """A connection to Squid; opened when first used, and again after it was closed."""

    def __init__(self, address, timeout=60):
        self.address = address
        self.timeout = timeout
        self.socket = None
        self.buffer = b""

    def open(self):
        if self.socket is None:
            self.socket = socket.create_connection(self.address, self.timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffer = b""
        return self.socket

    def close(self, reset=False):
        if self.socket is not None:
            if reset:  # an RST instead of a FIN
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.socket.close()
            self.socket = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @staticmethod
    def head(method, url, tag=None, headers=()):
        host = url.split("/")[2] if "://" in url else url
        lines = ["%s %s HTTP/1.1" % (method, url), "Host: " + host]
        if tag is not None:
            lines.append("X-Tag: %s" % tag)
        lines.extend(headers)
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def send(self, data):
        self.open().sendall(data)

    def fill(self):
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise Broken()
        self.buffer += piece

    def receive(self, method="GET"):
        """Reads one final response, its body too."""
        first_ns = 0
        while True:
            while b"\r\n\r\n" not in self.buffer:
                self.fill()
            first_ns = first_ns or time.monotonic_ns()
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split()[1])
            if status >= 200:
                break
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        keep = headers.get("connection", "").lower() != "close"
        size = 0
        if method == "HEAD" or status in (204, 304) or (method == "CONNECT" and status == 200):
            pass
        elif "content-length" in headers:
            size = self.take(int(headers["content-length"]))
        elif "chunked" in headers.get("transfer-encoding", ""):
            size = self.take_chunks()
        else:
            keep = False
            try:
                while True:
                    size += len(self.buffer)
                    self.buffer = b""
                    self.fill()
            except Broken:
                pass
        response = Response(status, headers, size, first_ns, time.monotonic_ns(), keep)
        if not keep:
            self.close()
        return response

    def take(self, size):
        left = size - len(self.buffer)
        if left <= 0:
            self.buffer = self.buffer[size:]
            return size
        self.buffer = b""
        while left > 0:
            piece = self.socket.recv(min(left, 1 << 20))
            if not piece:
                raise Broken()
            left -= len(piece)
        return size

    def take_chunks(self):
        total = 0
        while True:
            while b"\r\n" not in self.buffer:
                self.fill()
            line, _, self.buffer = self.buffer.partition(b"\r\n")
            size = int(line.split(b";")[0], 16)
            self.take(size)
            total += size
            self.take(2)
            if not size:
                return total

    def request(self, url, tag=None, method="GET", headers=(), body=b""):
        """One request and its response; opens the connection anew if Squid closed the idle one."""
        headers = list(headers)
        if body:
            headers.append("Content-Length: %d" % len(body))
        begin = time.monotonic_ns()
        self.send(self.head(method, url, tag, headers) + body)
        response = self.receive(method)
        response.begin_ns = begin
        return response

    def pipeline(self, urls, tags):
        self.send(b"".join(self.head("GET", url, tag) for url, tag in zip(urls, tags)))
        responses = []
        for _ in urls:
            responses.append(self.receive())
            if self.socket is None:
                break
        return responses

    def tunnel(self, target, tag, sizes=(100,), pause=0):
        """CONNECT, then an echo of each size with pauses between; returns how many bytes came back."""
        self.send(self.head("CONNECT", target, tag))
        response = self.receive("CONNECT")
        echoed = 0
        if response.status == 200:
            for size in sizes:
                self.send(b"e" * size)
                echoed += self.take(size)
                if pause:
                    time.sleep(pause)
        self.close()
        return response, echoed


def at_once(count, work):
    """Runs work(n) in count threads; raises the first error that one met."""
    errors = []

    def body(n):
        try:
            work(n)
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=body, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Background:
    """Clients that repeat work(client, n) until stopped; counts what they did."""

    def __init__(self, env, count, work):
        self.done = [0] * count
        self.errors = []
        self.ending = False
        self.threads = [threading.Thread(target=self.body, args=(n, work), daemon=True) for n in range(count)]
        for thread in self.threads:
            thread.start()
        env.on_close(self.stop)

    def body(self, n, work):
        while not self.ending:
            try:
                work(n)
                self.done[n] += 1
            except Exception as error:
                if not self.ending:
                    self.errors.append(error)
                    time.sleep(0.01)

    @property
    def total(self):
        return sum(self.done)

    def stop(self):
        self.ending = True
        for thread in self.threads:
            thread.join(60)
        return self.total
