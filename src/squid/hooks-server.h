/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-server.h - hooks on the side of the servers: peer selection, connections, requests sent, replies read.
 *
 * request is a pointer of any kind to the HttpRequest that is forwarded.
 */
#ifndef SQT_SQUID_HOOKS_SERVER_H
#define SQT_SQUID_HOOKS_SERVER_H

#include "hooks-dns.h"
#include "trace-context.h"

#include <netinet/in.h>
#include <stdio.h>

namespace Sqtrace
{

template <class RequestPointer>
inline void
EmitServer(const unsigned event, const RequestPointer &request, const uint64_t arg = 0, const uint32_t aux = 0)
{
    sqt_emit(event, XactOf(request), arg, aux);
    StayOnStack();
}

/* ---- forwarding ---- */

template <class RequestPointer>
inline SQT_KEEPS_LINE void
ForwardingBegins(const RequestPointer &request)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_FORWARD_BEGIN, request);
}

template <class RequestPointer>
inline SQT_KEEPS_LINE void
ForwardingEnds(const RequestPointer &request, const int tries)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_FORWARD_END, request, 0, static_cast<uint32_t>(tries));
}

/// the try failed; the next one follows if there are destinations, now or soon
template <class RequestPointer>
inline SQT_KEEPS_LINE void
ForwardingIsRetried(const RequestPointer &request, const int tries, const bool destinations)
{
    if (sqt_on(SQT_GROUP_SERVER) && destinations)
        EmitServer(SQT_EV_RETRY, request, 0, static_cast<uint32_t>(tries));
}

template <class RequestPointer>
inline SQT_KEEPS_LINE void
PeerSelectionBegins(const RequestPointer &request)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_PEER_SELECT_BEGIN, request);
}

template <class RequestPointer>
inline SQT_KEEPS_LINE void
PeerSelectionEnds(const RequestPointer &request, const size_t found)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_PEER_SELECT_END, request, 0, static_cast<uint32_t>(found));
}

/* ---- connections ---- */

/// numbers and texts of the kinds of peers; those of a cache_peer are 1 + Squid's peer_t
template <class Peer>
inline uint32_t
PeerKindOf(const Peer *peer, const bool pinned)
{
    static const char *const texts[] = {"direct", "peer", "sibling", "parent", "multicast", "origin peer", "pinned"};
    const uint32_t kind = pinned                       ? 6
                          : !peer                      ? 0
                          : peer->options.originserver ? 5
                                                       : 1 + static_cast<uint32_t>(peer->type);
    return kind < sizeof texts / sizeof *texts ? sqt_define(SQT_DEF_PEER_KIND, kind, texts[kind]) : kind;
}

/// the text for a cache_peer; place is room for one that does not give its name away
template <class Peer>
inline const char *
TextOfPeer(const Peer *peer, char (&place)[32])
{
    if (sqt_names != SQT_NAMES_OFF)
        return peer->name;
    snprintf(place, sizeof place, "cache_peer %u", static_cast<unsigned>(peer->index));
    return place;
}

/// an origin server is met for the first time
template <class Address>
__attribute__((noinline, cold)) uint32_t
DefineOrigin(const uint32_t number, const Address &address)
{
    char text[SQT_SERVER_TEXT + 1];
    if (sqt_names == SQT_NAMES_SERVERS)
        address.toUrl(text, sizeof text);
    else
        snprintf(text, sizeof text, "origin-%08x", static_cast<unsigned>(number));
    return sqt_define_named(SQT_DEF_SERVER, number, text);
}

/// the number of an origin server, which is its address and port: one that cannot be told from them without the key
template <class Address>
inline uint32_t
NumberOfOrigin(const Address &address)
{
    struct {
        struct in6_addr address;
        uint32_t port, names; // what another names= calls otherwise has another number
    } whole;
    address.getInAddr(whole.address);
    whole.port = address.port();
    whole.names = static_cast<uint32_t>(sqt_names);
    const uint32_t number = static_cast<uint32_t>(sqt_hash(&whole, sizeof whole) & INT32_MAX) | 1;
    return sqt_defined(SQT_DEF_SERVER, number) ? number : DefineOrigin(number, address);
}

/// the number of the server at the other end: a cache_peer or an origin server
template <class ConnectionPointer>
inline uint32_t
ServerOf(const ConnectionPointer &conn)
{
    const auto *const peer = conn->getPeer();
    if (!peer)
        return NumberOfOrigin(conn->remote);
    const uint32_t number = NumberOfName(peer->name) | 1;
    return sqt_defined(SQT_DEF_SERVER, number) ? number : sqt_define_named(SQT_DEF_SERVER, number, peer->name);
}

