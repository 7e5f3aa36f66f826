# SPDX-License-Identifier: GPL-2.0-or-later
"""pypi.py - programs from PyPI that judge sqtrace in tests: readers of Parquet, OpenMetrics and OTLP, a terminal.

They are in a virtual environment of the build folder, or of $SQT_VENVS, which several builds share. What cannot be
installed is skipped, and named.
"""
import fcntl
import os
import subprocess
import sys

VENV = os.path.join(os.environ.get("SQT_VENVS") or os.environ["SQT_TOOLS"], "pypi-venv")
IMPORTS = {"opentelemetry-proto": "opentelemetry.proto.trace.v1.trace_pb2", "axe-core-python": "axe_core_python"}  # of packages that are called otherwise
READERS = {"pyarrow": "pyarrow", "duckdb": "duckdb", "polars": "polars", "clickhouse": "chdb"}  # of Parquet


def run(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **how)


def install(python, packages):
    """Tests that run at the same time wait for one another."""
    with open(VENV + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(python) and run(sys.executable, "-m", "venv", VENV).returncode != 0:
            return
        for package in packages:
            if run(python, "-c", "import " + IMPORTS.get(package, package)).returncode != 0:
                run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=10",
                    package)


def python_with(*packages):
    """The virtual environment's Python, if it has the packages or they can be installed; else None."""
    python = os.path.join(VENV, "bin", "python3")
    install(python, packages)
    imports = "\n".join("import " + IMPORTS.get(package, package) for package in packages)
    return python if os.path.exists(python) and run(python, "-c", imports).returncode == 0 else None


def enter(*packages):
    """Goes on in the virtual environment, made with the packages if need be."""
    if os.environ.get("SQT_PYPI_VENV") or not run(sys.executable, "-c", "import ensurepip").returncode == 0:
        return
    python = os.path.join(VENV, "bin", "python3")
    install(python, packages)
    if os.path.exists(python):
        os.environ["SQT_PYPI_VENV"] = VENV
        os.execv(python, [python, *sys.argv])


def available(name):
    try:
        __import__(READERS.get(name, name))
        return True
    except ImportError:
        return False
