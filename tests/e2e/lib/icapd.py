# SPDX-License-Identifier: GPL-2.0-or-later
"""An ICAP service that does what the HTTP request tells it to, and logs its own clock.

Run as a program (icapd.py LOG HOST PORT): prints its port, serves until its input ends.  The HTTP request's header
X-Reqmod or X-Respmod, whichever is meant by the ICAP method, holds words with ";" between:

    wait=MS     hold the answer so long, once the message is here in full
    body=MS     hold the body of the answer after its header
    do=204      no change (the default)
    do=change   the message back, with a header X-Adapted more
    do=instead  REQMOD: a response instead of the request, with 3,000 bytes of body
    do=error    an ICAP error
    do=vanish   close the connection instead of an answer
    do=midway   close the connection after the header and half of the body
    do=never    say nothing until Squid goes away

Services: /NAME/mod; one whose NAME holds "preview" asks for a preview of 1,024 bytes, one whose NAME holds "full"
allows no 204, and one whose NAME holds waitN waits for N milliseconds if the request does not say how long.

Log, tab separated, nanoseconds of CLOCK_MONOTONIC:
    tag  name  method  began_ns  received_ns  answered_ns  done_ns  do
began: the ICAP header is here; received: the whole message is; answered: before the answer's header is written;
done: its last byte was written.  tag is the HTTP request's X-Tag.
"""

import os
import re
import socketserver
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.child import Child, serve_threads  # noqa: E402

COLUMNS = ("name", "method", "began_ns", "received_ns", "answered_ns", "done_ns", "do")
INSTEAD_SIZE = 3000


def field(head, name, missing=""):
    match = re.search(rb"^%s:[ \t]*(.*?)\r?$" % name.encode(), head, re.M | re.I)
    return match.group(1).decode("latin-1") if match else missing


def chunked(body):
    return b"%x\r\n%s\r\n" % (len(body), body) if body else b""


class Vanished(Exception):
    """The other end closed the connection."""


class Connection(socketserver.StreamRequestHandler):
    """A thread for each connection, because the time from a byte's arrival to the clock's reading counts."""

    disable_nagle_algorithm = True

    def handle(self):
        try:
            while self.message():
                pass
        except (Vanished, ConnectionError):
            pass

    def line(self):
        line = self.rfile.readline()
        if not line.endswith(b"\n"):
            raise Vanished()
        return line

    def exactly(self, size):
        data = self.rfile.read(size)
        if len(data) < size:
            raise Vanished()
        return data

    def message(self):
        head = self.line()
        began = time.monotonic_ns()
        while not head.endswith(b"\r\n\r\n"):
            head += self.line()
        method, url = head.split(b" ", 2)[:2]
        name = url.decode().split("/")[-2]
        if method == b"OPTIONS":
            self.options(name)
            return True
        parts = re.findall(r"([a-z]+-[a-z]+)=(\d+)", field(head, "Encapsulated"))
        sizes = [int(after[1]) - int(part[1]) for part, after in zip(parts, parts[1:])]
        heads = {part[0]: self.exactly(size) for part, size in zip(parts, sizes)}
        body = None
        if parts[-1][0] != "null-body":
            body = self.body(bool(field(head, "Preview")))
        received = time.monotonic_ns()
        request = heads.get("req-hdr", b"")
        want = dict(word.partition("=")[::2] for word in
                    field(request, "X-" + method.decode().capitalize()).split(";") if word)
        self.hold(want.get("wait") or "".join(re.findall(r"wait(\d+)", name)))
        answered = time.monotonic_ns()
        what = want.get("do", "204")
        keep = self.answer(what, method, heads, body, want)
        self.server.note(field(request, "X-Tag", "-"), name, method.decode(), began, received, answered,
                         time.monotonic_ns(), what)
        return keep

    def options(self, name):
        lines = ["ICAP/1.0 200 OK", "Methods: " + ("REQMOD" if name.startswith("req") else "RESPMOD"),
                 'ISTag: "sqtrace-tests"', "Encapsulated: null-body=0", "Max-Connections: 200", "Options-TTL: 3600"]
        if "full" not in name:
            lines.append("Allow: 204")
        if "preview" in name:
            lines += ["Preview: 1024", "Transfer-Preview: *"]
        self.say(("\r\n".join(lines) + "\r\n\r\n").encode())

    def say(self, data):
        self.request.sendall(data)

    def body(self, preview):
        """Reads a chunked body; after a preview that is not all of it, asks for the rest."""
        body = b""
        while True:
            line = self.line()
            size = int(line.split(b";")[0], 16)
            body += self.exactly(size + 2)[:-2]
            if size:
                continue
            if preview and b"ieof" not in line:
                preview = False
                self.say(b"ICAP/1.0 100 Continue\r\n\r\n")
                continue
            return body

    @staticmethod
    def hold(milliseconds):
        if milliseconds:
            time.sleep(int(milliseconds) / 1000)

    def answer(self, what, method, heads, body, want):
        """Answers; returns whether the connection may serve another."""
        istag = b'ISTag: "sqtrace-tests"\r\n'
        if what == "204":
            self.say(b"ICAP/1.0 204 No Content\r\n" + istag + b"\r\n")
            return True
        if what == "error":
            self.say(b"ICAP/1.0 500 Server Error\r\n" + istag + b"Connection: close\r\n\r\n")
            return False
        if what == "vanish":
            return False
        if what == "never":
            self.rfile.read(1)
            return False
        kind = b"res" if what == "instead" or method == b"RESPMOD" else b"req"
        if what == "instead":
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % INSTEAD_SIZE
            body = b"i" * INSTEAD_SIZE
        else:
            head = heads[kind.decode() + "-hdr"][:-2] + b"X-Adapted: 1\r\n\r\n"
        head = b"ICAP/1.0 200 OK\r\n%sEncapsulated: %s-hdr=0, %s=%d\r\n\r\n" % (
            istag, kind, b"null-body" if body is None else kind + b"-body", len(head)) + head
        if body is None:
            self.say(head)
            return True
        if "body" in want:
            self.say(head)
            head = b""
            self.hold(want["body"])
        if what == "midway":
            self.say(head + chunked(body[:len(body) // 2]))
            return False
        self.say(head + chunked(body) + b"0\r\n\r\n")
        return True


class IcapServer(Child):
    def __init__(self, env, host="127.0.0.1", port=0):
        Child.__init__(self, env, "icapd.py", COLUMNS, [host, str(port)], host=host)

    def enabled(self):
        """Lines of squid.conf that its services need."""
        return "icap_enable on\nicap_service_failure_limit -1\nicap_preview_enable on\n"

    def service(self, name, point, *words):
        """A line of squid.conf."""
        return "icap_service %s %s icap://%s:%d/%s/mod %s\n" % (name, point, self.host, self.port, name,
                                                                " ".join(words))


if __name__ == "__main__":
    serve_threads(Connection, sys.argv[1], sys.argv[2], int(sys.argv[3]))
