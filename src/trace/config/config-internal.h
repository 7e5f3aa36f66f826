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

/* Where rings are made without ringdir=. */
#define SQT_RINGDIR "/dev/shm"

/* Where rings are made. */
const char *sqt_config_ringdir(const struct sqt_config *config);

#endif
