/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whatif-minutes.c - hits at each size of a cache, by minute and process: counts that add up over minutes and proxies.
 *
 * The caches are those of table `whatif`, one simulation for each proxy: for all processes with the same host and service.
 * Requests that were handed out before are simulated, too, so that caches are as warm as the trace allows.  They are not
 * counted.
 */
#define _GNU_SOURCE /* qsort_r */
#include "whatif-minutes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "figure/stat/ledger.h"
#include "figure/stat/names.h"
#include "sizes.h"

/* Proxies that are told apart; others have no rows.  Each has 10 MiB at most, beside its minutes. */
#define PROXIES 64
/* Bytes of all proxies together, unless one alone takes more.  When they do not fit any more, the last one that came is
 * forgotten. */
#define ROOM (INT64_C(40) << 20)
/* Minutes of processes that have rows, of all proxies together: 45 days of one process.  Each has some 600 bytes: 40 MB in all,
 * and at most twice that, as arrays grow by doubling. */
#define PLACES 65536

static const enum sqt_sizes_setting whatif_minutes_settings[] = {SQT_SIZES_MEMORY, SQT_SIZES_DISK};
#define SETTINGS (sizeof(whatif_minutes_settings) / sizeof(*whatif_minutes_settings))

struct whatif_proxy {
    struct sqt_name_entry named; /* host, a line feed, service */
    struct sqt_job job;          /* of its sizes */
    struct sqt_replay replay;
    struct sqt_sizes *sizes[SETTINGS];
    struct sqt_ledger *ledger; /* minutes of processes */
    int64_t bytes;             /* that it takes */
    uint64_t requests;
    uint64_t wanted; /* of them, that no earlier job has told */
    int refused;     /* it has no rows */
};

struct whatif_minutes {
    struct sqt_names proxies; /* of struct whatif_proxy */
    struct sqt_ledger_bound bound;
    int64_t bytes;     /* that the proxies take */
    uint64_t left_out; /* requests of proxies that have no rows */
};

/* ---- proxies ---- */

static void
whatif_minutes_drop(struct whatif_minutes *m, struct whatif_proxy *proxy)
{
    if (!proxy->ledger)
        return;
    m->bound.places += proxy->ledger->place_count;
    m->bytes -= proxy->bytes;
    for (unsigned i = 0; i < SETTINGS; ++i)
        sqt_sizes_free(proxy->sizes[i]);
    sqt_replay_free(&proxy->replay);
    sqt_ledger_free(proxy->ledger);
    proxy->ledger = NULL;
}

/* The proxies that came last go, until the others fit; the first one stays. */
static void
whatif_minutes_fit(struct whatif_minutes *m)
{
    struct sqt_name_entry *named = m->proxies.first; /* the last that came */
    for (; m->bytes > ROOM && named->next; named = named->next) {
        struct whatif_proxy *const proxy = (struct whatif_proxy *)named;
        if (proxy->refused)
            continue;
        proxy->refused = 1;
        m->left_out += proxy->wanted;
        whatif_minutes_drop(m, proxy);
    }
}

/* The proxy got a thing, before which so many bytes were taken. */
static void
whatif_minutes_took(struct whatif_minutes *m, struct whatif_proxy *proxy, int64_t taken)
{
    const int64_t bytes = sqt_memory_taken() - taken;
    proxy->bytes += bytes;
    m->bytes += bytes;
    if (m->bytes > ROOM)
        whatif_minutes_fit(m);
}

