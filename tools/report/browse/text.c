/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * text.c - a request as a line of text, which browse.js takes apart.
 *
 * Fields stand between bars.  A missing number is empty.  Names are numbers of the list of names, 0 for none.  Times
 * are ns; those of stages and waits count from the request's begin.  The last three fields are lists:
 *
 *   stages   LANE NS LANE NS ...: LANE is a letter, A for the first stage of stages.def
 *   spans    LANE FROM,UNTIL[,SPANS,BUSY[,QUEUE,SERVICE,NOTICE,BYTES,INDEX]] ...
 *   waits    KIND.NAME.OUTCOME.FROM.UNTIL.QUEUE.ATTEMPT.REUSED; ...
 */
#include "base/digits.h"
#include "browse-internal.h"

/* Bytes that a number needs at most, with what stands beside it. */
#define NUMBER_MOST 24
/* A line stops growing that long before its end. */
#define MARGIN 512

SQT_ASSERT(SQT_TIMELINE_LANES <= 26, "a letter for each lane");

unsigned
browse_text_number(struct browse_texts *texts, const char *name)
{
    if (!name)
        return 0;
    struct browse_name *const entry = sqt_names_get(&texts->names, name);
    if (!entry->number) {
        entry->number = ++texts->count;
        texts->list[entry->number] = entry->named.name;
    }
    return entry->number;
}

static inline char *
text_number(char *p, int64_t value)
{
    return value == SQT_CELL_MISSING ? p : sqt_put_signed(p, value);
}

static char *
text_field(char *p, int64_t value)
{
    p = text_number(p, value);
    *p++ = '|';
    return p;
}

/* The columns that the page shows, and the order in which its script expects them. */
static char *
text_columns(struct browse_texts *texts, char *p, const struct browse_source *s)
{
    const union sqt_cell *const row = s->fact->row;
#define NUMBER(name) p = text_field(p, row[SQT_CELL(requests, name)].number);
#define NAME(name) p = text_field(p, browse_text_number(texts, row[SQT_CELL(requests, name)].text));
#include "columns.def"
    return text_field(p, browse_text_number(texts, s->dir));
}

static char *
text_stages(char *p, const union sqt_cell *row)
{
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        const int64_t ns = row[SQT_STAGE_CELL(i)].number;
        if (ns == SQT_CELL_MISSING)
            continue;
        *p++ = (char)('A' + sqt_stage_columns[i]);
        p = text_number(p, ns);
    }
    const int64_t unaccounted = row[SQT_CELL(requests, unaccounted_ns)].number;
    if (unaccounted > 0) {
        *p++ = 'A' + SQT_UNACCOUNTED;
        p = text_number(p, unaccounted);
    }
    *p++ = '|';
    return p;
}

static char *
text_spans(char *p, const char *end, const struct sqt_timeline *line)
{
    for (unsigned i = 0; line && i < line->count && p < end; ++i) {
        const struct sqt_timeline_row *const r = &line->rows[i];
        const int64_t values[] = {r->from - line->begin,
                                  r->until - line->begin,
                                  r->spans,
                                  r->busy,
                                  r->queue,
                                  r->service,
                                  r->notice,
                                  r->size,
                                  r->index};
        const unsigned count = r->lane == SQT_TIMELINE_BLOCKS ? 9 : r->spans > 1 ? 4 : 2;
        *p++ = (char)('A' + r->lane);
        for (unsigned k = 0; k < count; ++k) {
            if (k)
                *p++ = ',';
            p = text_number(p, values[k]);
        }
    }
    *p++ = '|';
    return p;
}

/* From the request's begin; either may be missing. */
static int64_t
text_since(int64_t at, int64_t begin)
{
    return at == SQT_CELL_MISSING || begin == SQT_CELL_MISSING ? SQT_CELL_MISSING : at - begin;
}

static char *
text_waits(struct browse_texts *texts, char *p, const char *end, const struct browse_place *place, int64_t begin)
{
    for (unsigned i = 0; place && i < place->count && p < end; ++i) {
        const struct browse_extra *const e = &place->extras[i];
        const int64_t values[] = {browse_text_number(texts, e->kind),
                                  browse_text_number(texts, e->name),
                                  browse_text_number(texts, e->outcome),
                                  text_since(e->from, begin),
                                  text_since(e->until, begin),
                                  e->queue,
                                  e->attempt,
                                  e->reused};
        for (unsigned k = 0; k < sizeof(values) / sizeof(*values); ++k) {
            p = text_number(p, values[k]);
            *p++ = k + 1 < sizeof(values) / sizeof(*values) ? '.' : ';';
        }
    }
    return p;
}

size_t
browse_text(struct browse_texts *texts, char text[BROWSE_TEXT_MOST], const struct browse_source *s)
{
    const char *const end = text + BROWSE_TEXT_MOST - MARGIN;
    char *p = text_columns(texts, text, s);
    p = text_stages(p, s->fact->row);
    p = text_spans(p, end - BROWSE_EXTRAS * 8 * NUMBER_MOST, s->line);
    p = text_waits(texts, p, end, s->place, s->fact->begin);
    return (size_t)(p - text);
}
