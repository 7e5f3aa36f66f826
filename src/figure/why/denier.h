/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * denier.h - who denies requests, in findings that name http_access: between denier.c, which knows helpers, and denied-by.c,
 * which knows ACLs.
 */
#ifndef SQT_DENIER_H
#define SQT_DENIER_H

#include "figure/finding/told.h"

/* Whether nobody else is named yet. */
int sqt_denier_is_unknown(const struct sqt_told *told);

/* Names who denies in place of http_access; what stands behind that, such as a reconfiguration, stays. */
void sqt_denier_name(struct sqt_told *told, const char *who);

#endif
