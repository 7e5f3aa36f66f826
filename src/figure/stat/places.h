/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * places.h - numbers for the names of cache_dirs, of which Squid has few and a trace may have any number.
 *
 * Each of the first SQT_PLACES has a number of its own.  All others have the one behind them, which is called "other".
 */
#ifndef SQT_PLACES_H
#define SQT_PLACES_H

#include "pass/family.h"

/* Squid has at most 64. */
#define SQT_PLACES 64

struct sqt_places {
    unsigned count;  /* of names */
    uint64_t others; /* times that "other" was meant */
    char names[SQT_PLACES + 1][SQT_PLACE_NAME];
    unsigned char next[SQT_PLACES]; /* of those with the same hash; from 1, 0: none */
    unsigned char first[256];
};

/* The number of that name.  sqt_places is zeroed at first. */
unsigned sqt_place_number(struct sqt_places *places, const char *name);

/* How many numbers there are. */
static inline unsigned
sqt_places_used(const struct sqt_places *places)
{
    return places->count + (places->others != 0);
}

/* Puts all numbers in use into `sorted`, by name, "other" last.  Returns how many. */
unsigned sqt_places_sorted(const struct sqt_places *places, unsigned char sorted[SQT_PLACES + 1]);

/* Says so if there were more than SQT_PLACES. */
void sqt_places_note(const struct sqt_places *places, const struct sqt_job *job);

#endif
