/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * line.h - one line of a log -> the values of its fields.
 */
#ifndef SQT_LOG_LINE_H
#define SQT_LOG_LINE_H

#include "format.h"
#include "read/logged.h"

/* A piece of the line; length 0: the line does not have it, or it is "-". */
struct sqt_log_slice {
    const char *at;
    size_t length;
};

/* Takes a line apart, which has no newline and may have any other byte.  Nothing is written to it.  Returns 0, or -1 if it
 * is not of that format: a text between fields is not there, or a number is none or too large. */
int sqt_log_line_split(const struct sqt_log_format *format, const char *line, size_t length,
                       struct sqt_log_slice slices[SQT_LOG_FIELDS]);

/* Numbers and times of such slices; the texts, definitions and the origin of `logged` stay as they are.  Returns 0, or
 * -1 if one of them cannot be. */
int sqt_log_line_numbers(const struct sqt_log_format *format, const struct sqt_log_slice slices[SQT_LOG_FIELDS],
                         struct sqt_logged *logged);

/* The host in a URL, or in the "host:port" of a CONNECT; without its port. */
struct sqt_log_slice sqt_log_host(struct sqt_log_slice url);

#endif
