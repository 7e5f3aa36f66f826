/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * incidents.c - what happens to Squid as a whole, to its helpers and to its services: each is one record.
 */
#include "model/model-internal.h"

static const char *const incident_names[SQT_EVENTS] = {
    [SQT_EV_FATAL] = "fatal",
    [SQT_EV_CHILD_STARTED] = "child_started",
    [SQT_EV_CHILD_DIED] = "child_died",
    [SQT_EV_SERVICE_STATE] = "service",
    [SQT_EV_PEER_PROBED] = "peer_probed",
    [SQT_EV_LIST_READ] = "list_read",
    [SQT_EV_DIR_REBUILT] = "dir_rebuilt",
    [SQT_EV_SWAP_LOGS_WRITTEN] = "swap_logs_written",
    [SQT_EV_CONN_OVER_LIMIT] = "over_limit",
    [SQT_EV_CLIENT_RESENT] = "client_resent",
};

const char *
sqt_incident_name(enum sqt_event event)
{
    return incident_names[event];
}

const char *
sqt_incident_who(const struct sqt_incident_row *row)
{
    return row->def ? sqt_origin_text(row->origin, row->def, row->who) : NULL;
}

static int64_t
incident_took(uint64_t count, int64_t unit)
{
    return count <= (uint64_t)(INT64_MAX / unit) ? (int64_t)count * unit : INT64_MAX;
}

/* A child of a helper. */
static void
incident_child(struct sqt_incident_row *row, const struct sqt_record *record)
{
    row->count = record->id;
    row->code = record->arg;
    row->def = SQT_DEF_WAITED;
    row->who = record->aux & ~SQT_CHILD_SILENT;
    row->silent = record->event == SQT_EV_CHILD_DIED && (record->aux & SQT_CHILD_SILENT);
}

/* Work of so many steps on something. */
static void
incident_work(struct sqt_incident_row *row, const struct sqt_record *record, int64_t unit, enum sqt_def def)
{
    row->count = record->id;
    row->took = record->arg ? incident_took(record->arg, unit) : SQT_MISSING;
    row->def = def;
    row->who = record->aux;
}

/* What TCP knew of a client connection. */
static void
incident_resent(struct sqt_incident_row *row, const struct sqt_record *record, unsigned more)
{
    row->count = record->aux;
    row->took = incident_took(record->arg, 1000);
    if (!more || record[1].event != SQT_EV_PART_CLIENT_RESENT)
        return;
    row->sent = record[1].id;
    row->unacked = record[1].arg;
    row->rtt = (int64_t)record[1].aux * 1000;
}

static void
incidents_happen(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_incident_row row = {
        .origin = process->origin, .at = now, .event = record->event, .took = SQT_MISSING, .who = record->aux};
    if (!process->consumer->incident)
        return;
    switch (row.event) {
    case SQT_EV_CHILD_STARTED:
    case SQT_EV_CHILD_DIED:
        incident_child(&row, record);
        break;
    case SQT_EV_SERVICE_STATE:
        row.code = record->aux;
        row.def = SQT_DEF_SERVICE;
        row.who = (uint32_t)record->arg;
        break;
    case SQT_EV_PEER_PROBED:
        row.code = record->aux;
        row.def = SQT_DEF_PEER;
        row.who = (uint32_t)record->arg;
        break;
    case SQT_EV_LIST_READ:
        incident_work(&row, record, 1000, record->aux ? SQT_DEF_ACL : (enum sqt_def)0);
        break;
    case SQT_EV_DIR_REBUILT:
        incident_work(&row, record, 1000000, SQT_DEF_DIR);
        break;
    case SQT_EV_CONN_OVER_LIMIT:
        row.def = SQT_DEF_LISTENER;
        row.who = (uint32_t)record->id;
        break;
    case SQT_EV_CLIENT_RESENT:
        incident_resent(&row, record, more);
        break;
    case SQT_EV_SWAP_LOGS_WRITTEN:
        incident_work(&row, record, 1000, (enum sqt_def)0);
        break;
    default:
        row.def = SQT_DEF_ENDING;
    }
    process->consumer->incident(process->consumer->context, &row);
}

const struct sqt_thing_kind sqt_thing_incidents = {
    .events = (const struct sqt_subscription[]){{SQT_EV_FATAL, incidents_happen},
                                                {SQT_EV_CHILD_STARTED, incidents_happen},
                                                {SQT_EV_CHILD_DIED, incidents_happen},
                                                {SQT_EV_SERVICE_STATE, incidents_happen},
                                                {SQT_EV_PEER_PROBED, incidents_happen},
                                                {SQT_EV_CONN_OVER_LIMIT, incidents_happen},
                                                {SQT_EV_CLIENT_RESENT, incidents_happen},
                                                {SQT_EV_LIST_READ, incidents_happen},
                                                {SQT_EV_DIR_REBUILT, incidents_happen},
                                                {SQT_EV_SWAP_LOGS_WRITTEN, incidents_happen},
                                                {0}}};
