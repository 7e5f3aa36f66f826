# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles with bytes that are more than was asked for, with objects that are not kept, and with tunnels, and what table
`findings` must say of each: reports.md has the sentence that a person would want to read.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import moved_plants as plants
from troubles import Trouble, slow

MOVED = [Trouble("moved-" + name, plant, "-", *rest) for name, plant, *rest in (
    ("whole-films", plants.whole_films, r"range|server|127\.0\.1\.", r"[Rr]ange.*(whole|all of|200)|(whole|all of) .*[Rr]ange",
     "one request in eight: 0.7 s", slow(50, 500)),
    ("small-limit", plants.small_limit, r"maximum_object_size", r"larger|too large|not kept|not stored",
     "repeats of large objects are misses: 100 ms", slow(50, 100)),
    ("late-handshakes", plants.late_handshakes, r"127\.0\.1\.3:800[01]", r"first bytes|handshake|TLS|hello",
     "a fifth of the tunnels: 700 ms", slow(100, 700)),
    ("thin-line", plants.thin_line, r"line|network|servers", r"slow|full|KB/s|later", "tunnels take longer and longer",
     slow(400, 1000)),
)]

# Nothing is wrong, but what is healthy says who waits for seconds.
MOVED.append(Trouble("calm-large-pages", plants.large_pages, "-", r"^-$",
                     r"No cause stands out.*take 1 s or longer.*127\.0\.1\.3:8000", "one request in fifty: 2 s", slow(25, 1500)))

# Runs without a trouble: `findings` must say so, and clients that do not wait on purpose must not be hurt.
MOVED += [Trouble("calm-" + name, plant, "-", r"^-$", r"No cause stands out", "nothing", lambda felt: not felt.errors)
          for name, plant in (
    ("polls", plants.polls),
    ("chats", plants.chats),
    ("beside-download", plants.beside_download),
    ("ranges-of-all", plants.ranges_of_all),
)]
