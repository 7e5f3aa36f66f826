/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * window.h - what happened in each of the last seconds: requests by class, time by stage.
 *
 * Durations are counted in 16 buckets to each doubling, so a percentile is at most 3.2 % off.
 */
#ifndef SQT_TOP_WINDOW_H
#define SQT_TOP_WINDOW_H

#include "format/format.h"
#include "model/class.h"

#define WINDOW_SECOND INT64_C(1000000000) /* ns */
/* Seconds that are kept, the one that has begun among them. */
#define WINDOW_SECONDS 301
#define WINDOW_BITS 4
#define WINDOW_OCTAVES 44 /* the last one holds all from 19 hours on */
#define WINDOW_BUCKETS (WINDOW_OCTAVES << WINDOW_BITS)

/* Requests of one class. */
struct window_class {
    uint64_t count;
    uint32_t buckets[WINDOW_BUCKETS]; /* of their durations */
};

struct window_second {
    int64_t number;                            /* of the second, since the start of the trace */
    struct window_class *classes[SQT_CLASSES]; /* NULL: none so far */
    int64_t stage_ns[SQT_STAGES + 1];          /* of all requests; the last: of no stage */
    uint64_t lost;                             /* records */
};

struct window {
    struct window_second seconds[WINDOW_SECONDS];
    int64_t newest; /* number of the latest second with something in it; INT64_MIN: none has */
};

/* A stretch of seconds. */
struct window_span {
    int64_t first, last; /* numbers of seconds */
    double seconds;      /* how long it is */
};

/* Prepares it; window_free() frees what it takes later. */
void window_init(struct window *window);
void window_free(struct window *window);

/* A request of that class ended then, after so many ns. */
void window_add_request(struct window *window, int64_t at, enum sqt_class class, int64_t ns);

/* No request has ended so far: another kind is counted from now on. */
void window_forget_requests(struct window *window);

/* Requests were in a stage (SQT_STAGES: in none) from..until; what is older than the window is left out. */
void window_add_stage(struct window *window, unsigned stage, int64_t from, int64_t until);

/* So many records were lost up to then. */
void window_add_lost(struct window *window, int64_t at, uint64_t records);

/* The last `width` ns before now, in whole seconds; and what of the window is before that.  Neither reaches to before
 * `begin`, where reading began. */
struct window_span window_now(int64_t now, int64_t width, int64_t begin);
struct window_span window_before(int64_t now, int64_t width, int64_t begin);

/* Sums of a span; into is zeroed by the callee. */
void window_sum_class(const struct window *window, const struct window_span *span, enum sqt_class class,
                      struct window_class *into);
int64_t window_sum_stage(const struct window *window, const struct window_span *span, unsigned stage);
uint64_t window_sum_lost(const struct window *window, const struct window_span *span);

/* The duration that so many of 1,000 do not exceed; SQT_CELL_MISSING of row/table.h if there is none. */
int64_t window_quantile(const struct window_class *class, unsigned per_mille);

#endif
