/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * closed.c - server connections from their connect to their end, and what TCP knew of them then.
 *
 * A connection whose end the trace does not have is remembered until there is no room for another one.
 */
#include "model/model-internal.h"

/* Longer than a kernel's counter says. */
#define IDLE_MOST_MS (UINT64_C(1) << 32)

const char *const sqt_closer_names[SQT_CLOSERS] = {"squid", "server", "reset"};

static void
conns_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    struct sqt_server_conn *const conn = thing;
    (void)outcome;
    sqt_thing_forget(&process->conns, conn->conn, conn);
}

void
sqt_conn_opens(struct sqt_process_state *process, const struct sqt_attempt *attempt, int64_t now)
{
    if (!process->consumer->closed || sqt_idmap_get(&process->conns.ids, attempt->conn))
        return; /* nobody asks, or a peer was asked for a connection through this one */
    struct sqt_server_conn *const conn = sqt_thing_new(process, &process->conns);
    conn->conn = attempt->conn;
    conn->server = attempt->server;
    conn->version = attempt->version;
    conn->begin = now;
    conn->epoch = process->epoch;
    sqt_idmap_put(&process->conns.ids, conn->conn, conn);
}

static int64_t
conn_us(uint64_t us)
{
    return us < UINT32_MAX ? (int64_t)us * 1000 : (int64_t)UINT32_MAX * 1000;
}

/* Segments, or what a damaged record says of them. */
static int64_t
conn_count(uint64_t count)
{
    return count < UINT32_MAX ? (int64_t)count : UINT32_MAX;
}

static void
conn_tcp(struct sqt_closed_row *row, const struct sqt_record *close, const struct sqt_record *part)
{
    row->received = close->arg ? sqt_bytes(close->arg) : SQT_MISSING;
    row->rtt = close->aux ? conn_us(close->aux) : SQT_MISSING;
    row->least_rtt = part->id ? conn_us(part->id) : SQT_MISSING;
    row->sent_again = conn_count(part->arg);
    row->out_of_order = conn_count(part->aux);
}

static void
conn_idle(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    const int known = record->arg < IDLE_MOST_MS && record->aux < SQT_CLOSERS;
    process->idle.conn = known ? record->id : 0;
    process->idle.ns = known ? (int64_t)record->arg * 1000000 : 0;
    process->idle.closer = known ? (enum sqt_closer)record->aux : SQT_CLOSER_SQUID;
}

void
sqt_conn_closes(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_server_conn *const conn = sqt_idmap_get(&process->conns.ids, record->id);
    struct sqt_closed_row row = {.origin = process->origin,
                                 .at = now,
                                 .conn = record->id,
                                 .server = conn ? conn->server : UINT32_MAX,
                                 .version = conn ? conn->version : 0,
                                 .begin = SQT_MISSING,
                                 .received = SQT_MISSING,
                                 .rtt = SQT_MISSING,
                                 .least_rtt = SQT_MISSING,
                                 .sent_again = SQT_MISSING,
                                 .out_of_order = SQT_MISSING,
                                 .idle = SQT_MISSING};
    if (!process->consumer->closed)
        return;
    if (conn && conn->epoch == process->epoch && !sqt_stepped_since(process, conn->begin))
        row.begin = conn->begin;
    if (more && record[1].event == SQT_EV_PART_TCP)
        conn_tcp(&row, record, record + 1);
    if (process->idle.conn && process->idle.conn == record->id) {
        row.idle = process->idle.ns;
        row.closer = process->idle.closer;
    }
    process->idle.conn = 0;
    process->consumer->closed(process->consumer->context, &row);
    if (conn)
        sqt_thing_forget(&process->conns, conn->conn, conn);
}

const struct sqt_thing_kind sqt_thing_conns = {
    .words = "server connections",
    .size = sizeof(struct sqt_server_conn),
    .cut_off = conns_cut_off,
    .events = (const struct sqt_subscription[]){{SQT_EV_SERVER_IDLE, conn_idle}, {0}}};
