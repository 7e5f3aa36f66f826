/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-call.h - one call of a function of Squid: the transaction that it belongs to, and the records that it becomes.
 *
 * A function's arguments are addresses of Squid's objects.  Constructors say to which transaction an object belongs, and later
 * calls with the same object are that transaction's.  Where no argument says it, the call before does, because all of it runs on
 * one thread.
 */
#ifndef SQT_ATTACH_JOINS_CALL_H
#define SQT_ATTACH_JOINS_CALL_H

#include "base/idmap.h"
#include "event.h"
#include "format/format.h"
#include "table.h"

/* Kinds of Squid's objects.  An address may be of several, one after the other. */
enum sqt_joins_kind {
    SQT_JOINS_CLIENT = 1, /* its number is that of a connection */
    SQT_JOINS_XACT,
    SQT_JOINS_REQUEST,
    SQT_JOINS_STREAM,
    SQT_JOINS_REPLY,
    SQT_JOINS_FORWARD,
    SQT_JOINS_SELECTOR,
    SQT_JOINS_OPENER,
    SQT_JOINS_ATTEMPT, /* its number is that of an attempt to connect */
    SQT_JOINS_SERVER,
    SQT_JOINS_CALLOUTS,
    SQT_JOINS_CHECK,
    SQT_JOINS_TUNNEL,
    SQT_JOINS_HANDSHAKE,
    SQT_JOINS_TAG,
    SQT_JOINS_ENTRY
};

/* Pairs of events of a transaction, as the begin and the end of a DNS look-up. */
enum sqt_joins_pair {
    SQT_JOINS_IN_ACCESS = 1,
    SQT_JOINS_IN_LOOKUP = 2,
    SQT_JOINS_IN_WRITE = 4,
    SQT_JOINS_IN_SELECTION = 8,
    SQT_JOINS_IN_DNS = 16,
    SQT_JOINS_IN_SERVER = 32,
    SQT_JOINS_IN_REDIRECT = 64,
    SQT_JOINS_IN_STORE_ID = 128,
    SQT_JOINS_IN_REQMOD = 256,
    SQT_JOINS_IN_RESPMOD = 512,
    SQT_JOINS_IN_TLS = 1024,
    SQT_JOINS_IN_TUNNEL = 2048,
    SQT_JOINS_IN_HELPER = 4096
};

/* An object that stands for a transaction, or for an attempt of it to connect. */
struct sqt_joins_name {
    uint64_t key, number; /* as in the objects of struct sqt_joins */
};

/* A transaction that is not over. */
struct sqt_joins_xact {
    uint64_t number;              /* from 1; SQT_UNNAMED and this number is its id in records */
    uint64_t client;              /* number of the connection; 0: none */
    uint64_t sent;                /* bytes to the client */
    uint64_t wrote;               /* bytes of the answer to a CONNECT */
    uint64_t lookup;              /* number of the DNS look-up that is open */
    unsigned open;                /* bits of the pairs whose second event is still to come */
    uint32_t flags;               /* enum sqt_xact_flags */
    unsigned tries;               /* attempts to get a server connection */
    uint32_t tag;                 /* result code, from 1; 0: not known */
    uint64_t tag_place;           /* address where LogTags::update() put the code; 0: not seen */
    int ready;                    /* enum sqt_reply_source of the last REPLY_READY; -1: none */
    uint8_t found;                /* the store has an entry for it */
    uint8_t forwarded;            /* it goes to a server */
    struct sqt_joins_name *names; /* it owns them: they are forgotten with it */
    unsigned name_count, name_room;
};

/* What is known of one process.  sqt_joins_begin() (joins.h) fills in what the owner does not. */
struct sqt_joins {
    /* given by the owner: takes a unit of records */
    void (*emit)(void *context, const struct sqt_record *records, unsigned count);
    /* defines a cache_dir of that type, "ufs" or "rock", that the unit before this was the first to have */
    void (*define_dir)(void *context, uint32_t number, const char *type);
    void *context;
    const unsigned char *has; /* rows that have a function, as of struct sqt_attach_functions */
    unsigned tags;            /* result codes that are known by name; others are not recorded */

    struct sqt_joins_code *code; /* of all processes of the program; NULL: result codes of log lines are not read */

