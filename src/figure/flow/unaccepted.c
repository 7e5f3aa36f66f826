/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * unaccepted.c - connections that Squid takes from the kernel and drops before they are any: it wakes up for them again and
 * again, and accepts none.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"

/* So many passes in a row, within so many ns, for so many ns, after so many connections that were accepted. */
#define LEAST 50
#define WITHIN INT64_C(30000000000)
#define LONG INT64_C(3000000000)
#define BEFORE 20
/* A reconfiguration so long before is named, ns. */
#define SOON INT64_C(2000000000)
/* Squid accepts connections for the data of FTP, too, and that is not told: so long around what is known of FTP, ns. */
#define FTP INT64_C(30000000000)
/* Kids are known up to this number. */
#define KIDS 64

struct unaccepted_row {
    uint64_t passes;
    int64_t since, until;
    int quick;                /* LEAST of them were WITHIN */
    uint64_t accepted;        /* before it */
    int64_t reconfigured;     /* last, before it or soon after its begin; 0: never */
    char port[SQT_TOLD_NAME]; /* of the last one that was accepted before it */
};

struct unaccepted {
    uint64_t accepted;
    int64_t last, reconfigured; /* when a connection was accepted, and Squid was reconfigured; 0: never */
    int64_t ftp;                /* until when FTP is known of; 0: never */
    int off;                    /* accepts are not traced: the group is off */
    char port[SQT_TOLD_NAME];   /* of the last one that was accepted */
    struct unaccepted_row row, longest;
    int64_t begins[LEAST];         /* of the last passes of the row */
    uint64_t kids;                 /* that have passes, as bits */
    unsigned workers, coordinator; /* how many passes workers have, up to 1; the number of that kid, 0: it has none */
};

/* What is known of FTP from one time to another: rows of that time are none. */
static void
unaccepted_ftp(struct unaccepted *u, int64_t from, int64_t until)
{
    u->ftp = until > u->ftp ? until : u->ftp;
    if (u->row.passes && u->row.until > from - FTP)
        u->row.passes = 0;
    if (u->longest.passes && u->longest.until > from - FTP && u->longest.since < until + FTP)
        u->longest.passes = 0;
}

/* A server whose name has the port of FTP. */
static int
is_ftp_server(const struct sqt_origin *origin, uint32_t server)
{
    const char *const name = server == UINT32_MAX ? NULL : sqt_origin_text(origin, SQT_DEF_SERVER, server);
    const size_t length = name ? strlen(name) : 0;
    return length > 3 && strcmp(name + length - 3, ":21") == 0;
}

static int
is_ftp_port(const char *listener)
{
    return listener && strncmp(listener, "ftp_port", 8) == 0;
}

static void
unaccepted_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    (void)fact;
    (void)felt;
    if (is_ftp_port(xact->listener == UINT32_MAX ? NULL
                                                 : sqt_origin_text(xact->origin, SQT_DEF_LISTENER, xact->listener)) ||
        is_ftp_server(xact->origin, xact->server))
        unaccepted_ftp(state, xact->begin, xact->end);
}

static void
unaccepted_connection(void *state, const struct sqt_attempt *attempt)
{
    const char *const kind = sqt_origin_text(attempt->origin, SQT_DEF_PEER_KIND, attempt->peer_kind);
    if ((kind && strcmp(kind, "FTP data") == 0) || is_ftp_server(attempt->origin, attempt->server))
        unaccepted_ftp(state, attempt->begin, attempt->end);
}

static void
unaccepted_accept(void *state, const struct sqt_accept_row *row)
{
    struct unaccepted *const u = state;
    const char *const port = sqt_origin_text(row->origin, SQT_DEF_LISTENER, row->listener);
    ++u->accepted;
    u->last = row->at;
    u->row.passes = 0;
    snprintf(u->port, sizeof(u->port), "%s", port ? port : "");
    if (is_ftp_port(port))
        unaccepted_ftp(u, row->at, row->at);
}

/* No connection is accepted then, and that is meant. */
static void
unaccepted_put_off(void *state, const struct sqt_put_off_row *row)
{
    (void)row;
    ((struct unaccepted *)state)->row.passes = 0;
}

static void
unaccepted_incident(void *state, const struct sqt_incident_row *row)
{
    if (row->event == SQT_EV_CONN_OVER_LIMIT)
        ((struct unaccepted *)state)->row.passes = 0;
}

