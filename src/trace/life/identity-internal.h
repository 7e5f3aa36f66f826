/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * identity-internal.h - who writes a trace.
 */
#ifndef SQT_IDENTITY_INTERNAL_H
#define SQT_IDENTITY_INTERNAL_H

#include "trace/file/error-internal.h"
#include "trace/sqtrace.h"

/* Fills in all of a new ring's identity; measures the clock for some 20 ms.  Returns 0, or -1 after filling in
 * error. */
int sqt_identify(struct sqt_identity *identity, const struct sqt_process *process, struct sqt_error *error);

/* The service name as it stands in file names: letters, digits and '-', others as '_'. */
void sqt_service_name(char to[32], const char *service);

#endif
