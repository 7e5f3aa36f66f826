# SPDX-License-Identifier: GPL-2.0-or-later
"""C that a test compiles: preloaded libraries, and a writer that stands in for Squid; and what the sources declare."""

import os
import re

from .env import Failure, run

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "native")
TOP = os.path.dirname(os.path.dirname(SOURCE.rsplit("/", 1)[0]))


def compile_(words, compiler=("CC", "cc", "gnu11")):
    """compiler: the variable that names it, what it is called without that, and the language's standard."""
    variable, name, standard = compiler
    done = run([os.environ.get(variable, name), "-O2", "-g", "-Wall", "-Wextra", "-std=" + standard] + words, 60)
    if done.returncode:
        raise Failure("cannot compile: " + done.stderr[-1500:])


def preload(env, name):
    """Path of the preloadable library made from native/<name>.c."""
    path = env.path(name + ".so")
    compile_(["-shared", "-fPIC", "-o", path, os.path.join(SOURCE, name + ".c"), "-ldl"])
    os.chmod(path, 0o755)
    return path


def module(env, name, *libraries):
    """Path of the module for Squid's loadable_modules that is made from native/<name>.cc."""
    path = env.path(name + ".so")
    compile_(["-shared", "-fPIC", "-o", path, os.path.join(SOURCE, name + ".cc"), *libraries], ("CXX", "c++", "c++17"))
    os.chmod(path, 0o755)
    return path


def writer(env):
    """Path of the program made from native/writer.c and libsqtrace.a."""
    path = env.path("writer")
    library = env.tool("libsqtrace.a")
    with open(env.tool("libsqtrace.pc")) as file:
        needs = re.search(r"^Libs:.* -lsqtrace (.*)$", file.read(), re.M).group(1).split()
    compile_(["-I", os.path.join(TOP, "src"), "-o", path, os.path.join(SOURCE, "writer.c"), library, *needs])
    return path


def declared_events(*groups):
    """Names in src/format/events.def, of all groups or of some, in the order of their numbers, which begin at 1."""
    return [name for name, group, _ in events_with("ENDS_WITH") if not groups or group in groups]


def events_with(field):
    """[(name, group, the first word of that field, or NONE)] of src/format/events.def: ID, ENDS_WITH ..."""
    with open(os.path.join(TOP, "src", "format", "events.def")) as table:
        rows = re.findall(r"^SQT_EVENT\((\w+), (\w+), .*\n((?: .*\n)*)", table.read(), re.M)
    return [(name, group, (re.findall(field + r"\((\w+)", rest) or ["NONE"])[0]) for name, group, rest in rows]
