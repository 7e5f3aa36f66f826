/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * event-xid.h - the transaction that a record is of, where that is certain.
 *
 * A record names it, or it names a store I/O or disk operation that a transaction opened, or it is a part of such a record.
 * Store I/Os and operations have serials, which no two of a process share.  Of those that are open the latest
 * SQT_EVENT_XIDS are known.
 */
#ifndef SQT_EVENT_XID_H
#define SQT_EVENT_XID_H

#include "events.h"

#define SQT_EVENT_XIDS 2048u

enum sqt_event_names {
    SQT_NAMES_NONE,
    SQT_NAMES_XACT,      /* id is the transaction */
    SQT_NAMES_OPENS_SIO, /* id is a store I/O, arg the transaction */
    SQT_NAMES_SIO,       /* id is a store I/O */
    SQT_NAMES_OPENS_OP,  /* id is an operation, arg the store I/O */
    SQT_NAMES_OP         /* id is an operation */
};

/* What is known of one process.  Zeroed: nothing. */
struct sqt_event_xids {
    struct sqt_event_xid {
        uint64_t serial, xid;
    } sios[SQT_EVENT_XIDS], ops[SQT_EVENT_XIDS];
    uint64_t last; /* of the record before; 0: not known */
};

/* What the records of an event name. */
enum sqt_event_names sqt_event_names_of(unsigned event);

static inline uint64_t
sqt_event_xid_get(const struct sqt_event_xid *known, uint64_t serial)
{
    const struct sqt_event_xid *const at = &known[serial % SQT_EVENT_XIDS];
    return at->serial == serial ? at->xid : 0;
}

static inline uint64_t
sqt_event_xid_put(struct sqt_event_xid *known, uint64_t serial, uint64_t xid)
{
    known[serial % SQT_EVENT_XIDS] = (struct sqt_event_xid){serial, xid};
    return xid;
}

/* The transaction of the process's next record; 0: it is not known.  names: of its event. */
static inline uint64_t
sqt_event_xid(struct sqt_event_xids *x, const struct sqt_record *r, enum sqt_event_names names)
{
    uint64_t xid = 0;
    if (r->flags & SQT_FLAG_PART)
        return x->last;
    switch (names) {
    case SQT_NAMES_NONE:
        break;
    case SQT_NAMES_XACT:
        xid = r->id;
        break;
    case SQT_NAMES_OPENS_SIO:
        xid = sqt_event_xid_put(x->sios, r->id, r->arg);
        break;
    case SQT_NAMES_SIO:
        xid = sqt_event_xid_get(x->sios, r->id);
        break;
    case SQT_NAMES_OPENS_OP:
        xid = sqt_event_xid_put(x->ops, r->id, r->arg ? sqt_event_xid_get(x->sios, r->arg) : 0);
        break;
    case SQT_NAMES_OP:
        xid = sqt_event_xid_get(x->ops, r->id);
        break;
    }
    x->last = xid & SQT_UNNAMED ? 0 : xid;
    return x->last;
}

#endif
