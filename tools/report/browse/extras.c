/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * extras.c - what requests waited for besides their blocks, until the requests end.
 *
 * A request's place depends on its number alone, and another one may take it.  So memory is bounded, and of the
 * requests that are open at a time few lose their waits.
 */
#include "base/scatter.h"
#include "browse-internal.h"
#include "row/cells.h"

static struct browse_place *
extras_place(struct browse_place *places, const struct sqt_origin *origin, uint64_t xact)
{
    const uint64_t hash = sqt_scattered(xact ^ (uint64_t)(uintptr_t)origin >> 4, sqt_scatter());
    return &places[hash >> 32 & (BROWSE_PLACES - 1)];
}

static struct browse_extra *
extras_add(struct browse_place *places, const struct sqt_origin *origin, uint64_t xact)
{
    struct browse_place *const place = extras_place(places, origin, xact);
    if (place->origin != origin || place->xact != xact) {
        place->origin = origin;
        place->xact = xact;
        place->count = place->beyond = 0;
    }
    if (place->count == BROWSE_EXTRAS) {
        ++place->beyond;
        return NULL;
    }
    return &place->extras[place->count++];
}

void
browse_extra_wait(struct browse_place *places, const struct sqt_wait *w)
{
    struct browse_extra *const extra = w->xact ? extras_add(places, w->origin, w->xact) : NULL;
    union sqt_cell row[SQT_CELLS(waits)];
    if (!extra)
        return;
    sqt_wait_cells(row, w);
    *extra = (struct browse_extra){.kind = row[SQT_CELL(waits, kind)].text,
                                   .name = row[SQT_CELL(waits, name)].text,
                                   .outcome = row[SQT_CELL(waits, outcome)].text,
                                   .from = w->begin,
                                   .until = sqt_wait_unknown(w) ? SQT_CELL_MISSING : w->end,
                                   .queue = row[SQT_CELL(waits, queue_ns)].number};
}

void
browse_extra_attempt(struct browse_place *places, const struct sqt_attempt *a)
{
    struct browse_extra *const extra = a->xact ? extras_add(places, a->origin, a->xact) : NULL;
    if (!extra)
        return;
    *extra = (struct browse_extra){
        .attempt = 1,
        .kind = sqt_origin_text(a->origin, SQT_DEF_PEER_KIND, a->peer_kind),
        .name = a->server == UINT32_MAX ? NULL : sqt_origin_text(a->origin, SQT_DEF_SERVER, a->server),
        .outcome = sqt_outcome_names[a->outcome],
        .from = a->begin,
        .until = sqt_durations_unknown(a->outcome) ? SQT_CELL_MISSING : a->end,
        .queue = a->tls == SQT_MISSING || a->reused ? SQT_CELL_MISSING : a->tls - a->begin,
        .reused = a->reused};
}

const struct browse_place *
browse_extras(struct browse_place *places, const struct sqt_xact *xact)
{
    struct browse_place *const place = extras_place(places, xact->origin, xact->id);
    if (place->origin != xact->origin || place->xact != xact->id)
        return NULL;
    place->origin = NULL;
    return place;
}