/// emits a record of a connection with a server, and which server that is
template <class RequestPointer, class ConnectionPointer>
inline void
EmitToServer(const unsigned event, const RequestPointer &request, const ConnectionPointer &conn, const uint32_t kind)
{
    if (sqt_names == SQT_NAMES_OFF) {
        EmitServer(event, request, ConnOf(conn), kind);
        return;
    }
    sqt_emit_pair(SQT_PAIR(event, SQT_EV_PART_SERVER), XactOf(request), ConnOf(conn), kind,
                  conn->remote.isIPv6() ? 6 : 4, 0, ServerOf(conn));
    StayOnStack();
}

/// an attempt to open conn begins; opening remembers its id until the attempt is over
template <class RequestPointer, class ConnectionPointer>
inline void
ConnectBegins(uint64_t &opening, const RequestPointer &request, const ConnectionPointer &conn, const bool spare)
{
    opening = 0;
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    opening = ConnOf(conn);
    EmitToServer(SQT_EV_CONNECT_BEGIN, request, conn,
                 PeerKindOf(conn->getPeer(), false) | (spare ? UINT32_C(1) << 31 : 0));
}

/// only the first word counts
template <class RequestPointer>
inline void
EmitOutcome(const unsigned event, uint64_t &conn, const RequestPointer &request, const sqt_connect_outcome outcome)
{
    if (conn && sqt_on(SQT_GROUP_SERVER))
        EmitServer(event, request, conn, static_cast<uint32_t>(outcome));
    conn = 0;
}

template <class RequestPointer>
inline void
EmitConnectEnd(uint64_t &opening, const RequestPointer &request, const sqt_connect_outcome outcome)
{
    EmitOutcome(SQT_EV_CONNECT_END, opening, request, outcome);
}

/// the attempt failed, with that error of the system; 0: none that Squid knows of
template <class RequestPointer, class Connection>
__attribute__((noinline, cold)) void
ConnectFails(uint64_t &opening, const RequestPointer &request, const Connection &conn,
             const sqt_connect_outcome outcome, const int error)
{
    if (opening && sqt_on(SQT_GROUP_SERVER))
        sqt_emit_pair(SQT_PAIR(SQT_EV_CONNECT_END, SQT_EV_PART_CONNECT_ERROR), XactOf(request), opening,
                      static_cast<uint32_t>(outcome), conn.local.port(), 0, static_cast<uint32_t>(error));
    opening = 0;
}

/// the attempt is over; an open connection remembers that it leads to a server
template <class RequestPointer, class Connection>
inline void
ConnectEnds(uint64_t &opening, const RequestPointer &request, Connection &conn, const bool connected, const bool late,
            const int error)
{
    conn.sqtraceToServer = connected && opening;
    if (connected)
        EmitConnectEnd(opening, request, SQT_CONNECT_OK);
    else
        ConnectFails(opening, request, conn, late ? SQT_CONNECT_TIMEOUT : SQT_CONNECT_FAILED, error);
    StayOnStack();
}

/// another attempt won, or nobody waits any more
template <class RequestPointer>
inline void
ConnectIsCancelled(uint64_t &opening, const RequestPointer &request)
{
    EmitConnectEnd(opening, request, SQT_CONNECT_CANCELLED);
}

/// a peer is asked, by a CONNECT of its own, for a connection to the origin server
template <class RequestPointer, class ConnectionPointer>
inline void
PeerIsAskedToConnect(uint64_t &opening, const RequestPointer &request, const ConnectionPointer &conn)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    opening = ConnOf(conn);
    EmitServer(SQT_EV_CONNECT_BEGIN, request, opening, sqt_define(SQT_DEF_PEER_KIND, 7, "CONNECT through a peer"));
}

template <class RequestPointer>
inline void
PeerAnswersConnect(uint64_t &opening, const RequestPointer &request, const bool connected)
{
    EmitConnectEnd(opening, request, connected ? SQT_CONNECT_OK : SQT_CONNECT_FAILED);
}

/// it has not answered in time
template <class RequestPointer>
inline void
PeerIsTooSlowToConnect(uint64_t &opening, const RequestPointer &request)
{
    EmitConnectEnd(opening, request, SQT_CONNECT_TIMEOUT);
}

