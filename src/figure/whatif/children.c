/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * children.c - what another number of children of a helper, or of connections to an adaptation service, would bring.
 *
 * Each worker has children of its own, so each has a queue here.  Questions come when they are answered, and are replayed
 * in the order in which they were asked.  With today's number their waits must be those that were measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "figure/stat/names.h"
#include "figure/stat/quantile-cells.h"
#include "lanes.h"
#include "whatif.h"

#define SERVICES 64
#define VALUES 12
#define KIDS 32
/* Questions of a queue that are kept until nothing asked earlier can be answered. */
#define KEPT 16384
/* The same of all queues, beside the first ones of each: 24 MiB.  A trace may have many workers and services. */
#define KEPT_FIRST 256
#define KEPT_OF_ALL (1u << 20)
/* Servers of all queues that are replayed, with all numbers that are tried: 32 MiB. */
#define LANES_OF_ALL (1u << 22)
#define LEAST 5000               /* questions */
#define OVERLOADED 0.9           /* busy share of all servers */
#define SLOTS_MOST 4096          /* servers that are tried */
#define BUDGET ((size_t)1 << 20) /* values that are kept before they become histograms: 8 MiB */
#define GROWS 1.5                /* service that is longer by this factor where many are asked at once */

struct question {
    int64_t begin, given, service;
};

/* Of one worker. */
struct queue {
    struct question *kept;
    unsigned count, room;
    struct sqt_lanes lanes[VALUES];
    struct sqt_lanes today; /* for how many are asked at once */
};

struct service {
    struct sqt_name_entry named; /* "<kind> <name>" */
    char setting[160];
    struct queue queues[KIDS];
    int64_t now;    /* children; 0: not known yet, -1: cannot be known */
    int64_t slots;  /* questions that a child takes at once */
    int of_service; /* of adaptation: connections in place of children */
    int too_many;   /* of both together */
    int no_room;    /* for the servers of all its queues */
    unsigned values[VALUES], value_count;
    struct sqt_distribution waits[VALUES];
    double wait_ns[VALUES];
    uint64_t count, queued, late;
    double measured_ns, service_ns;
    double few_ns, many_ns; /* service of questions where few, or many, were asked at once */
    uint64_t few, many;
    int64_t first, last;
    unsigned kids;
};

struct sqt_whatif_children {
    struct sqt_job *job;
    struct sqt_settings settings;
    struct sqt_names names;
    struct sqt_distributions set;
    unsigned kept, lanes; /* room of all queues beyond their first ones; servers of all of them */
};

struct sqt_whatif_children *
sqt_whatif_children_new(struct sqt_job *job)
{
    struct sqt_whatif_children *const c = sqt_zeroed(1, sizeof(*c));
    c->job = job;
    c->names.size = sizeof(struct service);
    c->names.most = SERVICES;
    c->set.budget = BUDGET;
    sqt_whatif_settings(job, &c->settings);
    return c;
}

/* ---- the number of servers ---- */

