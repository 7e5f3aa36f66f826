/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * format.h - a logformat of Squid, taken apart into texts and fields.
 */
#ifndef SQT_LOG_FORMAT_H
#define SQT_LOG_FORMAT_H

#include <stddef.h>

enum sqt_log_field {
    SQT_LOG_PASSED_OVER,
    SQT_LOG_SECONDS,
    SQT_LOG_MILLISECONDS,
    SQT_LOG_DATE,
    SQT_LOG_DATE_GMT,
    SQT_LOG_START,
    SQT_LOG_TOOK,
    SQT_LOG_DNS,
    SQT_LOG_PEER,
    SQT_LOG_SERVER_SIDE,
    SQT_LOG_ADAPTING,
    SQT_LOG_SENT,
    SQT_LOG_HEADERS,
    SQT_LOG_STATUS,
    SQT_LOG_RECEIVED,
    SQT_LOG_TRIES,
    SQT_LOG_XID,
    SQT_LOG_KID,
    SQT_LOG_CLIENT,
    SQT_LOG_URL,
    SQT_LOG_HOST,
    SQT_LOG_USER,
    SQT_LOG_METHOD,
    SQT_LOG_TAG,
    SQT_LOG_HIERARCHY,
    SQT_LOG_SERVER,
    SQT_LOG_SERVER_PORT,
    SQT_LOG_FIELDS
};

/* A field, and the text behind it. */
struct sqt_log_item {
    enum sqt_log_field field;
    const char *text; /* behind it; length 0: the next field follows at once, or it is the last */
    size_t length;
    int quoted;           /* quotes and backslashes in the value have a backslash before them */
    const char *argument; /* of a date: its format for strftime(), as "%d/%b/%Y:%H:%M:%S %z" */
    unsigned decimals;    /* of milliseconds: digits of a second */
};

#define SQT_LOG_ITEMS 96

struct sqt_log_format {
    char *name;       /* to be shown */
    char *texts;      /* owns what items point to */
    const char *head; /* what stands before the first field */
    size_t head_length;
    struct sqt_log_item items[SQT_LOG_ITEMS];
    unsigned count;
    unsigned char has[SQT_LOG_FIELDS];
};

/* Takes a logformat apart, as it stands in squid.conf.  Returns 0, or -1 with a line in error.  Free it in either case. */
int sqt_log_format_parse(struct sqt_log_format *format, const char *name, const char *text, char *error,
                         size_t error_size);
void sqt_log_format_free(struct sqt_log_format *format);

/* The logformat of that name of formats.def; NULL: there is none. */
const char *sqt_log_format_named(const char *name);

/* Formats of formats.def, in their order; NULL: no more. */
const char *sqt_log_format_name(unsigned i);

#endif
