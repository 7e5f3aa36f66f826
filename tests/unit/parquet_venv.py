# SPDX-License-Identifier: GPL-2.0-or-later
"""parquet_venv.py - programs from PyPI that read Parquet, for the tests that compare sqtrace with them.

They are in a virtual environment of the build folder, or of $SQT_VENVS, which several builds share. What cannot be
installed is skipped, and named.
"""
import os
import subprocess
import sys

VENV = os.path.join(os.environ.get("SQT_VENVS", os.environ["SQT_TOOLS"]), "parquet-venv")
READERS = {"pyarrow": "pyarrow", "duckdb": "duckdb", "polars": "polars", "clickhouse": "chdb"}


def run(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **how)


def enter(*packages):
    """Goes on in the virtual environment, made with the packages if need be."""
    if os.environ.get("SQT_PARQUET_VENV") or not run(sys.executable, "-c", "import ensurepip").returncode == 0:
        return
    python = os.path.join(VENV, "bin", "python3")
    if not os.path.exists(python) and run(sys.executable, "-m", "venv", VENV).returncode != 0:
        return
    for package in packages:
        if run(python, "-c", "import " + package).returncode != 0:
            run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=10",
                package)
    os.environ["SQT_PARQUET_VENV"] = VENV
    os.execv(python, [python, *sys.argv])


def available(name):
    try:
        __import__(READERS.get(name, name))
        return True
    except ImportError:
        return False
