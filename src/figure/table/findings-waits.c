/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-waits.c - what a request waited for by name: helpers, adaptation services, name servers, and servers that it
 * tried to connect to.
 *
 * A wait ends before its request does, so it is kept until then: in a table of fixed size, where a request that the
 * trace never ends is replaced by another one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "findings-internal.h"

#define NAME_SIZE 256
/* Requests that may wait at a time, and the names that are told apart of each. */
#define REQUESTS 32768
#define NAMES 6

struct waiting {
    const struct sqt_origin *origin; /* NULL: free */
    uint64_t xact;
    unsigned count;
    struct {
        struct sqt_claim *claim;
        uint64_t ns;
    } names[NAMES];
};

static struct waiting *
waits_place(struct sqt_findings *f, const struct sqt_origin *origin, uint64_t xact)
{
    if (!f->waiting)
        f->waiting = sqt_zeroed(REQUESTS, sizeof(struct waiting));
    return &((struct waiting *)f->waiting)[(xact * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)origin >> 4) % REQUESTS];
}

static void
waits_add(struct sqt_findings *f, const struct sqt_origin *origin, uint64_t xact, struct sqt_claim *claim, int64_t ns)
{
    struct waiting *const w = waits_place(f, origin, xact);
    if (w->origin != origin || w->xact != xact)
        *w = (struct waiting){.origin = origin, .xact = xact};
    unsigned i = 0;
    while (i < w->count && w->names[i].claim != claim)
        ++i;
    if (i == NAMES)
        return;
    if (i == w->count)
        w->names[w->count++].ns = 0;
    w->names[i].claim = claim;
    w->names[i].ns += (uint64_t)ns;
}

#define CELL(name) row[SQT_CELL(waits, name)]

static uint64_t
waits_known(int64_t ns)
{
    return ns == SQT_CELL_MISSING ? 0 : (uint64_t)ns;
}

void
sqt_findings_wait(void *context, const struct sqt_wait *wait)
{
    struct sqt_findings *const f = ((struct sqt_job *)context)->state;
    union sqt_cell row[SQT_CELLS(waits)];
    char name[NAME_SIZE];
    if (sqt_wait_unknown(wait) || wait->outcome == SQT_WAIT_UNFINISHED || !wait->xact)
        return;
    sqt_wait_cells(row, wait);
    snprintf(name, sizeof(name), "%s %s", CELL(kind).text ? CELL(kind).text : "-",
             CELL(name).text ? CELL(name).text : "-");
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_WAITED], name);
    subject->queue_ns += waits_known(CELL(queue_ns).number);
    subject->service_ns += waits_known(CELL(service_ns).number);
    subject->timeouts += wait->outcome == SQT_WAIT_TIMEOUT;
    waits_add(f, wait->origin, wait->xact, sqt_finding_claim_of(f, subject, SQT_FINDING_NUMBER_name_server),
              wait->end - wait->begin);
}

void
sqt_findings_connection(void *context, const struct sqt_attempt *attempt)
{
    struct sqt_findings *const f = ((struct sqt_job *)context)->state;
    const char *const server =
        attempt->server == UINT32_MAX ? NULL : sqt_origin_text(attempt->origin, SQT_DEF_SERVER, attempt->server);
    if (!server || attempt->reused || !attempt->xact || sqt_durations_unknown(attempt->outcome))
        return;
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_SERVER], server);
    subject->timeouts += attempt->outcome == SQT_OUTCOME_TIMEOUT;
    waits_add(f, attempt->origin, attempt->xact, sqt_finding_claim_of(f, subject, SQT_FINDING_NUMBER_connect_server),
              (attempt->connected == SQT_MISSING ? attempt->end : attempt->connected) - attempt->begin);
}

void
sqt_findings_waited(struct sqt_findings *f, const struct sqt_xact *xact, int64_t total)
{
    struct waiting *const w = waits_place(f, xact->origin, xact->id);
    if (w->origin != xact->origin || w->xact != xact->id)
        return;
    for (unsigned i = 0; total >= 0 && i < w->count; ++i) {
        ++w->names[i].claim->count;
        sqt_finding_claim(f, w->names[i].claim, w->names[i].ns < (uint64_t)total ? (int64_t)w->names[i].ns : total,
                          total);
    }
    w->origin = NULL;
}
