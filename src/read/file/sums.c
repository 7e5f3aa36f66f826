/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sums.c - see sums.h.
 */
#include "sums.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/memory.h"
#include "format/format.h"

/* All steps of the longest stretch, and its ends. */
#define KEPT (SQT_FRAME_MAX / SQT_SUMS_STEP + 2)

static uint32_t *
at(const struct sqt_sums *s, uint64_t offset)
{
    return &s->kept[offset / SQT_SUMS_STEP % KEPT];
}

uint32_t
sqt_sums_crc(struct sqt_sums *s, uint32_t crc, uint64_t offset, const uint8_t *bytes, size_t size)
{
    const uint64_t first = (offset + SQT_SUMS_STEP - 1) / SQT_SUMS_STEP * SQT_SUMS_STEP;
    const uint64_t last = (offset + size) / SQT_SUMS_STEP * SQT_SUMS_STEP;
    if (!s->kept)
        s->kept = sqt_zeroed(KEPT, sizeof(*s->kept));
    if (first >= last)
        return (uint32_t)crc32(crc, bytes, (uInt)size);
    if (first < s->base || first > s->until) {
        s->base = s->until = first;
        *at(s, first) = 0;
    }
    for (; s->until < last; s->until += SQT_SUMS_STEP)
        *at(s, s->until + SQT_SUMS_STEP) =
            (uint32_t)crc32(*at(s, s->until), bytes + (s->until - offset), SQT_SUMS_STEP);
    crc = (uint32_t)crc32(crc, bytes, (uInt)(first - offset));
    /* A CRC is linear: what stands before the stretch is shifted over it, and taken away. */
    crc = *at(s, last) ^ (uint32_t)crc32_combine(crc ^ *at(s, first), 0, (z_off_t)(last - first));
    return (uint32_t)crc32(crc, bytes + (last - offset), (uInt)(offset + size - last));
}

void
sqt_sums_forget(struct sqt_sums *s)
{
    s->base = UINT64_MAX;
    s->until = 0;
}

void
sqt_sums_free(struct sqt_sums *s)
{
    free(s->kept);
    *s = (struct sqt_sums){0};
}
