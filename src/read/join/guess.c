/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * guess.c - see guess.h.
 */
#include "guess.h"

#include <stdio.h>
#include <string.h>

#include "format/format.h"

static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} signatures[] = {
    {"\x1f\x8b", 2, "gzip data; pipe it through zcat"},
    {"\x28\xb5\x2f\xfd", 4, "zstd data; pipe it through zstdcat"},
    {"\xfd"
     "7zXZ",
     5, "xz data; pipe it through xzcat"},
    {"BZh", 3, "bzip2 data; pipe it through bzcat"},
    {"PK\x03\x04", 4, "a zip archive"},
    {"\x7f"
     "ELF",
     4, "a program"},
    {"PERFILE2", 8, "data of perf"},
    {"\xc1\x1f\xfc\xc1", 4, "a CTF stream; babeltrace2 reads it"},
    {"\xd4\xc3\xb2\xa1", 4, "captured packets"},
    {"\x0a\x0d\x0d\x0a", 4, "captured packets"},
};

int
sqt_guess_is_segment(const uint8_t *bytes, size_t got)
{
    if (got >= 8 && memcmp(bytes, SQT_SEGMENT_MAGIC, 8) == 0)
        return 1;
    if (got < 8)
        return got > 3 && memcmp(bytes, SQT_SEGMENT_MAGIC, got) == 0;
    /* All but one of the eight, and the frame that follows a header where it should be. */
    unsigned same = 0;
    for (unsigned i = 0; i < 8; ++i)
        same += bytes[i] == (uint8_t)SQT_SEGMENT_MAGIC[i];
    const uint32_t magic = SQT_FRAME_MAGIC;
    const size_t at = sizeof(struct sqt_segment_header);
    return same == 7 && got >= at + sizeof(magic) && memcmp(bytes + at, &magic, sizeof(magic)) == 0;
}

static int
is_text(const uint8_t *bytes, size_t got)
{
    for (size_t i = 0; i < got; ++i)
        if ((bytes[i] < ' ' && !strchr("\t\n\r\f", bytes[i])) || bytes[i] == 0x7f || bytes[i] == 0)
            return 0;
    return 1;
}

const char *
sqt_guess(const uint8_t *bytes, size_t got, char *buf, size_t size)
{
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); ++i)
        if (got >= signatures[i].size && memcmp(bytes, signatures[i].bytes, signatures[i].size) == 0)
            return signatures[i].what;
    if (is_text(bytes, got))
        return "a text file";
    const size_t shown = got < 8 ? got : 8;
    size_t used = (size_t)snprintf(buf, size, "something else, it begins with the bytes");
    for (size_t i = 0; i < shown && used < size; ++i)
        used += (size_t)snprintf(buf + used, size - used, " %02x", bytes[i]);
    return buf;
}
