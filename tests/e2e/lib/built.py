# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Squid was built with, by the options of its configure that squid -v names."""

import functools
import os
import re
import shlex

from .env import run


@functools.lru_cache(None)
def built_with(prefix, what):
    """Whether --with-WHAT or --enable-WHAT was the last word said about it."""
    said = run([os.path.join(prefix, "sbin", "squid"), "-v"], 20).stdout
    options = shlex.split(said.partition("configure options:")[2])
    about = [word for word in options if re.fullmatch(r"--(with|without|enable|disable)-%s(=.*)?" % what, word)]
    return bool(about) and bool(re.match(r"--(with|enable)-(?!.*=no$)", about[-1]))
