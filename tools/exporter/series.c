/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * series.c - see series.h.
 */
#include "series.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scatter.h"

#define CHAINS 1024
/* Label sets of a family without a place that are counted. */
#define HIDDEN 128
/* Rows that a label set must have more than twice those of the rarest one, to take its place. */
#define MARGIN 16

/* A label set that has no place, by the hash of its labels. */
struct series_hidden {
    uint64_t hash;
    uint64_t hits;
};

struct series_family {
    struct export_child *first, *other;
    unsigned count, cost, most;
    struct series_hidden hidden[HIDDEN];
};

struct export_series {
    struct export_rules rules;
    struct series_family families[EXPORT_FAMILIES];
    struct export_child *chains[CHAINS];
    unsigned used, room; /* series, those of "other" apart */
    unsigned others;     /* series of "other" */
    uint64_t rows;       /* that went to "other" */
};

/* ---- making and dropping ---- */

uint64_t
export_labels_hash(enum export_family family, const char *const *labels, unsigned count)
{
    uint64_t hash = family;
    for (unsigned i = 0; i < count; ++i)
        hash = sqt_scattered(hash, sqt_scatter()) ^ sqt_scattered_text(labels[i], strlen(labels[i]));
    return hash ^ hash >> 32;
}

/* Series of one label set. */
static unsigned
series_cost(const struct export_family_info *info, unsigned bounds)
{
    unsigned cost = 0;
    for (unsigned i = 0; i < info->slots; ++i)
        cost += export_metrics[info->first + i].kind == EXPORT_HISTOGRAM ? bounds + 3 : 1;
    return cost;
}

static struct export_child *
series_make(enum export_family family, uint64_t hash, const char *const *labels)
{
    const struct export_family_info *const info = &export_families()[family];
    struct export_child *const child = sqt_zeroed(1, sizeof(*child));
    child->family = family;
    child->sampled = INT64_MIN;
    child->hash = hash;
    for (unsigned i = 0; i < info->label_count; ++i)
        child->labels[i] = sqt_copied(labels[i]);
    if (export_metrics[info->first].kind == EXPORT_HISTOGRAM)
        child->histogram = sqt_zeroed(1, sizeof(*child->histogram));
    return child;
}

static void
series_free_child(struct export_child *child)
{
    if (!child)
        return;
    for (unsigned i = 0; i < EXPORT_LABELS_MOST; ++i)
        free(child->labels[i]);
    free(child->histogram);
    free(child);
}

static struct export_child *
series_add_child(struct export_series *s, enum export_family family, uint64_t hash, const char *const *labels)
{
    struct series_family *const f = &s->families[family];
    struct export_child *const child = series_make(family, hash, labels);
    child->chain = s->chains[hash % CHAINS];
    s->chains[hash % CHAINS] = child;
    child->next = f->first;
    f->first = child;
    ++f->count;
    s->used += f->cost;
    return child;
}

static void
series_drop(struct export_series *s, struct export_child *child)
{
    struct series_family *const f = &s->families[child->family];
    struct export_child **link = &s->chains[child->hash % CHAINS];
    while (*link != child)
        link = &(*link)->chain;
    *link = child->chain;
    for (link = &f->first; *link != child;)
        link = &(*link)->next;
    *link = child->next;
    --f->count;
    s->used -= f->cost;
    series_free_child(child);
}

struct export_series *
export_series_new(const struct export_rules *rules)
{
    static const char *const others[EXPORT_LABELS_MOST] = {EXPORT_OTHER, EXPORT_OTHER, EXPORT_OTHER};
    struct export_series *const s = sqt_zeroed(1, sizeof(*s));
    s->rules = *rules;
    unsigned reserved = 0;
    for (unsigned i = 0; i < EXPORT_FAMILIES; ++i) {
        const struct export_family_info *const info = &export_families()[i];
        struct series_family *const f = &s->families[i];
        f->cost = series_cost(info, rules->bound_count);
        f->most = info->form == EXPORT_TOP ? rules->top : UINT32_MAX;
        f->other = series_make(i, 0, others);
        reserved += f->cost;
    }
    s->room = rules->series > reserved ? rules->series - reserved : 0;
    return s;
}

