/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * misses.h - misses that need not be, between the files that look for them.
 */
#ifndef SQT_MISSES_H
#define SQT_MISSES_H

#include "figure/finding/told.h"

/* What waits for servers is due to such misses in so far, for the rank: a miss that need not be is nobody's slowness.  A
 * large part goes before the whole.  server: NULL: several.  servers: ns of them for such misses, of which ns need not be. */
void sqt_misses_take(struct sqt_tolds *tolds, const char *server, uint64_t servers, uint64_t ns);

/* Whether the finding is about waiting for all servers, or for that one. */
int sqt_misses_about(const struct sqt_told *told, const char *server);

/* Whether the request removed an object from the cache (PURGE). */
int sqt_misses_is_purge(const struct sqt_xact *xact);
extern const char sqt_misses_purge_advice[];

#endif