static void
unaccepted_setup(void *state, const struct sqt_setup_row *row)
{
    struct unaccepted *const u = state;
    if (row->event != SQT_EV_RECONFIGURE && row->event != SQT_EV_START)
        return;
    u->off = !(row->groups & SQT_GROUP_CLIENT);
    if (u->off)
        u->row.passes = 0;
    if (row->event != SQT_EV_RECONFIGURE)
        return;
    u->reconfigured = row->at;
    if (u->row.passes && row->at - u->row.since < SOON)
        u->row.reconfigured = row->at;
}

/* Workers share ports: whether all kids are there that could accept.  The coordinator has the last number. */
static int
has_all_kids(const struct unaccepted *u)
{
    const uint64_t others = u->coordinator ? (UINT64_C(1) << u->coordinator) - 2 : 0;
    return !u->workers || (u->coordinator && (u->kids & others) == others);
}

static void
unaccepted_kid(struct unaccepted *u, const struct sqt_identity *kid)
{
    u->workers |= kid->kid_kind == SQT_KID_WORKER;
    if (kid->kid >= KIDS)
        return;
    u->kids |= UINT64_C(1) << kid->kid;
    if (kid->kid_kind == SQT_KID_COORDINATOR)
        u->coordinator = kid->kid;
}

static void
unaccepted_loop(void *state, const struct sqt_loop_row *pass)
{
    struct unaccepted *const u = state;
    struct unaccepted_row *const row = &u->row;
    const char *const activity =
        pass->activity == UINT32_MAX ? NULL : sqt_origin_text(pass->origin, SQT_DEF_ACTIVITY, pass->activity);
    unaccepted_kid(u, &pass->origin->identity);
    if (u->off || u->accepted < BEFORE || !activity || !strstr(activity, "TcpAcceptor::doAccept") ||
        u->last >= pass->work || (u->ftp && pass->work - u->ftp < FTP))
        return;
    if (!row->passes) {
        *row = (struct unaccepted_row){.since = pass->work, .accepted = u->accepted, .reconfigured = u->reconfigured};
        snprintf(row->port, sizeof(row->port), "%s", u->port);
    }
    int64_t *const before = &u->begins[row->passes++ % LEAST];
    if (row->passes >= LEAST && pass->work - u->begins[row->passes % LEAST] < WITHIN)
        row->quick = 1;
    *before = pass->work;
    row->until = pass->end;
    if (row->quick && row->passes > u->longest.passes)
        u->longest = *row;
}

static void
unaccepted_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct unaccepted *const u = state;
    const struct unaccepted_row *const x = &u->longest;
    const int reconfigured = x->reconfigured && x->since - x->reconfigured < SOON;
    struct sqt_told *const told =
        x->passes < LEAST || x->until - x->since < LONG || !has_all_kids(u)
            ? NULL
            : sqt_tolds_add(tolds, "not_accepted", SQT_HARM_FAILURE, x->passes * (uint64_t)SQT_FAILURE_NS);
    if (!told)
        return;
    told->since = x->since;
    told->until = x->until;
    told->pattern = totals->end - x->until < LONG ? SQT_PATTERN_SINCE : SQT_PATTERN_ONCE;
    told->requests = told->failures = x->passes;
    snprintf(told->culprit, sizeof(told->culprit), "%s", *x->port ? x->port : "listening ports");
    sqt_told_print(
        told->sentence,
        "From %.1f s to %.1f s of the trace nobody could connect to %s: Squid woke up for new connections %llu "
        "times or more, and accepted none of them.%s Of those before, it accepted %llu.",
        (double)x->since / 1e9, (double)x->until / 1e9, told->culprit, (unsigned long long)x->passes,
        reconfigured ? " Squid was reconfigured just then." : "", (unsigned long long)x->accepted);
    sqt_told_print(
        told->advice,
        "cache.log says why. NAT lookup failed: http_port has intercept or tproxy, and clients connect to it "
        "directly, or the rule of the firewall is gone. Else it has the error of accept(2).");
    sqt_told_print(told->command, "sqtrace-dump --table=loops --where='time_s > %.0f' TRACE", (double)x->since / 1e9);
}

const struct sqt_look sqt_look_unaccepted = {.size = sizeof(struct unaccepted),
                                             .request = unaccepted_request,
                                             .connection = unaccepted_connection,
                                             .accept = unaccepted_accept,
                                             .put_off = unaccepted_put_off,
                                             .incident = unaccepted_incident,
                                             .setup = unaccepted_setup,
                                             .loop = unaccepted_loop,
                                             .tell = unaccepted_tell};
