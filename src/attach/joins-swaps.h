/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-swaps.h - swap-ins: what requests read from cache_dirs.
 */
#ifndef SQT_ATTACH_JOINS_SWAPS_H
#define SQT_ATTACH_JOINS_SWAPS_H

#include <stddef.h>

/* free() after sqt_joins_swaps_forget(). */
struct sqt_joins_swaps *sqt_joins_swaps_new(void);

/* Forgets all swap-ins; their numbers are not used again, and cache_dirs keep theirs. */
void sqt_joins_swaps_forget(struct sqt_joins_swaps *swaps);

/* Bytes of memory that the open swap-ins take. */
size_t sqt_joins_swaps_bytes(const struct sqt_joins_swaps *swaps);

#endif