static int
children_by_begin(const void *a, const void *b)
{
    const struct question *const x = a, *const y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* How many questions were asked at once at most.  If some had to wait, this is how many can be. */
static unsigned
children_at_once(const struct queue *q)
{
    int64_t *const ends = sqt_allocated((q->count + 1) * sizeof(*ends));
    unsigned busy = 0, most = 0;
    for (unsigned i = 0; i < q->count; ++i) {
        const int64_t given = q->kept[i].given, end = given + q->kept[i].service;
        unsigned left = 0;
        for (unsigned n = 0; n < busy; ++n)
            if (ends[n] > given)
                ends[left++] = ends[n];
        ends[left++] = end;
        busy = left;
        most = busy > most ? busy : most;
    }
    sqt_freed(ends);
    return most;
}

struct change {
    int64_t at;
    signed char busy, waiting;
};

static int
children_by_time(const void *a, const void *b)
{
    const struct change *const x = a, *const y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* How many questions are asked at once for most of the time in which others wait.  A service's connection is free some time
 * before its question is over, so for a moment there may be more. */
static unsigned
children_at_once_mostly(const struct queue *q)
{
    struct change *const changes = sqt_allocated((3 * (size_t)q->count + 1) * sizeof(*changes));
    int64_t *const held = sqt_zeroed((size_t)q->count + 1, sizeof(*held));
    unsigned count = 0, most = 0;
    int64_t busy = 0, waiting = 0, last = 0;
    for (unsigned i = 0; i < q->count; ++i) {
        const struct question *const asked = &q->kept[i];
        changes[count++] = (struct change){.at = asked->begin, .waiting = 1};
        changes[count++] = (struct change){.at = asked->given, .busy = 1, .waiting = -1};
        changes[count++] = (struct change){.at = asked->given + asked->service, .busy = -1};
    }
    qsort(changes, count, sizeof(*changes), children_by_time);
    for (unsigned i = 0; i < count; ++i) {
        if (waiting > 0 && busy >= 0)
            held[busy] += changes[i].at - last;
        last = changes[i].at;
        busy += changes[i].busy;
        waiting += changes[i].waiting;
    }
    for (unsigned i = 0; i <= q->count; ++i)
        most = held[i] > held[most] ? i : most;
    sqt_freed(changes);
    sqt_freed(held);
    return most;
}

static void
children_today(struct sqt_whatif_children *c, struct service *s, const struct queue *q)
{
    const char *const space = strchr(s->named.name, ' ');
    const size_t kind = space ? (size_t)(space - s->named.name) : 0;
    s->slots = 1;
    for (unsigned i = 0; i < c->settings.helper_count; ++i) {
        const struct sqt_setting_children *const set = &c->settings.helpers[i];
        if (strlen(set->kind) != kind || strncmp(set->kind, s->named.name, kind) != 0 ||
            (*set->name && strcmp(set->name, space + 1) != 0) || set->children <= 0)
            continue;
        s->now = set->children;
        s->slots = set->concurrency > 1 ? set->concurrency : 1;
    }
    if (!s->now)
        s->now = !s->queued ? -1 : s->of_service ? (int64_t)children_at_once_mostly(q) : (int64_t)children_at_once(q);
    if (!s->now)
        s->now = -1;
    if (s->now > 0 && s->now > SLOTS_MOST / s->slots) {
        s->now = -1;
        s->too_many = 1;
    }
}

/* The numbers to try. */
static void
children_values(struct sqt_whatif_children *c, struct service *s)
{
    static const unsigned quarters[] = {1, 2, 4, 6, 8, 12, 16, 32};
    const struct sqt_whatif *const w = c->job->whatif;
    const int64_t most = SLOTS_MOST / s->slots;
    unsigned asked = 0;
    for (unsigned i = 0; w && i < w->asked_count && s->value_count < VALUES - 1; ++i) {
        const char *const setting = w->asked[i].setting;
        if (strcmp(setting, "children") != 0 && strcmp(setting, "max-conn") != 0)
            continue;
        s->values[s->value_count++] = (unsigned)(w->asked[i].value < most ? w->asked[i].value : most);
        ++asked;
    }
    int there = 0;
    for (unsigned v = 0; v < s->value_count; ++v)
        there |= s->values[v] == s->now;
    if (asked && !there)
        s->values[s->value_count++] = (unsigned)s->now;
    for (unsigned i = 0; !asked && i < sizeof(quarters) / sizeof(*quarters); ++i) {
        const uint64_t value = (uint64_t)s->now * quarters[i] / 4;
        if (value && value * (uint64_t)s->slots <= SLOTS_MOST &&
            (!s->value_count || s->values[s->value_count - 1] != value))
            s->values[s->value_count++] = (unsigned)value;
    }
}

/* ---- replaying ---- */

/* Makes the servers of a queue, unless it has them.  Returns 0 if there is no room for them. */
static int
children_serve(struct sqt_whatif_children *c, struct service *s, struct queue *q)
{
    unsigned count = (unsigned)(s->now * s->slots);
    if (q->today.count)
        return 1;
    for (unsigned v = 0; v < s->value_count; ++v)
        count += s->values[v] * (unsigned)s->slots;
    if (count > LANES_OF_ALL - c->lanes) {
        s->now = -1;
        s->no_room = 1;
        return 0;
    }
    c->lanes += count;
    sqt_lanes_init(&q->today, (unsigned)(s->now * s->slots));
    for (unsigned v = 0; v < s->value_count; ++v)
        sqt_lanes_init(&q->lanes[v], s->values[v] * (unsigned)s->slots);
    return 1;
}

static void
children_replay_one(struct sqt_whatif_children *c, struct service *s, struct queue *q, const struct question *question)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < q->today.count; ++i)
        busy += q->today.free_at[i] > question->begin;
    sqt_lanes_take(&q->today, question->begin, question->service);
    const int many = busy > q->today.count / 2;
    *(many ? &s->many_ns : &s->few_ns) += (double)question->service;
    *(many ? &s->many : &s->few) += 1;
    for (unsigned v = 0; v < s->value_count; ++v) {
        const int64_t starts = sqt_lanes_take(&q->lanes[v], question->begin, question->service);
        const int64_t wait = starts + question->service - question->begin;
        s->wait_ns[v] += (double)wait;
        sqt_distribution_add(&c->set, &s->waits[v], wait);
    }
}

