/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-connections.h - hooks of the connections of clients: accepted, read from, TLS handshakes, closed.
 */
#ifndef SQT_SQUID_HOOKS_CONNECTIONS_H
#define SQT_SQUID_HOOKS_CONNECTIONS_H

#include <errno.h>
#include <sys/socket.h>

#include "hooks-listeners.h"
#include "ids.h"

namespace Sqtrace
{

template <class ConnectionPointer, class PortPointer>
inline void
ClientConnects(const ConnectionPointer &conn, const PortPointer &port)
{
    if (sqt_on(SQT_GROUP_CLIENT) && port != nullptr) // others accept FTP data connections
        EmitAccept(conn, *port);
}

template <class ConnectionPointer>
inline void
ClientIsGone(const ConnectionPointer &conn)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_CONN_CLOSE, ConnOf(conn), 0, 0);
}

/// size more bytes were read, so that buffered bytes are there now
template <class ConnectionPointer>
inline void
ClientSentBytes(const ConnectionPointer &conn, const size_t size, const size_t buffered)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_CLIENT_READ, ConnOf(conn), size, static_cast<uint32_t>(buffered - size));
}

template <class ConnectionPointer, class Parser>
inline void
RequestIsParsed(const ConnectionPointer &conn, const Parser &parser, const size_t left)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_REQUEST_PARSED, ConnOf(conn), parser.messageHeaderSize(), static_cast<uint32_t>(left));
}

/* ---- TLS with clients; manager is a ConnStateData, which has a member sqtraceHandshake: whether it is open ---- */

template <class Manager>
inline void
ClientHandshakeBegins(Manager &manager)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    manager.sqtraceHandshake = true;
    sqt_emit(SQT_EV_CLIENT_TLS_BEGIN, ConnOf(manager.clientConnection), 0, 0);
}

/// only the first word counts
template <class Manager>
inline void
EmitClientHandshakeEnd(Manager &manager, const sqt_connect_outcome outcome)
{
    if (!manager.sqtraceHandshake)
        return;
    manager.sqtraceHandshake = false;
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_CLIENT_TLS_END, ConnOf(manager.clientConnection), 0, static_cast<uint32_t>(outcome));
}

/// the handshake is done, or goes on with the server alone (splice)
template <class Manager>
inline void
ClientHandshakeEnds(Manager &manager)
{
    EmitClientHandshakeEnd(manager, SQT_CONNECT_OK);
}

/// It failed.  What a library calls a failure is often a client that left, perhaps with a word of farewell (an alert).
template <class Manager>
inline void
ClientHandshakeFails(Manager &manager)
{
    if (!manager.sqtraceHandshake)
        return;
    char byte;
    const auto got = recv(manager.clientConnection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool left = got == 0 || (got < 0 && errno != EAGAIN);
    EmitClientHandshakeEnd(manager, left ? SQT_CONNECT_CANCELLED : SQT_CONNECT_FAILED);
}

template <class Manager>
inline void
ClientHandshakeTimesOut(Manager &manager)
{
    EmitClientHandshakeEnd(manager, SQT_CONNECT_TIMEOUT);
}

/// the connection closes, whatever it was doing
template <class Manager>
inline void
ClientHandshakeIsCancelled(Manager &manager)
{
    EmitClientHandshakeEnd(manager, SQT_CONNECT_CANCELLED);
}

} // namespace Sqtrace

#endif
