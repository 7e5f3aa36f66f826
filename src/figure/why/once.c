/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * once.c - a cache that can have no hits, because hardly an object is asked for twice.
 *
 * It adds to what was told of servers that all requests wait for: a hit would not wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/look.h"
#include "row/facts.h"

/* Fewer requests say nothing.  That part of them at most are hits, and that part at least ask for something for the first time,
 * in %. */
#define LEAST 100
#define HITS 5
#define FIRST 90
/* A bit for each object that was asked for.  Where two have the same one, the second one is taken for known. */
#define BITS (1u << 22)

struct once {
    unsigned char *seen; /* NULL: none yet */
    uint64_t requests, hits, first;
};

/* Whether nobody has asked for it before, as far as is known. */
static int
once_is_first(struct once *o, uint64_t object)
{
    if (!o->seen)
        o->seen = sqt_zeroed(BITS / 8, 1);
    unsigned char *const byte = &o->seen[object % BITS / 8];
    const unsigned bit = 1u << object % 8;
    const int known = (*byte & bit) != 0;
    *byte |= (unsigned char)bit;
    return !known;
}

static void
once_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct once *const o = state;
    const char *const method =
        xact->method == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_METHOD, xact->method);
    (void)felt;
    if (!xact->object || !method || strcmp(method, "GET") != 0 || !(1u << fact->class & (SQT_HITS | SQT_MISSES)))
        return;
    ++o->requests;
    o->hits += 1u << fact->class & SQT_HITS ? 1 : 0;
    o->first += (uint64_t)once_is_first(o, xact->object);
}

static void
once_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"slow_servers", "far_servers", "only_server", "connect", "tls"};
    const struct once *const o = state;
    (void)totals;
    if (o->requests < LEAST || o->hits * 100 > o->requests * HITS || o->first * 100 < o->requests * FIRST)
        return;
    for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); ++i) {
        struct sqt_told *const told = sqt_tolds_find(tolds, causes[i], NULL, 0);
        if (!told)
            continue;
        size_t used = strlen(told->sentence);
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " The cache could not help in this trace, because hardly an object is asked for twice: %llu of %llu "
                 "requests ask for what "
                 "nobody had asked for before.",
                 (unsigned long long)o->first, (unsigned long long)o->requests);
        used = strlen(told->advice);
        snprintf(
            told->advice + used, sizeof(told->advice) - used,
            " If URLs of one object differ only in a signature or a time behind the question mark (access.log with "
            "strip_query_terms off): store_id_program gives them one ID.");
    }
}

static void
once_end(void *state)
{
    sqt_freed(((struct once *)state)->seen);
}

const struct sqt_look sqt_look_once = {
    .size = sizeof(struct once), .request = once_request, .tell = once_tell, .end = once_end};
