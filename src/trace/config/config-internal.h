/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * config-internal.h - what a configuration means for a kid.
 */
#ifndef SQT_CONFIG_INTERNAL_H
#define SQT_CONFIG_INTERNAL_H

#include "trace/sqtrace.h"

/* Bytes of records in the ring of a kid of that kind, a power of two. */
uint64_t sqt_config_ring(const struct sqt_config *config, uint32_t kid_kind);

/* Bytes after which a new segment begins. */
uint64_t sqt_config_segment(const struct sqt_config *config);

/* Takes the name of the machine.  It stands in tables, in the names of files and in conditions of queries, so few
 * characters are allowed.  Returns 0, or -1 with one line in error that begins with `what` and the value. */
int sqt_config_host(struct sqt_config *config, const char *what, const char *value, char *error, size_t error_size);

/* Takes the names of note=, with commas between them.  A name is a part of names of columns, so few characters are
 * allowed.  Returns 0, or -1 with one line in error. */
int sqt_config_notes(struct sqt_config *config, const char *value, char *error, size_t error_size);

/* Where rings are made without ringdir=. */
#define SQT_RINGDIR "/dev/shm"

/* The names of the groups that are on, as events= takes them: "client,server".  Returns how many characters these are. */
size_t sqt_config_groups(uint32_t groups, char *buf, size_t size);

/* Where rings are made. */
const char *sqt_config_ringdir(const struct sqt_config *config);

#endif
