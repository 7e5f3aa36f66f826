/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * relay.h - gathers facts, and hands them on in batches and in order: in other threads, or in this one.
 */
#ifndef SQT_RELAY_H
#define SQT_RELAY_H

#include <stddef.h>

#include "base/crew.h"

/* Facts of a batch, at most: so few that they stay in a processor's cache while all figures look at them. */
#define SQT_RELAY_FACTS 512

struct sqt_relay;

struct sqt_relay_fact {
    unsigned kind;
    const void *fact;
};

/* Called for each batch; it may keep nothing of it. */
typedef void sqt_relay_function(void *context, const struct sqt_relay_fact *facts, size_t count);

/* crew: calls the function, in whichever of its threads; NULL: it is called in this one. */
struct sqt_relay *sqt_relay_new(sqt_relay_function *function, void *context, struct sqt_crew *crew);

/* Room for the next fact of that kind.  It may be handed over by the next call. */
void *sqt_relay_next(struct sqt_relay *relay, unsigned kind, size_t size);

/* Hands over all facts, and waits until the function is done with them. */
void sqt_relay_finish(struct sqt_relay *relay);

#endif
