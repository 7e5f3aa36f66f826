/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * minutes.c - the table of findings by minute, process, cause and culprit.
 *
 * Findings are those of a proxy: of all processes with the same host and service, and of all that is read of them.  The ledger of
 * requests says how each is divided over minutes and processes, so that the rows of a finding add up to its row in table
 * `findings`, to the nanosecond.
 *
 * What is kept of a proxy takes some megabytes, so only as many proxies have rows as fit into ROOM.  When they do not fit any
 * more, the last one that came is forgotten.
 */
#define _GNU_SOURCE /* qsort_r */
#include "minutes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "findings-internal.h"

/* Proxies that are told apart; all others are one. */
#define PROXIES 256
/* Bytes of all proxies together, unless one alone takes more: findings of one have bounds of their own. */
#define ROOM (INT64_C(40) << 20)
/* Of all ledgers together: minutes of processes, 91 days of one, and minutes in which an account has something. */
#define PLACES ((size_t)1 << 17)
#define SUMS ((size_t)1 << 19)
/* Parts of findings of a proxy: 32 bytes each. */
#define SHARES ((size_t)1 << 19)

/* A proxy. */
struct minutes_proxy {
    struct sqt_name_entry named; /* host, a line feed, service */
    struct sqt_job job;          /* of table findings */
    int64_t bytes;               /* that it takes */
    int refused;                 /* it has no rows */
};

struct minutes {
    struct sqt_names proxies;
    struct sqt_connecting *connecting; /* of all proxies */
    int64_t bytes;                     /* that the proxies take */
    struct sqt_ledger_bound bound;
    uint64_t refused, shares; /* proxies that have no rows; parts of findings that were left out */
    int later;                /* what began the trace does not count: it was handed out before */
};

/* ---- proxies ---- */

static int
minutes_no_row(void *context, const union sqt_cell *row)
{
    (void)context, (void)row;
    return 1;
}

static void
minutes_no_note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

static void
minutes_begin(struct minutes *m, struct minutes_proxy *proxy, const struct sqt_job *job)
{
    if (!m->connecting)
        m->connecting = sqt_connecting_new();
    const int64_t taken = sqt_memory_taken();
    proxy->job = (struct sqt_job){.table = &sqt_tables[SQT_TABLE_findings],
                                  .where = job->where,
                                  .since = job->since,
                                  .until = job->until,
                                  .from = INT64_MAX, /* until its first request is known */
                                  .row = minutes_no_row,
                                  .note = minutes_no_note};
    sqt_family_findings.start(&proxy->job);
    struct sqt_findings *const f = proxy->job.state;
    f->ledger = sqt_ledger_new(&m->bound);
    f->connecting = m->connecting;
    proxy->bytes = sqt_memory_taken() - taken;
    m->bytes += proxy->bytes;
}

static void
minutes_drop(struct minutes *m, struct minutes_proxy *proxy)
{
    struct sqt_findings *const f = proxy->job.state;
    f->connecting = NULL;
    sqt_connecting_forget(m->connecting, f);
    m->bound.places += f->ledger->place_count;
    m->bound.sums += f->ledger->used;
    m->bytes -= proxy->bytes;
    sqt_findings_drop(&proxy->job);
    proxy->job.state = NULL;
}

/* The proxies that came last go, until the others fit; the first one stays. */
static void
minutes_fit(struct minutes *m)
{
    struct sqt_name_entry *named = m->proxies.first; /* the last that came */
    for (; m->bytes > ROOM && named->next; named = named->next) {
        struct minutes_proxy *const proxy = (struct minutes_proxy *)named;
        m->refused += !proxy->refused;
        proxy->refused = 1;
        if (proxy->job.state)
            minutes_drop(m, proxy);
    }
}

