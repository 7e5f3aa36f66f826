# SPDX-License-Identifier: GPL-2.0-or-later
"""parquet_venv.py - the programs from PyPI that read Parquet, in a virtual environment of the tests.

It is in the build folder, or in $SQT_VENVS, which several builds share.
"""
import os
import subprocess
import sys

VENV = os.path.join(os.environ.get("SQT_VENVS", os.environ["SQT_TOOLS"]), "parquet-venv")


def run(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **how)


def enter(packages):
    """Runs this script again in the environment, which is made with the packages if need be."""
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


def available(package):
    try:
        __import__(package)
        return True
    except ImportError:
        return False
