# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of runs that are kept."""

import glob
import os
import re
import shutil
import subprocess

LARGEST = 32 << 20  # a log that is larger is not kept


def keep(scene, fault, result, folder):
    """Copies a run's trace and logs to the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    copy_trace(scene.directory, os.path.join(folder, "trace"))
    if scene.live:
        shutil.copytree(scene.env.path("live"), os.path.join(folder, "live"))
        with open(os.path.join(folder, "live.txt"), "w") as out:
            out.write("\n".join(result["findings"]) + "\n")
    logs = glob.glob(os.path.join(scene.squid.folder, "access*.log")) + [os.path.join(scene.squid.folder, "native.log")]
    for path in logs + [scene.squid.cache_log, scene.squid.conf]:
        if os.path.exists(path) and os.path.getsize(path) < LARGEST:
            shutil.copy(path, folder)
    shutil.copy(scene.env.path("load.tsv"), os.path.join(folder, "felt.tsv"))
    with open(os.path.join(folder, "felt.txt"), "w") as out:
        out.write(result["clients"] + "\n")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    note(os.path.join(os.path.dirname(folder), "INDEX.tsv"), fault, result)


def note(index, fault, result):
    """A line for the run takes the place of an older one: name, culprit and words that are expected, the first finding,
    what clients felt, what is wrong."""
    culprits = "|".join(getattr(one, "culprit", "") for one in fault.faults)
    words = "|".join(getattr(one, "words", "") or "|".join(one.causes) for one in fault.faults)
    lines = []
    if os.path.exists(index):
        with open(index) as file:
            lines = [line for line in file if not line.startswith(fault.name + "\t")]
    lines.append("\t".join([fault.name, culprits, words, (result["findings"] or ["-"])[0], result["clients"],
                            result["wrong"] or "named"]) + "\n")
    with open(index, "w") as out:
        out.writelines(lines)


def copy_trace(directory, copy):
    """A copy of a trace.  Rings of those that write it, or that died, take the places of the notes of where they are."""
    shutil.copytree(directory, copy)
    for name in os.listdir(copy):
        path = os.path.join(copy, name)
        ring = ring_of(path) if name.endswith(".ring") else None
        if ring and os.path.exists(ring):
            shutil.copyfile(ring, path)


def ring_of(path):
    """The ring that a note names, or None if the file is no note."""
    if os.path.getsize(path) > 4096:
        return None
    with open(path, "rb") as note:
        found = re.search(rb"(/[^\s\0]*\.ring)", note.read())
    return found and found.group(1).decode()