/// an FTP server's data connection is opened
template <class RequestPointer, class ConnectionPointer>
inline void
DataConnectBegins(uint64_t &opening, const RequestPointer &request, const ConnectionPointer &conn)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    opening = ConnOf(conn);
    EmitServer(SQT_EV_CONNECT_BEGIN, request, opening, sqt_define(SQT_DEF_PEER_KIND, 8, "FTP data"));
}

template <class RequestPointer, class ConnectionPointer>
inline void
ConnectionIsReused(const RequestPointer &request, const ConnectionPointer &conn, const bool pinned)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitToServer(SQT_EV_CONNECT_REUSED, request, conn, PeerKindOf(conn->getPeer(), pinned));
}

/* ---- TLS ---- */

/// shaking remembers conn's id until the handshake is over; request may be nil
template <class RequestPointer, class ConnectionPointer>
inline void
HandshakeBegins(uint64_t &shaking, const RequestPointer &request, const ConnectionPointer &conn)
{
    shaking = 0;
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    shaking = ConnOf(conn);
    EmitServer(SQT_EV_TLS_BEGIN, request, shaking);
}

template <class RequestPointer>
inline void
HandshakeEnds(uint64_t &shaking, const RequestPointer &request, const bool done)
{
    EmitOutcome(SQT_EV_TLS_END, shaking, request, done ? SQT_CONNECT_OK : SQT_CONNECT_FAILED);
}

template <class RequestPointer>
inline void
HandshakeTimesOut(uint64_t &shaking, const RequestPointer &request)
{
    EmitOutcome(SQT_EV_TLS_END, shaking, request, SQT_CONNECT_TIMEOUT);
}

/// nobody waits for it any more
template <class RequestPointer>
inline void
HandshakeIsCancelled(uint64_t &shaking, const RequestPointer &request)
{
    EmitOutcome(SQT_EV_TLS_END, shaking, request, SQT_CONNECT_CANCELLED);
}

/* ---- the ends of connections ---- */

/// Not a part of its caller, which stays small enough to be a part of Comm::Connection::close().  Of a client there is
/// something to say only if segments were sent again.  Who closes a server connection matters where it was idle.
template <class Connection>
__attribute__((noinline)) void
EmitClose(const Connection &conn)
{
    struct sqt_tcp tcp;
    const uint64_t id = static_cast<uint64_t>(conn.id.value);
    const bool server = conn.sqtraceToServer && sqt_on(SQT_GROUP_SERVER);
    const bool client = conn.sqtraceOfClient && sqt_on(SQT_GROUP_CLIENT);
    const bool known = (server || client) && sqt_tcp_of(conn.fd, &tcp) == 0;
    if (server && known && tcp.idle_ms >= 1000)
        sqt_emit(SQT_EV_SERVER_IDLE, id, tcp.idle_ms, tcp.closed_by);
    if (server && known)
        sqt_emit_pair(SQT_PAIR(SQT_EV_SERVER_CLOSE, SQT_EV_PART_TCP), id, tcp.received, tcp.rtt_us, tcp.least_rtt_us,
                      tcp.sent_again, tcp.out_of_order);
    else if (server)
        sqt_emit(SQT_EV_SERVER_CLOSE, id, 0, 0);
    if (client && known && tcp.sent_again)
        sqt_emit_pair(SQT_PAIR(SQT_EV_CLIENT_RESENT, SQT_EV_PART_CLIENT_RESENT), id, tcp.busy_us, tcp.sent_again,
                      tcp.sent, tcp.unacked, tcp.rtt_us);
    StayOnStack();
}

/// a connection of any kind closes
template <class Connection>
inline void
ConnectionCloses(const Connection &conn)
{
    if (sqt_on(SQT_GROUP_SERVER | SQT_GROUP_CLIENT))
        EmitClose(conn);
}

/* ---- one try: the request out, the reply in ---- */

/// the number of the try that was dispatched last; the job that sends its request is made right then
inline uint32_t &
LastTry()
{
    static uint32_t tries = 0;
    return tries;
}

template <class RequestPointer, class ConnectionPointer>
inline void
RequestIsDispatched(const RequestPointer &request, const ConnectionPointer &conn, const int tries)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    LastTry() = static_cast<uint32_t>(tries);
    EmitServer(SQT_EV_DISPATCH, request, ConnOf(conn), static_cast<uint32_t>(tries));
}

template <class ConnectionPointer>
inline void
ServerIsUsed(ServerState &state, const ConnectionPointer &conn)
{
    if (!sqt_on(SQT_GROUP_SERVER))
        return;
    state.conn = ConnOf(conn);
    state.tries = LastTry();
}

