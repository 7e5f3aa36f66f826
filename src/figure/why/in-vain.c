/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * in-vain.c - servers to which nearly all connections fail, so that requests wait for them and are then sent elsewhere.
 *
 * It adds to the finding about connecting.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define SERVERS 1024
/* So many attempts fail, and that part of the attempts, in %; their time is that part of the time of all attempts, in %. */
#define LEAST 10
#define NEARLY_ALL 95
#define MOST 80
/* That part of the requests goes to one server afterwards, in %. */
#define SAME 80

struct vain {
    struct sqt_name_entry named;
    uint64_t tried, failed, timed_out, direct; /* new connections; of those that fail: direct to a server */
    double failed_ns;
};

struct vains {
    struct sqt_names servers; /* of struct vain */
    double ns;                /* of all attempts */
    struct {
        char name[SQT_TOLD_NAME];
        uint64_t votes, count, all;
    } then; /* who answered after a try that failed: the name that most of them have, if one has */
};

static void
vain_connection(void *state, const struct sqt_attempt *attempt)
{
    struct vains *const v = state;
    const char *const name =
        attempt->server == UINT32_MAX ? NULL : sqt_origin_text(attempt->origin, SQT_DEF_SERVER, attempt->server);
    const int failed = attempt->outcome == SQT_OUTCOME_ERROR || attempt->outcome == SQT_OUTCOME_TIMEOUT;
    if (!name || attempt->reused || !attempt->xact || (!failed && attempt->outcome != SQT_OUTCOME_COMPLETE))
        return;
    const char *const kind = sqt_origin_text(attempt->origin, SQT_DEF_PEER_KIND, attempt->peer_kind);
    const double ns =
        (double)((attempt->connected == SQT_MISSING ? attempt->end : attempt->connected) - attempt->begin);
    v->servers.size = sizeof(struct vain);
    v->servers.most = SERVERS;
    struct vain *const its = sqt_names_get(&v->servers, name);
    v->ns += ns;
    ++its->tried;
    if (!failed || attempt->connected != SQT_MISSING)
        return;
    ++its->failed;
    its->failed_ns += ns;
    its->timed_out += attempt->outcome == SQT_OUTCOME_TIMEOUT;
    its->direct += kind && strcmp(kind, "direct") == 0;
}

static void
vain_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct vains *const v = state;
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    (void)felt;
    if (xact->tries < 2 || !name || xact->status >= 500 || strlen(name) >= SQT_TOLD_NAME)
        return;
    ++v->then.all;
    if (!v->then.votes) {
        snprintf(v->then.name, sizeof(v->then.name), "%s", name);
        v->then.count = 0;
    }
    const int same = strcmp(v->then.name, name) == 0;
    v->then.votes = same ? v->then.votes + 1 : v->then.votes - 1;
    v->then.count += (uint64_t)same;
}

static int
is_in_vain(const struct vain *its)
{
    return !sqt_names_is_others(&its->named) && its->failed && its->failed * 100 >= its->tried * NEARLY_ALL;
}

static void
vain_sum(struct vain *sum, const struct vain *its)
{
    sum->tried += its->tried;
    sum->failed += its->failed;
    sum->timed_out += its->timed_out;
    sum->direct += its->direct;
    sum->failed_ns += its->failed_ns;
}

/* That some connections took as long as after a packet that is lost is not so of those that never came about. */
static void
vain_without_syns(struct sqt_told *told)
{
    char *const syns = strstr(told->sentence, " of them took 1 s or 3 s");
    char *from = syns;
    while (from && from > told->sentence && from[-1] != '.')
        --from;
    const char *const end = syns ? strchr(syns, '.') : NULL;
    if (end)
        memmove(from, end + 1, strlen(end + 1) + 1);
}

static void
vain_add(const struct vains *v, const struct vain *sum, unsigned servers, struct sqt_told *told)
{
    char each[SQT_HUMAN_ROOM], whom[64], then[2 * SQT_TOLD_NAME] = "";
    const int direct = sum->direct * 100 >= sum->failed * NEARLY_ALL;
    vain_without_syns(told);
    size_t used = strlen(told->sentence);
    if (servers > 1)
        snprintf(whom, sizeof(whom), "%u servers", servers);
    else
        snprintf(whom, sizeof(whom), "it");
    if (v->then.all >= LEAST && v->then.count * 100 >= v->then.all * SAME)
        snprintf(then, sizeof(then),
                 direct ? " Squid goes direct first. Only when that has failed, %s is asked, and answers."
                        : " Then %s is asked, and answers.",
                 v->then.name);
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " %llu of %llu attempts to connect to %s fail%s, after %s in the mean.%s", (unsigned long long)sum->failed,
             (unsigned long long)sum->tried, whom,
             sum->timed_out * 100 >= sum->failed * NEARLY_ALL ? ", because no answer came in time (connect_timeout)"
                                                              : "",
             sqt_human_time(each, sum->failed_ns / (double)sum->failed, " ", "us"), then);
    if (direct && *then)
        sqt_told_print(
            told->advice,
            "If nobody gets out direct here, as behind a firewall: never_direct allow all. Or ask the cache_peer "
            "first: nonhierarchical_direct off, no prefer_direct on, and no always_direct. Else look at the "
            "firewall and the route to these servers. connect_timeout: give up earlier.");
    else
        sqt_told_print(told->advice,
                       "Look why nobody answers there: a host that is down, a firewall, or a route. Leave it "
                       "out until it is back. connect_timeout (of a cache_peer: connect-timeout=): give up "
                       "earlier.");
    sqt_told_print(told->command,
                   "sqtrace-dump --table=connections --where='outcome == error or outcome == timeout' TRACE");
}

static void
vain_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct vains *const v = state;
    struct vain sum = {.tried = 0};
    unsigned servers = 0;
    struct sqt_told *const all = sqt_tolds_find(tolds, "connect", NULL, 0);
    (void)totals;
    for (const struct sqt_name_entry *named = v->servers.first; named; named = named->next) {
        const struct vain *const its = (const struct vain *)named;
        if (!is_in_vain(its))
            continue;
        struct sqt_told *const told = sqt_tolds_find(tolds, "connect_server", named->name, 0);
        if (told && its->failed >= LEAST)
            vain_add(v, its, 1, told);
        vain_sum(&sum, its);
        ++servers;
    }
    if (all && servers > 1 && sum.failed >= LEAST && sum.failed_ns * 100 >= v->ns * MOST)
        vain_add(v, &sum, servers, all);
}

static void
vain_end(void *state)
{
    sqt_names_free(&((struct vains *)state)->servers);
}

const struct sqt_look sqt_look_in_vain = {.size = sizeof(struct vains),
                                          .connection = vain_connection,
                                          .request = vain_request,
                                          .tell = vain_tell,
                                          .end = vain_end};
