/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * bounds.c - limits of what a change can bring: all that requests spend on what it would spare them.
 *
 * refresh_pattern with override-expire and a larger minimum: a cached object is not asked about again.  Which objects have an
 * explicit expiry is not in the trace, so all requests count that asked a server about an object in the cache.  So do misses of
 * what was asked for before, if such a reply may be kept: Squid keeps it only if it is fresh for some time, or can be asked
 * about (refreshIsCachable()).
 *
 * Another type of cache_dir: no time is spent waiting for the disk, and the main thread is never held.  What holds it is not only
 * the disk, so this is an upper limit.  Another type may keep other objects, or more of them; that is not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/class.h"
#include "model/model.h"
#include "whatif.h"

#define LEAST 1000 /* requests */
/* Objects that were asked for: a bit each.  Where two have the same one, the limit is higher, and still one. */
#define BITS (1u << 22)

struct sqt_whatif_bounds {
    struct sqt_job *job;
    const struct sqt_origin *origin; /* of the last request */
    uint64_t requests, refreshed, from_disk;
    int of_log;
    int64_t first, last;
    double refresh_ns, refresh_bytes, disk_ns;
    unsigned char *seen;
};

struct sqt_whatif_bounds *
sqt_whatif_bounds_new(struct sqt_job *job)
{
    struct sqt_whatif_bounds *const b = sqt_zeroed(1, sizeof(*b));
    b->job = job;
    b->first = INT64_MAX;
    b->last = INT64_MIN;
    return b;
}

/* Whether another request has asked for its object before. */
static int
bounds_again(struct sqt_whatif_bounds *b, const struct sqt_xact *x)
{
    if (!b->seen)
        b->seen = sqt_zeroed(BITS / 8, 1);
    unsigned char *const byte = &b->seen[x->object % BITS / 8];
    const unsigned bit = 1u << x->object % 8;
    const int again = x->object && *byte & bit;
    *byte |= (unsigned char)bit;
    return again;
}

/* Whether Squid asks for how long such a reply is fresh before it keeps it (HttpStateData::reusableReply()). */
static int
bounds_may_be_kept(uint32_t status)
{
    return status == 200 || status == 203 || status == 300 || status == 301 || status == 308 || status == 410;
}

static int64_t
bounds_disk(const struct sqt_xact *x)
{
    const int64_t *const ns = x->stages.ns;
    const int64_t held = x->held == SQT_MISSING ? 0 : x->held;
    const int64_t sum = ns[SQT_STAGE_SWAP_IN_OPEN] + ns[SQT_STAGE_SWAP_IN_FIRST] + ns[SQT_STAGE_SWAP_IN_REST] + held;
    return sum < x->end - x->begin ? sum : x->end - x->begin;
}

void
sqt_whatif_bounds_request(struct sqt_whatif_bounds *b, const struct sqt_xact *x)
{
    const char *const tag = x->tag == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_TAG, x->tag);
    const enum sqt_class class = sqt_class_of(tag, x->disk_reads, x->flags);
    b->of_log |= x->of_log;
    if (x->of_log || sqt_durations_unknown(x->outcome))
        return;
    ++b->requests;
    b->origin = x->origin;
    b->first = x->begin < b->first ? x->begin : b->first;
    b->last = x->end > b->last ? x->end : b->last;
    b->from_disk += x->disk_reads > 0;
    b->disk_ns += (double)bounds_disk(x);
    const int again = bounds_again(b, x) && class == SQT_CLASS_MISS && bounds_may_be_kept(x->status);
    if (class != SQT_CLASS_REFRESH_HIT && class != SQT_CLASS_REFRESH_MISS && !again)
        return;
    ++b->refreshed;
    b->refresh_ns += (double)(x->end - x->begin);
    b->refresh_bytes += x->fetched > 0 ? (double)x->fetched : 0;
}

#define CELL(name) row[SQT_CELL(whatif, name)]

/* Why nothing is said; NULL: something is. */
static const char *
bounds_refusal(const struct sqt_whatif_bounds *b, uint64_t count, const char *none)
{
    return b->of_log             ? "an access.log does not say what requests wait for"
           : b->requests < LEAST ? "fewer than 1000 requests"
           : !count              ? none
                                 : NULL;
}

static void
bounds_row(const struct sqt_whatif_bounds *b, const char *setting, const char *value, const char *now, double ns,
           double bytes, const char *refusal, const char *method)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    const double hours = sqt_whatif_hours(b->first, b->last);
    sqt_whatif_words(row, setting, value, now, refusal ? "refused" : "at_most", refusal ? refusal : method);
    if (!refusal && hours > 0) {
        CELL(saved_s_per_h).number = sqt_whatif_whole(ns / hours);
        if (bytes >= 0)
            CELL(saved_bytes_per_h).number = sqt_whatif_whole(bytes / hours);
    }
    sqt_whatif_row(b->job, row, 1, 0);
}

void
sqt_whatif_bounds_finish(struct sqt_whatif_bounds *b)
{
    const char *const dir = b->origin ? sqt_origin_text(b->origin, SQT_DEF_DIR, 0) : NULL;
    char type[16] = "";
    if (dir)
        snprintf(type, sizeof(type), "%.*s", (int)strcspn(dir, " "), dir);
    if (b->of_log || b->requests) {
        bounds_row(
            b, "refresh_pattern", "override-expire, a larger min", NULL, b->refresh_ns, b->refresh_bytes,
            bounds_refusal(b, b->refreshed, "no object expired, and none was fetched again"),
            "all requests that asked a server about an object in the cache, or fetched one again, would be hits; "
            "clients may get objects that have changed");
        bounds_row(
            b, "cache_dir", "another type", *type ? type : NULL, b->disk_ns, -1,
            bounds_refusal(b, b->from_disk, "no request was answered from a cache_dir"),
            "no request would wait for a read from disk, nor for a blocked main thread, whatever blocks it; that "
            "another type may keep other objects is not counted");
    }
    sqt_freed(b->seen);
    sqt_freed(b);
}
