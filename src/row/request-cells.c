/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * request-cells.c - the row of a client transaction.
 */
#include "cells.h"

#include <string.h>

#include "format/events.h"

#define CELL(name) row[SQT_CELL(requests, name)]

/* Whether it ended as an error: it could not be parsed, or Squid had nothing but a page of its own that says what
 * went wrong on the way to the server.  Squid marks the latter as aborted, too, though the client was not. */
static int
is_error(const struct sqt_xact *x, enum sqt_class class)
{
    const int made = (x->flags & SQT_XACT_ERROR_PAGE) || x->reply_source == SQT_REPLY_MADE;
    return (x->outcome == SQT_OUTCOME_COMPLETE && class == SQT_CLASS_ERROR) ||
           ((x->outcome == SQT_OUTCOME_COMPLETE || x->outcome == SQT_OUTCOME_ABORTED) && made && x->status >= 500);
}

static void
stage_cells(union sqt_cell *row, const struct sqt_xact *x, int unknown)
{
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        const unsigned stage = sqt_stage_columns[i];
        row[SQT_STAGE_CELL(i)].number =
            unknown || !(x->stages.seen >> stage & 1) ? SQT_CELL_MISSING : x->stages.ns[stage];
    }
    CELL(unaccounted_ns).number = unknown ? SQT_CELL_MISSING : x->stages.ns[SQT_UNACCOUNTED];
}

/* The name of the longest stage; NULL: none has a time. */
static const char *
longest_stage(const struct sqt_xact *x)
{
    unsigned longest = SQT_UNACCOUNTED;
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        if ((x->stages.seen >> i & 1) && x->stages.ns[i] > x->stages.ns[longest])
            longest = i;
    if (x->stages.ns[longest] <= 0)
        return NULL;
    return longest == SQT_UNACCOUNTED ? "unaccounted" : sqt_stages[longest].name;
}

/* What its line in access.log says; a text is the line's. */
static void
log_cells(union sqt_cell *row, const struct sqt_logged *l)
{
    CELL(client).text = l ? l->client : NULL;
    CELL(url).text = l ? l->url : NULL;
    CELL(url_host).text = l ? l->host : NULL;
    CELL(user_name).text = l ? l->user : NULL;
    CELL(hierarchy).text = l ? l->hierarchy : NULL;
    CELL(log_dns_ns).number = l ? l->dns : SQT_CELL_MISSING;
    CELL(log_peer_ns).number = l ? l->peer : SQT_CELL_MISSING;
    CELL(log_server_ns).number = l ? l->server_side : SQT_CELL_MISSING;
    CELL(log_adapt_ns).number = l ? l->adapting : SQT_CELL_MISSING;
}

/* What a line does not say, though a trace always does. */
static void
of_log_cells(union sqt_cell *row, const struct sqt_xact *x)
{
    const struct sqt_logged *const l = x->logged;
    const int in_error = CELL(outcome).text == sqt_outcome_names[SQT_OUTCOME_ERROR];
    CELL(unaccounted_ns).number = SQT_CELL_MISSING;
    CELL(swap_ins).number = SQT_CELL_MISSING;
    if (x->origin->identity.kid == UINT32_MAX)
        CELL(kid).number = SQT_CELL_MISSING;
    if (l->tries == SQT_LOG_UNKNOWN)
        CELL(tries).number = SQT_CELL_MISSING;
    if (l->status == SQT_LOG_UNKNOWN)
        CELL(status).number = SQT_CELL_MISSING;
    if (l->took == SQT_LOG_UNKNOWN && !in_error) /* no clock stepped: the log has no durations */
        CELL(outcome).text = sqt_outcome_names[SQT_OUTCOME_COMPLETE];
}

const char *
sqt_leader_server(const struct sqt_xact *x)
{
    const struct sqt_follow *const f = x->follow;
    return f && f->origin && f->server != UINT32_MAX ? sqt_origin_text(f->origin, SQT_DEF_SERVER, f->server) : NULL;
}

/* Of the notes that are asked for; all of them are in one text. */
static void
note_cells(union sqt_cell *row, const struct sqt_notes *notes)
{
    union sqt_cell *const first = &CELL(note1);
    CELL(notes).text = notes ? notes->text : NULL;
    for (unsigned i = 0; i < SQT_NOTES; ++i)
        first[i].text = NULL;
    for (unsigned i = 0; notes && i < sqt_column_notes(); ++i)
        for (unsigned k = 0; k < notes->count; ++k)
            if (strcmp(notes->of[k].name, sqt_column_note(i)) == 0)
                first[i].text = notes->of[k].value;
}

