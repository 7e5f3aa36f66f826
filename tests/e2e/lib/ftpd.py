# SPDX-License-Identifier: GPL-2.0-or-later
"""An FTP server that does what the file's name tells it to, and logs its own clock.

Run as a program (ftpd.py LOG): prints its port, serves until its input ends.

    ftp://HOST:PORT/key=value,key=value,...,name.bin

    size=N    bytes of the file (default 100)      gone=1   there is no such file
    send=MS   hold the answer to SIZE so long      wait=MS  hold the data after RETR
    body=MS   hold the second half of the data     done=MS  hold the final answer after the data
    abort=1   close the data connection, and then the control connection, in the middle
    deaf=1    the data connection is not answered

A directory (a name with "/" at its end) holds 5 files.  The user holdN is let in after N milliseconds, the
user wrong never.

Log, tab separated, nanoseconds of CLOCK_MONOTONIC:
    name  greeted_ns  asked_ns  first_ns  last_ns  done_ns  bytes
greeted: the control connection is here; asked: RETR, LIST or STOR is; first, last: before the first byte of data, after
the last one; done: before the final answer.
"""

import asyncio
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib.child import Child, serve  # noqa: E402

COLUMNS = ("greeted_ns", "asked_ns", "first_ns", "last_ns", "done_ns", "bytes")
DEAF = []  # kept open
LISTING = "".join("-rw-r--r-- 1 ftp ftp %d Jan 01 2024 file%d.bin\r\n" % (n, n) for n in range(5)).encode()


def deaf_port():
    """A port of loopback whose queue is full, so that a connection to it stays half open."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    for _ in range(2):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        DEAF.append(client)
    DEAF.append(listener)
    return listener.getsockname()[1]


class Control:
    def __init__(self, reader, writer, log):
        self.reader, self.writer, self.log = reader, writer, log
        self.greeted = time.monotonic_ns()
        self.folder = ""
        self.user_hold = 0
        self.data = None
        self.server = None
        self.deaf = False

    async def serve(self):
        try:
            self.say(220, "ready")
            while True:
                line = (await self.reader.readuntil(b"\n")).decode("latin-1").strip()
                word, _, argument = line.partition(" ")
                handler = getattr(self, "on_" + word.lower(), None)
                if not handler:
                    self.say(502, "not known")
                elif await handler(argument) is False:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        if self.server:
            self.server.close()
        self.writer.close()

    def say(self, code, text):
        self.writer.write(b"%d %s\r\n" % (code, text.encode()))

    @staticmethod
    async def hold(milliseconds):
        if milliseconds:
            await asyncio.sleep(int(milliseconds) / 1000)

    @staticmethod
    def want(name):
        return dict(word.partition("=")[::2] for word in name.split("/")[-1].split(",") if "=" in word)

    async def on_user(self, name):
        self.user_hold = name[4:] if name.startswith("hold") else 0
        self.say(*((530, "not you") if name == "wrong" else (331, "password?")))

    async def on_pass(self, _):
        await self.hold(self.user_hold)
        self.say(230, "come in")

    async def on_type(self, _):
        self.say(200, "all the same")

    async def on_cwd(self, name):
        self.folder = name
        self.say(*((550, "no such folder") if "gone" in self.want(name) else (250, "there")))

    async def on_mdtm(self, name):
        self.say(*((550, "no such file") if "gone" in self.want(name) else (213, "20240101000000")))

    async def on_size(self, name):
        want = self.want(name)
        self.deaf = "deaf" in want
        await self.hold(want.get("send"))
        self.say(*((550, "no such file") if "gone" in want else (213, want.get("size", "100"))))

    async def on_epsv(self, _):
        connected = asyncio.get_running_loop().create_future()

        async def client(reader, writer):
            connected.set_result((reader, writer))
        if self.server:
            self.server.close()
        if self.deaf:
            self.say(229, "here (|||%d|)" % deaf_port())
            return
        self.server = await asyncio.start_server(client, "127.0.0.1", 0)
        self.data = connected
        self.say(229, "here (|||%d|)" % self.server.sockets[0].getsockname()[1])

    async def on_rest(self, _):
        self.say(350, "as you like")

    async def on_retr(self, name):
        want = self.want(name)
        if "gone" in want:
            self.say(550, "no such file")
            return True
        return await self.transfer(name, b"f" * int(want.get("size", 100)), want)

    async def on_list(self, name):
        return await self.transfer(name or self.folder, LISTING, self.want(name or self.folder))

    async def transfer(self, name, content, want):
        asked = time.monotonic_ns()
        self.say(150, "coming")
        _, data = await self.data
        await self.hold(want.get("wait"))
        first = time.monotonic_ns()
        data.write(content[:len(content) // 2])
        await data.drain()
        await self.hold(want.get("body"))
        if "abort" in want:
            data.close()
            return False
        data.write(content[len(content) // 2:])
        await data.drain()
        data.close()
        return await self.finish(name, asked, first, len(content), want)

    on_nlst = on_list

    async def on_stor(self, name):
        asked = time.monotonic_ns()
        want = self.want(name)
        self.say(150, "give")
        reader, data = await self.data
        first = time.monotonic_ns()
        content = await reader.read(-1)
        data.close()
        return await self.finish(name, asked, first, len(content), want)

    async def finish(self, name, asked, first, size, want):
        last = time.monotonic_ns()
        await self.hold(want.get("done"))
        done = time.monotonic_ns()
        self.say(226, "done")
        self.log.write("\t".join(map(str, (name, self.greeted, asked, first, last, done, size))) + "\n")
        return True

    async def on_quit(self, _):
        self.say(221, "bye")
        await self.writer.drain()
        return False


async def start(log):
    async def client(reader, writer):
        await Control(reader, writer, log).serve()
    server = await asyncio.start_server(client, "127.0.0.1", 0, backlog=512)
    return server.sockets[0].getsockname()[1]


class FtpServer(Child):
    def __init__(self, env):
        Child.__init__(self, env, "ftpd.py", COLUMNS)

    def name(self, tag, **want):
        return ",".join(["%s=%s" % item for item in sorted(want.items())] + [tag + ".bin"])

    def url(self, tag, user="", **want):
        return "ftp://%s%s:%d/%s" % (user and user + "@", self.host, self.port, self.name(tag, **want))


if __name__ == "__main__":
    serve(start, sys.argv[1])
