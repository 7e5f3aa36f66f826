/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * block-comb.c - each block of one swap against its index.
 *
 * Which swap: the slowest swap-in, or the slowest of those that the condition picks.  The condition may name columns
 * of the swap's request too; then a swap that is over waits for its request, and some requests that are over are
 * remembered for swaps that outlive them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/memory.h"
#include "pass/family.h"

#define REMEMBERED 1024
/* Most swaps that are over and wait for their requests. */
#define WAITING 1024
/* Blocks of a swap that there is place for at first. */
#define FIRST_BLOCKS 2
#define COMB_BYTES ((int64_t)sizeof(struct comb) + 64)

enum { SWAPS, REQUESTS }; /* places in sqt_family.where */

struct block {
    uint32_t index;
    uint64_t offset;
    int64_t size, asked, queue, service, notice, total;
};

/* A swap and its blocks. */
struct comb {
    struct comb *next;
    const struct sqt_origin *origin;
    uint64_t xact;
    int64_t begin;
    union sqt_cell swap[SQT_CELLS(swaps)];
    struct sqt_row_text text;
    struct block *blocks;
    size_t count, room;
};

struct remembered {
    const struct sqt_origin *origin;
    uint64_t xact;
    union sqt_cell row[SQT_CELLS(requests)];
};

struct figure {
    struct sqt_idmap open; /* swaps that are not over */
    struct comb *best;
    struct comb *waiting; /* over, but their requests are not */
    unsigned waiting_count;
    int64_t left;       /* bytes */
    uint64_t beyond;    /* blocks for which there was no room */
    uint64_t impatient; /* swaps that did not wait */
    struct remembered *remembered;
    unsigned remembered_next;
    int needs_request;
};

static void
block_comb_start(struct sqt_job *job)
{
    struct figure *const f = job->state = sqt_zeroed(1, sizeof(*f));
    f->left = sqt_job_open_room(job);
    f->needs_request = sqt_where_uses(job->where, REQUESTS);
    if (f->needs_request)
        f->remembered = sqt_zeroed(REMEMBERED, sizeof(*f->remembered));
}

static void
comb_free(struct figure *f, struct comb *comb)
{
    if (!comb)
        return;
    f->left += COMB_BYTES + (int64_t)(comb->room * sizeof(*comb->blocks));
    sqt_freed(comb->blocks);
    sqt_freed(comb);
}

/* The blocks of an open swap, with place for another one; NULL if there is no room. */
static struct comb *
comb_of(struct figure *f, uint64_t key)
{
    struct comb *comb = sqt_idmap_get(&f->open, key);
    const size_t more = !comb ? FIRST_BLOCKS : comb->count == comb->room ? comb->room : 0;
    const int64_t bytes = (int64_t)(more * sizeof(struct block)) + (comb ? 0 : COMB_BYTES);
    if (bytes > f->left)
        return NULL;
    f->left -= bytes;
    if (!comb)
        sqt_idmap_put(&f->open, key, comb = sqt_zeroed(1, sizeof(*comb)));
    comb->room += more;
    if (more)
        comb->blocks = sqt_resized(comb->blocks, comb->room * sizeof(*comb->blocks));
    return comb;
}

#define IO(name) i->row[SQT_CELL(ios, name)].number

/* Swaps of one life of a process have numbers of their own; so, with the origin's, they are a key. */
static uint64_t
block_comb_key(const struct sqt_origin *origin, uint64_t sio)
{
    return (uint64_t)origin->index << 44 ^ sio;
}

static void
block_comb_io(struct sqt_job *job, const struct sqt_io_fact *i)
{
    struct figure *const f = job->state;
    struct comb *const comb = comb_of(f, block_comb_key(i->origin, i->sio));
    if (!comb) {
        ++f->beyond;
        return;
    }
    comb->blocks[comb->count++] = (struct block){(uint32_t)IO(index), (uint64_t)IO(offset_bytes),
                                                 IO(size_bytes),      IO(time_s),
                                                 IO(queue_ns),        IO(service_ns),
                                                 IO(notice_ns),       IO(total_ns)};
}

/* Keeps the comb if it is the slowest so far; takes it over in any case. */
static void
block_comb_judge(struct sqt_job *job, struct comb *comb, const union sqt_cell *request)
{
    struct figure *const f = job->state;
    const union sqt_cell *const rows[] = {comb->swap, request};
    const int64_t total = comb->swap[SQT_CELL(swaps, total_ns)].number;
    if (!sqt_where_match(job->where, rows) || (f->best && total <= f->best->swap[SQT_CELL(swaps, total_ns)].number)) {
        comb_free(f, comb);
        return;
    }
    comb_free(f, f->best);
    f->best = comb;
}

