/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-listeners.h - hooks of listening ports: who waits before accept, and accepts that Squid puts off.
 *
 * port is an AnyP::PortCfg, which has a member sqtrace of type ListenerState.
 */
#ifndef SQT_SQUID_HOOKS_LISTENERS_H
#define SQT_SQUID_HOOKS_LISTENERS_H

#include <stdio.h>

#include "ids.h"

namespace Sqtrace
{

/// Defines a port as squid.conf names it: http_port 3128, https_port 127.0.0.1:3129.  With names=off it is its number.
template <class Port>
__attribute__((noinline, cold)) uint32_t
DefineListener(Port &port)
{
    using Protocol = decltype(port.transport.protocol);
    const auto protocol = port.transport.protocol;
    const char *const directive = protocol == Protocol::PROTO_HTTPS ? "https_port"
                                  : protocol == Protocol::PROTO_FTP ? "ftp_port"
                                                                    : "http_port";
    char address[96], text[128];
    if (port.s.isAnyAddr())
        snprintf(address, sizeof(address), "%u", static_cast<unsigned>(port.s.port()));
    else
        port.s.toUrl(address, sizeof(address));
    snprintf(text, sizeof(text), "%s %s", directive, address);
    port.sqtrace.number = sqt_listener(text);
    if (!port.sqtrace.number)
        return sqt_define(SQT_DEF_LISTENER, 0, "other");
    if (sqt_names == SQT_NAMES_OFF)
        snprintf(text, sizeof(text), "%u", static_cast<unsigned>(port.sqtrace.number));
    return sqt_define(SQT_DEF_LISTENER, port.sqtrace.number, text);
}

template <class Port>
inline uint32_t
ListenerOf(Port &port)
{
    const auto number = port.sqtrace.number;
    return number && sqt_defined(SQT_DEF_LISTENER, number) ? number : DefineListener(port);
}

/// A connection was accepted.  If it had waited for long, others may wait still: the backlog is sampled at once, because
/// it may be empty at the next second.
template <class ConnectionPointer, class Port>
inline void
EmitAccept(const ConnectionPointer &conn, Port &port)
{
    const auto waited = sqt_accept_wait(conn->fd);
    const auto listener = ListenerOf(port);
    conn->sqtraceOfClient = true;
    sqt_emit_pair(SQT_PAIR(SQT_EV_CONN_ACCEPT, SQT_EV_PART_LISTENER), ConnOf(conn), static_cast<uint64_t>(conn->fd),
                  port.s.port(), 0, waited, listener);
    if (waited + 1 > SQT_ACCEPT_LATE_MS && sqt_on(SQT_GROUP_SAMPLE) && port.listenConn != nullptr)
        sqt_sample_late(listener, port.listenConn->fd);
    StayOnStack();
}

/// too few descriptors are free: what waits on the port stays there
template <class PortPointer>
inline void
AcceptIsPutOff(const PortPointer &port, const int open, const int limit)
{
    if (!sqt_on(SQT_GROUP_CLIENT) || !(port != nullptr))
        return;
    port->sqtrace.putOff = true;
    sqt_emit(SQT_EV_ACCEPT_PUT_OFF, ListenerOf(*port), static_cast<uint64_t>(open), static_cast<uint32_t>(limit));
    StayOnStack();
}

/// descriptors are free again, or the port closes
template <class PortPointer>
inline void
AcceptGoesOn(const PortPointer &port)
{
    if (!sqt_on(SQT_GROUP_CLIENT) || !(port != nullptr) || !port->sqtrace.putOff)
        return;
    port->sqtrace.putOff = false;
    sqt_emit(SQT_EV_ACCEPT_RESUMED, ListenerOf(*port), 0, 0);
    StayOnStack();
}

/// a client has as many connections as client_ip_max_connections allows: its next one, on that port, is closed at once
template <class PortPointer>
inline void
ConnectionIsOverLimit(const PortPointer &port)
{
    if (!sqt_on(SQT_GROUP_CLIENT) || !(port != nullptr))
        return;
    sqt_emit(SQT_EV_CONN_OVER_LIMIT, ListenerOf(*port), 0, 0);
    StayOnStack();
}

/// the backlog of each listening port of a list, such as HttpPortList; once a second
template <class PortPointer>
inline void
ListenersAreSampled(const PortPointer &first)
{
    if (!sqt_on(SQT_GROUP_SAMPLE))
        return;
    for (auto port = first; port != nullptr; port = port->next)
        if (port->listenConn != nullptr && port->listenConn->isOpen())
            sqt_sample_listener(ListenerOf(*port), port->listenConn->fd);
}

/// how many descriptors Squid may open, and how many of them it leaves free for other work than accepts; once a second
inline void
DescriptorsAreSampled(const int limit, const int reserved)
{
    if (!sqt_on(SQT_GROUP_SAMPLE))
        return;
    sqt_sample(SQT_SAMPLE_SQUID_descriptors_limit, 0, static_cast<uint64_t>(limit));
    sqt_sample(SQT_SAMPLE_SQUID_descriptors_reserved, 0, static_cast<uint64_t>(reserved));
}

} // namespace Sqtrace

#endif
