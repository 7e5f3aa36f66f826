/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * beside.h - an access.log beside a trace: the line of a transaction, by kid, xid and time.
 *
 * Squid counts transactions anew when it starts, so kid and xid alone may be those of another run: of several lines the
 * one counts that was written nearest to the transaction's end.  Both files are in the order of time, so lines are read as
 * the trace goes on, and only those of a while are kept.
 */
#ifndef SQT_BESIDE_H
#define SQT_BESIDE_H

#include "read/log/log.h"

struct sqt_beside;

/* diagnostics: where it reports that more lines wait for their requests than it keeps, once. */
struct sqt_beside *sqt_beside_new(struct sqt_log *log, struct sqt_diagnostics *diagnostics);

/* Squid still writes the log: where it has no more lines, there may be some later. */
void sqt_beside_follow(struct sqt_beside *beside);

/* The line of a transaction that ended at that time, in ns since 1970; NULL: there is none.  Each line is found once.  Valid until
 * the next call. */
const struct sqt_logged *sqt_beside_find(struct sqt_beside *beside, uint32_t kid, uint64_t xid, int64_t end);

/* Lines that were found. */
uint64_t sqt_beside_found(const struct sqt_beside *beside);

void sqt_beside_free(struct sqt_beside *beside);

#endif
