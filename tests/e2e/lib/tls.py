# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates made at run time, a TLS client, and far ends that take a known time and log their own clock.

Run as a program (tls.py HOST CERTIFICATE ORIGIN-PORT LOG TICKETS END...): prints a port for each END, serves until its
input ends.  An END is a name, or a name and milliseconds, then @PORT if it is not to be any port:

    tls:MS      a TLS server before the origin: MS pass between the ClientHello and the ServerHello
    proxy:MS    a proxy that answers CONNECT after MS, and nothing else
    garbage     answers a ClientHello with something else
    closes      closes after the ClientHello
    silent      never answers
    upgrade     answers a request with 101 and echoes what follows
    broken      answers a request with a chunk whose size is none

Log, tab separated, nanoseconds of CLOCK_MONOTONIC, a line for each connection, written when it is closed:
    end  tag  accepted  asked  answered  done  closed
asked: the ClientHello or the CONNECT is here; answered: before ServerHello or 200 is sent; done: the handshake is done.
0: it never came to that.  tag is the X-Tag of the first request inside, or of the CONNECT.
"""

import os
import re
import select
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.child import Process  # noqa: E402


class Certificates:
    """A CA, in ca.pem with its key, and a server's certificate for names and addresses, in server.pem with its key."""

    def __init__(self, env, *names, kind=("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")):
        self.ca, self.server = env.path("ca.pem"), env.path("server.pem")
        key, request, extension = env.path("server.key"), env.path("server.csr"), env.path("server.ext")
        new = ["-newkey", *kind, "-nodes"]
        openssl = env.need_program("openssl")

        def call(*words):
            done = subprocess.run([openssl] + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            env.require(done.returncode == 0, "openssl %s: %s" % (" ".join(words), done.stdout.decode()))
        call("req", "-x509", *new, "-days", "30", "-subj", "/CN=sqtrace test CA", "-keyout", self.ca, "-out",
             self.ca + ".crt")
        append(self.ca + ".crt", self.ca)
        call("req", "-new", *new, "-subj", "/CN=" + names[0], "-keyout", key, "-out", request)
        with open(extension, "w") as out:
            out.write("subjectAltName=" + ",".join(("IP:" if re.fullmatch(r"[\d.]+", name) else "DNS:") + name
                                                   for name in names) + "\n")
        call("x509", "-req", "-in", request, "-CA", self.ca + ".crt", "-CAkey", self.ca, "-CAcreateserial", "-days",
             "30", "-extfile", extension, "-out", self.server)
        append(key, self.server)
        for path in (self.ca, self.ca + ".crt", self.server):
            os.chmod(path, 0o644)  # Squid's user reads them

    def context(self):
        """For a client that believes the CA, and the certificates that Squid signs with it."""
        context = ssl.create_default_context(cafile=self.ca + ".crt")
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on: Squid signs no such certificates
        return context


def append(source, target):
    with open(source) as file, open(target, "a") as out:
        out.write(file.read())


def secure(client, context, name):
    """A connection of lib.client goes on inside TLS."""
    client.socket = context.wrap_socket(client.open(), server_hostname=name)


class FarEnds(Process):
    """The program as a child process; ports by END, and its log."""

    def __init__(self, env, origin, certificates, *ends, tickets=2):
        """tickets: how many of them a server sends after a handshake of TLS 1.3."""
        self.path = env.path("far-ends.log")
        self.host = origin.host
        super().__init__(env, "tls.py", [self.host, certificates.server, str(origin.port), self.path, str(tickets),
                                         *ends], "far-ends")
        self.ports = dict(zip(ends, map(int, self.said)))

    def entries(self):
        """[dict], in the order in which connections were closed; ends the program, so that all are."""
        self.stop()
        with open(self.path) as log:
            return [dict(zip(("end", "tag"), words[:2]),
                         **dict(zip(("accepted", "asked", "answered", "done", "closed"), map(int, words[2:]))))
                    for words in (line.rstrip("\n").split("\t") for line in log)]


# ---- the program ----

class Closed(Exception):
    """The other side closed the connection."""


def receive(sock):
    try:
        data = sock.recv(65536)
    except OSError:
        data = b""
    if not data:
        raise Closed()
    return data


def tag_of(head):
    match = re.search(rb"\r\nX-Tag: (\S+)", head, re.I)
    return match.group(1).decode("latin-1") if match else None


class Plain:
    """A connection's bytes as they are."""

    def __init__(self, sock):
        self.sock = sock

    def read(self):
        return receive(self.sock)

    def write(self, data):
        self.sock.sendall(data)


class Secure:
    """A connection's bytes inside TLS, which this end drives itself so that it can wait within the handshake."""

    def __init__(self, sock, context):
        self.sock = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def flush(self):
        if self.outgoing.pending:
            self.sock.sendall(self.outgoing.read())

    def shake_hands(self, stamps, delay):
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                if self.outgoing.pending and not stamps["answered"]:
                    time.sleep(delay)
                    stamps["answered"] = time.monotonic_ns()
                self.flush()
                self.incoming.write(receive(self.sock))
                stamps["asked"] = stamps["asked"] or time.monotonic_ns()
        stamps["done"] = time.monotonic_ns()
        self.flush()

    def read(self):
        """Bytes, or none if what came held only a part of a record or a word between the ends."""
        data = self.take()
        if not data:
            self.incoming.write(receive(self.sock))
            data = self.take()
        return data

    def take(self):
        """What can be deciphered now; the last bytes of the client's Finished may have brought some already."""
        data = b""
        try:
            while True:
                piece = self.tls.read(65536)
                if not piece:
                    break
                data += piece
        except ssl.SSLWantReadError:
            return data
        except ssl.SSLZeroReturnError:
            pass
        if not data:
            raise Closed()
        return data

    def write(self, data):
        self.tls.write(data)
        self.flush()


def relay(one, other):
    """Both ways, until either side closes."""
    ends = {one.sock: (one, other), other.sock: (other, one)}
    try:
        while True:
            for sock in select.select(list(ends), [], [])[0]:
                source, target = ends[sock]
                data = source.read()
                if data:
                    target.write(data)
    except (Closed, OSError, ssl.SSLError):
        pass


class Program:
    def __init__(self, host, certificate, origin_port, log_path, tickets):
        self.host, self.origin_port = host, origin_port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.context.num_tickets = tickets
        self.log = open(log_path, "w", buffering=1)
        self.lock = threading.Lock()

    def listen(self, end):
        end, _, port = end.partition("@")
        listener = socket.create_server((self.host, int(port or 0)), backlog=512)
        threading.Thread(target=self.accept, args=(listener, end), daemon=True).start()
        return listener.getsockname()[1]

    def accept(self, listener, end):
        while True:
            sock, _ = listener.accept()
            accepted = time.monotonic_ns()
            threading.Thread(target=self.serve, args=(sock, end, accepted), daemon=True).start()

    def serve(self, sock, end, accepted):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stamps = {"tag": None, "accepted": accepted, "asked": 0, "answered": 0, "done": 0}
        kind, _, milliseconds = end.partition(":")
        try:
            getattr(self, kind)(sock, stamps, int(milliseconds or 0) / 1000)
        except (Closed, OSError, ssl.SSLError, ValueError):
            pass
        sock.close()
        with self.lock:
            self.log.write("%s\t%s\t%d\t%d\t%d\t%d\t%d\n" % (end, stamps["tag"] or "-", accepted, stamps["asked"],
                                                            stamps["answered"], stamps["done"], time.monotonic_ns()))

    def tls(self, sock, stamps, delay):
        near = Secure(sock, self.context)
        near.shake_hands(stamps, delay)
        far = Plain(socket.create_connection((self.host, self.origin_port)))
        first = b""
        while b"\r\n\r\n" not in first:
            first += near.read()
        stamps["tag"] = tag_of(first)
        far.write(first)
        relay(near, far)
        far.sock.close()

    def proxy(self, sock, stamps, delay):
        head = b""
        while b"\r\n\r\n" not in head:
            head += receive(sock)
        stamps["asked"], stamps["tag"] = time.monotonic_ns(), tag_of(head)
        method, target = head.decode("latin-1").split(" ")[:2]
        if method != "CONNECT":
            raise ValueError(method)
        far = Plain(socket.create_connection((self.host, int(target.rpartition(":")[2]))))  # all names are its own
        time.sleep(delay)
        stamps["answered"] = time.monotonic_ns()
        sock.sendall(b"HTTP/1.1 200 Here it is\r\n\r\n")
        relay(Plain(sock), far)
        far.sock.close()

    def garbage(self, sock, stamps, delay):
        receive(sock)
        sock.sendall(b"this is not a ServerHello\r\n" * 10)
        receive(sock)

    def closes(self, sock, stamps, delay):
        receive(sock)

    def silent(self, sock, stamps, delay):
        while True:
            receive(sock)

    def upgrade(self, sock, stamps, delay):
        stamps["tag"] = tag_of(receive(sock))
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
        while True:
            sock.sendall(receive(sock))

    def broken(self, sock, stamps, delay):
        stamps["tag"] = tag_of(receive(sock))
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nno size\r\n")
        receive(sock)


if __name__ == "__main__":
    program = Program(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    print(*[program.listen(name) for name in sys.argv[6:]], flush=True)
    sys.stdin.read()
