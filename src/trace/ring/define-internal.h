/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * define-internal.h - definitions: texts for numbers, kept in the text area of the ring.
 */
#ifndef SQT_DEFINE_INTERNAL_H
#define SQT_DEFINE_INTERNAL_H

#include "trace/sqtrace.h"

/* Writes the table of events into the text area of a new ring, and forgets earlier definitions.  Returns 0, or -1 if
 * it does not fit. */
int sqt_define_begin(struct sqt_ring_header *ring);

/* The table of ACLs by addresses is emptied: other ACLs may have these addresses soon. */
void sqt_define_forget_acls(void);

/* Notes with these names are taken from now on.  is_new: the ring is a new one, which knows no value yet. */
void sqt_notes_use(const struct sqt_config *config, int is_new);

/* Every later definition is ignored. */
void sqt_define_end(void);

/* Definitions that found no room in the text area. */
uint64_t sqt_define_dropped(void);

#endif