/* The proxy that a thing of that process counts for, which ended then; NULL: it does not count. */
static struct minutes_proxy *
minutes_proxy(struct sqt_job *job, const struct sqt_origin *origin, int64_t end)
{
    struct minutes *const m = job->state;
    char name[512];
    if (job->wants && !job->wants(job->context, &job->source)) {
        m->later = 1;
        return NULL;
    }
    const char *const host = sqt_origin_text(origin, SQT_DEF_HOST, 0);
    snprintf(name, sizeof(name), "%s\n%.*s", host ? host : "", (int)sizeof(origin->identity.service),
             origin->identity.service);
    struct minutes_proxy *const proxy = sqt_names_get(&m->proxies, name);
    if (proxy->refused)
        return NULL;
    if (!proxy->job.state)
        minutes_begin(m, proxy, job);
    proxy->job.length = end > proxy->job.length ? end : proxy->job.length;
    proxy->job.source = job->source;
    proxy->job.fact = job->fact;
    return proxy;
}

/* The proxy got a thing, before which so many bytes were taken. */
static void
minutes_took(struct minutes *m, struct minutes_proxy *proxy, int64_t taken)
{
    const int64_t bytes = sqt_memory_taken() - taken;
    proxy->bytes += bytes;
    m->bytes += bytes;
    if (m->bytes > ROOM)
        minutes_fit(m);
}

/* ---- what the model says ---- */

#define TELL(name, type, of, at) \
    static void minutes_##name(void *context, type *thing) \
    { \
        struct minutes_proxy *const proxy = minutes_proxy(context, (of), (at)); \
        const int64_t taken = sqt_memory_taken(); \
        if (!proxy || !sqt_family_findings.consumer.name) \
            return; \
        sqt_family_findings.consumer.name(&proxy->job, thing); \
        minutes_took(((struct sqt_job *)context)->state, proxy, taken); \
    }
TELL(connection, const struct sqt_attempt, thing->origin, thing->end)
TELL(wait, const struct sqt_wait, thing->origin, thing->end)
TELL(swap, struct sqt_swap, thing->origin, thing->end)
TELL(stop, const struct sqt_stop_row, thing->pass->origin, thing->end)
TELL(setup, const struct sqt_setup_row, thing->origin, thing->at)
TELL(accept, const struct sqt_accept_row, thing->origin, thing->at)
TELL(client_closed, const struct sqt_client_closed_row, thing->origin, thing->at)
TELL(closed, const struct sqt_closed_row, thing->origin, thing->at)
TELL(incident, const struct sqt_incident_row, thing->origin, thing->at)
TELL(step, const struct sqt_step_row, thing->origin, thing->until)
TELL(late_read, const struct sqt_late_read, thing->origin, thing->at)
TELL(put_off, const struct sqt_put_off_row, thing->origin, thing->end)
TELL(loop, const struct sqt_loop_row, thing->origin, thing->end)
TELL(sample, const struct sqt_sample_row, thing->origin, thing->at)
TELL(loop_sample, const struct sqt_loop_sample_row, thing->origin, thing->until)

static void
minutes_request(void *context, const struct sqt_xact *xact)
{
    struct minutes_proxy *const proxy = minutes_proxy(context, xact->origin, xact->end);
    const int64_t taken = sqt_memory_taken();
    if (!proxy)
        return;
    if (xact->begin != SQT_MISSING)
        proxy->job.from = xact->begin < proxy->job.from ? xact->begin : proxy->job.from;
    sqt_family_findings.consumer.request(&proxy->job, xact);
    minutes_took(((struct sqt_job *)context)->state, proxy, taken);
}

static void
minutes_open_loop(struct sqt_job *job, const struct sqt_open_loop *loop, const struct sqt_now *now)
{
    struct minutes_proxy *const proxy = minutes_proxy(job, loop->origin, now->ns);
    const int64_t taken = sqt_memory_taken();
    if (!proxy)
        return;
    sqt_family_findings.open_loop(&proxy->job, loop, now);
    minutes_took(job->state, proxy, taken);
}

/* ---- how a finding is divided ---- */

/* What of it is of one minute of a process. */
struct minutes_share {
    uint32_t place, rank; /* rank: of the finding */
    uint64_t requests, failures, waiting;
};

struct minutes_shares {
    struct minutes_share *of;
    size_t count, room;
    uint64_t left_out;
};

static void
minutes_keep(struct minutes_shares *shares, const struct minutes_share *share)
{
    if (shares->count == SHARES) {
        ++shares->left_out;
        return;
    }
    if (shares->count == shares->room) {
        shares->room = shares->room ? 2 * shares->room : 256;
        shares->of = sqt_resized(shares->of, shares->room * sizeof(*shares->of));
    }
    shares->of[shares->count++] = *share;
}

