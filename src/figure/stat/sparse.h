/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sparse.h - a table of fixed size, most of whose entries stay unused in a small trace: memory comes in pieces, when an entry
 * is asked for.
 *
 *     struct sqt_sparse seen = {0};
 *     struct entry *const e = sqt_sparse_at(&seen, 65536, sizeof(*e), hash % 65536);
 */
#ifndef SQT_SPARSE_H
#define SQT_SPARSE_H

#include <stddef.h>

struct sqt_sparse {
    void **pieces; /* NULL: nobody has asked yet */
    size_t count;
};

/* The entry of that number, zeroed at first.  count and size: of the whole table and of an entry, the same in each call. */
void *sqt_sparse_at(struct sqt_sparse *sparse, size_t count, size_t size, size_t number);

/* Forgets all. */
void sqt_sparse_free(struct sqt_sparse *sparse);

#endif
