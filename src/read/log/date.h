/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * date.h - dates as strftime() writes them.
 */
#ifndef SQT_LOG_DATE_H
#define SQT_LOG_DATE_H

#include <stddef.h>
#include <stdint.h>

/* The format of %tl and %tg without an argument. */
#define SQT_LOG_DATE_USUAL "%d/%b/%Y:%H:%M:%S %z"

/* Reads a date of that format at the begin of text.  A zone that the date does not have is UTC if gmt, else the reader's.
 * Returns the bytes that it takes, and the seconds since 1970 in *seconds; 0: it is none, or its format has what is not
 * read: %b %d %e %F %H %M %m %S %s %T %Y %z and %% are. */
size_t sqt_log_date(const char *text, size_t length, const char *format, int gmt, int64_t *seconds);

#endif