/* Replays the first questions, that many. */
static void
children_replay(struct sqt_whatif_children *c, struct service *s, struct queue *q, unsigned count)
{
    qsort(q->kept, q->count, sizeof(*q->kept), children_by_begin);
    if (!s->now) {
        children_today(c, s, q);
        if (s->now > 0)
            children_values(c, s);
    }
    for (unsigned i = 0; s->now > 0 && children_serve(c, s, q) && i < count; ++i)
        children_replay_one(c, s, q, &q->kept[i]);
    q->count -= count;
    memmove(q->kept, q->kept + count, q->count * sizeof(*q->kept));
}

/* The setting, as squid.conf has it. */
static void
children_setting(char *text, size_t size, const char *kind, const char *name)
{
    static const struct {
        const char *kind, *form;
    } forms[] = {{"url_rewrite", "url_rewrite_children"},   {"store_id", "store_id_children"},
                 {"auth", "auth_param %s children"},        {"external_acl", "external_acl_type %s children-max"},
                 {"cert_generation", "sslcrtd_children"},   {"cert_validation", "sslcrtvalidator_children"},
                 {"adaptation", "icap_service %s max-conn"}};
    const char *form = "children of %s";
    for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); ++i)
        if (strcmp(forms[i].kind, kind) == 0)
            form = forms[i].form;
    const char *const hole = strstr(form, "%s");
    if (hole)
        snprintf(text, size, "%.*s%s%s", (int)(hole - form), form, name, hole + 2);
    else
        snprintf(text, size, "%s", form);
}

#define WAIT(name) row[SQT_CELL(waits, name)]

static struct service *
children_service(struct sqt_whatif_children *c, const union sqt_cell *row, const struct sqt_origin *origin)
{
    char whole[256];
    const char *const kind = WAIT(kind).text ? WAIT(kind).text : "-", *const name =
                                                                          WAIT(name).text ? WAIT(name).text : "-";
    snprintf(whole, sizeof(whole), "%s %s", kind, name);
    struct service *const s = sqt_names_get(&c->names, whole);
    if (!*s->setting) {
        sqt_whatif_settings_of(c->job, &c->settings, origin);
        s->first = INT64_MAX;
        s->last = INT64_MIN;
        children_setting(s->setting, sizeof(s->setting), kind, name);
    }
    return s;
}

/* For one more question. */
static void
children_make_room(struct sqt_whatif_children *c, struct service *s, struct queue *q)
{
    if (q->count < q->room)
        return;
    if (q->room && q->room > KEPT_OF_ALL - c->kept) {
        children_replay(c, s, q, q->count / 2);
        return;
    }
    c->kept += q->room;
    q->room = q->room ? 2 * q->room : KEPT_FIRST;
    q->kept = sqt_resized(q->kept, q->room * sizeof(*q->kept));
}

void
sqt_whatif_children_wait(struct sqt_whatif_children *c, const struct sqt_wait *wait)
{
    union sqt_cell row[SQT_CELLS(waits)];
    if (wait->outcome != SQT_WAIT_OK && wait->outcome != SQT_WAIT_ERR && wait->outcome != SQT_WAIT_BROKEN)
        return;
    sqt_wait_cells(row, wait);
    if (WAIT(service_ns).number == SQT_CELL_MISSING ||
        strcmp(WAIT(kind).text ? WAIT(kind).text : "", "name_server") == 0)
        return;
    struct service *const s = children_service(c, row, wait->origin);
    struct queue *const q = &s->queues[wait->origin->identity.kid % KIDS];
    if (sqt_names_is_others(&s->named))
        return;
    children_make_room(c, s, q);
    const int64_t queue = WAIT(queue_ns).number, service = WAIT(service_ns).number;
    q->kept[q->count++] = (struct question){wait->begin, wait->begin + queue, service};
    ++s->count;
    s->of_service = wait->def == SQT_DEF_SERVICE;
    s->queued += queue > 0 && (wait->depth > 0 || s->of_service); /* how many wait for a service is not told */
    s->measured_ns += (double)(queue + service);
    s->service_ns += (double)service;
    s->first = wait->begin < s->first ? wait->begin : s->first;
    s->last = wait->end > s->last ? wait->end : s->last;
    if (q->count == KEPT)
        children_replay(c, s, q, KEPT / 2);
}

