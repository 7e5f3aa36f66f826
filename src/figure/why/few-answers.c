/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * few-answers.c - servers of which a few answers take long, and all others next to nothing: the mean is nobody's.
 *
 * It adds to what was told of a server that requests wait for, or of all servers together.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define SERVERS 256
/* So many answers, that take that part of the time of all, in %, and so many times as long as the others, in the mean. */
#define LEAST 10
#define ALMOST_ALL 90
#define TIMES 10
/* Where more of them do, in %, the server is slow. */
#define FEW 50

struct answers {
    struct sqt_name_entry named;
    struct {
        uint64_t count;
        double ns;
    } octaves[64], all; /* by the wait for the first byte, in bits */
};

struct few_answers {
    struct sqt_names servers; /* of struct answers */
    struct answers all;       /* of all servers */
};

static void
few_answers_count(struct answers *server, int64_t took)
{
    const unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)took);
    ++server->octaves[octave].count;
    server->octaves[octave].ns += (double)took;
    ++server->all.count;
    server->all.ns += (double)took;
}

static void
few_answers_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct few_answers *const f = state;
    const char *const name = fact->row[SQT_CELL(requests, server)].text;
    const int64_t took = sqt_row_sum(fact->row, SQT_NS(server_wait));
    (void)felt;
    if (!name || took <= 0 || xact->server_from == SQT_MISSING || fact->class == SQT_CLASS_TUNNEL)
        return;
    f->servers.size = sizeof(struct answers);
    f->servers.most = SERVERS;
    few_answers_count(sqt_names_get(&f->servers, name), took);
    few_answers_count(&f->all, took);
}

static void
few_answers_add(const struct answers *server, struct sqt_told *told)
{
    char few[SQT_HUMAN_ROOM], others[SQT_HUMAN_ROOM];
    double slow_ns = 0;
    uint64_t slow = 0;
    for (unsigned octave = 63; octave > 0 && slow * 100 <= server->all.count * FEW; --octave) {
        const uint64_t quick = server->all.count - slow;
        const double quick_ns = server->all.ns - slow_ns;
        if (slow >= LEAST && quick >= LEAST && slow_ns * 100 >= server->all.ns * ALMOST_ALL &&
            slow_ns / (double)slow >= TIMES * quick_ns / (double)quick) {
            const size_t used = strlen(told->sentence);
            snprintf(told->sentence + used, sizeof(told->sentence) - used,
                     " %llu of %s %llu answers took %s, the others %s.", (unsigned long long)slow,
                     server->named.name ? "its" : "the", (unsigned long long)server->all.count,
                     sqt_human_time(few, slow_ns / (double)slow, " ", "us"),
                     sqt_human_time(others, quick_ns / (double)quick, " ", "us"));
            return;
        }
        slow += server->octaves[octave].count;
        slow_ns += server->octaves[octave].ns;
    }
}

static void
few_answers_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"slow_at_server", "slow_server", "only_server"};
    const struct few_answers *const f = state;
    (void)totals;
    for (const struct sqt_name_entry *named = f->servers.first; named; named = named->next)
        for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes) && !sqt_names_is_others(named); ++i) {
            struct sqt_told *const told = sqt_tolds_find(tolds, causes[i], named->name, 0);
            if (told && told->pattern == SQT_PATTERN_THROUGHOUT)
                few_answers_add((const struct answers *)named, told);
        }
    struct sqt_told *const told = sqt_tolds_find(tolds, "slow_servers", NULL, 0);
    if (told)
        few_answers_add(&f->all, told);
}

static void
few_answers_end(void *state)
{
    sqt_names_free(&((struct few_answers *)state)->servers);
}

const struct sqt_look sqt_look_few_answers = {.size = sizeof(struct few_answers),
                                              .request = few_answers_request,
                                              .tell = few_answers_tell,
                                              .end = few_answers_end};
