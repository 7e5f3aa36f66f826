/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * one-status.c - servers that are slow with one status only, and quick with others.  Error pages of Squid itself are no answers
 * of a server.
 *
 * It adds to the finding of a server that requests wait for.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define SERVERS 256
/* Statuses of a server that are told apart: others are left out. */
#define STATUSES 4
/* At least LEAST answers have the status, and as many have another.  Those with the status take MOST % of the time of all, and
 * each takes TIMES as long as the others. */
#define LEAST 10
#define MOST 80
#define TIMES 3

struct one_status {
    struct sqt_name_entry named;
    struct {
        uint32_t status; /* 0: free */
        uint64_t count;
        double ns;
    } of[STATUSES];
    uint64_t count;
    double ns;
};

struct one_statuses {
    struct sqt_names servers; /* of struct one_status */
};

static void
one_status_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct one_statuses *const s = state;
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    const int64_t took = sqt_row_sum(fact->row, SQT_NS(server_wait));
    (void)felt;
    if ((xact->flags & SQT_XACT_ERROR_PAGE) || xact->reply_source == SQT_REPLY_MADE)
        return;
    if (!name || took <= 0 || !xact->status || fact->class == SQT_CLASS_TUNNEL)
        return;
    s->servers.size = sizeof(struct one_status);
    s->servers.most = SERVERS;
    struct one_status *const its = sqt_names_get(&s->servers, name);
    ++its->count;
    its->ns += (double)took;
    for (unsigned i = 0; i < STATUSES; ++i)
        if (!its->of[i].status || its->of[i].status == xact->status) {
            its->of[i].status = xact->status;
            ++its->of[i].count;
            its->of[i].ns += (double)took;
            return;
        }
}

/* Whether Squid keeps such an answer for negative_ttl, and a server that is well gives it. */
static int
is_kept(uint32_t status)
{
    static const uint32_t kept[] = {400, 403, 404, 405, 414};
    for (unsigned i = 0; i < sizeof(kept) / sizeof(*kept); ++i)
        if (kept[i] == status)
            return 1;
    return 0;
}

static void
one_status_add(const struct one_status *its, struct sqt_told *told)
{
    char slow[SQT_HUMAN_ROOM], others[SQT_HUMAN_ROOM];
    for (unsigned i = 0; i < STATUSES && its->of[i].status; ++i) {
        const uint64_t count = its->of[i].count, rest = its->count - count;
        const double ns = its->of[i].ns, rest_ns = its->ns - ns;
        if (its->of[i].status < 300 || count < LEAST || rest < LEAST || ns * 100 < its->ns * MOST ||
            ns / (double)count < TIMES * rest_ns / (double)rest)
            continue;
        size_t used = strlen(told->sentence);
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " What takes long is its answer %u%s: %llu of its %llu answers, %s each, the others %s.",
                 its->of[i].status, its->of[i].status == 404 ? " (not found)" : "", (unsigned long long)count,
                 (unsigned long long)its->count, sqt_human_time(slow, ns / (double)count, " ", "us"),
                 sqt_human_time(others, rest_ns / (double)rest, " ", "us"));
        used = strlen(told->advice);
        if (is_kept(its->of[i].status))
            snprintf(
                told->advice + used, sizeof(told->advice) - used,
                " negative_ttl: for how long Squid keeps such an answer, and gives it to clients that ask for the same "
                "again. That violates HTTP where the server does not allow it. access.log says who asks, and for "
                "what.");
        return;
    }
}

static void
one_status_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"slow_at_server", "slow_server", "only_server"};
    const struct one_statuses *const s = state;
    (void)totals;
    for (const struct sqt_name_entry *named = s->servers.first; named; named = named->next)
        for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes) && !sqt_names_is_others(named); ++i) {
            struct sqt_told *const told = sqt_tolds_find(tolds, causes[i], named->name, 0);
            if (told)
                one_status_add((const struct one_status *)named, told);
        }
}

static void
one_status_end(void *state)
{
    sqt_names_free(&((struct one_statuses *)state)->servers);
}

const struct sqt_look sqt_look_one_status = {
    .size = sizeof(struct one_statuses), .request = one_status_request, .tell = one_status_tell, .end = one_status_end};
