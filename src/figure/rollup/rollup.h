/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rollup.h - requests counted in buckets of durations, by the minute and by the hour: rows of table `rollups`.
 *
 *     struct sqt_rollups *r = sqt_rollups_new();
 *     sqt_rollups_add(r, origin, record, row_of_requests);
 *     if (sqt_rollups_full(r))
 *         sqt_rollups_emit(r, take_row, context);
 *     sqt_rollups_emit(r, take_row, context);
 *     sqt_rollups_free(r);
 *
 * Rows with the same columns but for `count` add up: count is that of all their requests.  So it does not matter how many
 * rows a minute has, nor into how many batches its requests were divided.
 *
 * One thread.  Memory: 64 bytes for each bucket that has a value, at most SQT_ROLLUPS_MOST of them, and the names of
 * 8,192 servers.
 */
#ifndef SQT_ROLLUP_H
#define SQT_ROLLUP_H

#include "row/identity.h"
#include "row/table.h"

/* Buckets of a minute are at most 1/128 of their values wide, those of an hour 1/1024. */
#define SQT_ROLLUP_MINUTE_BITS 7
#define SQT_ROLLUP_HOUR_BITS 10
/* Buckets that are kept. */
#define SQT_ROLLUPS_MOST 500000u
/* Servers that rows name: those with most requests since rows were handed out.  The others are SQT_ROLLUP_OTHER, and so
 * are those that come when there are 8,192 already. */
#define SQT_ROLLUP_SERVERS 50
#define SQT_ROLLUP_OTHER "other"

struct sqt_rollups;

/* start_ns: time of day from which time_s of the rows counts; 0: from what each process took for the start, which clocks
 * make a little different. */
struct sqt_rollups *sqt_rollups_new(int64_t start_ns);

/* Counts a request, a row of table requests, whose durations are known.  origin: its process, which lives until the next
 * sqt_rollups_emit().  record: the number of the record that ended it; UINT64_MAX: not known. */
void sqt_rollups_add(struct sqt_rollups *rollups, const struct sqt_origin *origin, uint64_t record,
                     const union sqt_cell *requests);

/* Whether the rows must be taken before more is added. */
int sqt_rollups_full(const struct sqt_rollups *rollups);

/* Hands out all rows, of one process after the other, and forgets them.  Texts are valid during the call.
 *
 * source: the process, a record and an index that no other row has.  The first row of each minute and hour has the record
 * that ended its first request, the others that of the last one: so rows tell which stretch of the ring they count. */
typedef void sqt_rollup_function(void *context, const struct sqt_row_source *source, const union sqt_cell *row);
void sqt_rollups_emit(struct sqt_rollups *rollups, sqt_rollup_function *take, void *context);

void sqt_rollups_free(struct sqt_rollups *rollups);

#endif
