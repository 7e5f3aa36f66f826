/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * line.c - a line that all share and that is full, to servers or to clients.
 *
 * Bodies of SQT_FINDING_RATE or more are not counted: they have the line that they need.  If most bytes come from one server,
 * that is where the line ends.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "ceiling.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define SECOND 1e9
/* That part of the time of all requests, in %, and of all bytes that one server has. */
#define SHARE 10
#define ONE_SERVER 80
#define SERVERS 1024
/* So few of all bodies, in %, that have that part of the bytes, in %. */
#define FEW 10
#define MOST 50

enum line_to { TO_SERVERS, TO_CLIENTS, LINES };

static const struct line_words {
    const char *name, *bodies, *advice, *command, *rules[8];
    uint64_t stages; /* what such a line makes longer */
} line_words[LINES] = {
    [TO_SERVERS] =
        {"line to servers",
         "bodies",
         "A faster line, or fewer bytes on it: cache_mem, cache_dir and maximum_object_size keep more of them. "
         "delay_pools divide the line, so that small replies do not wait for large ones. Look for what else "
         "uses the line.",
         "sqtrace-dump --where='server_reply_ns > 1s' TRACE",
         {"slow_servers", "far_servers", "lost_packets", "connect", "reply_wait", "joined_fetch", "collapsed"},
         SQT_NS(connect) | SQT_NS(tls) | SQT_NS(request_send) | SQT_NS(server_wait) | SQT_NS(server_reply) |
             SQT_NS(reply_wait) | SQT_NS(collapsed_wait)},
    [TO_CLIENTS] =
        {"line to clients",
         "replies",
         "client_delay_pools limit what a client gets: raise client_delay_parameters, if they are set. Else the "
         "line from Squid to its clients is too small for what they ask for.",
         "sqtrace-dump --where='proxy_reply_ns > 1s' TRACE",
         {"slow_clients"},
         SQT_NS(proxy_reply)},
};

struct line_server {
    struct sqt_name_entry named;
    double bytes;
};

struct lines {
    struct line {
        struct sqt_ceiling ceiling;
        double bytes;  /* of slow bodies */
        double waited; /* of all requests, beyond what bytes need; ns */
        struct {
            uint64_t count;
            double bytes;
        } octaves[64], all; /* bodies, by their bytes, in bits */
        uint64_t requests;
        int64_t since, until;
    } lines[LINES];
    struct sqt_names servers;
};

static double
line_slow(double ns, double bytes)
{
    const double slow = ns - bytes / SQT_FINDING_RATE * SECOND;
    return slow > 0 ? slow : 0;
}

/* Returns whether the body is a slow one.  It ends at `until` of the trace. */
static int
line_body(struct line *l, int64_t took, int64_t until, double bytes)
{
    if (took <= 0 || until < took || bytes < 1 || line_slow((double)took, bytes) <= 0)
        return 0;
    sqt_ceiling_add(&l->ceiling, until - took, until, bytes);
    l->since = l->bytes > 0 && l->since < until - took ? l->since : until - took;
    l->until = until > l->until ? until : l->until;
    l->bytes += bytes;
    const unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)bytes);
    ++l->octaves[octave].count;
    l->octaves[octave].bytes += bytes;
    ++l->all.count;
    l->all.bytes += bytes;
    return 1;
}

static void
line_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct lines *const s = state;
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    const double sent = xact->sent == SQT_MISSING ? 0 : (double)xact->sent, fetched = (double)xact->fetched;
    (void)felt;
    for (unsigned to = 0; to < LINES; ++to) {
        struct line *const l = &s->lines[to];
        const double waited =
            line_slow((double)sqt_row_sum(fact->row, line_words[to].stages), sent > fetched ? sent : fetched);
        l->waited += waited;
        l->requests += waited > 0;
    }
    line_body(&s->lines[TO_CLIENTS], sqt_row_sum(fact->row, SQT_NS(proxy_reply)), xact->end, sent);
    if (xact->server_until != SQT_MISSING &&
        line_body(&s->lines[TO_SERVERS], sqt_row_sum(fact->row, SQT_NS(server_reply)), xact->server_until, fetched)) {
        s->servers.size = sizeof(struct line_server);
        s->servers.most = SERVERS;
        ((struct line_server *)sqt_names_get(&s->servers, name ? name : ""))->bytes += fetched;
    }
}

