/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * raw.c - --raw: which requests are shipped one by one.
 *
 * The slowest of a minute are known when the minute is over.  As requests are told when they end, a minute is taken for
 * over when one ends that began two minutes later.  What ends still later is chosen from anew.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "model/class.h"
#include "model/model.h"
#include "raw.h"
#include "sink/order.h"

#define MINUTE_NS INT64_C(60000000000)
#define MINUTES_BACK 2
#define SHARES 1000000u
#define SLOWEST_MOST 10000
/* Lists of slowest requests at a time. */
#define SLOW_MOST 1000

/* ---- rules ---- */

/* "slowest:20", with a number from 1 on. */
static int
raw_take_slowest(struct ship_raw *raw, const char *text, size_t size)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    raw->slowest = (unsigned)number;
    return *text >= '0' && *text <= '9' && end == text + size && number >= 1 && number <= SLOWEST_MOST ? 0 : -1;
}

/* "share:0.1%" */
static int
raw_take_share(struct ship_raw *raw, const char *text, size_t size)
{
    char *end;
    const double percent = strtod(text, &end);
    if (*text < '0' || *text > '9' || end != text + size - 1 || *end != '%' || !(percent <= 100))
        return -1;
    raw->share = (uint32_t)(percent * (SHARES / 100) + 0.5);
    return raw->share ? 0 : -1;
}

static int
raw_take_rule(struct ship_raw *raw, const char *text, size_t size)
{
    static const char slowest[] = "slowest:", share[] = "share:";
    const size_t n = sizeof(slowest) - 1, m = sizeof(share) - 1;
    if (size == strlen("failed") && memcmp(text, "failed", size) == 0) {
        raw->failed = 1;
        return 0;
    }
    if (size > n && memcmp(text, slowest, n) == 0)
        return raw_take_slowest(raw, text + n, size - n);
    if (size > m && memcmp(text, share, m) == 0)
        return raw_take_share(raw, text + m, size - m);
    return -1;
}

int
ship_raw_parse(struct ship_raw *raw, const char *text)
{
    memset(raw, 0, sizeof(*raw));
    raw->chosen = 1;
    for (;;) {
        const size_t size = strcspn(text, ",");
        if (raw_take_rule(raw, text, size) != 0)
            return -1;
        if (!text[size])
            return 0;
        text += size + 1;
    }
}

/* ---- requests that need no comparison ---- */

static int
raw_is_failed(const union sqt_cell *row)
{
    const char *const outcome = row[SQT_CELL(requests, outcome)].text;
    return strcmp(outcome, sqt_outcome_names[SQT_OUTCOME_ERROR]) == 0 ||
           strcmp(outcome, sqt_outcome_names[SQT_OUTCOME_TIMEOUT]) == 0;
}

/* The same of a request whenever it is asked.  Those that were not parsed have no xid, but a record of their own. */
static int
raw_is_of_share(const struct ship_raw *raw, const struct sqt_row_source *source, const union sqt_cell *row)
{
    const struct sqt_origin *const origin = source->origin;
    const int64_t xid = row[SQT_CELL(requests, xid)].number;
    uint64_t hash = xid == SQT_CELL_MISSING ? source->record : (uint64_t)xid;
    for (unsigned i = 0; i < sizeof(origin->identity.ring_id); ++i)
        hash = (hash ^ origin->identity.ring_id[i]) * UINT64_C(0x100000001b3); /* FNV-1a's prime */
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((hash >> 32) * SHARES >> 32) < raw->share;
}

int
ship_raw_wants(const struct ship_raw *raw, const struct sqt_row_source *source, const union sqt_cell *row)
{
    return !raw->chosen || (raw->failed && raw_is_failed(row)) || (raw->share && raw_is_of_share(raw, source, row));
}

/* ---- the slowest ---- */

struct ship_slow {
    struct ship_slow *next;
    const struct sqt_origin *origin;
    int64_t minute;
    const char *class; /* of sqt_classes */
    struct sqt_order *order;
};

static int64_t
raw_minute(int64_t time)
{
    return time / MINUTE_NS - (time % MINUTE_NS < 0);
}

static struct ship_slow *
raw_slow(struct ship_slowest *s, const struct sqt_origin *origin, int64_t minute, const char *class)
{
    struct ship_slow *slow = s->first;
    while (slow && (slow->minute != minute || strcmp(slow->class, class) != 0 || slow->origin != origin))
        slow = slow->next;
    if (slow)
        return slow;
    const struct sqt_order_key key = {SQT_CELL(requests, total_ns), 1};
    ++s->count;
    slow = sqt_zeroed(1, sizeof(*slow));
    *slow = (struct ship_slow){s->first, origin, minute, class, sqt_order_new(s->table, &key, 1, s->most)};
    return s->first = slow;
}

/* Hands out those of a process that began before that minute; NULL: all. */
static void
raw_emit(struct ship_slowest *s, const struct sqt_origin *origin, int64_t before)
{
    for (struct ship_slow **link = &s->first; *link;) {
        struct ship_slow *const slow = *link;
        if (origin && (slow->origin != origin || slow->minute >= before)) {
            link = &slow->next;
            continue;
        }
        s->origin = slow->origin;
        sqt_order_emit(slow->order, s->take, s);
        *link = slow->next;
        sqt_order_free(slow->order);
        free(slow);
        --s->count;
    }
}

void
ship_slowest_add(struct ship_slowest *s, const struct sqt_origin *origin, const union sqt_cell *row)
{
    const int64_t minute = raw_minute(row[s->time].number);
    const char *const class = row[SQT_CELL(requests, class)].text;
    if (!class || row[SQT_CELL(requests, total_ns)].number == SQT_CELL_MISSING)
        return;
    raw_emit(s, origin, minute - MINUTES_BACK);
    if (s->count >= SLOW_MOST)
        raw_emit(s, NULL, 0);
    sqt_order_row(raw_slow(s, origin, minute, class)->order, row);
}

void
ship_slowest_end(struct ship_slowest *s)
{
    raw_emit(s, NULL, 0);
}
