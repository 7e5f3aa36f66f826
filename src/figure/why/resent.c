/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * resent.c - what was lost on the way to clients.  For Squid a reply is sent when the kernel has taken it, so no request has
 * that time; what TCP knew of the connection when it closed tells of it.
 *
 * A connection whose client never acknowledged the last bytes is a failure.  Else each segment that was sent again cost a
 * round trip and TCP's shortest time-out, at most, and all of them no more than the time in which bytes were on their way.
 */
#include <stdio.h>

#include "figure/finding/look.h"
#include "figure/finding/spell.h"

/* ns: TCP's shortest time-out, TCP_RTO_MIN of Linux (RFC 6298 has 1 s). */
#define TIME_OUT INT64_C(200000000)
/* Bytes were on their way for so many ns: before that, the client may just have left. */
#define LEAST_BUSY INT64_C(1000000000)
/* Fewer connections, or segments that came late, are no finding; nor is a smaller part of all connections in that time,
 * in %.  A browser keeps few connections for long. */
#define LEAST 5
#define LEAST_AGAIN 20
#define SHARE 2
/* What was lost and came later counts if it is so many ns of the mean request, and so many % of the time of all. */
#define LEAST_MEAN INT64_C(2000000)
#define LEAST_TIME 10
/* Series of sums by time. */
enum { ALL = 1, GONE, LATE };

#define WHO \
    " The connections are those with conn == id in table requests, where --access-log adds column client, the " \
    "address."

struct resent_sum {
    uint64_t connections, sent_again, sent, unacked;
    double ns;
};

struct resent {
    struct sqt_when when;
    struct resent_sum gone, late;
};

static void
resent_client_closed(void *state, const struct sqt_client_closed_row *row)
{
    sqt_when_add(&((struct resent *)state)->when, ALL, row->at, 0, 1);
}

static void
resent_incident(void *state, const struct sqt_incident_row *row)
{
    struct resent *const r = state;
    if (row->event != SQT_EV_CLIENT_RESENT || !row->sent || row->took == SQT_MISSING)
        return;
    const int gone = row->unacked && row->took >= LEAST_BUSY;
    const double most = (double)row->count * ((double)TIME_OUT + (double)row->rtt);
    struct resent_sum *const sum = gone ? &r->gone : &r->late;
    ++sum->connections;
    sum->sent_again += row->count;
    sum->sent += row->sent;
    sum->unacked += row->unacked;
    sum->ns += gone || most > (double)row->took ? (double)row->took : most;
    sqt_when_add(&r->when, gone ? GONE : LATE, row->at, 0, 1);
}

/* A new finding with culprit and times; NULL: there is none, or no room.  What is known at the close of a connection began
 * before. */
static struct sqt_told *
resent_add(struct resent *r, struct sqt_tolds *tolds, const char *cause, const struct resent_sum *sum, uint32_t series,
           struct sqt_spell *spell)
{
    const enum sqt_harm harm = series == GONE ? SQT_HARM_FAILURE : SQT_HARM_WAITING;
    struct sqt_told probe = {.since = 0};
    if (series == GONE ? sum->connections < LEAST : sum->sent_again < LEAST_AGAIN)
        return NULL;
    *spell = sqt_spell_tell(&probe, &r->when, series, ALL);
    if (sqt_spell_percent(spell->met, spell->all) < SHARE)
        return NULL;
    const uint64_t failures = series == GONE ? sum->connections : 0;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, cause, harm, failures * (uint64_t)SQT_FAILURE_NS + sqt_told_ns(sum->ns));
    if (!told)
        return NULL;
    const double since = (double)probe.since - sum->ns / (double)sum->connections; /* a trace may say any time */
    told->since = since > 0 ? sqt_whole(since) : 0;
    told->until = probe.until;
    told->pattern = probe.pattern;
    told->failures = failures;
    told->waiting = sqt_told_ns(sum->ns);
    snprintf(told->culprit, sizeof(told->culprit), "clients");
    sqt_told_print(told->command, "sqtrace-dump --table=events --where='event == CLIENT_RESENT' TRACE");
    return told;
}

static void
resent_tell_gone(struct resent *r, struct sqt_tolds *tolds)
{
    const struct resent_sum *const sum = &r->gone;
    struct sqt_spell spell;
    struct sqt_told *const told = resent_add(r, tolds, "undelivered", sum, GONE, &spell);
    char when[128];
    if (!told)
        return;
    sqt_told_print(
        told->sentence,
        "%s, %llu of %llu connections of clients ended with bytes that were lost on the way to the client, %.0f in "
        "the mean: Squid had answered, and TCP tried for %.1f s in the mean, without an acknowledgment.",
        sqt_told_when(when, sizeof(when), told), (unsigned long long)spell.met, (unsigned long long)spell.all,
        (double)sum->unacked / (double)sum->connections, sum->ns / (double)sum->connections / 1e9);
    sqt_told_print(
        told->advice,
        "The way to these clients, not Squid. If small replies reach them and large ones do not, their path takes no "
        "packets of full size (a VPN, PPPoE, a filter for ICMP): set a smaller MSS for it (ip route change ... "
        "advmss 1200, or mtu), or net.ipv4.tcp_mtu_probing=1. Else a firewall, or a link that is down." WHO);
}

static void
resent_tell_late(struct resent *r, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct resent_sum *const sum = &r->late;
    struct sqt_spell spell;
    char when[128];
    if (sum->ns < (double)LEAST_MEAN * (double)totals->requests ||
        sum->ns * 100 < (double)totals->total_ns * LEAST_TIME)
        return;
    struct sqt_told *const told = resent_add(r, tolds, "lost_to_clients", sum, LATE, &spell);
    if (!told)
        return;
    sqt_told_print(
        told->sentence,
        "%s, packets to clients were lost on %llu of %llu of their connections: TCP sent %llu of %llu segments again, "
        "for which clients waited up to %.1f s, in no stage of a request.",
        sqt_told_when(when, sizeof(when), told), (unsigned long long)spell.met, (unsigned long long)spell.all,
        (unsigned long long)sum->sent_again, (unsigned long long)sum->sent, sum->ns / 1e9);
    sqt_told_print(
        told->advice,
        "The network to these clients, not Squid: look for the link that loses packets (mtr, ethtool -S, Wi-Fi, a line "
        "that is full). net.ipv4.tcp_congestion_control=bbr makes it felt less." WHO);
}

static void
resent_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct resent *const r = state;
    sqt_when_sort(&r->when);
    resent_tell_gone(r, tolds);
    resent_tell_late(r, totals, tolds);
}

static void
resent_end(void *state)
{
    sqt_when_free(&((struct resent *)state)->when);
}

const struct sqt_look sqt_look_resent = {.size = sizeof(struct resent),
                                         .client_closed = resent_client_closed,
                                         .incident = resent_incident,
                                         .tell = resent_tell,
                                         .end = resent_end};