/* NULL: there are too many. */
static struct whatif_proxy *
whatif_minutes_proxy(struct sqt_job *job, const struct sqt_origin *origin)
{
    struct whatif_minutes *const m = job->state;
    struct sqt_names *const proxies = &m->proxies;
    char name[512];
    const char *const host = sqt_origin_text(origin, SQT_DEF_HOST, 0);
    snprintf(name, sizeof(name), "%s\n%.*s", host ? host : "", (int)sizeof(origin->identity.service),
             origin->identity.service);
    if (proxies->count == PROXIES && !sqt_names_has(proxies, name))
        return NULL;
    struct whatif_proxy *const proxy = sqt_names_get(proxies, name);
    if (proxy->job.table)
        return proxy->refused ? NULL : proxy;
    const int64_t taken = sqt_memory_taken();
    proxy->job = (struct sqt_job){.table = job->table, .whatif = job->whatif, .room = SQT_JOB_ROOM_OF_MANY};
    sqt_replay_init(&proxy->replay);
    proxy->ledger = sqt_ledger_new(&m->bound);
    for (unsigned i = 0; i < SETTINGS; ++i)
        proxy->sizes[i] = sqt_sizes_new(&proxy->job, whatif_minutes_settings[i], &proxy->replay);
    proxy->bytes = sqt_memory_taken() - taken;
    m->bytes += proxy->bytes;
    return proxy;
}

/* ---- records ---- */

/* The place of the request that the job is told of; 0 if it does not count. */
static uint32_t
whatif_minutes_place(const struct sqt_job *job, struct whatif_proxy *proxy, const struct sqt_xact *xact)
{
    if ((job->wants && !job->wants(job->context, &job->source)) ||
        !sqt_ledger_request(proxy->ledger, xact->origin, job->source.record, xact->begin, 0, 0))
        return 0;
    return proxy->ledger->place + 1;
}

static void
whatif_minutes_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct sqt_access access;
    enum sqt_class class;
    if (xact->begin < job->since || xact->begin >= job->until || !sqt_whatif_believes(xact->begin, xact->end) ||
        !sqt_whatif_access(&access, xact, &class))
        return;
    struct whatif_proxy *const proxy = whatif_minutes_proxy(job, xact->origin);
    const int64_t taken = sqt_memory_taken();
    const int wanted = !job->wants || job->wants(job->context, &job->source);
    if (!proxy) {
        ((struct whatif_minutes *)job->state)->left_out += (unsigned)wanted;
        return;
    }
    ++proxy->requests;
    proxy->wanted += (unsigned)wanted;
    access.place = whatif_minutes_place(job, proxy, xact);
    for (unsigned i = 0; i < SETTINGS; ++i)
        sqt_sizes_request(proxy->sizes[i], &access, class, xact);
    sqt_replay_add(&proxy->replay, &access);
    whatif_minutes_took(job->state, proxy, taken);
}

static void
whatif_minutes_sample(void *context, const struct sqt_sample_row *sample)
{
    struct whatif_proxy *const proxy = whatif_minutes_proxy(context, sample->origin);
    for (unsigned i = 0; proxy && i < SETTINGS; ++i)
        sqt_sizes_sample(proxy->sizes[i], sample);
}

/* ---- rows ---- */

#define CELL(name) row[SQT_CELL(whatif_minutes, name)]

struct whatif_rows {
    struct sqt_job *job;
    const struct sqt_ledger_place *place;
    uint64_t index; /* of a row among those of its process */
};

static void
whatif_minutes_row(void *context, const struct sqt_sizes_part *p)
{
    struct whatif_rows *const r = context;
    union sqt_cell row[SQT_CELLS(whatif_minutes)];
    const uint64_t record = r->place->last;
    r->job->source = (struct sqt_row_source){r->place->origin, record, record == UINT64_MAX ? 0 : r->index++, 0};
    CELL(time_s).number = r->place->minute;
    CELL(kid).number = r->place->origin->identity.kid;
    CELL(setting).text = p->setting;
    CELL(value_bytes).number = p->value;
    CELL(now_bytes).number = p->now;
    CELL(of_now_pct).number =
        p->now > 0 ? sqt_whatif_whole((double)p->value / (double)p->now * 1e5 + 0.5) : SQT_CELL_MISSING;
    CELL(requests).number = (int64_t)p->requests;
    CELL(bytes).number = (int64_t)p->bytes;
    CELL(hits).number = p->refusal ? SQT_CELL_MISSING : (int64_t)p->hits;
    CELL(hit_bytes).number = p->refusal ? SQT_CELL_MISSING : (int64_t)p->hit_bytes;
    CELL(measured_hits).number = (int64_t)p->seen_hits;
    CELL(measured_hit_bytes).number = (int64_t)p->seen_hit_bytes;
    CELL(refusal).text = p->refusal;
    sqt_job_row(r->job, row);
}

