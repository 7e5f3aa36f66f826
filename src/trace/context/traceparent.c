/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traceparent.c - the header field traceparent of W3C's Trace Context: VERSION-TRACE_ID-PARENT_ID-FLAGS.
 */
#include "trace/sqtrace.h"

#include <string.h>

#include "format/span-id.h"

#define DASH_1 2   /* after the version */
#define DASH_2 35  /* after the trace id */
#define DASH_3 52  /* after the parent id */
#define SIZE_00 55 /* of version 00; later versions may have more behind a dash */
#define VERSION_NONE 0xff
#define SAMPLED 1 /* the one flag that also later versions have */

/* Reads `digits` hexadecimal digits, at most 16, none of them upper case.  Returns 0, or -1. */
static int
read_hex(const char *text, unsigned digits, uint64_t *number)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < digits; ++i) {
        const char c = text[i];
        if (c >= '0' && c <= '9')
            sum = sum << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            sum = sum << 4 | (uint64_t)(c - 'a' + 10);
        else
            return -1;
    }
    *number = sum;
    return 0;
}

/* Whether a field of this version may have this size and what stands behind its flags. */
static int
ends_well(const char *text, size_t size, uint64_t version)
{
    return size == SIZE_00 || (version && text[SIZE_00] == '-');
}

int
sqt_traceparent_parse(const char *text, size_t size, struct sqt_traceparent *to)
{
    uint64_t version, flags;
    struct sqt_traceparent found;
    if (size < SIZE_00 || text[DASH_1] != '-' || text[DASH_2] != '-' || text[DASH_3] != '-')
        return -1;
    if (read_hex(text, 2, &version) != 0 || version == VERSION_NONE || !ends_well(text, size, version))
        return -1;
    if (read_hex(text + DASH_1 + 1, 16, &found.trace_high) != 0 ||
        read_hex(text + DASH_1 + 17, 16, &found.trace_low) != 0 ||
        read_hex(text + DASH_2 + 1, 16, &found.parent) != 0 || read_hex(text + DASH_3 + 1, 2, &flags) != 0)
        return -1;
    if (!(found.trace_high | found.trace_low) || !found.parent)
        return -1;
    found.flags = (uint32_t)(version ? flags & SAMPLED : flags);
    *to = found;
    return 0;
}

uint8_t sqt_span_ring[16];

int
sqt_traceparent_forward(const char *text, size_t size, uint64_t xact, uint32_t tries, char *to, size_t to_size)
{
    static const char digits[] = "0123456789abcdef";
    struct sqt_traceparent parsed;
    if (size >= to_size || sqt_traceparent_parse(text, size, &parsed) != 0)
        return -1;
    uint64_t id = sqt_span_try(sqt_span_ring, xact, tries);
    memcpy(to, text, size);
    to[size] = '\0';
    for (unsigned i = 16; i-- > 0; id >>= 4)
        to[DASH_2 + 1 + i] = digits[id & 15];
    return 0;
}
