/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * tries.c - how tries fail at a server that requests are then sent to another one for: it takes connections, and answers
 * nothing until a time-out; else it refuses, or closes.  One that answers with an error is told as answered_tries.
 *
 * It adds to what was told of the server.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"
#include "row/facts.h"

#define SERVERS 1024
/* Fewer tries say nothing. */
#define LEAST 5
/* A try that is waited for so long in the mean, ns, ends by a time-out: who closes does so sooner. */
#define LONG INT64_C(1000000000)
/* That part of the connections to it come about, in %. */
#define CONNECTED 90

struct tries {
    struct sqt_name_entry named;
    uint64_t connects, failed; /* connections that came about, or were kept; and those that did not */
    uint64_t count;            /* requests whose last failed try was here, and in which the server said nothing */
    double ns;                 /* of all their failed tries */
};

struct tries_all {
    struct sqt_names servers; /* of struct tries */
};

static struct tries *
tries_of(struct tries_all *t, const struct sqt_origin *origin, uint32_t server)
{
    const char *const name = server == UINT32_MAX ? NULL : sqt_origin_text(origin, SQT_DEF_SERVER, server);
    t->servers.size = sizeof(struct tries);
    t->servers.most = SERVERS;
    return name ? sqt_names_get(&t->servers, name) : NULL;
}

static void
tries_connection(void *state, const struct sqt_attempt *attempt)
{
    struct tries *const its = tries_of(state, attempt->origin, attempt->server);
    if (its && attempt->outcome == SQT_OUTCOME_COMPLETE)
        ++its->connects;
    else if (its && (attempt->outcome == SQT_OUTCOME_ERROR || attempt->outcome == SQT_OUTCOME_TIMEOUT))
        ++its->failed;
}

static void
tries_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    const int64_t ns = sqt_row_sum(fact->row, SQT_NS(failed_tries));
    struct tries *const its =
        ns > 0 && !xact->failed_answered ? tries_of(state, xact->origin, xact->failed_server) : NULL;
    (void)felt;
    if (!its)
        return;
    ++its->count;
    its->ns += (double)ns;
}

static void
tries_add(const struct tries *its, struct sqt_told *told)
{
    char each[SQT_HUMAN_ROOM];
    const size_t used = strlen(told->sentence);
    sqt_human_time(each, its->ns / (double)its->count, " ", "us");
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " It takes connections and answers nothing: %s later, in the mean, it closes them or Squid gives up "
             "(read_timeout), and asks another address.",
             each);
    sqt_told_print(told->advice,
                   "Ask that server by hand: it takes connections, and does not answer. If its name has other "
                   "addresses that do: let the name server leave this one out. read_timeout: give up earlier.");
}

static void
tries_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct tries_all *const t = state;
    (void)totals;
    for (const struct sqt_name_entry *named = t->servers.first; named; named = named->next) {
        const struct tries *const its = (const struct tries *)named;
        struct sqt_told *const told = sqt_tolds_find(tolds, "failed_server", named->name, 0);
        if (told && strcmp(told->culprit, named->name) == 0 && its->count >= LEAST &&
            its->ns >= (double)LONG * (double)its->count &&
            its->connects * 100 >= (its->connects + its->failed) * CONNECTED)
            tries_add(its, told);
    }
}

static void
tries_end(void *state)
{
    sqt_names_free(&((struct tries_all *)state)->servers);
}

const struct sqt_look sqt_look_tries = {.size = sizeof(struct tries_all),
                                        .request = tries_request,
                                        .connection = tries_connection,
                                        .tell = tries_tell,
                                        .end = tries_end};
