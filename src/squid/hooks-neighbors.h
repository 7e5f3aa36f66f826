/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-neighbors.h - hooks of ICP and HTCP: queries that are sent, and queries that are answered.
 */
#ifndef SQT_SQUID_HOOKS_NEIGHBORS_H
#define SQT_SQUID_HOOKS_NEIGHBORS_H

#include "hooks-client.h"
#include "hooks-server.h"

#include <errno.h>
#include <stdio.h>

namespace Sqtrace
{

/* ---- queries that are sent ---- */

/// the number of a cache_peer
template <class Peer>
inline uint32_t
NumberOfPeer(const Peer *peer)
{
    if (!peer)
        return sqt_define(SQT_DEF_PEER, 0, "not a cache_peer");
    const uint32_t number = NumberOfName(peer->name);
    if (sqt_defined(SQT_DEF_PEER, number))
        return number;
    char place[32];
    return sqt_define(SQT_DEF_PEER, number, TextOfPeer(peer, place));
}

template <class RequestPointer>
inline SQT_KEEPS_LINE void
NeighborsAreAsked(const RequestPointer &request, const int sent, const int expected)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_NEIGHBORS_ASKED, request, static_cast<uint64_t>(sent), static_cast<uint32_t>(expected));
}

template <class RequestPointer, class Peer>
inline void
NeighborAnswers(const RequestPointer &request, const Peer *peer, const bool hit)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_NEIGHBOR_ANSWER, request, NumberOfPeer(peer), hit);
}

enum NeighborsOutcome { NeighborsAnswered = 0, NeighborsTimedOut = 1, NeighborsNotExpected = 2 };

template <class RequestPointer>
inline SQT_KEEPS_LINE void
NeighborsAreDone(const RequestPointer &request, const int answers, const NeighborsOutcome outcome)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_NEIGHBORS_DONE, request, static_cast<uint64_t>(answers), static_cast<uint32_t>(outcome));
}

/// a neighbour was connected to, to see whether it lives
template <class Peer>
inline void
PeerIsProbed(const Peer *peer, const bool connected, const int error)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    sqt_emit(SQT_EV_PEER_PROBED, 0, NumberOfPeer(peer),
             connected   ? 0
             : error > 0 ? static_cast<uint32_t>(error)
                         : ETIMEDOUT);
    StayOnStack();
}

/// an answer that nobody waits for
template <class Peer>
inline void
NeighborIsIgnored(const Peer *peer)
{
    if (sqt_on(SQT_GROUP_SERVER))
        sqt_emit(SQT_EV_NEIGHBOR_IGNORED, NumberOfPeer(peer), 0, 0);
}

/* ---- queries that neighbours send, and other transactions without a ClientHttpRequest ---- */

/// the query that is being answered, which has begun and not ended; 0: none
inline uint64_t &
QueryBeingServed()
{
    static uint64_t unnamed = 0;
    return unnamed;
}

inline uint64_t
BeginUnnamed(const uint64_t conn)
{
    const uint64_t unnamed = SQT_UNNAMED | NextSerial<Transactions>();
    sqt_emit(SQT_EV_XACT_BEGIN, unnamed, conn, 0);
    return unnamed;
}

/// A neighbour's ICP or HTCP query is answered while this lives, so that its line of access.log, if it gets one, ends
/// what began here.
class QueryService
{
public:
    QueryService()
    {
        if (sqt_on(SQT_GROUP_CLIENT))
            QueryBeingServed() = BeginUnnamed(0);
    }
    ~QueryService()
    {
        if (QueryBeingServed() && sqt_on(SQT_GROUP_CLIENT))
            sqt_emit(SQT_EV_XACT_UNLOGGED, QueryBeingServed(), 0, 0);
        QueryBeingServed() = 0;
    }
    QueryService(const QueryService &) = delete;
    QueryService &operator=(const QueryService &) = delete;
};

/// serve() answers such a query
template <class Serve>
inline void
QueryIsServed(const Serve serve)
{
    const QueryService service;
    serve();
}

/// a line of access.log that no ClientHttpRequest stands behind: ICP, HTCP, a failed accept
template <class LogEntryPointer>
inline void
BareTransactionIsLogged(const LogEntryPointer &al)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    const uint64_t unnamed = QueryBeingServed() ? QueryBeingServed() : BeginUnnamed(ConnOf(al->tcpClient));
    QueryBeingServed() = 0;
    if (al->request)
        EmitName(al->request, unnamed);
    EmitEnd(al, al->request ? XactOf(al->request) : unnamed, UINT64_MAX, 0, 0);
}

} // namespace Sqtrace

#endif
