/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stopped.c - replies that begin and then stop: the header comes, perhaps a piece of the body, and nothing more until the
 * client leaves.  A slow body is another thing: it comes.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* A body that stands still: so long, in ns, at fewer bytes a second. */
#define STANDS INT64_C(1000000000)
#define RATE 150
/* So many of a server, and that part of its replies, in %. */
#define LEAST 5
#define SHARE 5
#define SERVERS 1024
/* What a packet holds, bytes. */
#define PACKET 1460

struct stopped {
    struct sqt_names servers;
};

struct stopped_server {
    struct sqt_name_entry named;
    uint64_t count, stopped;
    double ns, bytes;   /* of those that stopped */
    int64_t whole, cut; /* bytes of the largest whole body, and of the smallest one that stopped; -1: none known */
    int64_t since, until;
};

static void
stopped_add(struct stopped_server *s, const struct sqt_xact *xact, int64_t took)
{
    s->since = !s->stopped || xact->begin < s->since ? xact->begin : s->since;
    s->until = xact->end > s->until ? xact->end : s->until;
    ++s->stopped;
    s->ns += (double)took;
    s->bytes += (double)xact->fetched;
    if (xact->size != SQT_MISSING && (s->cut < 0 || xact->size < s->cut))
        s->cut = xact->size;
}

static void
stopped_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct stopped *const w = state;
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    const int64_t took = sqt_row_sum(fact->row, SQT_NS(server_reply));
    const int left = xact->outcome == SQT_OUTCOME_ABORTED || xact->outcome == SQT_OUTCOME_UNFINISHED;
    (void)felt;
    if (!name || fact->class == SQT_CLASS_TUNNEL || xact->fetched <= 0)
        return;
    w->servers.size = sizeof(struct stopped_server);
    w->servers.most = SERVERS;
    struct stopped_server *const s = sqt_names_get(&w->servers, name);
    if (!s->count++)
        s->whole = s->cut = -1;
    if (left && took >= STANDS && (double)xact->fetched * 1e9 < (double)took * RATE)
        stopped_add(s, xact, took);
    else if (xact->outcome == SQT_OUTCOME_COMPLETE && xact->size != SQT_MISSING && xact->size > s->whole)
        s->whole = xact->size;
}

/* Whether something that is told makes its bodies stop. */
static int
stopped_is_told(const struct sqt_tolds *tolds, const char *name)
{
    return sqt_tolds_find(tolds, "full_line", NULL, 0) || sqt_tolds_find(tolds, "no_answer", name, 0);
}

static void
stopped_told(const struct stopped_server *s, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM], bytes[SQT_HUMAN_ROOM], whole[SQT_HUMAN_ROOM], cut[SQT_HUMAN_ROOM];
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "stopped_bodies", SQT_HARM_FAILURE, s->stopped * SQT_FAILURE_NS + sqt_told_ns(s->ns));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", s->named.name);
    told->since = s->since;
    told->until = s->until;
    told->requests = told->failures = s->stopped;
    told->waiting = sqt_told_ns(s->ns);
    told->share = sqt_percent(s->ns, (double)totals->total_ns);
    sqt_told_print(told->sentence,
                   "%llu of %llu replies of %s stop: %s come, and then nothing for %s, until their clients leave.",
                   (unsigned long long)s->stopped, (unsigned long long)s->count, s->named.name,
                   sqt_human_bytes(bytes, s->bytes / (double)s->stopped),
                   sqt_human_time(each, s->ns / (double)s->stopped, " ", "us"));
    const size_t used = strlen(told->sentence);
    if (s->whole >= 0 && s->whole < PACKET && s->cut > s->whole)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " Bodies of up to %s are whole, and none of %s or more is: it may be that large packets are lost on "
                 "the way "
                 "(MTU).",
                 sqt_human_bytes(whole, (double)s->whole), sqt_human_bytes(cut, (double)s->cut));
    sqt_told_print(told->advice,
                   "Ask that server by hand for the same, from the same machine. If it sends all of it at once, "
                   "look at what stands between. read_timeout: for how long Squid waits for the next byte.");
    sqt_finding_text(told->command, SQT_TOLD_TEXT, "sqtrace-dump --where='{server} and outcome != complete' TRACE",
                     &(struct sqt_finding_values){.culprit = s->named.name});
    sqt_tolds_supersede(tolds, told);
}

static void
stopped_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct stopped *const w = state;
    for (const struct sqt_name_entry *named = w->servers.first; named; named = named->next) {
        const struct stopped_server *const s = (const struct stopped_server *)named;
        if (!sqt_names_is_others(named) && s->stopped >= LEAST && s->stopped * 100 >= s->count * SHARE &&
            !stopped_is_told(tolds, s->named.name))
            stopped_told(s, totals, tolds);
    }
}

static void
stopped_end(void *state)
{
    sqt_names_free(&((struct stopped *)state)->servers);
}

const struct sqt_look sqt_look_stopped = {
    .size = sizeof(struct stopped), .request = stopped_request, .tell = stopped_tell, .end = stopped_end};