/* Places by weights; the sums of a finding's account, or of others. */
struct minutes_weights {
    struct sqt_ledger_sum *sums; /* account: unused */
    size_t count;
};

/* Whether the minute has something of the time of the finding. */
static int
minutes_meets(const struct sqt_ledger *l, uint32_t place, const struct sqt_told *told)
{
    const int64_t begin = l->places[place].minute;
    return begin < told->until && begin + SQT_LEDGER_MINUTE > told->since;
}

static void
minutes_weigh(struct minutes_weights *w, const struct sqt_ledger *l, const struct sqt_ledger_sum *sums, size_t count,
              const struct sqt_told *told)
{
    w->count = 0;
    for (size_t i = 0; i < count; ++i)
        if (!told || minutes_meets(l, sums[i].place, told))
            w->sums[w->count++] = sums[i];
}

static const struct sqt_subject *
minutes_server(struct sqt_findings *f, const char *name)
{
    for (const struct sqt_name_entry *named = f->names[SQT_FINDING_SERVER].first; named; named = named->next)
        if (strcmp(named->name, name) == 0)
            return (const struct sqt_subject *)named;
    return NULL;
}

/* Those of the finding's account or of its culprit, else of all requests; of its time, if there are any. */
static void
minutes_choose(struct minutes_weights *w, struct sqt_findings *f, const struct sqt_told *told,
               const struct sqt_ledger_sum *all)
{
    const struct sqt_ledger *const l = f->ledger;
    const struct sqt_subject *const server = told->account ? NULL : minutes_server(f, told->culprit);
    size_t count;
    const struct sqt_ledger_sum *const its = sqt_ledger_of(l, server ? server->account : told->account, &count);
    minutes_weigh(w, l, its, count, told);
    if (!w->count)
        minutes_weigh(w, l, its, count, NULL);
    if (!w->count)
        minutes_weigh(w, l, all, l->place_count, told);
    if (!w->count)
        minutes_weigh(w, l, all, l->place_count, NULL);
}

/* A whole that is divided by weights, the first parts first: its parts add up to it. */
struct minutes_whole {
    uint64_t whole, weights, seen, given;
};

static uint64_t
minutes_part(struct minutes_whole *x, uint64_t weight)
{
    x->seen += weight;
    const uint64_t until = x->weights ? (uint64_t)((unsigned __int128)x->whole * x->seen / x->weights) : 0;
    const uint64_t part = until - x->given;
    x->given = until;
    return part;
}

enum minutes_by { BY_REQUESTS, BY_FAILURES, BY_NS };

static uint64_t
minutes_weight(const struct sqt_ledger_sum *sum, enum minutes_by by)
{
    return by == BY_REQUESTS ? sum->requests : by == BY_FAILURES ? sum->failures : sum->ns;
}

/* By the first of these of which there is any; sums of weights fit, as they are cut. */
static struct minutes_whole
minutes_whole(const struct minutes_weights *w, uint64_t whole, enum minutes_by *by)
{
    struct minutes_whole x = {.whole = whole};
    for (;; *by = BY_REQUESTS) {
        for (size_t i = 0; i < w->count; ++i)
            if (__builtin_add_overflow(x.weights, minutes_weight(&w->sums[i], *by), &x.weights))
                x.weights = UINT64_MAX;
        if (x.weights || *by == BY_REQUESTS)
            return x;
    }
}

static void
minutes_divide(struct minutes_shares *shares, const struct minutes_weights *w, const struct sqt_told *told,
               uint32_t rank)
{
    const int fails = told->harm == SQT_HARM_FAILURE;
    enum minutes_by by[3] = {fails ? BY_FAILURES : BY_REQUESTS, BY_FAILURES, fails ? BY_FAILURES : BY_NS};
    struct minutes_whole requests = minutes_whole(w, told->requests, &by[0]);
    struct minutes_whole failures = minutes_whole(w, told->failures, &by[1]);
    struct minutes_whole waiting = minutes_whole(w, told->waiting, &by[2]);
    for (size_t i = 0; i < w->count; ++i) {
        const struct sqt_ledger_sum *const sum = &w->sums[i];
        const struct minutes_share share = {sum->place, rank, minutes_part(&requests, minutes_weight(sum, by[0])),
                                            minutes_part(&failures, minutes_weight(sum, by[1])),
                                            minutes_part(&waiting, minutes_weight(sum, by[2]))};
        if (share.requests | share.failures | share.waiting)
            minutes_keep(shares, &share);
    }
}