void
export_series_free(struct export_series *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < EXPORT_FAMILIES; ++i) {
        while (s->families[i].first) {
            struct export_child *const child = s->families[i].first;
            s->families[i].first = child->next;
            series_free_child(child);
        }
        series_free_child(s->families[i].other);
    }
    free(s);
}

/* ---- which label set ---- */

static struct export_child *
series_find(const struct export_series *s, enum export_family family, uint64_t hash, const char *const *labels)
{
    const unsigned count = export_families()[family].label_count;
    for (struct export_child *child = s->chains[hash % CHAINS]; child; child = child->chain) {
        if (child->hash != hash || child->family != family)
            continue;
        unsigned i = 0;
        while (i < count && strcmp(child->labels[i], labels[i]) == 0)
            ++i;
        if (i == count)
            return child;
    }
    return NULL;
}

static struct export_child *
series_rarest(const struct series_family *f)
{
    struct export_child *rarest = f->first;
    for (struct export_child *child = f->first; child; child = child->next)
        if (child->hits < rarest->hits)
            rarest = child;
    return rarest;
}

/* Counts a label set without a place.  Where there is no room, it takes that of the rarest, with its count: so a count is
 * never too low. */
static uint64_t
series_count_hidden(struct series_family *f, uint64_t hash)
{
    struct series_hidden *rarest = &f->hidden[0];
    for (unsigned i = 0; i < HIDDEN; ++i) {
        if (f->hidden[i].hash == hash)
            return ++f->hidden[i].hits;
        if (f->hidden[i].hits < rarest->hits)
            rarest = &f->hidden[i];
    }
    rarest->hash = hash;
    return ++rarest->hits;
}

static void
series_forget_hidden(struct series_family *f, uint64_t hash)
{
    for (unsigned i = 0; i < HIDDEN; ++i)
        if (f->hidden[i].hash == hash)
            f->hidden[i] = (struct series_hidden){0, 0};
}

/* Whether a row says itself that it is of others: a trace does, after its first 1,000 servers. */
static int
series_says_other(const char *const *labels, unsigned count)
{
    unsigned i = 0;
    while (i < count && strcmp(labels[i], EXPORT_OTHER) == 0)
        ++i;
    return count && i == count;
}

static struct export_child *
series_take_other(struct export_series *s, enum export_family family)
{
    struct series_family *const f = &s->families[family];
    ++s->rows;
    if (!f->other->hits++)
        s->others += f->cost;
    return f->other;
}

/* There is no room: in the place of the rarest one, or "other". */
static struct export_child *
series_replace(struct export_series *s, enum export_family family, uint64_t hash, const char *const *labels)
{
    struct series_family *const f = &s->families[family];
    struct export_child *const rarest = series_rarest(f);
    const uint64_t hits = series_count_hidden(f, hash);
    if (rarest && hits > 2 * rarest->hits + MARGIN && export_families()[family].form != EXPORT_NOW) {
        series_drop(s, rarest);
        series_forget_hidden(f, hash);
        struct export_child *const child = series_add_child(s, family, hash, labels);
        child->hits = hits;
        return child;
    }
    return series_take_other(s, family);
}

struct export_child *
export_series_get(struct export_series *s, enum export_family family, const char *const *labels)
{
    struct series_family *const f = &s->families[family];
    const unsigned count = export_families()[family].label_count;
    const uint64_t hash = export_labels_hash(family, labels, count);
    if (series_says_other(labels, count))
        return series_take_other(s, family);
    struct export_child *child = series_find(s, family, hash, labels);
    if (!child && ((f->count < f->most && s->used + f->cost <= s->room) || !count)) /* that of the exporter always */
        child = series_add_child(s, family, hash, labels);
    if (!child)
        return series_replace(s, family, hash, labels);
    ++child->hits;
    return child;
}

