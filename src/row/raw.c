/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * raw.c - see raw.h.
 */
#include "raw.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    enum sqt_raw raw;
    unsigned definition;
} by_kind[SQT_KINDS] = {
    [SQT_KIND_NONE] = {SQT_RAW_NOTHING, 0},
    [SQT_KIND_XACT] = {SQT_RAW_XACT, 0},
    [SQT_KIND_OBJECT] = {SQT_RAW_HASH, 0},
    [SQT_KIND_CONTEXT_ID] = {SQT_RAW_HASH, 0},
    [SQT_KIND_TIME] = {SQT_RAW_TIME, 0},
    [SQT_KIND_TAG] = {SQT_RAW_DEFINITION, SQT_DEF_TAG},
    [SQT_KIND_METHOD] = {SQT_RAW_DEFINITION, SQT_DEF_METHOD},
    [SQT_KIND_CALL] = {SQT_RAW_DEFINITION, SQT_DEF_CALL},
    [SQT_KIND_THREAD] = {SQT_RAW_DEFINITION, SQT_DEF_THREAD},
    [SQT_KIND_SAMPLE] = {SQT_RAW_DEFINITION, SQT_DEF_SAMPLE},
    [SQT_KIND_ACTIVITY] = {SQT_RAW_DEFINITION, SQT_DEF_ACTIVITY},
    [SQT_KIND_PEER] = {SQT_RAW_DEFINITION, SQT_DEF_PEER},
    [SQT_KIND_SERVER] = {SQT_RAW_DEFINITION, SQT_DEF_SERVER},
    [SQT_KIND_ACL] = {SQT_RAW_DEFINITION, SQT_DEF_ACL},
    [SQT_KIND_SERVICE] = {SQT_RAW_DEFINITION, SQT_DEF_SERVICE},
    [SQT_KIND_WAITED] = {SQT_RAW_DEFINITION, SQT_DEF_WAITED},
    [SQT_KIND_NOTE] = {SQT_RAW_DEFINITION, SQT_DEF_NOTE},
    [SQT_KIND_ENDING] = {SQT_RAW_DEFINITION, SQT_DEF_ENDING},
    [SQT_KIND_PEER_KIND] = {SQT_RAW_DEFINITION, SQT_DEF_PEER_KIND},
};

enum sqt_raw
sqt_raw_of(enum sqt_kind kind, unsigned *definition)
{
    *definition = by_kind[kind].definition;
    return kind != SQT_KIND_NONE && by_kind[kind].raw == SQT_RAW_NOTHING ? SQT_RAW_NUMBER : by_kind[kind].raw;
}

const char *
sqt_raw_text(const struct sqt_run *run, enum sqt_kind kind, uint64_t value, char *buffer)
{
    unsigned definition;
    switch (sqt_raw_of(kind, &definition)) {
    case SQT_RAW_NOTHING:
        return "-";
    case SQT_RAW_NUMBER:
        return NULL;
    case SQT_RAW_XACT:
        if (!(value & SQT_UNNAMED))
            return NULL;
        snprintf(buffer, 64, "u%" PRIu64, value & ~SQT_UNNAMED);
        return buffer;
    case SQT_RAW_HASH:
        snprintf(buffer, 64, "%016" PRIx64, value);
        return buffer;
    case SQT_RAW_TIME: {
        const int64_t ns = sqt_line_ns(&run->line, value);
        const uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
        snprintf(buffer, 64, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", size / 1000000000, size % 1000000000);
        return buffer;
    }
    default:
        return sqt_origin_text(run->origin, definition, (uint32_t)value & ~(UINT32_C(1) << 31));
    }
}
