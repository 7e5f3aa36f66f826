/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * browse.c - which requests the page has: the slowest of each class in each slice of time; of those that did not
 * complete, and of the rest, some.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "browse-internal.h"

/* Requests that did not complete, and others. */
#define BAD_MOST 4096
#define REST_MOST 16384
/* Rows of a time line. */
#define ROWS_MOST 160
/* Bytes of the texts of requests of each kind, after which new ones have no time line. */
#define BYTES_MOST ((size_t)9 << 20)

struct browse *
browse_new(void)
{
    struct browse *const b = sqt_zeroed(1, sizeof(*b));
    b->places = sqt_zeroed(BROWSE_PLACES, sizeof(*b->places));
    b->slow.slice = BROWSE_FIRST_SLICE;
    b->samples[BROWSE_BAD].most = BAD_MOST;
    b->samples[BROWSE_REST].most = REST_MOST;
    b->texts.names = (struct sqt_names){.size = sizeof(struct browse_name), .most = BROWSE_NAMES};
    browse_heat_init(&b->heat);
    return b;
}

static struct browse *
browse_of(const void *job)
{
    return ((const struct sqt_job *)job)->context;
}

/* ---- what the model says ---- */

static void
browse_wait(void *job, const struct sqt_wait *wait)
{
    browse_extra_wait(browse_of(job)->places, wait);
}

static void
browse_connection(void *job, const struct sqt_attempt *attempt)
{
    browse_extra_attempt(browse_of(job)->places, attempt);
}

/* ---- choosing ---- */

static uint64_t
browse_hash(const struct sqt_request_fact *fact)
{
    uint64_t hash = fact->xact + (uint64_t)fact->begin * UINT64_C(0x9e3779b97f4a7c15) +
                    (uint64_t)fact->row[SQT_CELL(requests, kid)].number;
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

/* One that is not among the slowest any more is as all others. */
static void
browse_not_slow(void *context, struct browse_request *request)
{
    struct browse *const b = context;
    browse_sample_take(&b->samples[request->bad ? BROWSE_BAD : BROWSE_REST], request);
}

/* room: bytes of its kind. */
static struct browse_request *
browse_make(struct browse *b, struct browse_source *source, uint64_t hash, int bad, size_t bytes)
{
    if (bytes >= BYTES_MOST) {
        source->line = NULL;
        ++b->plain;
    }
    if (source->line)
        source->line = sqt_timeline_coarse(source->line, ROWS_MOST, &b->coarser);
    const size_t length = browse_text(&b->texts, b->text, source), size = sizeof(struct browse_request) + length + 1;
    struct browse_request *const request = sqt_resized(NULL, size);
    const int64_t total = source->fact->row[SQT_CELL(requests, total_ns)].number;
    *request = (struct browse_request){.hash = hash, .total = total, .bad = bad, .size = size};
    memcpy(request->text, b->text, length);
    request->text[length] = '\0';
    return request;
}

static void
browse_choose(struct browse *b, struct browse_source *source)
{
    const struct sqt_request_fact *const fact = source->fact;
    const int64_t total = fact->row[SQT_CELL(requests, total_ns)].number;
    const int bad = fact->row[SQT_CELL(requests, outcome)].text != sqt_outcome_names[SQT_OUTCOME_COMPLETE];
    const unsigned class = fact->row[SQT_CELL(requests, class)].text ? fact->class : SQT_CLASSES;
    const uint64_t hash = browse_hash(fact);
    struct browse_sample *const sample = &b->samples[bad ? BROWSE_BAD : BROWSE_REST];
    b->bad += (unsigned)bad;
    if (total != SQT_CELL_MISSING && browse_slow_wants(&b->slow, fact->begin, class, total, browse_not_slow, b))
        browse_slow_take(&b->slow, fact->begin, class, browse_make(b, source, hash, bad, b->slow.bytes),
                         browse_not_slow, b);
    else if (browse_sample_wants(sample, hash))
        browse_sample_take(sample, browse_make(b, source, hash, bad, sample->bytes));
}

/* ---- a request ---- */

/* The cache_dir that it read from, as figures name it. */
static const char *
browse_dir(char name[SQT_PLACE_NAME], const struct sqt_xact *x)
{
    if (x->dir == UINT32_MAX)
        return NULL;
    const struct sqt_swap swap = {.origin = x->origin, .dir = x->dir};
    struct sqt_row_text text;
    const char *path;
    sqt_place_name(name, sqt_split_dir(&swap, &text, &path), x->dir);
    return name;
}

static void
browse_line(struct sqt_job *job, const struct sqt_xact *x, const struct sqt_request_fact *fact,
            const struct sqt_timeline *line)
{
    struct browse *const b = browse_of(job);
    const struct browse_place *const place = browse_extras(b->places, x);
    char name[SQT_PLACE_NAME];
    if (!sqt_job_wants(job, fact->begin, fact->row))
        return;
    const char *const dir = browse_dir(name, x);
    ++b->all;
    if (!sqt_durations_unknown(fact->outcome) && fact->outcome != SQT_OUTCOME_UNFINISHED)
        browse_heat_add(&b->heat, fact->begin, fact->end - fact->begin,
                        (const char *const[BROWSE_BYS]){"all", fact->row[SQT_CELL(requests, class)].text,
                                                        fact->row[SQT_CELL(requests, server)].text, dir});
    browse_choose(b, &(struct browse_source){fact, dir, line && !line->cut ? line : NULL, place});
}

static void
browse_unlogged(void *job, const struct sqt_xact *x)
{
    browse_extras(browse_of(job)->places, x);
}

const struct sqt_family browse_family = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .line = browse_line,
    .consumer = {.unlogged = browse_unlogged, .wait = browse_wait, .connection = browse_connection},
};

void
browse_free(struct browse *b)
{
    if (!b)
        return;
    for (unsigned s = 0; s < BROWSE_SLICES; ++s)
        for (unsigned c = 0; c < BROWSE_CLASSES; ++c)
            for (unsigned i = 0; i < BROWSE_SLOWEST; ++i)
                free(b->slow.cells[s][c][i]);
    browse_sample_free(&b->samples[BROWSE_BAD]);
    browse_sample_free(&b->samples[BROWSE_REST]);
    browse_heat_free(&b->heat);
    sqt_names_free(&b->texts.names);
    free(b->coarser.rows);
    free(b->places);
    free(b);
}
