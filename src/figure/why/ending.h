/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ending.h - why Squid ended itself, from its own words to those of a finding.
 */
#ifndef SQT_ENDING_H
#define SQT_ENDING_H

#include "figure/finding/told.h"

struct sqt_ending {
    char culprit[SQT_TOLD_NAME];     /* "": nobody in particular */
    char because[2 * SQT_TOLD_NAME]; /* behind "Squid ended itself: " */
    const char *advice;
};

/* From Squid's own words.  helper: whose child died last before; "": none did. */
void sqt_ending_of(struct sqt_ending *ending, const char *why, const char *helper);

#endif
