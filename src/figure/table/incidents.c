/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * incidents.c - the table of what happened to Squid as a whole, and to its helpers and services.
 */
#include <stdio.h>

#include "pass/family.h"

#define CELL(name) row[SQT_CELL(incidents, name)]

/* How a child ended, what Squid thinks of a service, or whether a client got all; NULL: the incident has no result. */
static const char *
incidents_result(const struct sqt_incident_row *i, char text[32])
{
    static const char *const states[] = {
        [SQT_SERVICE_DOWN] = "down", [SQT_SERVICE_UP] = "up", [SQT_SERVICE_SUSPENDED] = "suspended"};
    if (i->event == SQT_EV_SERVICE_STATE)
        return i->code < sizeof(states) / sizeof(*states) ? states[i->code] : NULL;
    if (i->event == SQT_EV_PEER_PROBED)
        return i->code ? sqt_error_name((unsigned)i->code) : "connected";
    if (i->event == SQT_EV_CLIENT_RESENT)
        return i->unacked ? "unacknowledged" : "acknowledged";
    if (i->event != SQT_EV_CHILD_DIED)
        return NULL;
    if (i->code >= SQT_EXIT_UNKNOWN)
        return "unknown";
    if (i->code >= SQT_EXIT_SIGNAL)
        snprintf(text, 32, "signal %u", (unsigned)i->code - SQT_EXIT_SIGNAL);
    else
        snprintf(text, 32, "exit %u", (unsigned)i->code);
    return text;
}

static int64_t
incidents_count(const struct sqt_incident_row *i)
{
    const uint64_t count = i->event == SQT_EV_CHILD_STARTED ? i->code : i->count;
    if (i->event == SQT_EV_FATAL || i->event == SQT_EV_SERVICE_STATE || i->event == SQT_EV_PEER_PROBED ||
        i->event == SQT_EV_CONN_OVER_LIMIT)
        return SQT_CELL_MISSING;
    return count < INT64_MAX ? (int64_t)count : INT64_MAX;
}

static void
incidents_incident(void *context, const struct sqt_incident_row *i)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(incidents)];
    char result[32];
    CELL(time_s).number = i->at;
    CELL(kid).number = i->origin->identity.kid;
    CELL(incident).text = sqt_incident_name(i->event);
    CELL(name).text = sqt_incident_who(i);
    CELL(result).text = incidents_result(i, result);
    CELL(count).number = incidents_count(i);
    CELL(took_ns).number = i->took;
    CELL(silent).number = i->event == SQT_EV_CHILD_DIED ? i->silent : SQT_CELL_MISSING;
    if (sqt_job_wants(job, i->at, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_incidents = {
    .where = {SQT_TABLE_incidents}, .where_count = 1, .consumer = {.incident = incidents_incident}};
