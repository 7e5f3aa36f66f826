/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * access.h - what a request means to a cache.
 */
#ifndef SQT_WHATIF_ACCESS_H
#define SQT_WHATIF_ACCESS_H

#include "model/class.h"
#include "model/model.h"
#include "replay.h"

/* Fills in all but `keeps` as far as sizes forbid it.  Returns 0 if the request does not look into caches. */
int sqt_whatif_access(struct sqt_access *access, const struct sqt_xact *xact, enum sqt_class *class);

#endif
