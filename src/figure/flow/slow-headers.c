/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * slow-headers.c - clients that send the header of a request in pieces.  It comes before the time of the request.
 */
#include <stdio.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/finding/spell.h"

/* A header that comes within that time, in ns, is not slow. */
#define SLOW INT64_C(50000000)
/* So many of them, ns in the mean, and of what all clients wait, in %. */
#define LEAST 10
#define EACH UINT64_C(200000000)
#define SHARE 10
/* Series of sums by time. */
enum { ALL = 1, IN_PIECES };

struct slow_headers {
    struct sqt_when when;
    uint64_t count, ns;
};

static void
headers_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct slow_headers *const h = state;
    (void)fact;
    sqt_when_add(&h->when, ALL, xact->begin, (uint64_t)felt, 1);
    if (xact->sending == SQT_MISSING || xact->sending < SLOW || xact->unparsed != SQT_MISSING)
        return;
    ++h->count;
    h->ns += (uint64_t)xact->sending;
    sqt_when_add(&h->when, IN_PIECES, xact->begin, (uint64_t)xact->sending, 1);
}

static void
headers_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct slow_headers *const h = state;
    char each[SQT_HUMAN_ROOM], when[128];
    struct sqt_told *const told =
        h->count < LEAST || h->ns < h->count * EACH || h->ns / SHARE < (h->ns + totals->total_ns) / 100
            ? NULL
            : sqt_tolds_add(tolds, "slow_headers", SQT_HARM_WAITING, h->ns + 1); /* it is in no request */
    if (!told)
        return;
    sqt_when_sort(&h->when);
    const struct sqt_spell spell = sqt_spell_tell(told, &h->when, IN_PIECES, ALL);
    told->requests = h->count;
    told->waiting = h->ns;
    snprintf(told->culprit, sizeof(told->culprit), "clients");
    sqt_told_print(
        told->sentence,
        "%s, clients sent the header of %llu of %llu requests in pieces: %s from its first bytes to its last, for "
        "each. Squid can begin with a request when its header is complete, so that no other time has this in it.",
        sqt_told_when(when, sizeof(when), told), (unsigned long long)spell.met, (unsigned long long)spell.all,
        sqt_human_time(each, (double)h->ns / (double)h->count, " ", "us"));
    sqt_told_print(
        told->advice,
        "Look at these clients, and at the network to them: packets that are lost, or programs that send a line "
        "at a time. request_start_timeout and request_timeout: for how long Squid waits. Very many such clients "
        "at once may be an attack.");
    sqt_told_print(told->command, "sqtrace-dump --where='client_connect_ns > 200ms' TRACE");
}

static void
headers_end(void *state)
{
    sqt_when_free(&((struct slow_headers *)state)->when);
}

const struct sqt_look sqt_look_slow_headers = {
    .size = sizeof(struct slow_headers), .request = headers_request, .tell = headers_tell, .end = headers_end};
