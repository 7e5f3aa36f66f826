/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spool.h - a pipe made into a file that can be read in any order.
 *
 * Segments that are joined on a pipe belong to several kids and come in the order of their names, not of their
 * times.  To merge them with bounded memory they must be read at several places at once, which a pipe cannot do.
 */
#ifndef SQT_SPOOL_H
#define SQT_SPOOL_H

#include "read/file/input.h"
#include "read/file/diagnose.h"

/* Copies all of fd to a file without a name in $TMPDIR (or /tmp); a regular file is taken as it is.  Returns a new
 * descriptor, or -1 after a report. */
int sqt_spool(int fd, const char *name, struct sqt_diagnostics *diagnostics);

/* Offset of the next segment header at or after `from`; UINT64_MAX if there is none. */
uint64_t sqt_spool_next_segment(struct sqt_input *input, uint64_t from);

#endif
