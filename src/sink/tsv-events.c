/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tsv-events.c - the table of records at full speed: what does not change from record to record is kept as text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/event-xid.h"
#include "row/raw.h"
#include "base/memory.h"
#include "base/visible.h"
#include "base/digits.h"
#include "sink.h"

/* Longest line but for texts of definitions. */
#define LINE_MAX_BYTES 192
#define DEFINITION_MAX 256
#define DEFINITION_ROOM SQT_VISIBLE_ROOM(DEFINITION_MAX)
#define EVENT_NUMBERS 512

/* What is the same in all records of an event: "\t<kid>\t<EVENT>\t", and how its fields are printed. */
struct pattern {
    char text[54]; /* copied as a whole */
    unsigned char length;
    unsigned char raw[3];
    unsigned char definition[3];
    unsigned char names; /* enum sqt_event_names */
};

struct sqt_tsv_origin {
    int known[EVENT_NUMBERS];
    struct pattern patterns[EVENT_NUMBERS];
    struct sqt_event_xids xids;
};

static void
learn(struct pattern *pattern, const struct sqt_origin *origin, unsigned number)
{
    char name[37];
    sqt_visible_text(name, sizeof(name), sqt_origin_event_name(origin, number));
    const int n = snprintf(pattern->text, sizeof(pattern->text), "\t%u\t%s\t", origin->identity.kid, name);
    pattern->length = (unsigned char)n;
    pattern->names = (unsigned char)sqt_event_names_of(number);
    const struct sqt_event_info *const event = number < SQT_EVENTS ? &sqt_events[number] : NULL;
    for (unsigned i = 0; i < 3; ++i) {
        unsigned definition = 0;
        pattern->raw[i] = SQT_RAW_NUMBER;
        if (event)
            pattern->raw[i] = (unsigned char)sqt_raw_of(i == 0   ? event->id.kind
                                                        : i == 1 ? event->arg.kind
                                                                 : event->aux.kind,
                                                        &definition);
        pattern->definition[i] = (unsigned char)definition;
    }
}

static char *
put_definition(char *p, const struct sqt_origin *origin, unsigned definition, uint64_t value)
{
    const char *text = sqt_origin_text(origin, definition, (uint32_t)value & ~(UINT32_C(1) << 31));
    if (!text)
        return sqt_put_unsigned(p, value);
    return sqt_visible(p, text, DEFINITION_MAX);
}

static char *
put_special(char *p, const struct sqt_run *run, const struct pattern *pattern, unsigned field, uint64_t value)
{
    switch (pattern->raw[field]) {
    case SQT_RAW_HASH:
        return sqt_put_hex(p, value);
    case SQT_RAW_TIME:
        return sqt_put_seconds(p, sqt_line_ns(&run->line, value));
    case SQT_RAW_DEFINITION:
        return put_definition(p, run->origin, pattern->definition[field], value);
    case SQT_RAW_XACT:
        if (value & SQT_UNNAMED) {
            *p++ = 'u';
            value &= ~SQT_UNNAMED;
        }
        return sqt_put_unsigned(p, value);
    default:
        return sqt_put_unsigned(p, value);
    }
}

static inline char *
tsv_events_put_field(char *p, const struct sqt_run *run, const struct pattern *pattern, unsigned field, uint64_t value)
{
    if (pattern->raw[field] == SQT_RAW_NOTHING) {
        *p = '-';
        return p + 1;
    }
    if (__builtin_expect(pattern->raw[field] == SQT_RAW_NUMBER, 1))
        return sqt_put_unsigned(p, value);
    return put_special(p, run, pattern, field, value);
}

static struct sqt_tsv_origin *
origin_state(struct sqt_sink *sink, const struct sqt_origin *origin)
{
    if (origin->index >= sink->origin_count) {
        sink->origins = sqt_resized(sink->origins, (origin->index + 1) * sizeof(*sink->origins));
        while (sink->origin_count <= origin->index)
            sink->origins[sink->origin_count++] = NULL;
    }
    if (!sink->origins[origin->index])
        sink->origins[origin->index] = sqt_zeroed(1, sizeof(struct sqt_tsv_origin));
    return sink->origins[origin->index];
}

void
sqt_tsv_events(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until)
{
    struct sqt_tsv_origin *const state = origin_state(sink, run->origin);
    char seconds[SQT_DIGITS_MAX] = "";
    size_t seconds_length = 0;
    int64_t second_from = INT64_MAX; /* ns; the text holds this second */
    for (size_t i = 0; i < run->count; ++i) {
        const struct sqt_record *const r = &run->records[i];
        const int64_t at = sqt_line_ns(&run->line, r->time);
        const unsigned number = r->event < EVENT_NUMBERS ? r->event : EVENT_NUMBERS - 1;
        struct pattern *const pattern = &state->patterns[number];
        if (__builtin_expect(!state->known[number], 0)) {
            learn(pattern, run->origin, r->event);
            state->known[number] = number != EVENT_NUMBERS - 1;
        }
        const uint64_t xid = sqt_event_xid(&state->xids, r, (enum sqt_event_names)pattern->names);
        if (__builtin_expect(at < since || at >= until, 0))
            continue;
        char *const start = sqt_out_room(&sink->out, LINE_MAX_BYTES + 3 * DEFINITION_ROOM);
        char *p = start;
        if (__builtin_expect(at >= second_from && at - second_from < 1000000000, 1)) {
            memcpy(p, seconds, 16);
            p += seconds_length;
            p = sqt_put_nine(p, (uint32_t)(at - second_from));
        } else {
            p = sqt_put_seconds(p, at);
            seconds_length = (size_t)(p - start) - 9;
            memcpy(seconds, start, sizeof(seconds));
            second_from = at >= 0 && seconds_length <= 16 ? at / 1000000000 * 1000000000 : INT64_MAX;
        }
        memcpy(p, pattern->text, sizeof(pattern->text));
        p += pattern->length;
        p = tsv_events_put_field(p, run, pattern, 0, r->id);
        *p++ = '\t';
        p = tsv_events_put_field(p, run, pattern, 1, r->arg);
        *p++ = '\t';
        p = tsv_events_put_field(p, run, pattern, 2, r->aux);
        *p++ = '\t';
        if (xid)
            p = sqt_put_unsigned(p, xid);
        else
            *p++ = '-';
        *p++ = '\n';
        sink->out.used += (size_t)(p - start);
        ++sink->rows;
    }
}
