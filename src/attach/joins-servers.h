/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-servers.h - the way to servers: forwarding, peer selection, DNS, connections, TLS, the exchange.
 */
#ifndef SQT_ATTACH_JOINS_SERVERS_H
#define SQT_ATTACH_JOINS_SERVERS_H

#include "joins-call.h"

/* free() when it is not needed any more. */
struct sqt_joins_servers *sqt_joins_servers_new(void);

/* Forgets the attempt to connect whose outcome is not known yet. */
void sqt_joins_servers_forget(struct sqt_joins_servers *servers);

/* Before each call.  The end of an attempt to connect does not say how it ended, but the call after it does: it opens the
 * connection, or is another one.  Emits CONNECT_END of such an attempt, at the time when it ended. */
void sqt_joins_servers_next(const struct sqt_joins *joins, const struct sqt_attach_event *event);

#endif
