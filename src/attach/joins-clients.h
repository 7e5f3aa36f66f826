/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-clients.h - connections of clients, from accept to close.
 */
#ifndef SQT_ATTACH_JOINS_CLIENTS_H
#define SQT_ATTACH_JOINS_CLIENTS_H

#include "joins-call.h"

/* free() after sqt_joins_clients_forget(). */
struct sqt_joins_clients *sqt_joins_clients_new(void);

/* Forgets all connections; their numbers are not used again. */
void sqt_joins_clients_forget(struct sqt_joins_clients *clients);

/* Bytes of memory that the open connections take. */
size_t sqt_joins_clients_bytes(const struct sqt_joins_clients *clients);

/* A transaction begins on the connection whose object is at the address.  Returns the connection's number; 0: the address is
 * 0, and there is none. */
uint64_t sqt_joins_client_begins(const struct sqt_joins_call *call, uint64_t address);

/* A transaction on the connection with that number ends; 0: on none. */
void sqt_joins_client_ends(struct sqt_joins_clients *clients, uint64_t number);

#endif
