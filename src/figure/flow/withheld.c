/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * withheld.c - replies that an adaptation service withholds: it answers only when it has the whole body, so clients wait
 * for their first byte as long as the server needs for the last one.
 *
 * While a body is read from the server, and the client has not got a byte yet, it is withheld.  A reply that is handed on as
 * it comes has only its end to send when the last byte is here.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* So many replies, and so many ns of each in the mean. */
#define LEAST 5
#define LEAST_EACH INT64_C(300000000)
/* That part of the time for which the server sent the bodies, in %: else only the begin was held back. */
#define LEAST_PART 70

struct withheld {
    struct sqt_names names;
};

struct service {
    struct sqt_name_entry named;
    uint64_t replies, tries;                 /* that it withheld; that went through it */
    double withheld, first_byte, own, total; /* ns */
    int64_t begin, end;
};

static struct service *
withheld_by(struct withheld *w, const struct sqt_xact *xact)
{
    const struct sqt_longest_wait *const longest = &xact->longest[SQT_NAMED_ADAPT];
    const char *const name = longest->def ? sqt_origin_text(xact->origin, longest->def, longest->who) : NULL;
    if (!w->names.size)
        w->names = (struct sqt_names){.size = sizeof(struct service), .most = 64};
    return name ? sqt_names_get(&w->names, name) : NULL;
}

static void
withheld_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct service *const s = withheld_by(state, xact);
    const int64_t body = sqt_row_sum(fact->row, SQT_NS(server_reply));
    if (!s || xact->first_byte == SQT_MISSING || !body)
        return;
    const int64_t withheld = body - (xact->end - xact->first_byte);
    (void)felt;
    ++s->tries;
    if ((double)withheld * 100 < (double)body * LEAST_PART)
        return;
    if (!s->replies++ || xact->begin < s->begin)
        s->begin = xact->begin;
    s->end = xact->end > s->end ? xact->end : s->end;
    s->withheld += (double)withheld;
    s->first_byte += (double)(xact->first_byte - xact->begin);
    s->total += (double)(xact->end - xact->begin);
    s->own += (double)sqt_row_sum(fact->row, SQT_NS(adapt));
}

static void
withheld_told(const struct service *s, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char first[SQT_HUMAN_ROOM], all[SQT_HUMAN_ROOM], own[SQT_HUMAN_ROOM];
    const double n = s->replies;
    struct sqt_told *const told = sqt_tolds_add(tolds, "withheld_replies", SQT_HARM_WAITING, sqt_told_ns(s->withheld));
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "adaptation %s", s->named.name);
    told->since = s->begin;
    told->until = s->end;
    told->requests = s->replies;
    told->waiting = sqt_told_ns(s->withheld);
    told->share = sqt_percent(s->withheld, (double)totals->total_ns);
    sqt_told_print(told->sentence,
                   "Replies through adaptation %s reach clients only when they are complete: the first byte comes "
                   "after %s of %s. Beyond the server's body, the service itself takes %s.",
                   s->named.name, sqt_human_time(first, s->first_byte / n, " ", "us"),
                   sqt_human_time(all, s->total / n, " ", "us"), sqt_human_time(own, s->own / n, " ", "us"));
    sqt_told_print(told->advice,
                   "The service waits for the whole body before it answers: let it answer early (trickle, or a "
                   "preview), or leave large replies out with adaptation_access.");
    sqt_told_print(told->command, "sqtrace-dump --where='first_byte_ns > 300ms and adapt_ns >= 0' TRACE");
    sqt_tolds_supersede(tolds, told);
}

static void
withheld_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct withheld *const w = state;
    for (const struct sqt_name_entry *named = w->names.first; named; named = named->next) {
        const struct service *const s = (const struct service *)named;
        if (!sqt_names_is_others(named) && s->replies >= LEAST && s->replies * 2 >= s->tries &&
            s->withheld / (double)s->replies >= (double)LEAST_EACH)
            withheld_told(s, totals, tolds);
    }
}

static void
withheld_end(void *state)
{
    sqt_names_free(&((struct withheld *)state)->names);
}

const struct sqt_look sqt_look_withheld = {
    .size = sizeof(struct withheld), .request = withheld_request, .tell = withheld_tell, .end = withheld_end};
