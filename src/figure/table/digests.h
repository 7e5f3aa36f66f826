/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digests.h - rows of the table of cache digests, for the figure that is made of them.
 */
#ifndef SQT_DIGESTS_H
#define SQT_DIGESTS_H

#include "pass/family.h"

/* Fills a row of `digests`. */
void sqt_digest_cells(union sqt_cell *row, const struct sqt_digest *digest);

#endif
