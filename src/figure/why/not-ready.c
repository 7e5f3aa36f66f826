/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * not-ready.c - queues before an adaptation service that is asked nothing meanwhile: Squid waits until it may use it, and
 * more connections do not help.
 *
 * Who waits for a free connection waits while all of them are in use.  So a part of a wait in the queue in which no question
 * is with the service has another reason: Squid has no options (OPTIONS) of the service.  It wants them when it starts, after a
 * reconfiguration, and when Options-TTL is up.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

#define SERVICES 64
/* Times in which a service is asked, that are kept. */
#define BUSY 32
/* Times that are as close to each other are one, ns. */
#define CLOSE INT64_C(5000000)
/* So long in a queue is felt, ns; so many requests; that part of what the finding is about, in %. */
#define FELT INT64_C(50000000)
#define LEAST 5
#define SHARE 30
/* Those that are let go within that time, ns, are let go together. */
#define TOGETHER INT64_C(50000000)
/* A reconfiguration so long before is why, ns. */
#define SOON INT64_C(5000000000)

struct span {
    int64_t begin, end;
};

struct service {
    struct sqt_name_entry named;
    struct span busy[BUSY]; /* in order of their begin; the oldest one goes */
    unsigned busy_count;
    uint64_t idle; /* requests that waited while it was asked nothing */
    double idle_ns;
    int64_t let_go, longest;      /* let_go: when the last of them was; longest: ns */
    unsigned times, reconfigured; /* times that they were let go; of them, soon after a reconfiguration */
};

struct not_ready {
    struct sqt_names services; /* of struct service */
    int64_t reconfigured;      /* when, last; 0: never */
};

/* The part of a time in which the service was asked something, ns. */
static int64_t
service_asked(const struct service *s, int64_t begin, int64_t end)
{
    int64_t asked = 0;
    for (unsigned i = 0; i < s->busy_count; ++i) {
        const int64_t from = s->busy[i].begin > begin ? s->busy[i].begin : begin;
        const int64_t until = s->busy[i].end < end ? s->busy[i].end : end;
        asked += until > from ? until - from : 0;
    }
    return asked;
}

static void
service_drop(struct service *s, unsigned at)
{
    memmove(&s->busy[at], &s->busy[at + 1], (s->busy_count - at - 1) * sizeof(*s->busy));
    --s->busy_count;
}

/* Waits come in the order of their ends, so that each new time is the last one, or takes in some before it. */
static void
service_add(struct service *s, int64_t begin, int64_t end)
{
    while (s->busy_count && s->busy[s->busy_count - 1].end + CLOSE >= begin) {
        const struct span *const last = &s->busy[s->busy_count - 1];
        begin = last->begin < begin ? last->begin : begin;
        end = last->end > end ? last->end : end;
        service_drop(s, s->busy_count - 1);
    }
    if (s->busy_count == BUSY)
        service_drop(s, 0);
    s->busy[s->busy_count++] = (struct span){begin, end};
}

static void
service_waited(struct service *s, const struct sqt_wait *wait, int64_t reconfigured)
{
    const int64_t queue = wait->given - wait->begin, idle = queue - service_asked(s, wait->begin, wait->given);
    if (queue < FELT || 2 * idle < queue)
        return;
    const int together = s->idle && wait->given - s->let_go < TOGETHER && s->let_go - wait->given < TOGETHER;
    ++s->idle;
    s->idle_ns += (double)idle;
    s->longest = idle > s->longest ? idle : s->longest;
    s->times += !together;
    s->reconfigured += !together && reconfigured && wait->given - reconfigured < SOON;
    s->let_go = wait->given;
}

static void
not_ready_wait(void *state, const struct sqt_wait *wait)
{
    struct not_ready *const n = state;
    const char *const name = sqt_origin_text(wait->origin, wait->def, wait->who);
    if (wait->def != SQT_DEF_SERVICE || !name || wait->given == SQT_MISSING || sqt_wait_unknown(wait))
        return;
    n->services.size = sizeof(struct service);
    n->services.most = SERVICES;
    struct service *const s = sqt_names_get(&n->services, name);
    service_waited(s, wait, n->reconfigured);
    service_add(s, wait->given, wait->end);
}

static void
not_ready_setup(void *state, const struct sqt_setup_row *row)
{
    if (row->event == SQT_EV_RECONFIGURE)
        ((struct not_ready *)state)->reconfigured = row->at;
}

/* The rule believes in a queue for a connection. */
static void
not_ready_replace(struct sqt_told *told, const char *words, const char *instead)
{
    char rest[SQT_TOLD_TEXT];
    char *const at = strstr(told->sentence, words);
    if (!at)
        return;
    snprintf(rest, sizeof(rest), "%s", at + strlen(words));
    snprintf(at, sizeof(told->sentence) - (size_t)(at - told->sentence), "%s%s", instead, rest);
}

static void
not_ready_tell_one(const struct service *s, struct sqt_told *told)
{
    char longest[SQT_HUMAN_ROOM], after[64] = "";
    if (s->idle < LEAST || s->idle_ns * 100 < (double)told->waiting * SHARE)
        return;
    if (s->reconfigured)
        snprintf(after, sizeof(after), ", %u of them soon after squid -k reconfigure", s->reconfigured);
    not_ready_replace(told, "until it has a connection free", "before Squid asks it");
    const size_t used = strlen(told->sentence);
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " %llu requests waited for up to %s while it was asked nothing, %u time%s%s: Squid waited for its options "
             "(OPTIONS).",
             (unsigned long long)s->idle, sqt_human_time(longest, (double)s->longest, " ", "us"), s->times,
             s->times == 1 ? "" : "s", after);
    sqt_told_print(
        told->advice,
        "Ask that service for its OPTIONS by hand, and look at the time that this takes: Squid asks it nothing "
        "before. It wants them when it starts, after each squid -k reconfigure, and when Options-TTL is up: "
        "reconfigure less often, and have a longer Options-TTL. More connections do not help. icap_service: "
        "bypass=1 goes on without it.");
}

static void
not_ready_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct not_ready *const n = state;
    (void)totals;
    for (const struct sqt_name_entry *named = n->services.first; named; named = named->next)
        for (unsigned i = 0; i < tolds->count; ++i)
            if (strcmp(tolds->told[i]->cause, "service_queue") == 0 &&
                sqt_told_names(tolds->told[i]->culprit, named->name))
                not_ready_tell_one((const struct service *)named, tolds->told[i]);
}

static void
not_ready_end(void *state)
{
    sqt_names_free(&((struct not_ready *)state)->services);
}

const struct sqt_look sqt_look_not_ready = {.size = sizeof(struct not_ready),
                                            .wait = not_ready_wait,
                                            .setup = not_ready_setup,
                                            .tell = not_ready_tell,
                                            .end = not_ready_end};
