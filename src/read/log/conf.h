/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * conf.h - the logformat of a log, from the squid.conf of the Squid that wrote it.
 */
#ifndef SQT_LOG_CONF_H
#define SQT_LOG_CONF_H

#include <stddef.h>

struct sqt_log_conf {
    char *name;   /* of the format */
    char *format; /* the logformat */
};

/* Reads the lines logformat and access_log of the file `conf`.  The access_log line is that whose file is called as the
 * log, without what a rotation adds; else the first.  Returns 0, or -1 with a line in error. */
int sqt_log_conf_read(struct sqt_log_conf *found, const char *conf, const char *log, char *error, size_t error_size);

void sqt_log_conf_free(struct sqt_log_conf *found);

#endif
