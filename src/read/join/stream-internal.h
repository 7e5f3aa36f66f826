/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stream-internal.h - a stream: origins that wait for their time, and those that are open.
 */
#ifndef SQT_STREAM_INTERNAL_H
#define SQT_STREAM_INTERNAL_H

#include "read/final.h"
#include "read/follow.h"
#include "beside.h"
#include "sources.h"

/* Origins that are open at a time: each has a block of 2 MiB and a window of 256 KiB.  Of a stream that is followed, living
 * processes do not count: none of them would ever make room for another.  There it is bytes that are bounded: of blocks whose
 * records wait to be handed out, and of windows. */
#define SQT_OPEN_MOST 48
#define SQT_FOLLOW_KEPT_MOST ((size_t)SQT_OPEN_MOST * ((2u << 20) + (256u << 10)))

struct sqt_stream {
    struct sqt_diagnostics diagnostics;
    struct sqt_unpacker unpacker;
    struct sqt_ahead ahead;
    struct sqt_source_list sources;
    struct sqt_origin_reader **waiting; /* not opened yet, by the time of their first record */
    size_t waiting_count, waiting_next;
    struct sqt_origin_reader **open;
    size_t open_count;
    uint32_t *kids; /* only these, if there are any */
    size_t kid_count;
    struct sqt_origin_reader *current; /* whose run was handed out last */
    uint64_t start_ns;                 /* by which boots are aligned */
    uint64_t wall_ns;                  /* the time of day then */
    unsigned opened;
    int told_open; /* that too many are open at a time; said once */
    int waits;     /* some of the open ones are not read on while others take all room */

    struct sqt_log *log;       /* an access.log, in place of all sources or beside them; NULL: there is none */
    struct sqt_beside *beside; /* it is beside them; owns it */

    int final; /* only what is final is handed out */
    int followed;
    struct sqt_following following;
    struct sqt_origin_reader
        *ended[SQT_FOLLOW_ENDED]; /* the one that ended first is at ended_next, once all are used */
    unsigned ended_next;
    int64_t limit;      /* ns: later records are held back */
    int64_t looked_now; /* CLOCK_MONOTONIC, ns: when the rings were looked at, or before they were opened */
    int64_t looked;     /* CLOCK_MONOTONIC, ns: when the directories were looked at */
};

/* Whether its kid is asked for, and what it holds is not too old. */
static inline int
sqt_stream_wants(const struct sqt_stream *s, const struct sqt_origin_reader *o)
{
    size_t i = 0;
    while (i < s->kid_count && s->kids[i] != o->public.identity.kid)
        ++i;
    return !o->unwanted && (s->kid_count == 0 || i < s->kid_count);
}

/* logs.c: the same as sqt_stream_next() and sqt_stream_extent(), of a log; and the end of it. */
int sqt_stream_next_logged(struct sqt_stream *stream, struct sqt_run *run);
void sqt_stream_log_extent(const struct sqt_stream *stream, struct sqt_extent *extent);
void sqt_stream_log_close(struct sqt_stream *stream);

/* final.c: sets the limit: what was written a moment before `looked_now` is there by now. */
void sqt_stream_limit(struct sqt_stream *stream, int64_t now, struct sqt_origin_reader *const *origins, size_t count);
/* Whether the records that an origin has now are final. */
int sqt_stream_is_final(const struct sqt_stream *stream, const struct sqt_origin_reader *reader);
/* Tells of an origin that has no more records, if it has ended. */
void sqt_stream_tell_final(const struct sqt_stream *stream, const struct sqt_origin_reader *reader);

/* follow.c: reads on in an open origin that has nothing left, unless others take all room: 1 if it has records now, 0 if
 * there are none, -1 if it waits for room. */
int sqt_stream_load(struct sqt_stream *stream, struct sqt_origin_reader *reader);
/* The same for those that waited. */
void sqt_stream_load_waiting(struct sqt_stream *stream);

/* Whether records of that time, of that origin, may be handed out. */
int sqt_stream_lets(const struct sqt_stream *stream, const struct sqt_origin_reader *reader);

/* Takes an origin out that has nothing more, now or for ever.  Returns whether it stays among the open ones. */
int sqt_stream_settle(struct sqt_stream *stream, struct sqt_origin_reader *reader);

/* An origin of a kid that is not asked for: nothing of it is read. */
void sqt_stream_pass_over(struct sqt_stream *stream, struct sqt_origin_reader *reader);

/* Makes the origin's times those of the stream.  Returns how much later its clock was than any can be, in ns. */
int64_t sqt_stream_align(struct sqt_stream *stream, struct sqt_origin_reader *reader);

/* The lowest number that no origin has. */
unsigned sqt_stream_free_index(const struct sqt_stream *stream);

#endif
