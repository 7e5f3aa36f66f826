/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-dns.h - hooks of look-ups in the DNS, and of the queries to name servers that they make.
 *
 * Queries do not know who asks.  A look-up says for whom it is, just before its first query is made; what lies between is
 * synchronous.
 */
#ifndef SQT_SQUID_HOOKS_DNS_H
#define SQT_SQUID_HOOKS_DNS_H

#include "hooks-loop.h"
#include "ids.h"

namespace Sqtrace
{

/* ---- look-ups ---- */

/// the transaction that the next query is for; 0: none
inline uint64_t &
NextLooker()
{
    static uint64_t xact = 0;
    return xact;
}

/// the ACL whose check makes the next query; 0: none
inline uint32_t &
NextAcl()
{
    static uint32_t acl = 0;
    return acl;
}

/// a name or an address is asked for, for the transaction of the (right) code context
template <class ContextPointer>
inline void
LookupIsAsked(Lookup &lookup, const ContextPointer &context)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    lookup.serial = NextSerial<Lookups>();
    lookup.xact = NextLooker() = XactOfContext(context);
    NextAcl() = CheckedAcl().number ? CheckedAcl().number(CheckedAcl().name) : 0;
    sqt_emit(SQT_EV_DNS_BEGIN, lookup.xact, lookup.serial, 0);
}

inline void
LookupIsAnswered(Lookup &lookup, const bool failed)
{
    if (sqt_on(SQT_GROUP_SERVER) && lookup.serial)
        sqt_emit(SQT_EV_DNS_END, lookup.xact, lookup.serial, failed);
    lookup.serial = 0;
}

/* ---- queries ---- */

/// the look-up makes its first query
inline void
QueryIsMade(Query &query)
{
    query.xact = NextLooker();
    query.acl = NextAcl();
    NextLooker() = NextAcl() = 0;
}

/// the look-up makes none: another one asks the same already
inline void
QueryIsShared()
{
    NextLooker() = NextAcl() = 0;
}

/// the look-up makes another query, for addresses of the other kind
inline void
QueryIsMadeBeside(Query &query, const Query &first)
{
    query.xact = first.xact;
    query.acl = first.acl;
}

/// the name server at that place, whose answer is being read
inline int &
AnsweringServer()
{
    static int place = -1;
    return place;
}

template <class Address>
inline uint32_t
NumberOfNameServer(const Address &address)
{
    char text[SQT_SERVER_TEXT + 1];
    if (address.port() == 53)
        address.toStr(text, sizeof text);
    else
        address.toUrl(text, sizeof text);
    return sqt_waited_number(SQT_WAITED_NAME_SERVER, text);
}

/// a query of that type goes to the name server at that place, for the sends-th time
template <class Address>
inline void
QueryIsSent(Query &query, const Address &address, const size_t place, const int sends, const unsigned short type)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    query.who = NumberOfNameServer(address) | (sends > 1 ? UINT32_C(1) << 31 : 0);
    query.server = static_cast<int>(place);
    query.type = type;
    query.sent = sqt_read_clock(sqt_clock);
}

inline void
QueryEnds(Query &query, const enum sqt_wait_outcome outcome)
{
    if (!query.sent)
        return;
    if (sqt_on(SQT_GROUP_SERVER))
        sqt_emit_pair(SQT_PAIR(SQT_EV_QUERY_END, SQT_EV_PART_QUERY), query.xact, query.sent, query.who, query.type,
                      query.acl, outcome);
    query.sent = 0;
    StayOnStack();
}

/// an answer from the name server at that place is read next
inline void
NameServerSpeaks(const int place)
{
    AnsweringServer() = place;
}

/// the query has an answer: records, or an error below 0
inline void
QueryIsAnswered(Query &query, const int records)
{
    const bool other = AnsweringServer() >= 0 && AnsweringServer() != query.server;
    QueryEnds(query, other ? SQT_WAIT_OVERTAKEN : records < 0 ? SQT_WAIT_ERR : SQT_WAIT_OK);
}

/// no answer came in time
inline void
QueryTimesOut(Query &query)
{
    QueryEnds(query, SQT_WAIT_TIMEOUT);
}

inline Query::~Query()
{
    QueryEnds(*this, SQT_WAIT_ABANDONED);
}

} // namespace Sqtrace

#endif
