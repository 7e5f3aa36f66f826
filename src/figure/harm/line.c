/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * line.c - a line that all share and that is full: however many bodies are on their way at once, together they bring no more
 * bytes a second.
 *
 * The bytes of a body are spread evenly over the time that it took.  So each window has the bytes of all bodies in it, and
 * the time that they took together, which is how many there were at once.  In the third of the busy windows with most bodies
 * at once there are many more than in the third with fewest, and hardly more bytes: then they share something.  If most
 * bytes come from one server, that is where the line ends.  Bodies of SQT_FINDING_RATE or more are not counted: they have
 * the line that they need.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"
#include "instead.h"

#define SECOND 1e9
/* Windows are a second wide at first; when there are too many, they become twice as wide. */
#define WINDOWS 2048
/* A window is busy with so many bodies at once.  So many busy ones say something. */
#define AT_ONCE 4
#define LEAST 6
/* In the busiest third there are so many times the bodies of the least busy third, and bytes grow by at most that part of
 * what bodies grow by. */
#define MORE 1.5
#define FLAT 0.4
/* That part of the time of all requests, in %, and of all bytes that one server has. */
#define SHARE 10
#define ONE_SERVER 80
#define SERVERS 1024

struct line_window {
    double bytes, ns;           /* of bodies */
    double bytes_step, ns_step; /* what each window from here on has more than that, until line_settle() */
};

struct line {
    struct line_window *windows;
    double width; /* ns */
    struct sqt_names servers;
    double bytes;  /* of slow bodies */
    double waited; /* for servers, and for others that wait for them, beyond what bytes need; ns */
    uint64_t requests;
    int64_t since, until;
};

struct line_server {
    struct sqt_name_entry named;
    double bytes;
};

/* Steps become sums. */
static void
line_settle(struct line *l)
{
    double bytes = 0, ns = 0;
    for (unsigned i = 0; i < WINDOWS; ++i) {
        struct line_window *const w = &l->windows[i];
        bytes += w->bytes_step;
        ns += w->ns_step;
        w->bytes += bytes;
        w->ns += ns;
        w->bytes_step = w->ns_step = 0;
    }
}

static void
line_widen(struct line *l)
{
    line_settle(l);
    for (unsigned i = 0; i < WINDOWS; ++i) {
        const struct line_window none = {0, 0, 0, 0}, *const one = &l->windows[2 * i], *const other = one + 1;
        l->windows[i] =
            i < WINDOWS / 2 ? (struct line_window){one->bytes + other->bytes, one->ns + other->ns, 0, 0} : none;
    }
    l->width *= 2;
}

/* The part of a window from there to there, in ns, of a body of that many bytes a ns. */
static void
line_part(struct line *l, unsigned window, double ns, double rate)
{
    l->windows[window].ns += ns;
    l->windows[window].bytes += ns * rate;
}

static void
line_body(struct line *l, double from, double until, double bytes)
{
    const double rate = bytes / (until - from);
    while (until >= l->width * WINDOWS)
        line_widen(l);
    const unsigned first = (unsigned)(from / l->width), last = (unsigned)(until / l->width);
    if (first == last) {
        line_part(l, first, until - from, rate);
        return;
    }
    line_part(l, first, (first + 1) * l->width - from, rate);
    line_part(l, last, until - last * l->width, rate);
    l->windows[first + 1].ns_step += l->width;
    l->windows[first + 1].bytes_step += l->width * rate;
    l->windows[last].ns_step -= l->width;
    l->windows[last].bytes_step -= l->width * rate;
}

/* What a full line makes longer. */
static const uint64_t line_stages = SQT_NS(connect) | SQT_NS(tls) | SQT_NS(request_send) | SQT_NS(server_wait) |
                                    SQT_NS(server_reply) | SQT_NS(reply_wait) | SQT_NS(collapsed_wait);

static void
line_waited(struct line *l, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const double bytes = xact->sent > xact->fetched ? (double)xact->sent : (double)xact->fetched;
    const double waited = (double)sqt_row_sum(fact->row, line_stages) - bytes / SQT_FINDING_RATE * SECOND;
    l->waited += waited > 0 ? waited : 0;
    l->requests += waited > 0;
}

