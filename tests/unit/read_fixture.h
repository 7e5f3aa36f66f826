/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_fixture.h - for tests of what one process wrote: its records, and what the reader made of the files.
 */
#ifndef READ_FIXTURE_H
#define READ_FIXTURE_H

#include "read_common.h"

#define READ_MOST 20000

extern struct sqt_record made[READ_MOST];
extern size_t made_count;
extern struct sqt_identity who;
extern struct read_result result;

/* Makes that many records or a few less, other ones for each seed, and an empty directory.  Returns 0. */
int read_begin(unsigned seed, size_t records, uint32_t kid);
/* Cmocka's teardown. */
int read_end(void **state);

/* The start of the unit that holds the record, so that a test can cut there. */
size_t unit_at(size_t i);

#endif
