/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_trace.h - segments and rings made from arrays of records, for tests and benchmarks.
 *
 * Shares only src/format/ with the product: what libsqtrace writes is not used to test what the reader reads.
 * A failed allocation or write ends the program; nothing here returns an error unless it says so.
 *
 * The simplest use:
 *
 *     struct sqt_identity who;
 *     make_identity(&who, 1, 0);
 *     make_segment_file("a.sqt", &who, 0, 0, records, count, "def\t2\t1\tTCP_HIT\n", MAKE_ZLIB);
 */
#ifndef MAKE_TRACE_H
#define MAKE_TRACE_H

#include <stdio.h>

#include "../../src/format/pack.h"

/* Bytes that grow. */
struct make_bytes {
    uint8_t *data;
    size_t size, room;
};

void make_append(struct make_bytes *bytes, const void *data, size_t size);
void make_free(struct make_bytes *bytes);
/* Writes the bytes to a new file of that name. */
void make_file(const char *path, const struct make_bytes *bytes);

/* A writer: clock of 3 GHz, ring id made from seed, started at tick MAKE_START on the machine's only boot. */
#define MAKE_START UINT64_C(1000000000000)
#define MAKE_TICKS_PER_SECOND UINT64_C(3000000000)
#define MAKE_MONOTONIC_NS UINT64_C(500000000000)
#define MAKE_REALTIME_NS UINT64_C(1700000000000000000)
void make_identity(struct sqt_identity *identity, unsigned seed, uint32_t kid);

/* The moment `ticks` on a clock that keeps exactly to the identity's nominal rate. */
struct sqt_anchor make_anchor(const struct sqt_identity *identity, uint64_t ticks);

/* Sets the unit flags of n consecutive records: the first is followed by n - 1 parts. */
void make_unit(struct sqt_record *records, unsigned n);

enum make_flags {
    MAKE_ZLIB = 1,
    MAKE_ZSTD = 2, /* instead of MAKE_ZLIB, and the same where zstd is not there */
    MAKE_SMALL = 4 /* as far as zlib can */
};

/* Pieces of a segment, in the order in which they stand in a file. */
void make_header(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t sequence);

/* The same, of a segment whose blocks are made with these make_flags. */
void make_header_for(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t sequence, unsigned flags);
/* A frame of any type around a payload. */
void make_frame(struct make_bytes *bytes, unsigned type, unsigned flags, const void *payload, size_t size);
/* The table of events of this program and `more` lines ("def\t...\n"; may be NULL). */
void make_text(struct make_bytes *bytes, const char *more);
/* A block of count records (1 to SQT_BLOCK_RECORDS), numbered from first; anchors at its first and last record. */
void make_block(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t first,
                const struct sqt_record *records, size_t count, unsigned flags);
/* The same with anchors, frame flags and packing table of choice. */
void make_block_with(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t first,
                     const struct sqt_record *records, size_t count, unsigned flags, unsigned frame_flags,
                     const struct sqt_anchor *from, const struct sqt_anchor *to, const struct sqt_pack_table *table);
/* All records in blocks of at most per_block records, which never split a unit. */
void make_blocks(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t first,
                 const struct sqt_record *records, size_t count, size_t per_block, unsigned flags);
/* totals->ring_id is filled in from the identity. */
void make_end(struct make_bytes *bytes, const struct sqt_identity *identity, const struct sqt_totals *totals);

/* A whole closed segment in a file: header, text, blocks, totals (clean, head = first + count). */
void make_segment_file(const char *path, const struct sqt_identity *identity, uint64_t sequence, uint64_t first,
                       const struct sqt_record *records, size_t count, const char *text, unsigned flags);

/* A ring in a file: the `count` records numbered from first, of which those before tail are in segments.
 * capacity: records, a power of two.  The text area holds the table of events and `text`.
 * writer: lost, marks, lost_from, lost_open, closed are taken from it when it is not NULL. */
void make_ring_file(const char *path, const struct sqt_identity *identity, uint64_t capacity, uint64_t first,
                    uint64_t tail, const struct sqt_record *records, size_t count, const char *text,
                    const struct sqt_ring_writer *writer);

/* The pointer file of a ring, as libsqtrace leaves it in the trace directory. */
void make_pointer_file(const char *path, const struct sqt_identity *identity, const char *ring);

/* ---- records as a busy proxy makes them ----
 *
 * Their proportions are those of traffic.def.  The same seed makes the same records. */

#define MAKE_TRAFFIC_SLOTS 12   /* requests at a time */
#define MAKE_TRAFFIC_MOST 640   /* records of a request */
#define MAKE_TRAFFIC_BLOCKS 32  /* the most blocks of a swap */
#define MAKE_TRAFFIC_COLUMNS 11 /* of traffic.def */
#define MAKE_TRAFFIC_SERVERS 6  /* of traffic.def; a slot keeps a connection to each */

struct make_traffic_slot {
    struct sqt_record records[MAKE_TRAFFIC_MOST];
    size_t count, next; /* records made, and handed out */
    int waits;          /* a mark for the next record */
    uint64_t conn;      /* of its client, 0: none */
    uint64_t servers[MAKE_TRAFFIC_SERVERS];
    uint64_t asked, noticed; /* ticks: the last question to a disk, the last answer */
    uint64_t queried;        /* ticks: the last question to a helper or a name server */
};

struct make_traffic {
    uint64_t random, time, requests, xact, conn, sio, operation, lookup, use;
    double owed[SQT_EVENTS][MAKE_TRAFFIC_COLUMNS]; /* records that are still to be made */
    double classes[MAKE_TRAFFIC_COLUMNS];          /* requests */
    double servers[MAKE_TRAFFIC_SERVERS];          /* uses of connections to each */
    struct make_traffic_slot slots[MAKE_TRAFFIC_SLOTS];
    struct make_traffic_slot loop; /* what the event loop makes between them */
    unsigned at_a_time; /* requests, up to MAKE_TRAFFIC_SLOTS; may be changed before the first record is made */
    unsigned current, resumed, calls_told;
    uint64_t worked_from, waits_from; /* ticks: the last wait ended, and began */
    uint64_t waited;                  /* ticks that were waited for descriptors so far */
    struct {
        uint64_t at, waited; /* ticks: when it was taken, and the waits before it */
        uint64_t since, ran; /* ticks from the one before it, and those of them that were not waited */
    } sampled;               /* the main thread, last */
    uint64_t samples[SQT_SAMPLES];
};
void make_traffic_init(struct make_traffic *traffic, uint64_t seed);
/* Fills room records (at least SQT_UNIT_MAX) with whole units; returns how many were made, a little under room. */
size_t make_traffic_records(struct make_traffic *traffic, struct sqt_record *records, size_t room);
/* Copies a unit of n records; the stamps that it carries are as long ago at `now` as they were when it was made. */
void make_traffic_renew(struct sqt_record *to, const struct sqt_record *from, unsigned n, uint64_t now);
/* The lines of definitions that these records need, for make_text() and make_segment_file(). */
const char *make_traffic_texts(void);

#endif
