/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blame.c - see blame.h.
 */
#include "blame.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Requests in which something failed and that are open at a time. */
#define REQUESTS 16384

static struct sqt_blame *
blame_place(const struct sqt_blames *blames, const struct sqt_origin *origin, uint64_t xact)
{
    return &blames->table[(xact * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)origin >> 4) % REQUESTS];
}

/* NULL: nobody can be blamed for anything. */
static struct sqt_blame *
blame_add(struct sqt_blames *blames, const struct sqt_origin *origin, uint64_t xact, enum sqt_blamed blamed,
          uint32_t who, int64_t took, enum sqt_wait_outcome outcome)
{
    if (!xact)
        return NULL;
    if (!blames->table)
        blames->table = sqt_zeroed(REQUESTS, sizeof(*blames->table));
    struct sqt_blame *const b = blame_place(blames, origin, xact);
    if (b->origin != origin || b->xact != xact)
        *b = (struct sqt_blame){.origin = origin, .xact = xact};
    b->failed |= 1u << blamed;
    b->who[blamed] = who;
    b->took[blamed] = took;
    b->timed_out = (b->timed_out & ~(1u << blamed)) | (unsigned)(outcome == SQT_WAIT_TIMEOUT) << blamed;
    b->broken = (b->broken & ~(1u << blamed)) | (unsigned)(outcome == SQT_WAIT_BROKEN) << blamed;
    b->cut |= outcome == SQT_WAIT_CUT;
    return b;
}

static int
blame_failed(enum sqt_wait_outcome outcome)
{
    return outcome == SQT_WAIT_BROKEN || outcome == SQT_WAIT_TIMEOUT || outcome == SQT_WAIT_FAILED ||
           outcome == SQT_WAIT_DIED || outcome == SQT_WAIT_CUT;
}

void
sqt_blame_wait(struct sqt_blames *blames, const struct sqt_wait *wait)
{
    const int asks_name = wait->def == SQT_DEF_WAITED && wait->stage == SQT_NAMED_DNS;
    if (blame_failed(wait->outcome) || (asks_name && wait->outcome == SQT_WAIT_ERR))
        blame_add(blames, wait->origin, wait->xact,
                  wait->def == SQT_DEF_SERVICE ? SQT_BLAMED_SERVICE
                  : asks_name                  ? SQT_BLAMED_NAME_SERVER
                                               : SQT_BLAMED_HELPER,
                  wait->who, wait->end - wait->begin, wait->outcome);
}

int
sqt_blame_attempt(struct sqt_blames *blames, const struct sqt_attempt *a)
{
    if (a->outcome != SQT_OUTCOME_ERROR && a->outcome != SQT_OUTCOME_TIMEOUT)
        return 0;
    struct sqt_blame *const b =
        blame_add(blames, a->origin, a->xact, a->connected == SQT_MISSING ? SQT_BLAMED_CONNECT : SQT_BLAMED_TLS,
                  a->server, a->end - a->begin, a->outcome == SQT_OUTCOME_TIMEOUT ? SQT_WAIT_TIMEOUT : SQT_WAIT_FAILED);
    if (b && a->connected == SQT_MISSING) {
        b->error = a->error;
        b->begun = a->error || !a->version || a->outcome == SQT_OUTCOME_TIMEOUT;
    }
    return 1;
}

int
sqt_blame_take(struct sqt_blames *blames, const struct sqt_xact *xact, struct sqt_blame *blame)
{
    struct sqt_blame *const b = blames->table ? blame_place(blames, xact->origin, xact->id) : NULL;
    if (!b || b->origin != xact->origin || b->xact != xact->id)
        return 0;
    *blame = *b;
    b->origin = NULL;
    return 1;
}

const char *
sqt_blame_name(const struct sqt_blame *b, enum sqt_blamed blamed)
{
    static const enum sqt_def defs[SQT_BLAMED] = {[SQT_BLAMED_SERVICE] = SQT_DEF_SERVICE,
                                                  [SQT_BLAMED_CONNECT] = SQT_DEF_SERVER,
                                                  [SQT_BLAMED_TLS] = SQT_DEF_SERVER,
                                                  [SQT_BLAMED_NAME_SERVER] = SQT_DEF_WAITED,
                                                  [SQT_BLAMED_HELPER] = SQT_DEF_WAITED};
    return b->who[blamed] == UINT32_MAX ? NULL : sqt_origin_text(b->origin, defs[blamed], b->who[blamed]);
}

void
sqt_blames_free(struct sqt_blames *blames)
{
    sqt_freed(blames->table);
    blames->table = NULL;
}