/* ---- rows ---- */

#define CELL(name) row[SQT_CELL(whatif, name)]

static double
children_load(const struct service *s, unsigned children)
{
    const double time =
        sqt_whatif_hours(s->first, s->last) * 3.6e12 * (double)children * (double)s->slots * (double)s->kids;
    return time > 0 ? s->service_ns / time : 0;
}

static const char *
children_refusal(const struct service *s, double off, char *text, size_t size)
{
    if (s->count < LEAST)
        snprintf(text, size, "fewer than %d questions", LEAST);
    else if (s->too_many)
        snprintf(text, size, "it can have more than %d questions at once, and no more are replayed", SLOTS_MOST);
    else if (s->no_room)
        snprintf(text, size, "there are too many workers and services for all to be replayed");
    else if (s->now < 0)
        snprintf(text, size,
                 "no question waited for a free %s, so the trace does not show how many there are, and more "
                 "would not help",
                 s->of_service ? "connection" : "child");
    else if (off > SQT_WHATIF_PERCENT || off < -SQT_WHATIF_PERCENT)
        snprintf(text, size, "today's number gives a mean wait %.0f %% %s than measured", off < 0 ? -off : off,
                 off < 0 ? "shorter" : "longer");
    else
        return NULL;
    return text;
}

/* Replays what is left. */
static void
children_settle(struct sqt_whatif_children *c, struct service *s)
{
    s->kids = 0;
    for (unsigned k = 0; k < KIDS; ++k) {
        s->kids += s->queues[k].kept != NULL;
        if (s->queues[k].count)
            children_replay(c, s, &s->queues[k], s->queues[k].count);
    }
}

/* How much longer than measured the mean wait is that today's number gives, in percent. */
static double
children_off(const struct service *s)
{
    for (unsigned v = 0; v < s->value_count; ++v)
        if (s->values[v] == s->now && s->measured_ns > 0)
            return 100 * (s->wait_ns[v] - s->measured_ns) / s->measured_ns;
    return 0;
}

static const char *
children_text(char *text, size_t size, const struct service *s, int64_t children)
{
    if (s->slots > 1)
        snprintf(text, size, "%lld concurrency=%lld", (long long)children, (long long)s->slots);
    else
        snprintf(text, size, "%lld", (long long)children);
    return text;
}

static void
children_row(struct sqt_whatif_children *c, struct service *s, unsigned v, double off, const char *refusal)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    char value[64], now[64];
    const int grows =
        s->few >= 100 && s->many >= 100 && s->many_ns / (double)s->many > GROWS * (s->few_ns / (double)s->few);
    const int overloaded = !refusal && children_load(s, s->values[v]) > OVERLOADED;
    sqt_whatif_clear(row);
    CELL(setting).text = s->setting;
    CELL(bound).text = refusal ? "refused" : overloaded ? "overloaded" : grows ? "at_most" : "forecast";
    CELL(method).text = refusal      ? refusal
                        : overloaded ? "more than 90 % of all time would be busy, so the queue grows"
                        : grows      ? "replayed, but an answer takes longer the more are asked at once"
                                     : "replayed: questions in the order in which they were asked";
    if (s->now > 0)
        CELL(now_value).text = children_text(now, sizeof(now), s, s->now);
    CELL(value).text =
        s->value_count && !refusal ? children_text(value, sizeof(value), s, s->values[v]) : CELL(now_value).text;
    if (s->now > 0)
        CELL(calibration_pct).number = sqt_whatif_whole(off * 1000);
    if (!refusal && !overloaded) {
        const double hours = sqt_whatif_hours(s->first, s->last);
        CELL(wait_mean_ms).number = sqt_whatif_whole(s->wait_ns[v] / (double)s->count);
        CELL(wait_p99_ms) = sqt_quantile_cell(&s->waits[v], 990);
        if (hours > 0)
            CELL(saved_s_per_h).number = sqt_whatif_whole((s->measured_ns - s->wait_ns[v]) / hours);
    }
    sqt_whatif_row(c->job, row, s->value_count && !refusal ? s->values[v] : s->now,
                   s->values[v] == s->now ? SQT_WHATIF_TODAY : 0);
}