/* That there is nothing to say is no finding. */
static int
minutes_is_finding(const struct sqt_told *told)
{
    return strcmp(told->cause, "healthy") != 0 && strcmp(told->cause, "too_few") != 0 &&
           strcmp(told->cause, SQT_FINDING_NONE_SEEN) != 0;
}

static struct minutes_shares
minutes_shares(struct sqt_findings *f)
{
    const struct sqt_ledger *const l = f->ledger;
    struct minutes_shares shares = {NULL, 0, 0, 0};
    struct sqt_ledger_sum *const all = sqt_zeroed(2 * l->place_count + 1, sizeof(*all));
    struct minutes_weights w = {all + l->place_count, 0};
    for (size_t i = 0; i < l->place_count; ++i) {
        all[i] = l->places[i].all;
        all[i].place = (uint32_t)i;
    }
    for (unsigned i = 0; i < f->tolds.count && l->place_count; ++i)
        if (minutes_is_finding(f->tolds.told[i])) {
            minutes_choose(&w, f, f->tolds.told[i], all);
            minutes_divide(&shares, &w, f->tolds.told[i], i);
        }
    sqt_freed(all);
    return shares;
}

/* ---- rows ---- */

#define CELL(name) row[SQT_CELL(finding_minutes, name)]

static void
minutes_row(struct sqt_job *job, const struct sqt_ledger_place *place, const struct sqt_told *told,
            const struct minutes_share *share, uint64_t index)
{
    union sqt_cell row[SQT_CELLS(finding_minutes)];
    const uint64_t record = told ? place->last : place->first;
    job->source = (struct sqt_row_source){place->origin, record, record == UINT64_MAX ? 0 : index, 0};
    CELL(time_s).number = place->minute;
    CELL(kid).number = place->origin->identity.kid;
    CELL(cause).text = told ? told->cause : "all";
    CELL(culprit).text = told && *told->culprit ? told->culprit : NULL;
    CELL(harm).text = told ? sqt_harm_names[told->harm] : NULL;
    CELL(requests).number = (int64_t)share->requests;
    CELL(failures).number = (int64_t)share->failures;
    CELL(waiting_ns).number = share->waiting < INT64_MAX ? (int64_t)share->waiting : INT64_MAX;
    CELL(minute_requests).number = (int64_t)place->all.requests;
    CELL(minute_failures).number = (int64_t)place->all.failures;
    CELL(minute_waiting_ns).number = place->all.ns < INT64_MAX ? (int64_t)place->all.ns : INT64_MAX;
    sqt_job_row(job, row);
}

/* By process and minute. */
static int
minutes_compare_places(const struct sqt_ledger *l, uint32_t a, uint32_t b)
{
    const struct sqt_ledger_place *const x = &l->places[a], *const y = &l->places[b];
    if (x->origin->index != y->origin->index)
        return x->origin->index < y->origin->index ? -1 : 1;
    return x->minute < y->minute ? -1 : x->minute > y->minute;
}

