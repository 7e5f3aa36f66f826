# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the programs of this build look for errors as they run (-fsanitize), which makes them slow and large."""

import os

with open(os.path.join(os.environ["SQT_TOOLS"], "sqtrace-dump"), "rb") as program:
    CODE = program.read()
THREADS_CHECKED = b"__tsan_init" in CODE  # the slowest
SANITIZED = THREADS_CHECKED or b"__asan_init" in CODE
