/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * relay.h - hands facts to another thread, in batches and in order.
 */
#ifndef SQT_RELAY_H
#define SQT_RELAY_H

#include <stddef.h>

struct sqt_relay;

/* Called in the other thread for each fact; it may keep nothing of it. */
typedef void sqt_relay_function(void *context, unsigned kind, const void *fact);

/* NULL if no thread can be had. */
struct sqt_relay *sqt_relay_new(sqt_relay_function *function, void *context);

/* Room for the next fact of that kind.  It is handed over by the next call. */
void *sqt_relay_next(struct sqt_relay *relay, unsigned kind, size_t size);

/* Hands over all facts, waits until the other thread is done with them, and ends it. */
void sqt_relay_finish(struct sqt_relay *relay);

#endif
