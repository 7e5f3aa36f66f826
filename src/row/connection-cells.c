/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * connection-cells.c - the row of an attempt to get a server connection.
 */
#include "cells.h"

#include <errno.h>

/* Of an attempt to connect, and of what comes before it. */
#define ERRORS(X) \
    X(ECONNREFUSED) \
    X(ETIMEDOUT) \
    X(EHOSTUNREACH) \
    X(ENETUNREACH) \
    X(EADDRNOTAVAIL) \
    X(EADDRINUSE) \
    X(ECONNRESET) \
    X(ECONNABORTED) \
    X(EPIPE) \
    X(ENETDOWN) \
    X(EHOSTDOWN) \
    X(EAFNOSUPPORT) \
    X(EACCES) \
    X(EPERM) \
    X(EINVAL) \
    X(EMFILE) \
    X(ENOBUFS)

const char *const sqt_error_names[SQT_ERRORS] = {
#define NAME(error) #error,
    ERRORS(NAME)
#undef NAME
        "other"};

const char *
sqt_error_name(unsigned error)
{
    static const unsigned numbers[SQT_ERRORS - 1] = {
#define NUMBER(error) error,
        ERRORS(NUMBER)
#undef NUMBER
    };
    unsigned i = 0;
    while (i < SQT_ERRORS - 1 && numbers[i] != error)
        ++i;
    return error ? sqt_error_names[i] : NULL;
}

#define CELL(name) row[SQT_CELL(connections, name)]

void
sqt_connection_cells(union sqt_cell *row, const struct sqt_attempt *a)
{
    CELL(time_s).number = a->begin;
    CELL(kid).number = a->origin->identity.kid;
    CELL(conn).number = a->conn ? (int64_t)a->conn : SQT_CELL_MISSING;
    CELL(xid).number = a->xact && !(a->xact & SQT_UNNAMED) ? (int64_t)a->xact : SQT_CELL_MISSING;
    CELL(peer_kind).text = sqt_origin_text(a->origin, SQT_DEF_PEER_KIND, a->peer_kind);
    CELL(reused).number = a->reused;
    const int unknown = sqt_durations_unknown(a->outcome);
    CELL(connect_ns).number =
        a->reused || unknown ? SQT_CELL_MISSING : (a->connected == SQT_MISSING ? a->end : a->connected) - a->begin;
    CELL(tls_ns).number = a->tls == SQT_MISSING || unknown ? SQT_CELL_MISSING : a->end - a->tls;
    CELL(outcome).text = sqt_outcome_names[a->outcome];
    CELL(spare).number = a->spare;
    CELL(server).text = a->server == UINT32_MAX ? NULL : sqt_origin_text(a->origin, SQT_DEF_SERVER, a->server);
    CELL(ip_version).number = a->version ? a->version : SQT_CELL_MISSING;
    CELL(error).text = sqt_error_name(a->error);
    CELL(local_port).number = a->local_port ? a->local_port : SQT_CELL_MISSING;
}
