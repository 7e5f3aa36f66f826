/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * neighbors.c - neighbours that answer no query (ICP, HTCP), so that Squid waits for them until its time is up.
 *
 * Who does not answer is in no event.  It is one of the cache_peers that Squid tries to connect to, and that answer nobody;
 * but it tries also those that it asks nothing (no-query).  So they are named only where they are as many as the answers
 * that are missing.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* So many requests, and that part of the time of all, in %. */
#define LEAST 10
#define SHARE 20
#define PEERS 64

struct neighbor {
    struct sqt_name_entry named;
    uint64_t answers;
};

struct neighbors {
    struct sqt_names peers; /* of struct neighbor */
    uint64_t count, ns;     /* requests that waited in vain */
    uint64_t most_missing;  /* answers, of one request */
    int unheard;            /* more answered one request than are kept */
    int64_t since, until;
};

static struct neighbor *
neighbors_get(struct neighbors *n, const char *name)
{
    n->peers.size = sizeof(struct neighbor);
    n->peers.most = PEERS;
    return name ? sqt_names_get(&n->peers, name) : NULL;
}

static void
neighbors_incident(void *state, const struct sqt_incident_row *row)
{
    if (row->event == SQT_EV_PEER_PROBED)
        neighbors_get(state, sqt_incident_who(row));
}

/* All that answered it, not only the last. */
static void
neighbors_hear(struct neighbors *n, const struct sqt_xact *xact)
{
    for (uint32_t i = 0; i < xact->neighbors_heard_count && i < SQT_HEARD; ++i) {
        struct neighbor *const who =
            neighbors_get(n, sqt_origin_text(xact->origin, SQT_DEF_PEER, xact->neighbors_heard[i]));
        if (who)
            ++who->answers;
    }
    n->unheard |= xact->neighbors_heard_count > SQT_HEARD;
}

static void
neighbors_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct neighbors *const n = state;
    (void)felt;
    neighbors_hear(n, xact);
    if (xact->neighbors_missing <= 0)
        return;
    n->since = n->count ? n->since : xact->begin;
    n->until = xact->end > n->until ? xact->end : n->until;
    n->most_missing =
        (uint64_t)xact->neighbors_missing > n->most_missing ? (uint64_t)xact->neighbors_missing : n->most_missing;
    n->ns += (uint64_t)sqt_row_sum(fact->row, SQT_NS(peer_select));
    ++n->count;
}

/* Those that answer nobody.  Returns how many they are. */
static unsigned
neighbors_mute(const struct neighbors *n, char names[SQT_TOLD_NAME])
{
    size_t used = 0;
    unsigned count = 0;
    *names = '\0';
    for (const struct sqt_name_entry *named = n->peers.first; named && used < SQT_TOLD_NAME; named = named->next)
        if (!((const struct neighbor *)named)->answers && !sqt_names_is_others(named)) {
            used += (size_t)snprintf(names + used, SQT_TOLD_NAME - used, "%s%s", used ? ", " : "", named->name);
            ++count;
        }
    return count;
}

static void
neighbors_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"peer_selection", "late_neighbor", NULL};
    const struct neighbors *const n = state;
    char names[SQT_TOLD_NAME], each[SQT_HUMAN_ROOM];
    const unsigned mute = neighbors_mute(n, names);
    const int known = mute && mute == n->most_missing && !n->unheard;
    if (n->count < LEAST || 100 * (double)n->ns < (double)totals->total_ns * SHARE)
        return;
    sqt_instead(tolds, rules, n->ns, SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, "mute_neighbor", SQT_HARM_WAITING, n->ns);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", known ? names : "neighbours");
    told->since = n->since;
    told->until = n->until;
    told->requests = n->count;
    told->waiting = n->ns;
    told->share = sqt_percent((double)n->ns, (double)totals->total_ns);
    sqt_told_print(told->sentence,
                   "%llu requests wait for answers of neighbours (ICP, HTCP) until the time for them is up: %s for "
                   "each. No query was answered by %s%s.",
                   (unsigned long long)n->count, sqt_human_time(each, (double)n->ns / (double)n->count, " ", "us"),
                   mute > n->most_missing ? "one of these at least: " : "",
                   known || mute > n->most_missing ? names : "some of them");
    sqt_told_print(
        told->advice,
        "Is that neighbour up, and does its icp_access allow this Squid? cache_peer: no-query asks it nothing. "
        "icp_query_timeout: how long Squid waits. dead_peer_timeout: from when on it is not waited for.");
    sqt_told_print(told->command, "sqtrace-dump --table=events --where='event == NEIGHBORS_DONE' TRACE");
}

static void
neighbors_end(void *state)
{
    sqt_names_free(&((struct neighbors *)state)->peers);
}

const struct sqt_look sqt_look_neighbors = {.size = sizeof(struct neighbors),
                                            .request = neighbors_request,
                                            .incident = neighbors_incident,
                                            .tell = neighbors_tell,
                                            .end = neighbors_end};
