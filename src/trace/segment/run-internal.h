/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run-internal.h - which run of a kid was first, whatever the machine's clock said.
 *
 * A run's name has its start time, and that of a machine without a clock of its own may be years off.  So the runs of a
 * service and kid in a directory are numbered, from 1, in the identity that stands in each segment.
 */
#ifndef SQT_RUN_INTERNAL_H
#define SQT_RUN_INTERNAL_H

#include "trace/file/file-internal.h"

/* The run number in a segment's header; 0 if there is none, or the file is not of owner or root. */
uint32_t sqt_run_of(int directory, const char *segment, uid_t owner);

/* The number of a run that has no segment yet: one more than that of any other of the service and kid. */
uint32_t sqt_run_next(int directory, uid_t owner, const char *service, uint32_t kid);

#endif