static void
block_comb_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    struct figure *const f = job->state;
    struct comb *const comb = sqt_idmap_take(&f->open, block_comb_key(s->origin, s->sio));
    if (!comb)
        return;
    comb->origin = s->origin;
    comb->xact = s->xact;
    comb->begin = s->begin;
    comb->text = s->text;
    memcpy(comb->swap, s->row, sizeof(s->row));
    if (comb->swap[SQT_CELL(swaps, store)].text == s->text.store)
        comb->swap[SQT_CELL(swaps, store)].text = comb->text.store;
    if (s->begin < job->since || s->begin >= job->until || sqt_durations_unknown(s->outcome) ||
        (!job->where && s->out)) {
        comb_free(f, comb);
        return;
    }
    if (!f->needs_request) {
        block_comb_judge(job, comb, NULL);
        return;
    }
    for (unsigned i = 0; i < REMEMBERED; ++i)
        if (f->remembered[i].origin == comb->origin && f->remembered[i].xact == comb->xact) {
            block_comb_judge(job, comb, f->remembered[i].row);
            return;
        }
    if (f->waiting_count == WAITING) {
        ++f->impatient;
        comb_free(f, comb);
        return;
    }
    ++f->waiting_count;
    comb->next = f->waiting;
    f->waiting = comb;
}

static void
block_comb_request(struct sqt_job *job, const struct sqt_request_fact *x)
{
    struct figure *const f = job->state;
    if (!f->needs_request)
        return;
    struct remembered *const r = &f->remembered[f->remembered_next++ % REMEMBERED];
    r->origin = x->origin;
    r->xact = x->xact;
    memcpy(r->row, x->row, sizeof(r->row));
    for (struct comb **p = &f->waiting; *p;) {
        struct comb *const comb = *p;
        if (comb->origin == x->origin && comb->xact == x->xact) {
            *p = comb->next;
            --f->waiting_count;
            block_comb_judge(job, comb, r->row);
        } else {
            p = &comb->next;
        }
    }
}

#define CELL(name) row[SQT_CELL(block_comb, name)]
#define SWAP(name) comb->swap[SQT_CELL(swaps, name)]

static void
block_comb_print(struct sqt_job *job, const struct comb *comb)
{
    char text[256];
    snprintf(text, sizeof(text), "sio %llu of request %llu, %s, cache_dir %lld (%s), %lld blocks, %lld bytes, %.3f ms",
             (unsigned long long)SWAP(sio).number, (unsigned long long)comb->xact, SWAP(direction).text,
             (long long)SWAP(dir).number, SWAP(store).text ? SWAP(store).text : "-", (long long)SWAP(ios).number,
             (long long)SWAP(size_bytes).number, (double)SWAP(total_ns).number / 1e6);
    job->note(job->context, "swap", text);
    for (size_t i = 0; i < comb->count; ++i) {
        const struct block *const b = &comb->blocks[i];
        union sqt_cell row[SQT_CELLS(block_comb)];
        CELL(index).number = b->index;
        CELL(offset_bytes).number = (int64_t)b->offset;
        CELL(size_bytes).number = b->size;
        CELL(asked_ms).number = b->asked - comb->begin;
        CELL(queue_ms).number = b->queue;
        CELL(service_ms).number = b->service;
        CELL(notice_ms).number = b->notice;
        CELL(total_ms).number = b->total;
        sqt_job_row(job, row);
    }
}

static void
block_comb_finish(struct sqt_job *job)
{
    struct figure *const f = job->state;
    for (struct comb *comb = f->waiting, *next; comb; comb = next) {
        next = comb->next;
        block_comb_judge(job, comb, NULL);
    }
    if (f->best)
        block_comb_print(job, f->best);
    else
        job->note(job->context, "swap", "none was picked");
    sqt_job_note_bound(job, f->beyond, "blocks are left out, because too many were under way at once");
    sqt_job_note_bound(job, f->impatient, "swaps are left out, because too many waited for their requests");
    comb_free(f, f->best);
    for (size_t i = 0; i < f->open.room; ++i)
        comb_free(f, f->open.slots[i].value);
    sqt_idmap_free(&f->open);
    sqt_freed(f->remembered);
    sqt_freed(f);
}

const struct sqt_family sqt_family_block_comb = {
    .where = {[SWAPS] = SQT_TABLE_swaps, [REQUESTS] = SQT_TABLE_requests},
    .where_count = 2,
    .start = block_comb_start,
    .request = block_comb_request,
    .swap = block_comb_swap,
    .io = block_comb_io,
    .finish = block_comb_finish,
};
