/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * way.c - whether a server is slow, or the way to it: what TCP knew of its connections when they closed.
 *
 * It adds to what others told of a server: a way that loses packets, or that is long, is told apart from a server that
 * takes its time.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define SERVERS 1024
/* Bytes of a segment with data: a round number for shares. */
#define SEGMENT 1400
/* Fewer say nothing. */
#define CONNECTIONS 5
#define SEGMENTS 200
/* Of so many of a thousand segments one was lost, or overtaken. */
#define LOSSY 5
/* A way is short from here on, ns. */
#define SHORT INT64_C(10000000)

struct way {
    struct sqt_name_entry named;
    uint64_t connections, segments, out_of_order, sent_again;
    int64_t least_rtt; /* ns */
    double rtt;        /* the sum, ns */
};

struct ways {
    struct sqt_names servers; /* of struct way */
};

static void
way_closed(void *state, const struct sqt_closed_row *c)
{
    struct ways *const w = state;
    const char *const server = c->server == UINT32_MAX ? NULL : sqt_origin_text(c->origin, SQT_DEF_SERVER, c->server);
    if (!server || c->least_rtt == SQT_MISSING || c->rtt == SQT_MISSING)
        return;
    w->servers.size = sizeof(struct way);
    w->servers.most = SERVERS;
    struct way *const x = sqt_names_get(&w->servers, server);
    x->least_rtt = !x->connections || c->least_rtt < x->least_rtt ? c->least_rtt : x->least_rtt;
    ++x->connections;
    x->rtt += (double)c->rtt;
    x->segments += (uint64_t)(c->received == SQT_MISSING ? 0 : c->received) / SEGMENT + 1;
    x->out_of_order += (uint64_t)c->out_of_order;
    x->sent_again += (uint64_t)c->sent_again;
}

static int
way_is_lossy(const struct way *x)
{
    return x->segments >= SEGMENTS && x->out_of_order * 1000 >= x->segments * LOSSY;
}

/* What is told is about time that a server takes. */
static int
way_is_of_server(const struct sqt_told *told)
{
    return told->harm == SQT_HARM_WAITING && !told->not_by_way &&
           (strstr(told->cause, "server") || strcmp(told->cause, "lost_packets") == 0);
}

static void
way_tell_one(const struct way *x, const char *whose, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    char *const text = told->sentence + used;
    const size_t room = sizeof(told->sentence) - used;
    if (way_is_lossy(x)) {
        snprintf(
            text, room,
            " %s line loses packets: of about %llu segments that came from it %llu came out of order, and Squid sent "
            "%llu again.",
            whose, (unsigned long long)x->segments, (unsigned long long)x->out_of_order,
            (unsigned long long)x->sent_again);
        sqt_told_print(told->advice,
                       "The network, not the server: look for the link that loses packets (mtr, ethtool -S). "
                       "A cache_peer on the other side of it, or keeping connections, makes it felt less.");
    } else if (x->rtt < (double)SHORT * (double)x->connections && x->out_of_order * 1000 < x->segments &&
               strncmp(told->cause, "far_", 4) != 0 && !strstr(told->sentence, "connecting")) {
        snprintf(text, room,
                 " It is the server and not the line: TCP's round trip to it is %.1f ms, and hardly a packet is lost.",
                 x->rtt / (double)x->connections / 1e6);
    }
}

/* That server's line loses most, of those that lose any; NULL: none does. */
static const struct way *
way_worst(const struct ways *w)
{
    const struct way *worst = NULL;
    for (const struct sqt_name_entry *named = w->servers.first; named; named = named->next) {
        const struct way *const x = (const struct way *)named;
        if (!sqt_names_is_others(named) && x->connections >= CONNECTIONS && way_is_lossy(x) &&
            (!worst || x->out_of_order > worst->out_of_order))
            worst = x;
    }
    return worst;
}

static void
way_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct ways *const w = state;
    const struct way *const worst = way_worst(w);
    char whose[SQT_TOLD_NAME + 8];
    (void)totals;
    if (worst)
        snprintf(whose, sizeof(whose), "%s's", worst->named.name);
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if (way_is_of_server(told) && !*told->culprit && worst)
            way_tell_one(worst, whose, told);
        for (const struct sqt_name_entry *named = w->servers.first; named && *told->culprit; named = named->next)
            if (way_is_of_server(told) && ((const struct way *)named)->connections >= CONNECTIONS &&
                strcmp(told->culprit, named->name) == 0)
                way_tell_one((const struct way *)named, "Its", told);
    }
}

static void
way_end(void *state)
{
    sqt_names_free(&((struct ways *)state)->servers);
}

const struct sqt_look sqt_look_way = {
    .size = sizeof(struct ways), .closed = way_closed, .tell = way_tell, .end = way_end};
