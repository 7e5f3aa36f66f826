# SPDX-License-Identifier: GPL-2.0-or-later
"""eCAP services inside Squid, made by native/ecapwaits.cc: what it says there is what they do."""

import os

from .built import built_with
from .child import by_tag
from .env import Skip
from .native import module

COLUMNS = ("method", "began_ns", "answered_ns", "done_ns", "do")
INSTEAD_SIZE = 3000


class EcapAdapter:
    """Stands where an IcapServer does."""

    def __init__(self, env):
        if not built_with(env.squid, "ecap"):
            raise Skip("this Squid is built without eCAP; tools/check --only=gnutls makes one with it")
        self.module = module(env, "ecapwaits", "-lecap")
        self.log = env.path("ecap.log")
        with open(self.log, "w"):
            os.chmod(self.log, 0o666)  # Squid's user writes it

    def enabled(self):
        """Lines of squid.conf that its services need."""
        return "loadable_modules %s\necap_enable on\n" % self.module

    def service(self, name, point, *words):
        """A line of squid.conf."""
        return "ecap_service %s %s %s uri=ecap://sqtrace.test/waits log=%s\n" % (name, point, " ".join(words), self.log)

    def entries(self):
        """The log, once Squid has stopped: {tag: [dict of the columns]}."""
        with open(self.log) as log:
            return by_tag([line.rstrip("\n").split("\t") for line in log], COLUMNS)
