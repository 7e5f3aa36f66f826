# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of a test's own: a Python program of this folder as a child process, which logs its own clock.

The program prints its port, or ports, on its first line, flushes its log and says so when a line arrives on its input, and ends
with its input.  Its log is tab separated; the first column is a tag.
"""

import os
import socketserver
import subprocess
import sys
import threading

from .env import Failure

HERE = os.path.dirname(os.path.abspath(__file__))


class Process:
    """The program, with these words; those of its first line are in `said`."""

    def __init__(self, env, program, words, name):
        errors = env.path(name + ".err")
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, program)] + list(words),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(errors, "w"),
                                        universal_newlines=True)
        env.on_close(self.stop)
        self.said = self.process.stdout.readline().split()
        if not self.said:
            raise Failure("%s did not start: see %s" % (program, errors))

    def lines(self, log):
        """The lines of its log so far, each split into its columns."""
        self.process.stdin.write("flush\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        with open(log) as file:
            return [line.rstrip("\n").split("\t") for line in file]

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Child(Process):
    """program: file in this folder; columns: names of the log's columns after the tag, those of *_ns are numbers."""

    def __init__(self, env, program, columns, words=(), name=None, host="127.0.0.1"):
        self.columns = columns
        name = name or program.split(".")[0]
        self.log = env.path(name + ".log")
        self.host = host
        super().__init__(env, program, [self.log] + list(words), name)
        self.port = int(self.said[0])

    def entries(self):
        """The log so far: {tag: [dict of the columns]}."""
        return by_tag(self.lines(self.log), self.columns)


def by_tag(lines, columns):
    """{tag: [dict of the columns]} of the lines of a log, the first column of which is the tag."""
    found = {}
    for tag, *values in lines:
        entry = {name: int(value) if name.endswith("_ns") else value for name, value in zip(columns, values)}
        found.setdefault(tag, []).append(entry)
    return found


class Threads(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def note(self, *words):
        """A line of the log."""
        self.log.write("\t".join(map(str, words)) + "\n")


def serve_threads(handler, log_path, host="127.0.0.1", port=0):
    """For the program: serves each connection in a thread of its own until the input ends."""
    server = Threads((host, port), handler)
    server.log = open(log_path, "w", buffering=1 << 16)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    for _ in sys.stdin:
        server.log.flush()
        print("flushed", flush=True)


def serve(start, log_path):
    """For the program: start(log) is a coroutine that returns its first line; runs until the input ends."""
    import asyncio

    loop = asyncio.new_event_loop()
    log = open(log_path, "w", buffering=1 << 16)

    def command():
        line = sys.stdin.readline()
        log.flush()
        if line:
            print("flushed", flush=True)
        else:
            loop.stop()
    print(loop.run_until_complete(start(log)), flush=True)
    loop.add_reader(sys.stdin.fileno(), command)
    loop.run_forever()