/* By process and minute. */
static int
whatif_minutes_compare(const void *a, const void *b, void *ledger)
{
    const struct sqt_ledger *const l = ledger;
    const struct sqt_ledger_place *const x = &l->places[*(const uint32_t *)a], *const y =
                                                                                   &l->places[*(const uint32_t *)b];
    if (x->origin->index != y->origin->index)
        return x->origin->index < y->origin->index ? -1 : 1;
    return x->minute < y->minute ? -1 : x->minute > y->minute;
}

static void
whatif_minutes_rows(struct sqt_job *job, struct whatif_proxy *proxy)
{
    struct sqt_ledger *const l = proxy->ledger;
    uint32_t *const places = sqt_zeroed(l->place_count + 1, sizeof(*places));
    struct whatif_rows rows = {.job = job};
    for (size_t i = 0; i < l->place_count; ++i)
        places[i] = (uint32_t)i;
    if (l->place_count)
        qsort_r(places, l->place_count, sizeof(*places), whatif_minutes_compare, l);
    for (size_t i = 0; i < l->place_count; ++i) {
        rows.index = rows.place && rows.place->origin == l->places[places[i]].origin ? rows.index : 0;
        rows.place = &l->places[places[i]];
        for (unsigned s = 0; s < SETTINGS; ++s)
            sqt_sizes_parts(proxy->sizes[s], places[i] + 1, whatif_minutes_row, &rows);
    }
    sqt_freed(places);
}

static void
whatif_minutes_forget(struct whatif_minutes *m)
{
    for (struct sqt_name_entry *named = m->proxies.first; named; named = named->next)
        whatif_minutes_drop(m, (struct whatif_proxy *)named);
    sqt_names_free(&m->proxies);
    *m = (struct whatif_minutes){.proxies = {.size = sizeof(struct whatif_proxy), .most = PROXIES},
                                 .bound = {.places = PLACES}};
}

static void
whatif_minutes_note(const struct sqt_job *job, const struct whatif_minutes *m)
{
    sqt_job_note_bound(job, m->left_out,
                       "requests are of proxies without rows, because there is no room for the caches of so many");
    sqt_job_note_bound(job, m->bound.requests, "requests are in no minute, because there are too many minutes");
}

void
sqt_whatif_minutes_emit(struct sqt_job *job)
{
    struct whatif_minutes *const m = job->state;
    for (struct sqt_name_entry *named = m->proxies.first; named; named = named->next) {
        struct whatif_proxy *const proxy = (struct whatif_proxy *)named;
        if (proxy->refused)
            continue;
        sqt_replay_drain(&proxy->replay);
        for (unsigned i = 0; i < SETTINGS; ++i)
            sqt_sizes_divide(proxy->sizes[i]);
        whatif_minutes_rows(job, proxy);
    }
    whatif_minutes_note(job, m);
    whatif_minutes_forget(m);
}

void
sqt_whatif_minutes_free(struct sqt_job *job)
{
    whatif_minutes_forget(job->state);
    sqt_freed(job->state);
}

static void
whatif_minutes_start(struct sqt_job *job)
{
    whatif_minutes_forget(job->state = sqt_zeroed(1, sizeof(struct whatif_minutes)));
}

static void
whatif_minutes_finish(struct sqt_job *job)
{
    sqt_whatif_minutes_emit(job);
    sqt_whatif_minutes_free(job);
}

const struct sqt_family sqt_family_whatif_minutes = {
    .start = whatif_minutes_start,
    .consumer = {.request = whatif_minutes_request, .sample = whatif_minutes_sample},
    .finish = whatif_minutes_finish,
};
