/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * log.h - the files of an access.log, in the order of time, as requests.
 *
 *     format.h  a logformat, taken apart         conf.h   the same from squid.conf
 *     bytes.h   a file -> lines                  files.h  which files, in which order
 *     line.h    a line -> values                 names.h  texts -> definitions
 */
#ifndef SQT_LOG_H
#define SQT_LOG_H

#include "names.h"
#include "read/file/diagnose.h"
#include "read/logged.h"

/* Requests that are handed out at a time. */
#define SQT_LOG_BATCH 256

struct sqt_log;

/* Opens the files, and finds out their format and order.  Returns NULL after reporting why. */
struct sqt_log *sqt_log_open(const struct sqt_log_request *request, struct sqt_diagnostics *diagnostics);

/* The next requests, in the order of the lines: how many, 0 at the end.  Times are ns since 1970; origin is NULL.  They and
 * their texts are valid until the next call. */
size_t sqt_log_next(struct sqt_log *log, struct sqt_logged **requests);

/* When the first requests began: ns since 1970. */
int64_t sqt_log_start_ns(const struct sqt_log *log);

/* When the last line was written; -1 if the last file must be read whole to know it. */
int64_t sqt_log_last_ns(struct sqt_log *log);

/* About how many lines there are, by the sizes of the files. */
uint64_t sqt_log_lines(const struct sqt_log *log);

const struct sqt_log_account *sqt_log_account(const struct sqt_log *log);

/* Its definitions. */
const struct sqt_dictionary *sqt_log_dictionary(const struct sqt_log *log);

void sqt_log_close(struct sqt_log *log);

#endif