/// puts Squid's own span in the place of the caller's.  Apart, as few requests have the field.
template <class Header>
__attribute__((noinline, cold)) void
SendOwnSpan(const uint64_t xact, const uint32_t tries, const Header &header)
{
    char text[256];
    auto *const field = ContextOf(header);
    if (field &&
        sqt_traceparent_forward(field->value.rawBuf(), field->value.size(), xact, tries, text, sizeof text) == 0)
        field->value = text;
}

/// the header that the server gets is complete
template <class RequestPointer, class Header>
inline void
RequestHeaderIsMade(const ServerState &state, const RequestPointer &request, const Header &header)
{
    if (__builtin_expect(sqt_trace_context == SQT_CONTEXT_FORWARD, 0) && sqt_on(SQT_GROUP_SERVER) && state.conn)
        SendOwnSpan(XactOf(request), state.tries, header);
}

/// the server side wants request body bytes, and the client has not sent them
template <class RequestPointer>
inline void
BodyIsAwaited(ServerState &state, const RequestPointer &request)
{
    if (!sqt_on(SQT_GROUP_SERVER) || state.waitsForBody)
        return;
    state.waitsForBody = true;
    EmitServer(SQT_EV_BODY_WAIT_BEGIN, request);
}

/// size more bytes came; 0: no more will come
template <class RequestPointer>
inline void
BodyCame(ServerState &state, const RequestPointer &request, const size_t size)
{
    if (!state.waitsForBody)
        return;
    state.waitsForBody = false;
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_BODY_WAIT_END, request, size);
}

template <class RequestPointer, class ConnectionPointer>
inline void
RequestIsSent(const RequestPointer &request, const ConnectionPointer &conn)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_REQUEST_SENT, request, ConnOf(conn));
}

template <class RequestPointer>
inline void
ServerSentBytes(const RequestPointer &request, const size_t size)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_SERVER_READ, request, size);
}

/// the number of the delay pool that holds back what is read into an object; 0: none, its readers are slow
template <class Memory>
inline auto
PoolThatHolds(const Memory &memory, int) -> decltype(static_cast<uint32_t>(memory.mostBytesAllowed().pool()))
{
    return memory.readAheadPolicyCanRead() ? memory.mostBytesAllowed().pool() : 0;
}

/// a Squid without delay pools
template <class Memory>
inline uint32_t
PoolThatHolds(const Memory &, long)
{
    return 0;
}

/// the server has sent bytes that are left unread for now; memory is where they would go
template <class RequestPointer, class Memory>
inline void
ServerIsHeldBack(const RequestPointer &request, const Memory &memory)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_SERVER_HELD, request, 0, PoolThatHolds(memory, 0));
}

/// the header just parsed is an interim one; left bytes follow it already
template <class RequestPointer, class Status>
inline void
InterimReplyIsParsed(const RequestPointer &request, const size_t left, const Status status)
{
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_SERVER_1XX, request, left, static_cast<uint32_t>(status));
}

template <class RequestPointer, class Reply>
inline void
ReplyHeaderIsParsed(const RequestPointer &request, const Reply &reply)
{
    Moment moment;
    if (sqt_on(SQT_GROUP_SERVER))
        moment.emit(SQT_EV_SERVER_HEADER, XactOf(request), reply.hdr_sz > 0 ? static_cast<uint64_t>(reply.hdr_sz) : 0,
                    static_cast<uint32_t>(reply.sline.status()));
    if (sqt_on(SQT_GROUP_CLIENT))
        moment.emit(SQT_EV_REPLY_READY, XactOf(request), 0, SQT_REPLY_SERVER);
}

/// the reply will come, without a header of its own
template <class RequestPointer>
inline void
ReplyIsPromised(const RequestPointer &request)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        EmitServer(SQT_EV_REPLY_READY, request, 0, SQT_REPLY_SERVER);
}

/// Forwarding failed and its error page is made, or Squid made a page of what the server said.
template <class RequestPointer>
inline SQT_KEEPS_LINE void
ForwardingErrorIsReady(const RequestPointer &request)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        EmitServer(SQT_EV_REPLY_READY, request, 0, SQT_REPLY_MADE);
}

/// the last byte of the reply is here, or it failed; only the first word counts
template <class RequestPointer>
inline void
ServerIsDone(ServerState &state, const RequestPointer &request, const bool failed)
{
    if (state.done)
        return;
    state.done = true;
    BodyCame(state, request, 0);
    if (sqt_on(SQT_GROUP_SERVER))
        EmitServer(SQT_EV_SERVER_DONE, request, state.conn, failed);
}

} // namespace Sqtrace

#endif
