/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * collapsed.c - what collapsed_forwarding would bring where it is off.
 *
 * A miss that begins while another one fetches the same object, and before the first data of that fetch come, would wait for
 * that fetch: its data would come when those of the fetch came, and its own fetch would be saved.  Later ones are hits of
 * the entry in any case.  What Squid 5 to 7 do: Store::Controller::allowCollapsing(), StoreEntry::hittingRequiresCollapsing().
 * So a request that would have been answered sooner by a fetch of its own loses, and that counts, too.
 *
 * Requests come when they end.  They are kept in a heap for a minute, so that the one that leads is the one that began
 * first, whichever ends first.  A request that takes longer than that, or comes when the heap is full of later ones, may
 * have begun before the one that leads: then it does not count.
 *
 * Of each object the last fetch is kept, in a table of a fixed size in which a later object takes the place of an earlier
 * one.  What is lost so is not saved, so the forecast errs to the low side.  From an access.log alone it errs to the high side:
 * a log does not say which replies are private, so that each client needs its own, and URLs in it may have lost their queries.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "replay.h"
#include "whatif.h"

#define FETCHES 65536
#define LEAST 1000 /* requests */
/* Misses that are kept until nothing earlier can come, and for how long at most. */
#define KEPT 16384
#define LAG INT64_C(60000000000)

struct fetch {
    uint64_t object;
    int64_t begin, data;
};

struct miss {
    struct fetch fetch;
    int64_t bytes;
};

struct sqt_whatif_collapsed {
    struct sqt_job *job;
    struct fetch *fetches;
    struct miss *kept; /* a heap: the one that began first is first */
    unsigned kept_count;
    uint64_t requests, followers, collapsed;
    int64_t first, last;
    double saved_ns, saved_bytes;
    int of_log; /* requests are known from an access.log only */
};

struct sqt_whatif_collapsed *
sqt_whatif_collapsed_new(struct sqt_job *job)
{
    struct sqt_whatif_collapsed *const c = sqt_zeroed(1, sizeof(*c));
    c->job = job;
    c->fetches = sqt_zeroed(FETCHES, sizeof(*c->fetches));
    c->kept = sqt_allocated(KEPT * sizeof(*c->kept));
    c->first = INT64_MAX;
    c->last = INT64_MIN;
    return c;
}

/* Misses come in the order in which they began, except those that began too long before they ended.  Such a miss neither
 * leads nor follows one that began after it. */
static void
collapsed_miss(struct sqt_whatif_collapsed *c, const struct miss *m)
{
    const struct fetch *const own = &m->fetch;
    struct fetch *const f = &c->fetches[sqt_cache_mix(own->object) % FETCHES];
    if (f->object != own->object || own->begin >= f->data) {
        *f = *own;
        return;
    }
    if (own->begin < f->begin)
        return;
    ++c->followers;
    c->saved_ns += (double)(own->data - f->data);
    c->saved_bytes += (double)m->bytes;
}

static void
collapsed_push(struct sqt_whatif_collapsed *c, const struct miss *m)
{
    unsigned place = c->kept_count++;
    for (unsigned up; place && c->kept[up = (place - 1) / 2].fetch.begin > m->fetch.begin; place = up)
        c->kept[place] = c->kept[up];
    c->kept[place] = *m;
}

static void
collapsed_pop(struct sqt_whatif_collapsed *c)
{
    const struct miss first = c->kept[0], last = c->kept[--c->kept_count];
    unsigned place = 0;
    for (unsigned next; (next = 2 * place + 1) < c->kept_count; place = next) {
        next += next + 1 < c->kept_count && c->kept[next + 1].fetch.begin < c->kept[next].fetch.begin;
        if (c->kept[next].fetch.begin >= last.fetch.begin)
            break;
        c->kept[place] = c->kept[next];
    }
    c->kept[place] = last;
    collapsed_miss(c, &first);
}

void
sqt_whatif_collapsed_request(struct sqt_whatif_collapsed *c, const struct sqt_access *a, const struct sqt_xact *x)
{
    ++c->requests;
    c->of_log |= x->of_log;
    c->collapsed += (x->flags & SQT_XACT_COLLAPSED) != 0;
    c->first = a->begin < c->first ? a->begin : c->first;
    c->last = a->end > c->last ? a->end : c->last;
    /* Where it is on, no forecast is made. */
    if (a->hit || a->never || !a->keeps || c->collapsed)
        return;
    while (c->kept_count && (c->kept_count == KEPT || c->kept[0].fetch.begin < c->last - LAG))
        collapsed_pop(c);
    collapsed_push(c, &(struct miss){{a->object, a->begin, a->data}, a->bytes});
}

#define CELL(name) row[SQT_CELL(whatif, name)]

void
sqt_whatif_collapsed_finish(struct sqt_whatif_collapsed *c)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    while (c->kept_count)
        collapsed_pop(c);
    const double hours = sqt_whatif_hours(c->first, c->last);
    const char *const refusal = c->requests < LEAST ? "fewer than 1000 requests look into the cache"
                                : c->collapsed      ? "it is on: requests follow the fetches of others"
                                                    : NULL;
    sqt_whatif_clear(row);
    CELL(setting).text = "collapsed_forwarding";
    CELL(value).text = "on";
    CELL(now_value).text = c->collapsed ? "on" : "off";
    CELL(bound).text = refusal ? "refused" : c->of_log ? "at_most" : "at_least";
    CELL(method).text = refusal ? refusal
                        : c->of_log
                            ? "misses that begin while another one fetches the same URL; a log does not say which "
                              "replies are private, and may leave queries out of URLs"
                            : "misses that begin while another one fetches the same object; that Squid has less to do "
                              "is not in it";
    if (!refusal && hours > 0) {
        CELL(saved_s_per_h).number = sqt_whatif_whole(c->saved_ns / hours);
        CELL(saved_bytes_per_h).number = sqt_whatif_whole(c->saved_bytes / hours);
    }
    if (c->requests)
        sqt_whatif_row(c->job, row, 1, 0);
    free(c->kept);
    free(c->fetches);
    free(c);
}