int
export_series_is_other(const struct export_series *s, const struct export_child *child)
{
    return s->families[child->family].other == child;
}

/* ---- values ---- */

static unsigned
series_slot(enum export_metric metric)
{
    return metric - export_families()[export_metrics[metric].family].first;
}

void
export_series_add(struct export_child *child, enum export_metric metric, int64_t value)
{
    int64_t *const sum = &child->values[series_slot(metric)];
    if (value > 0 && __builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

void
export_series_set(struct export_child *child, enum export_metric metric, int64_t value)
{
    child->values[series_slot(metric)] = value;
    child->seen |= 1u << series_slot(metric);
}

void
export_series_raise(struct export_child *child, enum export_metric metric, int64_t value)
{
    export_series_add(child, metric, value);
    child->seen |= 1u << series_slot(metric);
}

void
export_series_most(struct export_child *child, enum export_metric metric, int64_t value)
{
    int64_t *const most = &child->values[series_slot(metric)];
    *most = value > *most ? value : *most;
    child->seen |= 1u << series_slot(metric);
}

void
export_series_zero(struct export_series *s, enum export_family family)
{
    struct series_family *const f = &s->families[family];
    for (struct export_child *child = f->first; child; child = child->next)
        memset(child->values, 0, sizeof(child->values));
    memset(f->other->values, 0, sizeof(f->other->values));
}

void
export_series_clear(struct export_series *s, enum export_family family)
{
    struct series_family *const f = &s->families[family];
    while (f->first)
        series_drop(s, f->first);
    if (f->other->hits)
        s->others -= f->cost;
    f->other->hits = 0;
    f->other->seen = 0;
    memset(f->other->values, 0, sizeof(f->other->values));
}

void
export_series_grow(struct export_child *child, enum export_metric metric, const struct sqt_origin *origin,
                   uint64_t value)
{
    const unsigned slot = series_slot(metric);
    if (child->origin != origin)
        child->known = 0;
    child->origin = origin;
    if (child->known >> slot & 1 && value > child->before[slot] && value - child->before[slot] <= INT64_MAX)
        export_series_add(child, metric, (int64_t)(value - child->before[slot]));
    child->before[slot] = value;
    child->known |= 1u << slot;
}

void
export_series_observe(struct export_series *s, struct export_child *child, int64_t ns,
                      const struct export_exemplar *exemplar)
{
    struct export_histogram *const h = child->histogram;
    unsigned i = 0;
    while (i < s->rules.bound_count && ns > s->rules.bounds[i])
        ++i;
    ++h->count;
    if (ns > 0 && __builtin_add_overflow(h->sum, ns, &h->sum))
        h->sum = INT64_MAX;
    ++h->buckets[i].count;
    if (exemplar)
        h->buckets[i].exemplar = *exemplar;
}

void
export_series_end(struct export_series *s, const struct sqt_origin *origin)
{
    for (unsigned i = 0; i < EXPORT_FAMILIES; ++i)
        for (struct export_child *child = s->families[i].first; child; child = child->next)
            if (child->origin == origin) {
                child->origin = NULL;
                child->seen = child->known = 0;
            }
}

void
export_series_age(struct export_series *s)
{
    for (unsigned i = 0; i < EXPORT_FAMILIES; ++i) {
        for (struct export_child *child = s->families[i].first; child; child = child->next)
            child->hits /= 2;
        for (unsigned k = 0; k < HIDDEN; ++k)
            s->families[i].hidden[k].hits /= 2;
    }
}

/* ---- for who prints ---- */

unsigned
export_series_count(const struct export_series *s)
{
    return s->used + s->others;
}

uint64_t
export_series_others(const struct export_series *s)
{
    return s->rows;
}

const struct export_child *
export_series_first(const struct export_series *s, enum export_family family)
{
    return s->families[family].first;
}

const struct export_child *
export_series_other(const struct export_series *s, enum export_family family)
{
    return s->families[family].other->hits ? s->families[family].other : NULL;
}

const struct export_rules *
export_series_rules(const struct export_series *s)
{
    return &s->rules;
}
