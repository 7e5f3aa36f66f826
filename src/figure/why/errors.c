/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * errors.c - see errors.h.
 */
#include <errno.h>
#include <stddef.h>

#include "errors.h"

static const struct {
    const char *because, *advice; /* because: with %s for the server */
} why_words[SQT_WHYS] = {
    [SQT_WHY_REFUSED] = {"%s refuses connections: nothing listens there",
                         "Start the program of that server, or correct address and port: connections are "
                         "refused at once (ECONNREFUSED). cache_peer: a second one, if it is a parent."},
    [SQT_WHY_UNREACHABLE] = {"there is no route to %s",
                             "ip route get, with the address of that server: this machine has no route, or a "
                             "router on the way says so (ENETUNREACH, EHOSTUNREACH). tcp_outgoing_address: an "
                             "address from which there is one."},
    [SQT_WHY_NO_PORT] = {"no local port is free for connections to %s",
                         "server_persistent_connections, server_idle_pconn_timeout: keep connections, so that "
                         "fewer local ports are in TIME_WAIT (ss -s). net.ipv4.ip_local_port_range: more ports. "
                         "tcp_outgoing_address: a second address, if it is one that this machine has."},
    [SQT_WHY_FORBIDDEN] = {"this machine does not let Squid connect to %s (permission is denied: EACCES or EPERM)",
                           "A firewall of this machine, or SELinux, says no (EPERM, EACCES): nft list ruleset, "
                           "ausearch -m avc."},
    [SQT_WHY_TIMED_OUT] = {"connections to %s timed out: no answer came to the first packet", NULL},
    [SQT_WHY_NO_SOCKET] =
        {"connections to %s could not be begun: their local address (tcp_outgoing_address) is not one "
         "of this machine, or no local port is free",
         "cache.log says why: commBind: Cannot bind socket, and to which address. tcp_outgoing_address: "
         "an address that this machine has (ip addr). If it has it: more local ports "
         "(net.ipv4.ip_local_port_range), or kept connections."},
};

enum sqt_why
sqt_why_of(unsigned error)
{
    switch (error) {
    case ECONNREFUSED:
        return SQT_WHY_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
        return SQT_WHY_UNREACHABLE;
    case EADDRNOTAVAIL:
    case EADDRINUSE:
        return SQT_WHY_NO_PORT;
    case EPERM:
    case EACCES:
        return SQT_WHY_FORBIDDEN;
    case ETIMEDOUT:
        return SQT_WHY_TIMED_OUT;
    default:
        return SQT_WHY_UNKNOWN;
    }
}

int
sqt_why_is_local(enum sqt_why why)
{
    return why == SQT_WHY_NO_PORT || why == SQT_WHY_FORBIDDEN || why == SQT_WHY_NO_SOCKET;
}

const char *
sqt_why_because(enum sqt_why why)
{
    return why_words[why].because;
}

const char *
sqt_why_advice(enum sqt_why why)
{
    return why_words[why].advice;
}