static void
line_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct line *const l = state;
    const int64_t took = sqt_row_sum(fact->row, SQT_NS(server_reply));
    const char *const name =
        xact->server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->server);
    (void)felt;
    line_waited(l, xact, fact);
    if (took <= 0 || xact->server_until == SQT_MISSING || xact->fetched <= 0 || xact->server_until < took)
        return;
    const double bytes = (double)xact->fetched, slow = (double)took - bytes / SQT_FINDING_RATE * SECOND;
    if (slow <= 0)
        return;
    if (!l->windows) {
        l->windows = sqt_zeroed(WINDOWS + 1, sizeof(*l->windows));
        l->width = SECOND;
        l->servers = (struct sqt_names){.size = sizeof(struct line_server), .most = SERVERS};
    }
    line_body(l, (double)(xact->server_until - took), (double)xact->server_until, bytes);
    l->since = l->bytes > 0 && l->since < xact->begin ? l->since : xact->begin;
    l->bytes += bytes;
    l->until = xact->server_until > l->until ? xact->server_until : l->until;
    ((struct line_server *)sqt_names_get(&l->servers, name ? name : ""))->bytes += bytes;
}

static int
line_compare(const void *a, const void *b)
{
    const struct line_window *const x = a, *const y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The busy windows to the front, those with fewest bodies at once first.  Returns how many. */
static unsigned
line_busy(struct line *l)
{
    unsigned count = 0;
    for (unsigned i = 0; i < WINDOWS; ++i)
        if (l->windows[i].ns >= AT_ONCE * l->width)
            l->windows[count++] = l->windows[i];
    if (count)
        qsort(l->windows, count, sizeof(*l->windows), line_compare);
    return count;
}

/* Means of windows: bodies at once, and bytes a second. */
struct line_mean {
    double at_once, rate;
};

static struct line_mean
line_mean(const struct line *l, unsigned first, unsigned count)
{
    struct line_mean mean = {0, 0};
    for (unsigned i = first; i < first + count; ++i) {
        mean.at_once += l->windows[i].ns / l->width / count;
        mean.rate += l->windows[i].bytes / l->width * SECOND / count;
    }
    return mean;
}

static const char *
line_server(const struct line *l)
{
    const struct line_server *most = NULL;
    for (const struct sqt_name_entry *named = l->servers.first; named; named = named->next)
        if (!most || ((const struct line_server *)named)->bytes > most->bytes)
            most = (const struct line_server *)named;
    return most && *most->named.name && most->bytes * 100 >= l->bytes * ONE_SERVER ? most->named.name : NULL;
}

static void
line_told(const struct line *l, struct line_mean few, struct line_mean many, const struct sqt_look_totals *totals,
          struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"slow_servers", "far_servers", "lost_packets", "connect",
                                        "reply_wait",   "collapsed",   "slow_leader",  NULL};
    char less[SQT_HUMAN_ROOM], rate[SQT_HUMAN_ROOM];
    const char *const server = line_server(l);
    sqt_instead(tolds, rules, sqt_told_ns(l->waited), SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, "full_line", SQT_HARM_WAITING, sqt_told_ns(l->waited));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", server ? server : "line to servers");
    told->since = l->since;
    told->until = l->until;
    told->requests = l->requests;
    told->waiting = sqt_told_ns(l->waited);
    told->share = sqt_percent(l->waited, (double)totals->total_ns);
    sqt_human_bytes(less, few.rate);
    sqt_human_bytes(less, few.rate);
    sqt_human_bytes(rate, many.rate);
    sqt_told_print(told->sentence,
                   "The line to %s is full: with %.0f bodies at once they bring %s/s together, with %.0f at once %s/s, "
                   "which is %.1f KB/s for each.",
                   server ? server : "servers", few.at_once, less, many.at_once, rate, many.rate / many.at_once / 1e3);
    sqt_told_print(
        told->advice,
        "A faster line, or fewer bytes on it: cache_mem, cache_dir and maximum_object_size keep more of them. "
        "delay_pools divide the line, so that small replies do not wait for large ones. Look for what else "
        "uses the line.");
    sqt_told_print(told->command, "sqtrace-dump --where='server_reply_ns > 1s' TRACE");
    sqt_tolds_supersede(tolds, told);
}

static void
line_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct line *const l = state;
    if (!l->windows)
        return;
    line_settle(l);
    const unsigned busy = line_busy(l), third = busy / 3;
    if (busy < LEAST || l->waited * 100 < (double)totals->total_ns * SHARE)
        return;
    const struct line_mean few = line_mean(l, 0, third), many = line_mean(l, busy - third, third);
    if (many.at_once >= MORE * few.at_once && many.rate / few.rate - 1 <= FLAT * (many.at_once / few.at_once - 1))
        line_told(l, few, many, totals, tolds);
}

static void
line_end(void *state)
{
    struct line *const l = state;
    sqt_names_free(&l->servers);
    free(l->windows);
}

const struct sqt_look sqt_look_line = {
    .size = sizeof(struct line), .request = line_request, .tell = line_tell, .end = line_end};
