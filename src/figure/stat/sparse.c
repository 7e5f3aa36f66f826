/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sparse.c - see sparse.h.
 */
#include "sparse.h"

#include <stdlib.h>

#include "base/memory.h"

/* Entries of a piece. */
#define PIECE 16

void *
sqt_sparse_at(struct sqt_sparse *s, size_t count, size_t size, size_t number)
{
    if (!s->pieces) {
        s->count = (count + PIECE - 1) / PIECE;
        s->pieces = sqt_zeroed(s->count, sizeof(*s->pieces));
    }
    void **const piece = &s->pieces[number / PIECE];
    if (!*piece)
        *piece = sqt_zeroed(PIECE, size);
    return (char *)*piece + number % PIECE * size;
}

void
sqt_sparse_free(struct sqt_sparse *s)
{
    for (size_t i = 0; s->pieces && i < s->count; ++i)
        sqt_freed(s->pieces[i]);
    sqt_freed(s->pieces);
    *s = (struct sqt_sparse){0};
}
