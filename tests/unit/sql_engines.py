# SPDX-License-Identifier: GPL-2.0-or-later
"""sql_engines.py - the engines of tools/experiment/engines.py."""
import os
import sys

sys.path.append(os.path.join(os.environ["SQT_SOURCE"], "tools", "experiment"))

from engines import ENGINES, Failed, Program, as_tsv, found, statements  # noqa: E402,F401