/* The one server that most bytes come from; NULL: there is none. */
static const char *
line_server(const struct lines *s)
{
    const struct line_server *most = NULL;
    for (const struct sqt_name_entry *named = s->servers.first; named; named = named->next)
        if (!most || ((const struct line_server *)named)->bytes > most->bytes)
            most = (const struct line_server *)named;
    return most && *most->named.name && !sqt_names_is_others(&most->named) &&
                   most->bytes * 100 >= s->lines[TO_SERVERS].bytes * ONE_SERVER
               ? most->named.name
               : NULL;
}

/* A few large bodies that have most of the bytes: all others wait beside them. */
static void
line_add_few(const struct line *l, const char *bodies, struct sqt_told *told)
{
    char large[SQT_HUMAN_ROOM];
    uint64_t count = 0;
    double bytes = 0;
    for (unsigned octave = 63; octave > 0; --octave) {
        count += l->octaves[octave].count;
        bytes += l->octaves[octave].bytes;
        if (count * 100 > l->all.count * FEW)
            return;
        if (bytes * 100 < l->all.bytes * MOST)
            continue;
        const size_t used = strlen(told->sentence);
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " A few large ones take it: %llu of the %llu %s that waited have %.0f %% of the bytes, %s each in the "
                 "mean.",
                 (unsigned long long)count, (unsigned long long)l->all.count, bodies, 100 * bytes / l->all.bytes,
                 sqt_human_bytes(large, bytes / (double)count));
        return;
    }
}

static void
line_told(const struct lines *s, enum line_to to, const struct sqt_ceiling_mean *few,
          const struct sqt_ceiling_mean *many, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char less[SQT_HUMAN_ROOM], rate[SQT_HUMAN_ROOM];
    const struct line *const l = &s->lines[to];
    const struct line_words *const w = &line_words[to];
    const char *const server = to == TO_SERVERS ? line_server(s) : NULL;
    sqt_instead(tolds, w->rules, sqt_told_ns(l->waited), SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, "full_line", SQT_HARM_WAITING, sqt_told_ns(l->waited));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", server ? server : w->name);
    told->since = l->since;
    told->until = l->until;
    told->requests = l->requests;
    told->waiting = sqt_told_ns(l->waited);
    told->share = sqt_percent(l->waited, (double)totals->total_ns);
    sqt_human_bytes(less, few->rate);
    sqt_human_bytes(rate, many->rate);
    sqt_told_print(told->sentence,
                   "The %s%s is full: with %.0f %s at once they bring %s/s together, with %.0f at once %s/s, "
                   "which is %.1f KB/s for each.%s",
                   server ? "line to " : "", server ? server : w->name, few->at_once, w->bodies, less, many->at_once,
                   rate, many->rate / many->at_once / 1e3,
                   to == TO_CLIENTS ? " Or client_delay_pools limit them to that rate." : "");
    line_add_few(l, w->bodies, told);
    sqt_told_print(told->advice, "%s", w->advice);
    sqt_told_print(told->command, "%s", w->command);
    sqt_tolds_supersede(tolds, told);
}

/* Whether Squid itself is what is slow: then its clients wait for it. */
static int
is_loop_held(const struct sqt_tolds *tolds, const struct line *l)
{
    static const char *const causes[] = {"not_running", "loop_blocked", "loop_computing", "stopped", "standstill"};
    for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); ++i)
        if (sqt_tolds_find(tolds, causes[i], NULL, sqt_told_ns(l->waited / 2)))
            return 1;
    return 0;
}

static void
line_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct lines *const s = state;
    struct sqt_ceiling_mean few, many;
    for (unsigned to = 0; to < LINES; ++to)
        if (s->lines[to].waited * 100 >= (double)totals->total_ns * SHARE && !is_loop_held(tolds, &s->lines[to]) &&
            sqt_ceiling_is_reached(&s->lines[to].ceiling, &few, &many))
            line_told(s, (enum line_to)to, &few, &many, totals, tolds);
}

static void
line_end(void *state)
{
    struct lines *const s = state;
    sqt_names_free(&s->servers);
    for (unsigned to = 0; to < LINES; ++to)
        sqt_ceiling_free(&s->lines[to].ceiling);
}

const struct sqt_look sqt_look_line = {
    .size = sizeof(struct lines), .request = line_request, .tell = line_tell, .end = line_end};
