# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file of a rock cache_dir holds, read without Squid or sqtrace: the oracle for stored images."""

import os
import struct

HEADER_SIZE = 16384  # of the file
SLOT_SIZE = 16384    # the default
SLOT_HEADER = struct.Struct("=16sQIIii")  # key, entry size, payload size, version, first slot, next slot


def images(folder):
    """The stored image of each entry: {slot where it begins: bytes}.  For a store that was never full nor updated."""
    slots = {}
    with open(os.path.join(folder, "rock"), "rb") as file:
        file.seek(HEADER_SIZE)
        number = 0
        while True:
            slot = file.read(SLOT_SIZE)
            if len(slot) < SLOT_HEADER.size:
                break
            _, _, payload, _, first, following = SLOT_HEADER.unpack_from(slot)
            if payload:
                slots[number] = (first, following, slot[SLOT_HEADER.size:SLOT_HEADER.size + payload])
            number += 1
    found = {}
    for number, (first, _, _) in slots.items():
        if first != number:
            continue
        image, at = b"", number
        while at >= 0:
            _, following, payload = slots[at]
            image, at = image + payload, following
        found[number] = image
    return found


def image_of(folder, url):
    """The stored image whose metadata names url, None if there is none or several."""
    wanted = url.encode() + b"\0"
    named = [image for image in images(folder).values() if wanted in image[:4096]]
    return named[0] if len(named) == 1 else None
