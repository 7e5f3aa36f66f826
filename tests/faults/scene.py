# SPDX-License-Identifier: GPL-2.0-or-later
"""The surroundings of a fault: five origins of 10 ms, a name server, a Squid with two aufs cache_dirs, and clients that
send 60 requests a second, of which 60 % repeat one.  A fault changes a scene before it runs."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

from lib import dump, native
from lib.child import Process
from lib.env import Failure, go_first
from lib.squid import Squid

import living
from felt import Felt
from kept import copy_trace

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 8000  # of each origin: a scene has a network of its own
MS = 10

CONF = """
cache_mem 64 MB
maximum_object_size_in_memory 512 KB
pconn_timeout 1 minute
"""


def has_hooks(prefix):
    """Whether that Squid knows sqtrace_log."""
    with open(os.path.join(prefix, "sbin", "squid"), "rb") as program:
        return b"sqtrace_log" in program.read()


class Origin:
    """Number n of the five."""

    def __init__(self, n, network="127.0.1.%d"):
        self.n, self.ms, self.port, self.network = n, MS, PORT, network
        self.more = {}  # as far.py has it

    @property
    def address(self):
        return self.network % self.n

    @property
    def server(self):
        """Its name in a trace with names=servers."""
        return "%s:%d" % (self.address, self.port)

    @property
    def url(self):
        return "http://o%d.test:%d" % (self.n, self.port)


class Traffic:
    """What clients send.  A fault sets what it needs otherwise.

    site      what a new URL begins with: a function of its serial number and of a random.Random
    size      bytes of a new object: a function of a random.Random
    words     more words of the origin's path (lib/origin.py): a function of the serial number
    headers   of a request: a function of its serial number and of a random.Random
    options   once, silent, tls, rate, timeout, sources, patience, crowd, as load.py has them
    more      of a request, as load.py has it: a function of its serial number
    """

    def __init__(self, origins):
        self.per_second, self.repeats = 60, 0.6
        self.method, self.sends = "GET", 0
        self.site = lambda n, chance: origins[n % len(origins)].url
        self.size = lambda chance: chance.randrange(2000, 30000)
        self.words = lambda n: ""
        self.headers = lambda n, chance: []
        self.more = lambda n: {}
        self.options = {"once": False, "silent": 0, "tls": False, "rate": 0, "timeout": 60}
        self.first = []  # requests before all others: URLs

    def new(self, n, chance):
        return "%s/size=%d%s/n%d" % (self.site(n, chance), self.size(chance), self.words(n), n)

    def requests(self, seconds):
        chance, seen, made = random.Random(1), list(self.first), []
        for n, url in enumerate(self.first):
            made.append([n * 0.01, "GET", url, [], 0])
        begin = len(made) * 0.01 + (1 if made else 0)
        for k in range(int(seconds * self.per_second)):
            if not seen or chance.random() >= self.repeats:
                seen.append(self.new(len(seen), chance))
                url = seen[-1]
            else:
                url = chance.choice(seen)
            made.append([begin + k / self.per_second, self.method, url, self.headers(k, chance), self.sends,
                         self.more(k)])
        return made


class Scene:
    """names: the word of sqtrace_log.  A fault may change everything before run() starts it."""

    def __init__(self, env, seconds, names):
        self.env, self.seconds, self.names = env, seconds, names
        self.origins = [Origin(n) for n in range(1, 6)]
        self.name_servers = [["127.0.0.53", 0]]
        self.far = {}  # more settings of far.py
        self.traffic = Traffic(self.origins)
        self.dirs, self.conf, self.words = ["aufs:one", "aufs:two"], CONF, ""
        self.workers, self.preload, self.environment, self.dir_mb = 1, [], {}, 512
        self.goes_first = True  # goes before other work on the machine
        self.before, self.meanwhile = [], []  # functions of the scene: before Squid starts, and before its load does
        self.directory = self.culprit = self.port = None
        self.address = "127.0.0.1"  # to which clients connect
        self.loaded = False  # all clients have their answers
        self.live = None  # seconds after which the living trace is copied, and asked
        self.answers = []  # what it answered
        self.screen = ""  # what sqtrace-top showed
        self.threads, self.errors = [], []
        self.attach = None  # folder of sqtrace-attach's trace

    def cache_dir(self, kind):
        """Path of a cache_dir."""
        return self.squid.dir_path(kind)

    def process(self, settings, name):
        return Process(self.env, os.path.join(HERE, "far.py"), [json.dumps(settings), self.env.path(name + ".log")],
                       name)

    def start_far(self):
        network = self.origins[0].network if self.origins else "127.0.1.%d"
        self.process({"names": [(row + [{}])[:3] for row in self.name_servers], "network": network,
                      "two": self.far.get("two", [])}, "names")
        self.process(dict(self.far, origins=[[one.address, one.port, one.ms, one.more] for one in self.origins]),
                     "origins")

    def start_squid(self):
        libraries = [native.preload(self.env, name) for name in self.preload]
        trace = "names=%s %s" % (self.names, self.words) if has_hooks(self.env.squid) else None
        self.squid = Squid(self.env, trace=trace, dirs=self.dirs,
                           dns=" ".join(row[0] for row in self.name_servers), lines=self.conf,
                           workers=self.workers, alone=self.workers == 1, plain=True, dir_mb=self.dir_mb,
                           preload=" ".join(libraries) or None, environment=self.environment)
        for function in self.before:
            function(self)
        self.squid.start()
        self.directory = self.squid.directory if trace is not None else self.attach
        if self.attach:
            self.watch()

    def watch(self):
        """Starts sqtrace-attach, and waits for its probes."""
        self.watcher = subprocess.Popen([self.env.tool("sqtrace-attach"), "--service=" + self.squid.service, "-o",
                                         self.attach], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.env.on_close(self.watcher.kill)
        line = self.watcher.stderr.readline()
        self.env.require("attached" in line, "sqtrace-attach: " + line)

    def unwatch(self):
        """What sqtrace-attach found."""
        self.watcher.send_signal(signal.SIGINT)
        said = self.watcher.communicate(timeout=60)[1]
        self.env.require(self.watcher.returncode == 0, "sqtrace-attach: " + said)
        return dump.table(self.env, self.attach, "findings")

    def load(self, name="load", traffic=None, port=None):
        """Starts clients."""
        traffic = traffic or self.traffic
        plan = dict(traffic.options, proxy=[self.address, port or self.port or self.squid.port],
                    requests=traffic.requests(self.seconds))
        with open(self.env.path(name + ".json"), "w") as out:
            json.dump(plan, out)
        results = self.env.path(name + ".tsv")
        return subprocess.Popen([sys.executable, os.path.join(HERE, "load.py"), self.env.path(name + ".json"), results])

    def at(self, seconds, function):
        """Calls function(scene) so long after the load began."""
        def call():
            time.sleep(seconds)
            try:
                function(self)
            except Exception as error:
                self.errors.append("after %s s: %r" % (seconds, error))

        def begin(scene):
            self.threads.append(threading.Thread(target=call, daemon=True))
            self.threads[-1].start()
        self.meanwhile.append(begin)

    def run(self):
        if self.goes_first:
            go_first(self.env)
        self.start_far()
        self.start_squid()
        if self.live:
            self.at(self.live, Scene.ask_live)
        for function in self.meanwhile:
            function(self)
        clients = self.load()
        try:
            status = clients.wait(self.seconds + self.traffic.options["timeout"] + 20)
        except subprocess.TimeoutExpired:
            clients.kill()
            raise Failure("the clients did not end")
        self.loaded = True
        for thread in self.threads:
            thread.join(60)
        self.env.require(not self.errors, "; ".join(self.errors))
        self.env.require(status == 0, "the clients ended with status %d" % status)
        self.squid.stop()

    def ask_live(self):
        """Asks the trace of the Squid that lives, and keeps a copy of it."""
        self.answers = [living.ask_dump(self), living.ask_top(self)]
        self.screen = living.ask_screen(self)
        copy_trace(self.directory, self.env.path("live"))

    def felt(self):
        return Felt(self.env.path("load.tsv"))

    def waited(self):
        """What clients waited: [ms], and how many got no answer."""
        felt = self.felt()
        return felt.waits, felt.unanswered

    def findings(self):
        """Of the whole trace; where it was asked while it lived, of then."""
        return self.answers[0].rows if self.live else dump.table(self.env, self.directory, "findings")
