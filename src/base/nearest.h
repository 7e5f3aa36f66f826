/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nearest.h - which known names a mistyped one may have been meant to be.
 */
#ifndef SQT_NEAREST_H
#define SQT_NEAREST_H

#include <stddef.h>

#define SQT_NEAREST 3 /* names that are told */

struct sqt_nearest {
    const char *word;
    size_t length;
    const char *names[SQT_NEAREST]; /* the nearest first */
    unsigned distances[SQT_NEAREST];
    unsigned count;
    char text[256];
};

/* Letters of a word or name that is looked at, at most. */
#define SQT_NEAREST_LONGEST 48

/* Letters to add, drop, change or swap with a neighbour to come from a to b, neither of which is longer than that. */
unsigned sqt_nearest_letters(const char *a, size_t a_length, const char *b, size_t b_length);

void sqt_nearest_init(struct sqt_nearest *nearest, const char *word, size_t length);
/* name: must last as long as nearest; may be offered twice */
void sqt_nearest_offer(struct sqt_nearest *nearest, const char *name);
/* "did you mean a, b or c?", each with the prefix; `otherwise` if none of the names is near. */
const char *sqt_nearest_text(struct sqt_nearest *nearest, const char *prefix, const char *otherwise);

#endif
