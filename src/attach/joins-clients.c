/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-clients.c - see joins-clients.h.
 */
#include "joins-clients.h"

#include <stdlib.h>

#include "base/memory.h"
#include "joins-rule.h"

#define JOINS_ACCEPTED 256
#define JOINS_ACCEPTED_NS 1000000000 /* at most, between an accept and the connection's object */

struct joins_client {
    uint64_t number;
    unsigned xacts;      /* open transactions */
    unsigned unused : 1; /* bytes were read since the last request was parsed */
    unsigned body : 1;   /* bytes came while a transaction was open: of its body, or of the next request */
};

struct sqt_joins_clients {
    struct sqt_idmap open; /* number -> struct joins_client */
    uint64_t last;         /* number of the newest connection */
    struct {
        uint64_t time; /* 0: there is none */
        uint32_t fd;
    } accepting; /* Squid may still refuse it */
    struct {
        uint64_t number, time;
    } accepted[JOINS_ACCEPTED]; /* connections without an object yet, as a ring */
    unsigned accepted_begin, accepted_end;
};

struct sqt_joins_clients *
sqt_joins_clients_new(void)
{
    return sqt_zeroed(1, sizeof(struct sqt_joins_clients));
}

void
sqt_joins_clients_forget(struct sqt_joins_clients *clients)
{
    for (size_t i = 0; i < clients->open.room; ++i)
        free(clients->open.slots[i].value);
    sqt_idmap_free(&clients->open);
    clients->accepted_begin = clients->accepted_end = 0;
    clients->accepting.time = 0;
}

size_t
sqt_joins_clients_bytes(const struct sqt_joins_clients *clients)
{
    return sqt_joins_map_bytes(&clients->open, sizeof(struct joins_client));
}

/* ---- accepts ---- */

/* A connection is accepted for good.  Which object stands for it is known a moment later, and in the same order. */
static void
joins_accept_done(struct sqt_joins_call *call)
{
    struct sqt_joins_clients *const clients = call->joins->clients;
    const uint64_t time = clients->accepting.time;
    clients->accepting.time = 0;
    if (!time || clients->accepted_end - clients->accepted_begin == JOINS_ACCEPTED)
        return;
    clients->accepted[clients->accepted_end % JOINS_ACCEPTED].number = ++clients->last;
    clients->accepted[clients->accepted_end++ % JOINS_ACCEPTED].time = time;
    call->time = time;
    sqt_joins_emit_of(call, SQT_EV_CONN_ACCEPT, clients->last, clients->accepting.fd, 0);
}

/* Squid may still close the connection at once, as client_ip_max_connections says. */
static void
joins_accepted(struct sqt_joins_call *call)
{
    struct sqt_joins *const joins = call->joins;
    if (joins->before != SQT_ATTACH_ACCEPT)
        return;
    joins->clients->accepting.time = call->time;
    joins->clients->accepting.fd = (uint32_t)call->event->values[0];
    if (!joins->has[SQT_ATTACH_ACCEPT_DONE])
        joins_accept_done(call);
}

/* The number of the connection that was accepted first; 0: not known.  Squid may have closed one that is too old. */
static uint64_t
joins_accepted_take(struct sqt_joins_clients *clients, uint64_t now)
{
    while (clients->accepted_begin != clients->accepted_end) {
        const unsigned i = clients->accepted_begin++ % JOINS_ACCEPTED;
        if (now - clients->accepted[i].time < JOINS_ACCEPTED_NS)
            return clients->accepted[i].number;
    }
    return 0;
}

/* ---- connections ---- */

static struct joins_client *
joins_client(const struct sqt_joins *joins, uint64_t address)
{
    const uint64_t number = sqt_joins_bound(joins, SQT_JOINS_CLIENT, address);
    return number ? sqt_idmap_get(&joins->clients->open, number) : NULL;
}

/* number: 0 for the next one. */
static struct joins_client *
joins_client_new(struct sqt_joins *joins, uint64_t address, uint64_t number)
{
    struct joins_client *const client = sqt_zeroed(1, sizeof(*client));
    client->number = number ? number : ++joins->clients->last;
    sqt_idmap_put(&joins->clients->open, client->number, client);
    sqt_joins_bind(joins, SQT_JOINS_CLIENT, address, client->number);
    return client;
}

static void
joins_client_drop(struct sqt_joins *joins, uint64_t address)
{
    const uint64_t number = sqt_joins_bound(joins, SQT_JOINS_CLIENT, address);
    sqt_joins_unbind(joins, SQT_JOINS_CLIENT, address);
    free(sqt_idmap_take(&joins->clients->open, number));
}

static void
joins_client_starts(struct sqt_joins_call *call)
{
    const uint64_t address = call->event->values[0];
    joins_client_drop(call->joins, address);
    joins_client_new(call->joins, address, joins_accepted_take(call->joins->clients, call->time));
}

/* Bytes came.  Nothing says how many. */
static void
joins_client_reads(struct sqt_joins_call *call)
{
    struct joins_client *const client = joins_client(call->joins, call->event->values[0]);
    if (!client)
        return;
    sqt_joins_emit_of(call, SQT_EV_CLIENT_READ, client->number, 0, 0);
    client->body |= client->xacts > 0;
    client->unused = 1;
}

static void
joins_client_gone(struct sqt_joins_call *call)
{
    const struct joins_client *const client = joins_client(call->joins, call->event->values[0]);
    if (!client)
        return;
    sqt_joins_emit_of(call, SQT_EV_CONN_CLOSE, client->number, 0, 0);
    joins_client_drop(call->joins, call->event->values[0]);
}

/* ---- their transactions ---- */

uint64_t
sqt_joins_client_begins(const struct sqt_joins_call *call, uint64_t address)
{
    struct joins_client *client = address ? joins_client(call->joins, address) : NULL;
    if (address && !client)
        client = joins_client_new(call->joins, address, 0);
    if (!client)
        return 0;
    if (!client->body) /* all bytes that came are this request's */
        sqt_joins_emit_of(call, SQT_EV_REQUEST_PARSED, client->number, 0, 0);
    client->unused = 0;
    ++client->xacts;
    return client->number;
}

void
sqt_joins_client_ends(struct sqt_joins_clients *clients, uint64_t number)
{
    struct joins_client *const client = sqt_idmap_get(&clients->open, number);
    if (client && client->xacts && --client->xacts == 0 && !client->unused)
        client->body = 0;
}

const struct sqt_joins_rule sqt_joins_client_rules[] = {
    {CALL(ACCEPT)}, /* the next call says more */
    {CALL(ACCEPTED), DOES(joins_accepted)},
    {CALL(ACCEPT_DONE), DOES(joins_accept_done)},
    {CALL(CLIENT), DOES(joins_client_starts)},
    {CALL(CLIENT_READS), DOES(joins_client_reads)},
    {CALL(CLIENT_GONE), DOES(joins_client_gone)},
    {CALL(ROWS)},
};