static int
minutes_compare_shares(const void *a, const void *b, void *ledger)
{
    const struct minutes_share *const x = a, *const y = b;
    const int order = minutes_compare_places(ledger, x->place, y->place);
    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int
minutes_compare(const void *a, const void *b, void *ledger)
{
    return minutes_compare_places(ledger, *(const uint32_t *)a, *(const uint32_t *)b);
}

static void
minutes_rows(struct sqt_job *job, const struct sqt_findings *f, const struct minutes_shares *shares)
{
    struct sqt_ledger *const l = f->ledger;
    uint32_t *const places = sqt_zeroed(l->place_count + 1, sizeof(*places));
    uint64_t index = 0; /* of a row among those of its process */
    size_t at = 0;
    for (size_t i = 0; i < l->place_count; ++i)
        places[i] = (uint32_t)i;
    if (l->place_count)
        qsort_r(places, l->place_count, sizeof(*places), minutes_compare, l);
    for (size_t i = 0; i < l->place_count; ++i) {
        const struct sqt_ledger_place *const place = &l->places[places[i]];
        const struct minutes_share all = {places[i], 0, place->all.requests, place->all.failures, place->all.ns};
        index = i && l->places[places[i - 1]].origin == place->origin ? index : 0;
        minutes_row(job, place, NULL, &all, 0);
        for (; at < shares->count && shares->of[at].place == places[i]; ++at)
            minutes_row(job, place, f->tolds.told[shares->of[at].rank], &shares->of[at], ++index);
    }
    sqt_freed(places);
}

static void
minutes_conclude(struct sqt_job *job, struct minutes_proxy *proxy)
{
    struct minutes *const m = job->state;
    struct sqt_findings *const f = proxy->job.state;
    if (!m->later || proxy->job.from == INT64_MAX)
        proxy->job.from = 0;
    sqt_findings_conclude(&proxy->job);
    sqt_ledger_sort(f->ledger);
    const struct minutes_shares shares = minutes_shares(f);
    if (shares.count)
        qsort_r(shares.of, shares.count, sizeof(*shares.of), minutes_compare_shares, f->ledger);
    minutes_rows(job, f, &shares);
    m->shares += shares.left_out;
    sqt_freed(shares.of);
}

static void
minutes_forget(struct minutes *m)
{
    for (struct sqt_name_entry *named = m->proxies.first; named; named = named->next)
        if (((struct minutes_proxy *)named)->job.state)
            minutes_drop(m, (struct minutes_proxy *)named);
    sqt_names_free(&m->proxies);
    sqt_freed(m->connecting);
    *m = (struct minutes){.proxies = {.size = sizeof(struct minutes_proxy), .most = PROXIES},
                          .bound = {.places = PLACES, .sums = SUMS},
                          .later = m->later};
}

static void
minutes_note(const struct sqt_job *job, const struct minutes *m)
{
    sqt_job_note_bound(job, m->refused, "proxies have no findings by minute, because there is no room for so many");
    sqt_job_note_bound(job, m->bound.requests, "requests are in no minute, because there are too many minutes");
    sqt_job_note_bound(job, m->bound.parts,
                       "waits of requests are divided like all requests, because there are too many minutes");
    sqt_job_note_bound(job, m->shares, "rows of findings are left out, because there are too many minutes");
}

void
sqt_minutes_emit(struct sqt_job *job)
{
    struct minutes *const m = job->state;
    for (struct sqt_name_entry *named = m->proxies.first; named; named = named->next)
        if (((struct minutes_proxy *)named)->job.state) {
            minutes_conclude(job, (struct minutes_proxy *)named);
            minutes_drop(m, (struct minutes_proxy *)named);
        }
    minutes_note(job, m);
    minutes_forget(m);
}

void
sqt_minutes_free(struct sqt_job *job)
{
    minutes_forget(job->state);
    sqt_freed(job->state);
}

static void
minutes_start(struct sqt_job *job)
{
    minutes_forget(job->state = sqt_zeroed(1, sizeof(struct minutes)));
}

static void
minutes_finish(struct sqt_job *job)
{
    sqt_minutes_emit(job);
    sqt_minutes_free(job);
}

const struct sqt_family sqt_family_finding_minutes = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .unpicked = 1,
    .start = minutes_start,
    .consumer = {.request = minutes_request,
                 .connection = minutes_connection,
                 .wait = minutes_wait,
                 .swap = minutes_swap,
                 .stop = minutes_stop,
                 .setup = minutes_setup,
                 .accept = minutes_accept,
                 .client_closed = minutes_client_closed,
                 .closed = minutes_closed,
                 .incident = minutes_incident,
                 .step = minutes_step,
                 .late_read = minutes_late_read,
                 .put_off = minutes_put_off,
                 .loop = minutes_loop,
                 .sample = minutes_sample,
                 .loop_sample = minutes_loop_sample},
    .open_loop = minutes_open_loop,
    .finish = minutes_finish,
};
