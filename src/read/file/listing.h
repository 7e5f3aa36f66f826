/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * listing.h - the names in a folder that somebody else may fill: only those that are wanted are kept, and not any number of
 * them.
 */
#ifndef SQT_LISTING_H
#define SQT_LISTING_H

#include <stddef.h>

/* Names of traces, or of rings, that are taken from a folder. */
#define SQT_LISTING_MOST ((size_t)65536)

struct sqt_listing {
    char **names; /* in the order of their bytes */
    size_t count;
    size_t left_out; /* that were wanted, too, and come after those */
};

/* Lists the entries of a folder for which `wants` returns 1; of more than `most` the first.  Returns 0, or -1 with errno and
 * an empty list.  Ends the program for want of memory, as memory.h. */
int sqt_listing_read(struct sqt_listing *listing, const char *path, int (*wants)(const char *name, const char *what),
                     const char *what, size_t most);

/* For `wants`: whether the name ends with `suffix`, and has more than that. */
int sqt_listing_ends(const char *name, const char *suffix);

void sqt_listing_free(struct sqt_listing *listing);

#endif