    /* its own */
    const struct sqt_joins_rule *rules[SQT_ATTACH_ROWS]; /* the first of each row */
    struct sqt_joins_clients *clients;                   /* it owns them, and the next two */
    struct sqt_joins_servers *servers;
    struct sqt_joins_swaps *swaps;
    struct sqt_idmap objects; /* address and kind -> number of the transaction, or as the kind says */
    struct sqt_idmap xacts;   /* number -> struct sqt_joins_xact, which it owns */
    size_t name_room;         /* names that all transactions have room for */
    uint64_t last_xact;       /* number of the newest transaction */
    uint64_t current;         /* number of the transaction that an argument named last; 0: none */
    unsigned before;          /* row of the call before this one; SQT_ATTACH_ROWS: there is none */
    uint64_t before_time;     /* when that was: ns of CLOCK_MONOTONIC */
    uint64_t before_xact;     /* number of its transaction; 0: none */
    uint32_t tag_unclaimed;   /* result code, from 1, of the call before this one, of an unknown transaction; 0: none */
    uint64_t unknown;         /* calls of objects that were there before the trace */
    uint64_t ended;           /* transactions */
};

/* A call that is taken. */
struct sqt_joins_call {
    struct sqt_joins *joins;
    const struct sqt_attach_event *event;
    uint64_t time;               /* of its records: ns of CLOCK_MONOTONIC */
    struct sqt_joins_xact *xact; /* that it belongs to; NULL: none, or not known */
};

/* ---- objects: address 0 is none ---- */

/* The object at the address stands for that number, until it is unbound. */
void sqt_joins_bind(struct sqt_joins *joins, enum sqt_joins_kind kind, uint64_t address, uint64_t number);
void sqt_joins_unbind(struct sqt_joins *joins, enum sqt_joins_kind kind, uint64_t address);

/* The number that it stands for; 0: the object is not known. */
uint64_t sqt_joins_bound(const struct sqt_joins *joins, enum sqt_joins_kind kind, uint64_t address);

/* The same as sqt_joins_bind(), until the transaction ends or another one takes the address. */
void sqt_joins_name(struct sqt_joins *joins, struct sqt_joins_xact *xact, enum sqt_joins_kind kind, uint64_t address,
                    uint64_t number);

/* The object at the address in that value of the event belongs to the call's transaction, which must be known. */
void sqt_joins_own(struct sqt_joins_call *call, enum sqt_joins_kind kind, unsigned value);

/* ---- the transaction of a call: the next three set call->xact and return it; NULL: it is not known ---- */

/* The one that the object at the address in that value of the event belongs to. */
struct sqt_joins_xact *sqt_joins_of(struct sqt_joins_call *call, enum sqt_joins_kind kind, unsigned value);

/* The one of the call before, if that was of the row. */
struct sqt_joins_xact *sqt_joins_after(struct sqt_joins_call *call, enum sqt_attach_row row);

/* A new one.  It belongs to *call->joins, until it is dropped. */
struct sqt_joins_xact *sqt_joins_xact_new(struct sqt_joins_call *call);

/* Frees the transaction of that number, if there is one, and forgets its objects. */
void sqt_joins_xact_drop(struct sqt_joins *joins, uint64_t number);

/* Frees all transactions, and forgets all objects and calls. */
void sqt_joins_xacts_forget(struct sqt_joins *joins);

/* ---- memory ---- */

/* Bytes of a map and of its objects, which have that many bytes each. */
size_t sqt_joins_map_bytes(const struct sqt_idmap *map, size_t each);

/* Those of all transactions and of what is known of objects. */
size_t sqt_joins_xacts_bytes(const struct sqt_joins *joins);

/* ---- records, at call->time ---- */

/* Of the thing with that id, which is no transaction. */
void sqt_joins_emit_of(const struct sqt_joins_call *call, enum sqt_event event, uint64_t id, uint64_t arg,
                       uint32_t aux);

/* Of the call's transaction, which must be known, as for the next two. */
void sqt_joins_emit(const struct sqt_joins_call *call, enum sqt_event event, uint64_t arg, uint32_t aux);

/* The first event of a pair. */
void sqt_joins_open(const struct sqt_joins_call *call, enum sqt_joins_pair pair, enum sqt_event event, uint64_t arg,
                    uint32_t aux);

/* The second one.  Emits nothing if the pair is not open. */
void sqt_joins_close(const struct sqt_joins_call *call, enum sqt_joins_pair pair, enum sqt_event event, uint64_t arg,
                     uint32_t aux);

#endif
