/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * nearest.h - which known name a mistyped one was meant to be.
 */
#ifndef SQT_NEAREST_H
#define SQT_NEAREST_H

#include <stddef.h>

struct sqt_nearest {
    const char *word;
    size_t length;
    const char *best; /* NULL: none of the names offered is near */
    unsigned distance;
};

void sqt_nearest_init(struct sqt_nearest *nearest, const char *word, size_t length);
void sqt_nearest_offer(struct sqt_nearest *nearest, const char *name);

#endif