enum sqt_class
sqt_request_cells(union sqt_cell *row, const struct sqt_xact *x)
{
    const int lost = x->outcome == SQT_OUTCOME_LOST;
    const int unknown = sqt_durations_unknown(x->outcome);
    const int ended = x->tag != UINT32_MAX;
    const char *const tag = ended ? sqt_origin_text(x->origin, SQT_DEF_TAG, x->tag) : NULL;
    const enum sqt_class class = sqt_class_of(tag, x->disk_reads, x->flags);
    CELL(time_s).number = x->begin;
    CELL(kid).number = x->origin->identity.kid;
    CELL(xid).number = x->id & SQT_UNNAMED ? SQT_CELL_MISSING : (int64_t)x->id;
    CELL(conn).number = x->conn ? (int64_t)x->conn : SQT_CELL_MISSING;
    CELL(method).text = x->method == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_METHOD, x->method);
    CELL(status).number = ended ? (int64_t)x->status : SQT_CELL_MISSING;
    CELL(tag).text = tag;
    CELL(class).text = ended ? sqt_classes[class].name : NULL;
    CELL(size_bytes).number = x->size;
    CELL(sent_bytes).number = x->sent;
    CELL(object).number = x->object ? (int64_t)x->object : SQT_CELL_MISSING;
    CELL(client_connect_ns).number = x->client_connect;
    stage_cells(row, x, unknown);
    CELL(total_ns).number = unknown ? SQT_CELL_MISSING : x->end - x->begin;
    CELL(first_byte_ns).number = unknown || x->first_byte == SQT_MISSING ? SQT_CELL_MISSING : x->first_byte - x->begin;
    CELL(tries).number = ended ? (int64_t)x->tries : SQT_CELL_MISSING;
    CELL(reused_conn).number = lost || x->reused < 0 ? SQT_CELL_MISSING : x->reused;
    CELL(collapsed).number = (x->flags & SQT_XACT_COLLAPSED) != 0;
    CELL(swap_ins).number = lost ? SQT_CELL_MISSING : (int64_t)x->swap_ins;
    const int served = !unknown && x->server_from != SQT_MISSING;
    CELL(server_from_ns).number = served ? x->server_from - x->begin : SQT_CELL_MISSING;
    CELL(server_until_ns).number =
        !served ? SQT_CELL_MISSING : (x->server_until == SQT_MISSING ? x->end : x->server_until) - x->begin;
    CELL(client_tls_ns).number = x->client_tls;
    CELL(server).text = x->server == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_SERVER, x->server);
    CELL(miss_reason).text = x->miss < SQT_MISSES_COUNT ? sqt_misses[x->miss].name : NULL;
    CELL(accept_wait_ns).number = x->accept_wait;
    CELL(loop_held_ns).number = unknown || x->held == SQT_MISSING ? SQT_CELL_MISSING : x->held;
    CELL(read_wait_ns).number = x->read_wait;
    CELL(trace_id).text = x->context ? x->context->trace_text : NULL;
    CELL(parent_id).text = x->context ? x->context->parent_text : NULL;
    CELL(longest_stage).text = unknown || x->of_log ? NULL : longest_stage(x);
    CELL(dir).number = unknown || x->dir == UINT32_MAX ? SQT_CELL_MISSING : (int64_t)x->dir;
    CELL(trace_flags).number = x->context ? (int64_t)x->context->flags : SQT_CELL_MISSING;
    CELL(range_bytes).number = sqt_xact_range(x);
    CELL(tunnel_first_ns).number = x->tunnel_first;
    CELL(tunnel_held_ns).number = x->tunnel_held;
    CELL(tunnel_unsent_ns).number = x->tunnel_unsent;
    CELL(tunnel_rest_ns).number = x->tunnel_rest;
    CELL(not_kept).text = x->fetched > 0 ? sqt_unkept[x->not_kept].name : NULL; /* a hit may be too large now */
    CELL(denied_by).text = x->denied_by ? sqt_origin_text(x->origin, SQT_DEF_ACL, x->denied_by) : NULL;
    CELL(outcome).text = sqt_outcome_names[ended && is_error(x, class) ? SQT_OUTCOME_ERROR : x->outcome];
    log_cells(row, x->logged);
    note_cells(row, x->notes);
    if (x->of_log)
        of_log_cells(row, x);
    return class;
}
