# SPDX-License-Identifier: GPL-2.0-or-later
"""Links an installed Squid's objects once more: into another program, or in another order."""

import os
import shutil

from .env import Failure, run


def build_directory(prefix):
    """Where sqtrace-build made the Squid that is installed in prefix."""
    with open(os.path.join(prefix, "share", "sqtrace", "build-directory")) as note:
        return note.read().strip()


def link(prefix, program, words):
    """Makes that program, which is not there yet, of the objects of the Squid in prefix; words are for the linker.

    -o: make takes Squid's Makefile as it is.  Without it make would configure Squid anew when a file of its source is
    newer, in a folder that several runs of the tests use at once."""
    makefile = program + ".mk"
    with open(makefile, "w") as out:
        out.write("include Makefile\n%s:\n\t$(squid_LINK) $(squid_OBJECTS) $(squid_LDADD) $(LIBS) %s\n" %
                  (program, " ".join(words)))
    done = run(["make", "-s", "-C", os.path.join(build_directory(prefix), "src"), "-o", "Makefile", "-f", makefile,
                program], 300)
    if done.returncode or not os.path.exists(program):
        raise Failure("cannot link Squid to %s: %s" % (program, (done.stdout + done.stderr)[-1500:]))
    os.chmod(program, 0o755)


def can_shuffle():
    """Whether the linker is here that link_in_order() takes."""
    return shutil.which("ld.lld") is not None


def link_in_order(prefix, program, number):
    """The same program by lld, its functions in an order that the number chooses.  What the compiler takes for unlikely
    lies apart, as GNU ld has it."""
    link(prefix, program, ["-fuse-ld=lld", "-Wl,-z,keep-text-section-prefix",
                           "-Wl,--shuffle-sections=.text*=%d" % number])
