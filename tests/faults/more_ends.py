# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that takes uploads slowly, as a program (more_ends.py ADDRESS PORT RATE): it reads so many bytes a second, and
answers each upload when it has it.  Prints "ready", serves until its input ends."""

import socket
import sys
import threading
import time


def line_of(sock, begun):
    """The bytes up to the end of a head, and what came after it."""
    while b"\r\n\r\n" not in begun:
        piece = sock.recv(2000)
        if not piece:
            raise ConnectionError("closed")
        begun += piece
    return begun.split(b"\r\n\r\n", 1)


def serve(sock, rate):
    rest = b""
    try:
        while True:
            head, rest = line_of(sock, rest)
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            left = (int(lengths[0].split(b":")[1]) if lengths else 0) - len(rest)
            while left > 0:
                piece = sock.recv(min(left, rate // 20))
                if not piece:
                    return
                left -= len(piece)
                time.sleep(len(piece) / rate)
            rest = b""
            sock.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok")
    except OSError:
        pass
    finally:
        sock.close()


def listen(address, port, rate):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    listener.bind((address, port))
    listener.listen(512)

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], rate), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


if __name__ == "__main__":
    listen(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print("ready", flush=True)
    sys.stdin.read()
