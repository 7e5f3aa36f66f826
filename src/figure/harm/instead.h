/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * instead.h - a finding of a look that says more of the same time than a rule does takes that rule's place.
 */
#ifndef SQT_INSTEAD_H
#define SQT_INSTEAD_H

#include "figure/finding/told.h"

/* Drops the findings of these causes, up to NULL, of whose waiting a finding with so many ns explains that many percent. */
void sqt_instead(struct sqt_tolds *tolds, const char *const *causes, uint64_t ns, unsigned percent);

/* The usual share: most of it. */
#define SQT_INSTEAD 75

#endif
