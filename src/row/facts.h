/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * facts.h - requests, swaps, blocks and disk operations as figures see them: rows of their tables, and what is not in
 * the rows.
 *
 * A fact needs nothing of the model, so it can be copied and looked at later.  Its texts are valid until the stream is
 * closed.
 */
#ifndef SQT_FACTS_H
#define SQT_FACTS_H

#include "cells.h"
#include "model/class.h"
#include "model/model.h"
#include "table.h"

struct sqt_request_fact {
    const struct sqt_origin *origin;
    uint64_t xact;
    int64_t begin, end; /* begin: SQT_MISSING if it is lost */
    enum sqt_class class;
    enum sqt_outcome outcome; /* the model's; the row's says, too, what ended as an error */
    int got_error;            /* sqt_xact_got_error() */
    union sqt_cell row[SQT_CELLS(requests)];
    char trace_id[33], parent_id[17]; /* what these cells of the row point to */
    char notes[SQT_NOTES_TEXT];       /* the same */
};

/* A cache_dir as figures name it: type and number, as in aufs:0; without the type if it is not known, as in dir:0. */
#define SQT_PLACE_NAME 48
void sqt_place_name(char *name, const char *store, uint32_t dir);

struct sqt_swap_fact {
    const struct sqt_origin *origin;
    uint64_t sio;
    uint64_t xact;
    uint64_t object;
    int64_t begin, end;
    uint32_t dir;
    int out;
    enum sqt_outcome outcome;
    union sqt_cell row[SQT_CELLS(swaps)];
    struct sqt_row_text text; /* store */
    char place[SQT_PLACE_NAME];
};

struct sqt_io_fact {
    const struct sqt_origin *origin;
    uint64_t sio;
    uint64_t xact;
    int out;
    const char *store; /* type of the cache_dir, NULL if unknown */
    union sqt_cell row[SQT_CELLS(ios)];
    struct sqt_row_text text; /* store, perhaps */
};

struct sqt_diskop_fact {
    int64_t begin, end;
    enum sqt_disk_op op;
    enum sqt_outcome outcome;
    int main_thread; /* which did it itself */
    int came_back;   /* it has a stage of its own for all of its time, and was not told before */
    int late;
    union sqt_cell row[SQT_CELLS(diskops)];
    struct sqt_row_text text;   /* store */
    char place[SQT_PLACE_NAME]; /* "-" if the cache_dir is not known */
};

void sqt_request_fact(struct sqt_request_fact *fact, const struct sqt_xact *xact);
void sqt_swap_fact(struct sqt_swap_fact *fact, const struct sqt_swap *swap);
void sqt_io_fact(struct sqt_io_fact *fact, const struct sqt_io *io);
void sqt_diskop_fact(struct sqt_diskop_fact *fact, const struct sqt_diskop *op);

/* ns that the operation was in a stage, SQT_CELL_MISSING if it is not known. */
static inline int64_t
sqt_diskop_stage(const struct sqt_diskop_fact *d, enum sqt_diskop_stage stage)
{
    return d->row[SQT_CELL(diskops, enqueued_ns) + stage].number;
}

/* Whether the trace went on for 15 s and it did not come back.  A rock disker has its time up after 14 s at the latest,
 * so what is cut off with the trace is not taken for lost. */
static inline int
sqt_diskop_lost(const struct sqt_diskop_fact *d)
{
    return d->outcome == SQT_OUTCOME_UNFINISHED && d->end - d->begin >= INT64_C(15000000000);
}

/* Durations of a request, as sets of bits: columns of `requests`. */
#define SQT_NS(name) (UINT64_C(1) << SQT_CELL(requests, name##_ns))
enum { /* stages.def, by name */
#define SQT_STAGE(NAME, name, column, doc) SQT_AT_requests_##name##_ns = SQT_STAGE_AT(column),
#include "format/stages.def"
};
#define SQT_PROXY_CONNECT (SQT_NS(connect) | SQT_NS(tls))
#define SQT_SERVER_REPLY \
    (SQT_NS(request_send) | SQT_NS(client_body) | SQT_NS(server_wait) | SQT_NS(server_reply) | SQT_NS(failed_tries))
/* What a server is waited for: of its last try. */
#define SQT_SERVER_TIME (SQT_PROXY_CONNECT | SQT_NS(request_send) | SQT_NS(server_wait) | SQT_NS(server_reply))
#define SQT_ACCESS (SQT_NS(access) | SQT_NS(helper))
#define SQT_SWAP_IN (SQT_NS(swap_in_open) | SQT_NS(swap_in_first) | SQT_NS(swap_in_rest))
#define SQT_PROXY_REPLY (SQT_NS(reply_wait) | SQT_NS(collapsed_wait) | SQT_NS(held_back) | SQT_NS(proxy_reply))
/* All that add up to total_ns. */
#define SQT_STAGE(NAME, name, column, doc) | SQT_NS(name)
static const uint64_t sqt_parts_of_total = SQT_NS(unaccounted)
#include "format/stages.def"
    ;

/* The sum of a set of columns; those that are missing count 0. */
static inline int64_t
sqt_row_sum(const union sqt_cell *row, uint64_t columns)
{
    int64_t sum = 0;
    for (; columns; columns &= columns - 1) {
        const int64_t value = row[__builtin_ctzll(columns)].number;
        sum += value == SQT_CELL_MISSING ? 0 : value;
    }
    return sum;
}

/* Classes, as sets of bits: hits are what Squid's LogTags::isTcpHit() says. */
#define SQT_HITS \
    (1u << SQT_CLASS_MEM_HIT | 1u << SQT_CLASS_DISK_HIT | 1u << SQT_CLASS_IMS_HIT | 1u << SQT_CLASS_NEGATIVE_HIT | \
     1u << SQT_CLASS_REFRESH_HIT)
#define SQT_MISSES (1u << SQT_CLASS_MISS | 1u << SQT_CLASS_REFRESH_MISS)

#endif
