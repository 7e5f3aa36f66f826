/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ordered.h - what is known when it ends, handed on in the order in which it began.
 *
 * Things are kept in a heap for a minute.  One that takes longer than that, or comes when the heap is full of later ones, is
 * handed on behind some that began after it.
 */
#ifndef SQT_WHATIF_ORDERED_H
#define SQT_WHATIF_ORDERED_H

#include <stddef.h>
#include <stdint.h>

/* item: as it was put in; it is valid during the call only. */
typedef void sqt_ordered_function(void *context, const void *item);

struct sqt_ordered {
    size_t size; /* of an item, which begins with when it began, an int64_t in ns */
    sqt_ordered_function *take;
    void *context;
    char *items; /* a heap: the one that began first is first; and room for one that moves */
    unsigned count;
    int64_t last; /* the latest end so far */
};

void sqt_ordered_init(struct sqt_ordered *ordered, size_t size, sqt_ordered_function *take, void *context);

/* Puts an item in that ends at that time.  Hands on what began more than a minute before the latest end. */
void sqt_ordered_put(struct sqt_ordered *ordered, const void *item, int64_t end);

/* Hands on all, and frees the heap. */
void sqt_ordered_finish(struct sqt_ordered *ordered);

#endif
