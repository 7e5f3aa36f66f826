# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed traffic: every kind of request that a row of the `requests` table can be about."""

import itertools
import random
import threading
import time

from .client import Broken, Client, at_once

# squid.conf lines that the mixed traffic wants: small objects stay in memory, larger ones only on disk.
CONF = """
cache_mem 32 MB
maximum_object_size_in_memory 4 KB
maximum_object_size 64 MB
store_dir_select_algorithm round-robin
pipeline_prefetch 4
negative_ttl 60 seconds
"""

WEIGHTS = {"memory_hit": 24, "disk_hit": 22, "miss": 16, "chunked": 2, "not_modified": 6, "negative": 4, "abort": 4,
           "tunnel": 3, "pipeline": 4, "vary": 5, "revalidate": 5, "changed": 1, "post": 4, "head": 2, "reload": 1,
           "refused": 0.5, "garbage": 0.5, "gone": 0.3, "retry": 1.5, "internal": 0.2}


class Mixed:
    """count requests from concurrency clients; counts by kind in .sent, unexpected answers in .odd."""

    def __init__(self, env, squid, origin, seed=1, weights=None):
        self.env, self.squid, self.origin = env, squid, origin
        self.weights = weights or WEIGHTS
        self.seed = seed
        self.serial = itertools.count(1)
        self.sent = {}
        self.odd = []
        self.lock = threading.Lock()
        self.begun = 0

    def tag(self):
        return "m%d-%d" % (self.seed, next(self.serial))

    def want(self, response, statuses, size=None):
        if response.status not in statuses or (size is not None and response.status == 200
                                               and response.body_size != size):
            self.odd.append("status %d, %d bytes" % (response.status, response.body_size))

    def warm(self):
        """Fetches the objects that are to be hits."""
        with Client(self.squid.client_address()) as client:
            for n in range(20):
                client.request(self.small(n), self.tag())
            for n in range(60):
                client.request(self.large(n), self.tag())

    def small(self, n):
        return self.origin.url("small%d" % n, size=1000, etag="s")

    def large(self, n):
        return self.origin.url("large%d" % n, size=self.large_size(n), etag="l")

    @staticmethod
    def large_size(n):
        return 6000 + n * n * 55

    def run(self, count, concurrency):
        left = itertools.count()
        begin = time.monotonic()

        def work(n):
            random_ = random.Random(self.seed * 1000 + n)
            kinds, weights = zip(*self.weights.items())
            client = Client(self.squid.client_address())
            while next(left) < count:
                kind = random_.choices(kinds, weights)[0]
                for attempt in (1, 2):
                    try:
                        made = getattr(self, kind)(client, random_) or 1
                        break
                    except (Broken, ConnectionError):
                        client.close()  # Squid may close an idle connection; a second refusal is odd
                        if attempt == 2:
                            self.odd.append(kind + ": connection closed twice")
                with self.lock:
                    self.sent[kind] = self.sent.get(kind, 0) + made
                for _ in range(made - 1):
                    next(left)
                if random_.random() < 0.05:
                    client.close()
            client.close()
        at_once(concurrency, work)
        self.env.note("%d requests, %d at a time, in %.1f s: %s" % (sum(self.sent.values()), concurrency,
                                                                   time.monotonic() - begin, self.sent))

    # ---- one request of a kind; returns how many it made if not one ----

    def memory_hit(self, client, random_):
        self.want(client.request(self.small(random_.randrange(20)), self.tag()), (200,), 1000)

    def disk_hit(self, client, random_):
        n = random_.randrange(60)
        self.want(client.request(self.large(n), self.tag()), (200,), self.large_size(n))

    def miss(self, client, random_):
        size = random_.choice((0, 100, 3000, 15000, 80000))
        want = {"size": size}
        if random_.random() < 0.5:  # an origin is seldom as near as this one
            want["hdr"] = random_.randrange(30)
        if random_.random() < 0.2:
            want["close"] = 1
        self.want(client.request(self.origin.url(self.tag(), **want), self.tag()), (200,), size)

    def chunked(self, client, random_):
        self.want(client.request(self.origin.url(self.tag(), size=20000, chunked=1, parts=3, gap=2), self.tag()),
                  (200,), 20000)

    def not_modified(self, client, random_):
        url = self.small(random_.randrange(20))
        self.want(client.request(url, self.tag(), headers=['If-None-Match: "s"']), (304,))

    def negative(self, client, random_):
        url = self.origin.url(self.tag(), status=404, cc="-", size=50)
        self.want(client.request(url, self.tag()), (404,))
        self.want(client.request(url, self.tag()), (404,))
        return 2

    def abort(self, client, random_):
        how = random_.randrange(4)
        url = self.origin.url(self.tag(), size=300000, hdr=20, body=10, parts=4, gap=10)
        if how == 0:  # before the answer
            client.send(client.head("GET", url, self.tag()))
        elif how == 1:  # in the middle of the body
            client.send(client.head("GET", url, self.tag()))
            client.fill()
        elif how == 2:  # in the middle of a disk hit
            client.send(client.head("GET", self.large(59), self.tag()))
            client.fill()
        else:  # in the middle of the request header
            client.send(client.head("GET", url, self.tag())[:40])
        client.close(reset=random_.random() < 0.5)

    def tunnel(self, client, random_):
        response, echoed = client.tunnel("%s:%d" % (self.origin.host, self.origin.echo_port), self.tag(),
                                         (100, 20000, 1))
        self.want(response, (200,))
        if echoed != 20101:
            self.odd.append("tunnel gave back %d bytes" % echoed)

    def pipeline(self, client, random_):
        urls = [self.small(random_.randrange(20)), self.large(random_.randrange(20)),
                self.origin.url(self.tag(), size=2000)]
        random_.shuffle(urls)
        for response in client.pipeline(urls, [self.tag() for _ in urls]):
            self.want(response, (200,))
        return len(urls)

    def vary(self, client, random_):
        language = random_.choice(("de", "fr", "it"))
        url = self.origin.url("vary%d" % random_.randrange(10), vary="Accept-Language", size=9000)
        self.want(client.request(url, self.tag(), headers=["Accept-Language: " + language]), (200,), 9000)

    def revalidate(self, client, random_):
        url = self.origin.url("reval%d" % random_.randrange(10), etag="r", cc="max-age=0+must-revalidate", size=7000)
        self.want(client.request(url, self.tag()), (200,), 7000)

    def changed(self, client, random_):
        url = self.origin.url("changed%d" % random_.randrange(3), cc="max-age=0+must-revalidate", lm="new", size=7000)
        self.want(client.request(url, self.tag()), (200, 304))

    def post(self, client, random_):
        body = b"p" * random_.choice((1, 1000, 70000))
        self.want(client.request(self.origin.url("sink", size=20), self.tag(), "POST", body=body), (200,), 20)

    def head(self, client, random_):
        self.want(client.request(self.small(random_.randrange(20)), self.tag(), "HEAD"), (200,))

    def reload(self, client, random_):
        self.want(client.request(self.small(3), self.tag(), headers=["Cache-Control: no-cache"]), (200,), 1000)

    def refused(self, client, random_):
        self.want(client.request("http://%s:%d/refused/x" % (self.origin.host, self.origin.port), self.tag()), (403,))

    def garbage(self, client, random_):
        client.send(b"\x16\x03nonsense\x01 %%\r\n\r\n")
        self.want(client.receive(), (400,))
        client.close()

    def gone(self, client, random_):
        """An origin that nobody serves."""
        self.want(client.request("http://127.0.0.1:1/" + self.tag(), self.tag()), (503,))

    def retry(self, client, random_):
        """An origin that closes the persistent connection instead of answering."""
        self.want(client.request(self.origin.url(self.tag(), drop=1, size=500), self.tag()), (200,), 500)

    def internal(self, client, random_):
        self.want(client.request("http://e2e.test:%d/squid-internal-static/icons/SN.png" % self.squid.port,
                                 self.tag()), (200,))
