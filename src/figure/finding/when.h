/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * when.h - when something happened: sums by windows of time, for any number of series, in bounded memory; and from the
 * windows that are bad, since when, until when and in which pattern.
 *
 * A series is a number of the caller's.  A window is SQT_WHEN_WIDTH at first.  When there are too many sums, windows become
 * twice as wide, of all series.
 *
 *     sqt_when_add   ->  recent sums, a hash table of 96 KB, 384 KB with most = 262,144
 *     it is full     ->  merged into the packed sums: in order, 4 to 8 bytes each as a rule
 *     sqt_when_sort  ->  all sums in order, 24 bytes each
 */
#ifndef SQT_WHEN_H
#define SQT_WHEN_H

#include <stddef.h>
#include <stdint.h>

#include "told.h"

/* ns */
#define SQT_WHEN_WIDTH INT64_C(250000000)
/* Sums that are kept, if `most` is 0: half a megabyte as a rule, and three times as much after sqt_when_sort.  A pass has a
 * dozen such tables, and a long trace fills each.  An owner may free its table as soon as nobody asks it
 * any more. */
#define SQT_WHEN_MOST ((size_t)1 << 16)

struct sqt_when_sum {
    uint32_t series; /* 0: free */
    uint32_t window; /* from the begin of the trace */
    uint32_t count;
    uint64_t ns;
};

struct sqt_when {
    struct sqt_when_sum *sums; /* a hash table of the recent ones; after sqt_when_sort() all, by series and window */
    size_t size, used;         /* of the table: entries, and those that are taken */
    uint8_t *packed;           /* the others, by series and window */
    size_t packed_count, packed_bytes;
    size_t most; /* sums; 0: SQT_WHEN_MOST */
    int64_t width;
    int sorted; /* sqt_when_sort() was called */
};

/* Adds so many ns, of so many things, to a window of a series (from 1). */
void sqt_when_add(struct sqt_when *when, uint32_t series, int64_t at, uint64_t ns, uint32_t count);

/* Nothing more is added: puts the sums in order.  Once is enough, and twice does no harm. */
void sqt_when_sort(struct sqt_when *when);

/* The sums of a series, in the order of time; *count of them.  After sqt_when_sort(). */
const struct sqt_when_sum *sqt_when_of(const struct sqt_when *when, uint32_t series, size_t *count);

/* Forgets all.  Once is enough, and twice does no harm. */
void sqt_when_free(struct sqt_when *when);

/* Since, until and pattern of the windows that are bad, out of those in which anything happened.  Both are numbers of
 * windows in rising order, of that width; there is at least one bad one.  last: the number of the trace's last window.
 * sizes: how bad each is, for `growing`; NULL: not known. */
void sqt_when_pattern(struct sqt_told *told, const uint32_t *bad, const double *sizes, size_t bads,
                      const uint32_t *active, size_t actives, uint32_t last, int64_t width);

#endif