static void
children_rows(struct sqt_whatif_children *c, struct service *s)
{
    char text[256];
    const double off = children_off(s);
    const char *const refusal = children_refusal(s, off, text, sizeof(text));
    for (unsigned v = 0; v < (refusal ? 1 : s->value_count); ++v)
        children_row(c, s, v, off, refusal);
}

/* A larger number is worth it if the wait is that much shorter, and the smallest that comes near the shortest is enough. */
#define WORTH 0.8
#define NEAR 1.1
/* Of what all clients waited, the least that a change must save. */
#define SAVES 0.05

int
sqt_whatif_children_advice(struct sqt_whatif_children *c, const char *who, double waited_ns, char *text, size_t size)
{
    struct service *s = NULL;
    char refusal[256];
    unsigned best = VALUES;
    double least = 0;
    for (struct sqt_name_entry *named = c->names.first; named; named = named->next)
        if (strcmp(named->name, who) == 0)
            s = (struct service *)named;
    if (!s || sqt_names_is_others(&s->named))
        return 0;
    children_settle(c, s);
    if (children_refusal(s, children_off(s), refusal, sizeof(refusal)))
        return 0;
    for (unsigned v = 0; v < s->value_count; ++v)
        least = !least || s->wait_ns[v] < least ? s->wait_ns[v] : least;
    for (unsigned v = 0; v < s->value_count && best == VALUES; ++v)
        if (s->values[v] > s->now && children_load(s, s->values[v]) <= OVERLOADED && s->wait_ns[v] <= NEAR * least &&
            s->wait_ns[v] <= WORTH * s->measured_ns && s->measured_ns - s->wait_ns[v] >= SAVES * waited_ns)
            best = v;
    if (best == VALUES)
        return 0;
    snprintf(text, size, "%u children instead of %lld: %.1f ms become %.1f ms in the mean.", s->values[best],
             (long long)s->now, s->measured_ns / (double)s->count / 1e6, s->wait_ns[best] / (double)s->count / 1e6);
    return 1;
}

/* How many servers a queue has. */
static unsigned
children_lanes(const struct queue *q)
{
    unsigned count = q->today.count;
    for (unsigned v = 0; v < VALUES; ++v)
        count += q->lanes[v].count;
    return count;
}

static void
children_finish_service(struct sqt_whatif_children *c, struct service *s, int wanted)
{
    children_settle(c, s);
    if (wanted && s->count && !sqt_names_is_others(&s->named))
        children_rows(c, s);
    for (unsigned k = 0; k < KIDS; ++k) {
        sqt_freed(s->queues[k].kept);
        c->lanes -= children_lanes(&s->queues[k]);
        sqt_lanes_free(&s->queues[k].today);
        for (unsigned v = 0; v < VALUES; ++v)
            sqt_lanes_free(&s->queues[k].lanes[v]);
    }
    for (unsigned v = 0; v < VALUES; ++v)
        sqt_distribution_drop(&c->set, &s->waits[v]);
}

/* Those that are waited for most first, then by name. */
static int
children_compare(const void *a, const void *b)
{
    const struct service *const x = *(struct service *const *)a, *const y = *(struct service *const *)b;
    if (x->measured_ns != y->measured_ns)
        return x->measured_ns < y->measured_ns ? 1 : -1;
    return strcmp(x->named.name, y->named.name);
}

void
sqt_whatif_children_finish(struct sqt_whatif_children *c)
{
    struct service **const all = sqt_zeroed(c->names.count + 2, sizeof(*all));
    unsigned count = 0;
    for (struct sqt_name_entry *named = c->names.first; named; named = named->next)
        all[count++] = (struct service *)named;
    qsort(all, count, sizeof(*all), children_compare);
    const int quiet = !c->job->table;                   /* no rows are wanted */
    const int figure = !quiet && c->job->table->figure; /* a picture of one service: that which is waited for most */
    for (unsigned i = 0; i < count; ++i)
        children_finish_service(c, all[i], !quiet && (!figure || c->job->rows == 0));
    sqt_names_free(&c->names);
    sqt_freed(all);
    sqt_freed(c);
}
