/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * collapsed.c - what collapsed_forwarding would bring where it is off.
 *
 * A miss that begins while another one fetches the same object, and before the first data of that fetch come, would wait for
 * that fetch: its data would come when those of the fetch came, and its own fetch would be saved.  Later ones are hits of
 * the entry in any case.  What Squid 5 to 7 do: Store::Controller::allowCollapsing(), StoreEntry::hittingRequiresCollapsing().
 * So a request that would have been answered sooner by a fetch of its own loses, and that counts, too.
 *
 * Requests come when they end, and are put in the order of their begins, so that the one that leads is the one that began
 * first, whichever ends first.  Where the order fails (ordered.h), a request may have begun before the one that leads: then
 * it does not count.
 *
 * Of each object the last fetch is kept, in a table of a fixed size in which a later object takes the place of an earlier
 * one.  What is lost so is not saved, so the forecast errs to the low side.  From an access.log alone it errs to the high side:
 * a log does not say which replies are private, so that each client needs its own, and URLs in it may have lost their queries.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "ordered.h"
#include "replay.h"
#include "whatif.h"

#define FETCHES 65536
#define LEAST 1000 /* requests */

struct fetch {
    int64_t begin, data;
    uint64_t object;
};

struct miss {
    struct fetch fetch;
    int64_t bytes;
};

struct sqt_whatif_collapsed {
    struct sqt_job *job;
    struct fetch *fetches;
    struct sqt_ordered misses; /* of struct miss */
    uint64_t requests, followers, collapsed;
    int64_t first, last;
    double saved_ns, saved_bytes;
    int of_log;                      /* requests are known from an access.log only */
    const struct sqt_origin *origin; /* of the last request */
};

/* Misses come in the order in which they began, except those that began too long before they ended.  Such a miss neither
 * leads nor follows one that began after it. */
static void
collapsed_miss(void *context, const void *item)
{
    struct sqt_whatif_collapsed *const c = context;
    const struct miss *const m = item;
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

struct sqt_whatif_collapsed *
sqt_whatif_collapsed_new(struct sqt_job *job)
{
    struct sqt_whatif_collapsed *const c = sqt_zeroed(1, sizeof(*c));
    c->job = job;
    c->fetches = sqt_zeroed(FETCHES, sizeof(*c->fetches));
    sqt_ordered_init(&c->misses, sizeof(struct miss), collapsed_miss, c);
    c->first = INT64_MAX;
    c->last = INT64_MIN;
    return c;
}

void
sqt_whatif_collapsed_request(struct sqt_whatif_collapsed *c, const struct sqt_access *a, const struct sqt_xact *x)
{
    ++c->requests;
    c->of_log |= x->of_log;
    c->origin = x->origin;
    c->collapsed += (x->flags & SQT_XACT_COLLAPSED) != 0;
    c->first = a->begin < c->first ? a->begin : c->first;
    c->last = a->end > c->last ? a->end : c->last;
    /* Where it is on, no forecast is made. */
    if (a->hit || a->never || !a->keeps || c->collapsed)
        return;
    sqt_ordered_put(&c->misses, &(struct miss){{a->begin, a->data, a->object}, a->bytes}, a->end);
}

#define CELL(name) row[SQT_CELL(whatif, name)]

void
sqt_whatif_collapsed_finish(struct sqt_whatif_collapsed *c)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    sqt_ordered_finish(&c->misses);
    const double hours = sqt_whatif_hours(c->first, c->last);
    struct sqt_settings settings;
    sqt_whatif_settings(c->job, &settings);
    if (c->origin)
        sqt_whatif_settings_of(c->job, &settings, c->origin);
    const int on = c->collapsed || settings.collapsed == 1;
    const char *const refusal = c->requests < LEAST ? "fewer than 1000 requests look into the cache"
                                : on                ? "it is on: requests follow the fetches of others"
                                                    : NULL;
    sqt_whatif_words(row, "collapsed_forwarding", "on", on ? "on" : "off",
                     refusal     ? "refused"
                     : c->of_log ? "at_most"
                                 : "at_least",
                     refusal ? refusal
                     : c->of_log
                         ? "misses that begin while another one fetches the same URL; a log does not say which replies "
                           "are private, and may leave queries out of URLs"
                         : "misses that begin while another one fetches the same object; that Squid has less to do is "
                           "not in it");
    if (!refusal && hours > 0) {
        CELL(saved_s_per_h).number = sqt_whatif_whole(c->saved_ns / hours);
        CELL(saved_bytes_per_h).number = sqt_whatif_whole(c->saved_bytes / hours);
    }
    if (c->requests)
        sqt_whatif_row(c->job, row, 1, 0);
    sqt_freed(c->fetches);
    sqt_freed(c);
}
