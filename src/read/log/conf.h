/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * conf.h - the text of a squid.conf, which somebody else may own, and the logformat of a log in it.
 */
#ifndef SQT_LOG_CONF_H
#define SQT_LOG_CONF_H

#include <stddef.h>

/* A larger squid.conf is refused. */
#define SQT_CONF_MOST ((size_t)16 << 20)

/* Reads a squid.conf, which must be a regular file of at most SQT_CONF_MOST bytes without a byte 0.  Returns its text, which
 * the caller frees, and sets *bytes to how many the file has; or NULL with a line in error, which starts with the file's name.
 * Lines that a backslash continues are one line, with empty ones behind it, and comments are empty; numbers of lines are the
 * file's. */
char *sqt_conf_text(const char *name, size_t *bytes, char *error, size_t error_size);

struct sqt_log_conf {
    char *name;   /* of the format */
    char *format; /* the logformat */
};

/* Reads the lines logformat and access_log of the file `conf`.  The access_log line is that whose file is called as the
 * log, without what a rotation adds; else the first.  Returns 0, or -1 with a line in error. */
int sqt_log_conf_read(struct sqt_log_conf *found, const char *conf, const char *log, char *error, size_t error_size);

void sqt_log_conf_free(struct sqt_log_conf *found);

#endif
