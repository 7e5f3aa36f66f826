/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * versions.c - one version of IP does not work: each connection by it is waited for, and then made by the other one.
 *
 * Squid tries the address that it learns first, and after happy_eyeballs_connect_timeout one of the other version beside
 * it.  What a request waited in vain is the time of the attempt that does not connect.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/look.h"

/* So many attempts, each so long in the mean, and such a share of the time of all requests, or so long in all: ns, %. */
#define LEAST 10
#define EACH INT64_C(20000000)
#define SHARE 2
#define ALL INT64_C(1000000000)
/* A finding is about the same time if that takes so many percent of it. */
#define SAME 75
/* So many of a hundred attempts may connect. */
#define CONNECTED 5

struct version {
    uint64_t tried, connected;
    int64_t ns; /* of those that did not connect */
    int64_t since, until;
    char server[SQT_TOLD_NAME]; /* of all of them; "": of several, or not known */
    int several;
    char instead[SQT_TOLD_NAME]; /* the server, by the other version, that most of these requests got; "": none */
    uint64_t took, other;        /* how many got that one, less others */
};

/* Requests whose attempt did not come about last. */
#define WAITING 64

struct versions {
    struct version of[2]; /* 4, 6 */
    struct {
        const struct sqt_origin *origin;
        uint64_t xact; /* 0: none */
    } waiting[WAITING];
};

static void
versions_server(struct version *v, const struct sqt_attempt *a)
{
    const char *const server = a->server == UINT32_MAX ? NULL : sqt_origin_text(a->origin, SQT_DEF_SERVER, a->server);
    if (v->tried == v->connected)
        snprintf(v->server, sizeof(v->server), "%s", server ? server : "");
    else if (!server || strcmp(server, v->server) != 0)
        v->several = 1;
}

/* The request got a connection by the other version after all. */
static void
versions_instead(struct versions *versions, struct version *v, const struct sqt_attempt *a)
{
    const char *const server = a->server == UINT32_MAX ? NULL : sqt_origin_text(a->origin, SQT_DEF_SERVER, a->server);
    const unsigned place = (unsigned)(a->xact % WAITING);
    if (!server || !a->xact || versions->waiting[place].xact != a->xact || versions->waiting[place].origin != a->origin)
        return;
    versions->waiting[place].xact = 0;
    if (!v->took)
        snprintf(v->instead, sizeof(v->instead), "%s", server);
    ++*(strcmp(v->instead, server) == 0 ? &v->took : &v->other);
}

static void
versions_connection(void *state, const struct sqt_attempt *a)
{
    struct versions *const versions = state;
    struct version *const v = &versions->of[a->version == 6];
    const int connected = a->connected != SQT_MISSING;
    if (!a->version || a->reused || sqt_durations_unknown(a->outcome) || a->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    if (!connected && a->spare && a->outcome == SQT_OUTCOME_ABORTED)
        return; /* the first one won */
    if (connected) {
        versions_instead(versions, &versions->of[a->version != 6], a);
    } else {
        versions->waiting[a->xact % WAITING].xact = a->xact;
        versions->waiting[a->xact % WAITING].origin = a->origin;
        versions_server(v, a);
        v->since = v->tried == v->connected ? a->begin : v->since;
        v->until = a->end > v->until ? a->end : v->until;
        if (__builtin_add_overflow(v->ns, a->end - a->begin, &v->ns))
            v->ns = INT64_MAX;
    }
    ++v->tried;
    v->connected += (uint64_t)connected;
}

static int
versions_fails(const struct version *v, const struct version *other, const struct sqt_look_totals *totals)
{
    const uint64_t failed = v->tried - v->connected;
    return failed >= LEAST && v->connected * 100 <= v->tried * CONNECTED && other->connected &&
           v->ns / (int64_t)failed >= EACH && v->ns >= ALL && (double)v->ns * 100 >= (double)totals->total_ns * SHARE;
}

/* Whether the finding is about what these requests waited: at the server that they got instead. */
static int
versions_is_same(const struct version *v, const struct sqt_told *told)
{
    return *v->instead && v->took >= 9 * v->other && strcmp(told->culprit, v->instead) == 0 &&
           (double)v->ns * 100 >= (double)told->waiting * SAME;
}

/* What is told of the server that no connection by this version reaches is of the same cause: its weight. */
static uint64_t
versions_fold(struct sqt_tolds *tolds, const struct version *v)
{
    uint64_t weight = 0;
    unsigned kept = 0;
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if (told->now) {
            tolds->told[kept++] = told;
        } else if (!v->several && *v->server && told->harm == SQT_HARM_WAITING &&
                   strcmp(told->culprit, v->server) == 0) {
            weight += told->weight;
            sqt_freed(told);
        } else if (told->harm == SQT_HARM_WAITING && versions_is_same(v, told)) {
            sqt_freed(told);
        } else {
            tolds->told[kept++] = told;
        }
    }
    tolds->count = kept;
    return weight;
}

static void
versions_tell_one(const struct version *v, unsigned number, const struct sqt_look_totals *totals,
                  struct sqt_tolds *tolds)
{
    const uint64_t failed = v->tried - v->connected;
    char when[128];
    const uint64_t weight = (uint64_t)v->ns + versions_fold(tolds, v);
    struct sqt_told *const told = sqt_tolds_add(tolds, "dead_ip_version", SQT_HARM_WAITING, weight);
    if (!told)
        return;
    told->since = v->since;
    told->until = v->until;
    told->pattern = v->until - v->since > (totals->end - totals->begin) / 10 * 9  ? SQT_PATTERN_THROUGHOUT
                    : v->until > totals->end - (totals->end - totals->begin) / 10 ? SQT_PATTERN_SINCE
                                                                                  : SQT_PATTERN_ONCE;
    told->requests = failed;
    told->waiting = (uint64_t)v->ns;
    told->share = sqt_percent((double)v->ns, (double)totals->total_ns);
    snprintf(told->culprit, sizeof(told->culprit), "IPv%u%s%s", number, v->several || !*v->server ? "" : " to ",
             v->several ? "" : v->server);
    sqt_told_print(told->sentence,
                   "%s, IPv%u does not work%s%s: %llu of %llu connections by it do not come about, and each is waited "
                   "for for %.0f "
                   "ms until Squid takes IPv%u.",
                   sqt_told_when(when, sizeof(when), told), number, v->several || !*v->server ? "" : " to ",
                   v->several ? "" : v->server, (unsigned long long)failed, (unsigned long long)v->tried,
                   (double)v->ns / (double)failed / 1e6, number == 6 ? 4 : 6);
    sqt_told_print(told->advice,
                   "Mend the way of IPv%u, or let it fail at once: without a route for it (ip -%u route) no attempt is "
                   "waited for. happy_eyeballs_connect_timeout: how long Squid waits before it tries the other one.%s",
                   number, number, v->several ? "" : " Or take that address out of the DNS.");
    sqt_told_print(told->command, "sqtrace-dump --table=connections --where='ip_version == %u and reused == 0' TRACE",
                   number);
}

static void
versions_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct versions *const v = state;
    for (unsigned i = 0; i < 2; ++i)
        if (versions_fails(&v->of[i], &v->of[!i], totals))
            versions_tell_one(&v->of[i], i ? 6 : 4, totals, tolds);
}

const struct sqt_look sqt_look_versions = {
    .size = sizeof(struct versions), .connection = versions_connection, .tell = versions_tell};
