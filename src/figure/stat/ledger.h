/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ledger.h - what requests count and wait for, by process and minute: so that a finding can be divided over both.
 *
 * An account is what somebody counts: all requests, those of a server, the claims of a rule.  A place is a minute of a
 * process, by UTC, in which requests began.
 *
 * One thread.  Memory, with what arrays have to grow: 200 bytes for each place, and 50 for each minute in which an account has
 * something.  How many of both there may be is said by a bound that several ledgers can share.  A request of a minute that
 * finds no room is left out.  Of what an account finds no room for only the account of all requests is kept, which is in the
 * places.
 */
#ifndef SQT_LEDGER_H
#define SQT_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "read/stream.h"

/* What ledgers may still take, and what found no room. */
struct sqt_ledger_bound {
    size_t places, sums;
    uint64_t requests, parts; /* left out: requests; what was to be added to an account */
};

struct sqt_ledger_sum {
    uint32_t account; /* 0: free */
    uint32_t place;   /* its index */
    uint32_t requests, failures;
    uint64_t ns;
};

struct sqt_ledger_place {
    const struct sqt_origin *origin;
    int64_t minute;            /* when it begins, ns of the trace */
    uint64_t first, last;      /* records that ended requests; UINT64_MAX: not known */
    struct sqt_ledger_sum all; /* of all requests */
};

struct sqt_ledger {
    struct sqt_ledger_place *places; /* in the order in which they came */
    size_t place_count, place_room;
    uint32_t *chains; /* a hash table of places: index and 1 */
    size_t chain_count;
    struct sqt_ledger_sum *sums; /* a hash table; after sqt_ledger_sort() by account and place */
    size_t size, used;
    uint32_t accounts; /* so far */
    uint32_t place;    /* of the request that is being counted */
    int counts;        /* there is a place for it */
    int failed;        /* it failed */
    struct sqt_ledger_bound *bound;
};

/* Length of a minute, ns. */
#define SQT_LEDGER_MINUTE INT64_C(60000000000)

/* An empty ledger, which takes its room from that bound. */
struct sqt_ledger *sqt_ledger_new(struct sqt_ledger_bound *bound);

/* A request of that process begins: what follows is of it.  record: that ended it.  ns: what its client waited.  Returns 0 if
 * there is no room for its minute. */
int sqt_ledger_request(struct sqt_ledger *ledger, const struct sqt_origin *origin, uint64_t record, int64_t begin,
                       uint64_t ns, int failed);

/* Adds ns of that request to an account, which gets its number, from 1, where it is 0. */
void sqt_ledger_add(struct sqt_ledger *ledger, uint32_t *account, uint64_t ns);

/* Nothing more is added: puts the sums in order. */
void sqt_ledger_sort(struct sqt_ledger *ledger);

/* The sums of an account, *count of them.  After sqt_ledger_sort(). */
const struct sqt_ledger_sum *sqt_ledger_of(const struct sqt_ledger *ledger, uint32_t account, size_t *count);

void sqt_ledger_free(struct sqt_ledger *ledger);

#endif
