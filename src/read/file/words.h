/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * words.h - the words of a ring's header that another process is storing, read whole and in order.
 *
 * A pread() copies the words of a header in any order, and may copy a word in two halves, between which the owner stores
 * another value.  Between two pread() calls there is an order.  So the header is read several times, and a reading is
 * believed in two cases:
 *
 *     two that are equal      nothing was stored between the two: all words had these values at one instant
 *     five, one after the other: a word only grows, so if the readings before and after one have the same upper half of it,
 *                             the one between is whole
 *
 *         reading     0         1         2         3         4
 *         tail                before              after
 *         head                            +
 *         lost, text                                +
 *         episodes    same --------------------------------- same
 *
 * The second case is for an owner that stores the head again before the next reading.  The account of losses needs the
 * order that it has: the stretch of losses and the head first, then how many were lost (sqt_ring_totals).
 */
#ifndef SQT_WORDS_H
#define SQT_WORDS_H

#include "format/format.h"

struct sqt_words {
    struct sqt_totals totals; /* the account at the head; ring_id and clean are 0 */
    uint64_t tail;            /* read before the head */
    uint64_t tail_now;        /* read after it */
    uint64_t text_used;       /* at least what the records before the head need */
};

/* How many times words are read until they can be believed. */
#define SQT_WORDS_TRIES 64

/* Reads size bytes at an offset of the file.  Whatever is read after the call was stored later.  Returns 0, or -1 with
 * errno: ENODATA if the file is shorter. */
int sqt_words_read(int fd, void *to, size_t size, uint64_t offset);

/* Reads all words.  ticks_per_second: of the ring's clock.  Returns 0, or -1 with errno: EAGAIN if they changed too
 * often. */
int sqt_words_take(int fd, struct sqt_words *words, uint64_t ticks_per_second);

/* Reads `size` bytes of the header, at most 64, that are stored together.  Returns the same. */
int sqt_words_agree(int fd, void *to, size_t size, uint64_t offset);

#endif
