/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sizes.c - what another size of a cache, or of the largest object in it, would bring.
 *
 * Today's value is simulated like the others, and compared with the hits that there were.
 */
#include "sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define KB INT64_C(1024)
#define MB (KB * KB)
/* Icons and other pages that are not for objects, where no sample shows them before the first request. */
#define USUAL_BASE (54 * 4 * KB)
/* Squid's defaults. */
#define USUAL_MEMORY_OBJECT (512 * KB)
#define USUAL_DISK_OBJECT (4 * MB)
#define USUAL_LOW 90
#define USUAL_HIGH 95
/* What stands before the header of an object on a disk: its key, times and URL. */
#define DISK_METADATA 150
/* Fewer requests say nothing. */
#define LEAST 1000
/* A busy memory cache: at least one hit in so many removes its object.  What stays then depends on the order of single
 * reads and writes: the same 12,000 requests at the same rate had 44.6 to 50.0 % hits in one cache, and 21.6 to 29.6 % in
 * another. */
#define BUSY_OF 50
/* Variants of an object are one object here, as a trace names the URL.  So of this many requests whose URL is in the cache, at
 * most one may find only other variants: then no hit ratio is more than about two points too high. */
#define VARIANTS_OF 50
/* Objects that are followed, by setting, and where many jobs share the memory. */
#define NODES_OF_MANY 20000

static const struct sizes_setting {
    const char *name;
    int disk, object; /* it is about disks; about the largest object */
    uint32_t nodes;
    int64_t smallest; /* of powers of two that are tried where today's value is not known */
} sizes_settings[SQT_SIZES] = {
    [SQT_SIZES_MEMORY] = {"cache_mem", 0, 0, 80000, 4 * MB},
    [SQT_SIZES_MEMORY_OBJECT] = {"maximum_object_size_in_memory", 0, 1, 30000, 8 * KB},
    [SQT_SIZES_DISK] = {"cache_dir", 1, 0, 50000, 64 * MB},
    [SQT_SIZES_DISK_OBJECT] = {"maximum_object_size", 1, 1, 30000, 64 * KB},
};
#define POWERS 12

static const struct {
    unsigned times, of;
} sizes_factors[] = {{1, 4}, {1, 2}, {3, 4}, {1, 1}, {3, 2}, {2, 1}, {3, 1}, {4, 1}, {6, 1}, {8, 1}};
#define FACTORS (sizeof(sizes_factors) / sizeof(*sizes_factors))

struct sqt_sizes {
    struct sqt_job *job;
    const struct sizes_setting *setting;
    struct sqt_settings settings;
    int started, shared;
    int64_t base;        /* bytes of memory that are not for objects */
    int64_t now;         /* SQT_UNSET: not known */
    int64_t disk_bytes;  /* of all cache_dirs; 0: there are none, or not known */
    char disk_type[16];  /* of the first */
    int disks_differ;    /* another one is of another kind */
    unsigned disk_known; /* bits of cache_dirs whose size a sample told */
    struct sqt_caches caches;
    struct sqt_replay *replay;       /* of all settings */
    struct sqt_replay_group *group;  /* this one's there */
    const struct sqt_origin *origin; /* of the first kid that came, the last run so far */
    unsigned kids;                   /* with requests, up to 2 */
    uint64_t disk_hits;
    int64_t first, last; /* ns: begin of the first request, end of the last one */
    uint64_t requests, hits, bytes, hit_bytes;
    uint64_t variants; /* requests that found only other variants of their object */
    double hit_ns, rest_ns;
};

const char *
sqt_sizes_name(enum sqt_sizes_setting setting)
{
    return sizes_settings[setting].name;
}

struct sqt_sizes *
sqt_sizes_new(struct sqt_job *job, enum sqt_sizes_setting setting, struct sqt_replay *replay)
{
    struct sqt_sizes *const z = sqt_zeroed(1, sizeof(*z));
    z->job = job;
    z->replay = replay;
    z->setting = &sizes_settings[setting];
    z->base = SQT_UNSET;
    z->first = INT64_MAX;
    z->last = INT64_MIN;
    sqt_whatif_settings(job, &z->settings);
    return z;
}

/* ---- today's value, and others ---- */

static int64_t
sizes_set(int64_t value, int64_t usual)
{
    return value != SQT_UNSET ? value : usual;
}

/* Whether a cache_dir of that type is shared by workers, and has no order of use. */
static int
sizes_is_rock(const char *type)
{
    return strcmp(type, "rock") == 0;
}

static void
sizes_add_disk(struct sqt_sizes *z, const char *type, size_t length, int64_t bytes)
{
    if (!z->disk_bytes)
        snprintf(z->disk_type, sizeof(z->disk_type), "%.*s", (int)length, type);
    else if (strlen(z->disk_type) != length || strncmp(z->disk_type, type, length) != 0)
        z->disks_differ = 1;
    z->disk_bytes += bytes;
}

/* The size and the type of a cache_dir, of a sample "cache_dir N limit_bytes". */
static void
sizes_disk_sample(struct sqt_sizes *z, const struct sqt_origin *origin, const char *what, uint64_t value)
{
    unsigned number;
    char name[32] = "";
    if (sscanf(what, "cache_dir %u %31s", &number, name) != 2 || strcmp(name, "limit_bytes") != 0 || number >= 32 ||
        (z->disk_known & UINT32_C(1) << number) || value > INT64_MAX / 64)
        return;
    const char *const text = sqt_origin_text(origin, SQT_DEF_DIR, number);
    z->disk_known |= UINT32_C(1) << number;
    sizes_add_disk(z, text ? text : "?", text ? strcspn(text, " ") : 1, (int64_t)value);
}

void
sqt_sizes_sample(struct sqt_sizes *z, const struct sqt_sample_row *sample)
{
    const char *const what = sqt_origin_text(sample->origin, SQT_DEF_SAMPLE, sample->what);
    if (z->started || !what)
        return;
    if (z->base == SQT_UNSET && strcmp(what, "squid memory_bytes") == 0 && sample->value < (uint64_t)(16 * MB))
        z->base = (int64_t)sample->value;
    sizes_disk_sample(z, sample->origin, what, sample->value);
}

static int
sizes_compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The values to try: those asked for and today's, or factors of it, or powers of two if it is not known. */
static unsigned
sizes_values(const struct sqt_sizes *z, int64_t *values)
{
    const struct sqt_whatif *const w = z->job->whatif;
    unsigned count = 0, kept = 0;
    for (unsigned i = 0; w && i < w->asked_count; ++i)
        if (strcmp(w->asked[i].setting, z->setting->name) == 0)
            values[count++] = w->asked[i].value;
    const int known = z->now != SQT_UNSET, asked = count > 0;
    if (asked && known)
        values[count++] = z->now;
    for (unsigned i = 0; !asked && known && i < FACTORS; ++i)
        if (z->now / sizes_factors[i].of <= INT64_MAX / sizes_factors[i].times)
            values[count++] = z->now / sizes_factors[i].of * sizes_factors[i].times;
    for (unsigned i = 0; !asked && !known && i < POWERS; ++i)
        values[count++] = z->setting->smallest << i;
    qsort(values, count, sizeof(*values), sizes_compare);
    for (unsigned i = 0; i < count; ++i)
        if (!kept || values[kept - 1] != values[i])
            values[kept++] = values[i];
    return kept;
}

static int64_t
sizes_today(const struct sqt_sizes *z)
{
    const struct sqt_settings *const s = &z->settings;
    const int64_t usual = z->setting->disk ? USUAL_DISK_OBJECT : USUAL_MEMORY_OBJECT;
    if (z->setting->object)
        return sizes_set(z->setting->disk ? s->max_object : s->max_object_in_memory, usual);
    return !z->setting->disk ? s->cache_mem : z->disk_bytes ? z->disk_bytes : SQT_UNSET;
}

static int64_t
sizes_limit(const struct sqt_sizes *z)
{
    return z->setting->disk ? sizes_set(z->settings.max_object, USUAL_DISK_OBJECT)
                            : sizes_set(z->settings.max_object_in_memory, USUAL_MEMORY_OBJECT);
}

/* ---- requests ---- */

static const struct sqt_cache_kind *
sizes_kind(const struct sqt_sizes *z)
{
    if (z->setting->disk)
        return sizes_is_rock(z->disk_type) ? &sqt_cache_rock : &sqt_cache_ufs;
    return z->shared ? &sqt_cache_shared : &sqt_cache_local;
}

static enum sqt_replay_side
sizes_side(const struct sqt_sizes *z)
{
    return z->setting->disk ? SQT_REPLAY_DISK : SQT_REPLAY_MEMORY;
}

static void
sizes_begin(struct sqt_sizes *z, const struct sqt_origin *origin)
{
    int64_t values[SQT_CACHE_SIZES];
    struct sqt_cache_size sizes[SQT_CACHE_SIZES];
    const struct sqt_settings *const s = &z->settings;
    z->started = 1;
    z->origin = origin;
    z->kids = 1;
    sqt_whatif_settings_of(z->job, &z->settings, origin);
    for (unsigned i = 0; !z->disk_bytes && i < s->dir_count; ++i)
        sizes_add_disk(z, s->dirs[i].type, strlen(s->dirs[i].type), s->dirs[i].bytes);
    z->shared = s->memory_shared != SQT_UNSET ? s->memory_shared > 0 : s->workers != SQT_UNSET && s->workers > 1;
    z->now = sizes_today(z);
    const int none = z->setting->disk && z->setting->object && !z->disk_bytes; /* no cache_dir, no objects in it */
    const unsigned count = none ? 0 : sizes_values(z, values);
    const int64_t whole = z->setting->disk ? z->disk_bytes : s->cache_mem;
    for (unsigned i = 0; i < count; ++i)
        sizes[i] = z->setting->object ? (struct sqt_cache_size){whole > 0 ? whole : 256 * MB, values[i]}
                                      : (struct sqt_cache_size){values[i], sizes_limit(z)};
    const int64_t base = z->setting->disk || z->shared ? 0 : sizes_set(z->base, USUAL_BASE);
    sqt_caches_init(&z->caches, sizes_kind(z), sizes, count, base, z->job->room ? NODES_OF_MANY : z->setting->nodes);
    z->caches.low = (unsigned)sizes_set(s->swap_low, USUAL_LOW);
    z->caches.high = (unsigned)sizes_set(s->swap_high, USUAL_HIGH);
    if (count)
        z->group = sqt_replay_caches(z->replay, &z->caches, sizes_side(z), z->setting->disk ? DISK_METADATA : 0);
}

/* Whether it is a later run of the same kid of the same Squid. */
static int
sizes_is_next_run(const struct sqt_origin *origin, const struct sqt_origin *before)
{
    const struct sqt_identity *const now = &origin->identity, *const then = &before->identity;
    const char *const host = sqt_origin_text(origin, SQT_DEF_HOST, 0), *const was =
                                                                           sqt_origin_text(before, SQT_DEF_HOST, 0);
    return now->kid == then->kid && sqt_identity_is_later(now, then) &&
           strncmp(now->service, then->service, sizeof(now->service)) == 0 &&
           strcmp(host ? host : "", was ? was : "") == 0;
}

/* A restart of Squid empties its memory, and not its disks.  Any other process is one more that is served beside the first. */
static void
sizes_origin(struct sqt_sizes *z, const struct sqt_origin *origin)
{
    if (origin == z->origin)
        return;
    if (!sizes_is_next_run(origin, z->origin)) {
        z->kids = 2;
        return;
    }
    sqt_replay_drain(z->replay);
    if (!z->setting->disk)
        sqt_caches_empty(&z->caches);
    z->origin = origin;
}

void
sqt_sizes_request(struct sqt_sizes *z, const struct sqt_access *access, enum sqt_class class, const struct sqt_xact *x)
{
    if (!z->started)
        sizes_begin(z, x->origin);
    sizes_origin(z, x->origin);
    const unsigned hit = access->hit >> sizes_side(z) & 1;
    z->disk_hits += class == SQT_CLASS_DISK_HIT;
    z->variants += class == SQT_CLASS_MISS && x->miss == SQT_MISS_VARY;
    z->first = access->begin < z->first ? access->begin : z->first;
    z->last = access->end > z->last ? access->end : z->last;
    ++z->requests;
    z->bytes += (uint64_t)access->bytes;
    z->hits += hit;
    z->hit_bytes += hit ? (uint64_t)access->bytes : 0;
    *(hit ? &z->hit_ns : &z->rest_ns) += (double)(access->end - access->begin);
}

/* ---- rows ---- */

#define CELL(name) row[SQT_CELL(whatif, name)]

static double
sizes_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static int64_t
sizes_value(const struct sqt_sizes *z, const struct sqt_cache *cache)
{
    return z->setting->object ? cache->limit : cache->bytes;
}

static const struct sqt_cache *
sizes_cache_of_today(const struct sqt_sizes *z)
{
    for (unsigned i = 0; i < z->caches.count; ++i)
        if (sizes_value(z, &z->caches.caches[i]) == z->now)
            return &z->caches.caches[i];
    return NULL;
}

static int
sizes_off(double off, char *text, size_t size)
{
    if (off <= SQT_WHATIF_POINTS && off >= -SQT_WHATIF_POINTS)
        return 0;
    snprintf(text, size,
             "today's value gives a hit ratio %.1f points %s than measured: the cache was warm when the "
             "trace began, it was purged, or another setting decides",
             off < 0 ? -off : off, off < 0 ? "lower" : "higher");
    return 1;
}

/* Whether a policy of an ordered cache is simulated.  "heap LRU" is the same order, by the second of the last use. */
static int
sizes_is_lru(const char *policy)
{
    return !*policy || strcmp(policy, "lru") == 0 || strcmp(policy, "heap LRU") == 0;
}

/* Why its caches cannot be simulated, however many requests there are; NULL if they can. */
static const char *
sizes_cannot(const struct sqt_sizes *z, char *text, size_t size)
{
    const int ordered = z->caches.kind->ordered;
    const char *const policy = z->setting->disk ? z->settings.disk_policy : z->settings.memory_policy;
    if (ordered && !sizes_is_lru(policy))
        snprintf(text, size, "replacement by %s is not simulated, only lru and heap LRU", policy);
    else if (ordered && z->kids > 1)
        snprintf(text, size, "several workers or proxies, each with a cache of its own");
    else if (z->setting->disk && z->disks_differ)
        snprintf(text, size, "cache_dirs of different types");
    else if (z->variants * VARIANTS_OF > z->hits + z->variants)
        snprintf(text, size,
                 "replies have Vary: %.1f %% of the requests whose URL is in the cache find only other variants, and "
                 "the trace "
                 "does not say which variant a request is for",
                 100 * sizes_share(z->variants, z->hits + z->variants));
    else
        return NULL;
    return text;
}

/* Why no forecast is made; NULL if one is. */
static const char *
sizes_refusal(const struct sqt_sizes *z, const struct sqt_cache *today, double off, char *text, size_t size)
{
    if (z->requests < LEAST)
        snprintf(text, size, "fewer than %d requests look into the cache", LEAST);
    else if (!sizes_cannot(z, text, size) && (!today || !sizes_off(off, text, size)))
        return NULL;
    return text;
}

/* What clients and servers are saved in an hour of this load. */
static void
sizes_saved(const struct sqt_sizes *z, union sqt_cell *row, const struct sqt_cache *cache,
            const struct sqt_cache *today)
{
    const uint64_t rest = z->requests - z->hits;
    const double hours = sqt_whatif_hours(z->first, z->last);
    const double miss = rest ? z->rest_ns / (double)rest : 0, hit = z->hits ? z->hit_ns / (double)z->hits : miss;
    const double share = sqt_cache_hit_share(&z->caches, cache);
    CELL(wait_mean_ms).number = sqt_whatif_whole(share * hit + (1 - share) * miss);
    if (!today || hours <= 0)
        return;
    const double more = share - sqt_cache_hit_share(&z->caches, today);
    const double more_bytes = sqt_cache_byte_share(&z->caches, cache) - sqt_cache_byte_share(&z->caches, today);
    CELL(saved_s_per_h).number = sqt_whatif_whole(more * (double)z->requests * (miss - hit) / hours);
    if (!z->disk_hits || z->setting->disk)
        CELL(saved_bytes_per_h).number = sqt_whatif_whole(more_bytes * (double)z->bytes / hours);
}

/* Where the curve bends: the smallest value with nearly all hits that there can be. */
#define KNEE 0.9

static double
sizes_most(const struct sqt_sizes *z)
{
    return sqt_cache_hit_share(&z->caches, &z->caches.caches[z->caches.count - 1]);
}

static const struct sqt_cache *
sizes_cache_of_knee(const struct sqt_sizes *z)
{
    const struct sqt_cache *cache = z->caches.caches;
    while (cache < &z->caches.caches[z->caches.count - 1] &&
           sqt_cache_hit_share(&z->caches, cache) < KNEE * sizes_most(z))
        ++cache;
    return cache;
}

/* As in squid.conf, and of a cache_dir with its type. */
static void
sizes_put_name(const struct sqt_sizes *z, char *name, size_t size)
{
    const int typed = z->setting->disk && !z->setting->object;
    snprintf(name, size, "%s%s%s", z->setting->name, typed ? " " : "",
             !typed          ? ""
             : *z->disk_type ? z->disk_type
                             : "ufs");
}

static void
sizes_row(const struct sqt_sizes *z, const struct sqt_cache *cache, const struct sqt_cache *today, double off,
          const char *refusal, const char *method)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    char value[32], now[32], name[64];
    sqt_whatif_clear(row);
    sizes_put_name(z, name, sizeof(name));
    sqt_settings_size_text(value, sizeof(value), sizes_value(z, cache));
    CELL(setting).text = name;
    CELL(value).text = value;
    if (z->now != SQT_UNSET) {
        sqt_settings_size_text(now, sizeof(now), z->now);
        CELL(now_value).text = now;
    }
    if (today && z->requests >= LEAST && (!z->setting->disk || z->disk_bytes))
        CELL(calibration_pct).number = sqt_whatif_whole(off * 1000);
    CELL(bound).text = refusal ? "refused" : today ? "forecast" : "uncalibrated";
    char busy[320];
    if (!refusal && cache->dropped * BUSY_OF > cache->hits) {
        snprintf(busy, sizeof(busy), "%s; busy, so the same load again may differ by 8 points", method);
        method = busy;
    }
    CELL(method).text = refusal ? refusal : method;
    if (!refusal) {
        CELL(hit_ratio_pct).number = sqt_percent(sqt_cache_hit_share(&z->caches, cache), 1);
        CELL(byte_hit_ratio_pct).number = sqt_percent(sqt_cache_byte_share(&z->caches, cache), 1);
        CELL(needs_bytes).number = cache->bytes;
        sizes_saved(z, row, cache, today);
    }
    sqt_whatif_row(z->job, row, sizes_value(z, cache),
                   (cache == today ? SQT_WHATIF_TODAY : 0) | (cache == sizes_cache_of_knee(z) ? SQT_WHATIF_KNEE : 0));
}

/* Whether a larger value brings nothing, and was not asked for. */
static int
sizes_is_enough(const struct sqt_sizes *z, const struct sqt_cache *cache)
{
    const struct sqt_cache *const last = &z->caches.caches[z->caches.count - 1];
    return !(z->job->whatif && z->job->whatif->asked_count) && cache->hits == last->hits &&
           cache->hit_bytes == last->hit_bytes;
}

/* Says where the curve bends. */
static void
sizes_knee(const struct sqt_sizes *z)
{
    const struct sqt_cache *const cache = sizes_cache_of_knee(z);
    char value[32], text[160];
    sqt_settings_size_text(value, sizeof(value), sizes_value(z, cache));
    snprintf(text, sizeof(text), "%s %s has %.1f %% hits, of %.1f %% with the largest value tried", z->setting->name,
             value, 100 * sqt_cache_hit_share(&z->caches, cache), 100 * sizes_most(z));
    z->job->note(z->job->context, "knee", text);
}

static void
sizes_rows(const struct sqt_sizes *z)
{
    const struct sqt_cache *const today = sizes_cache_of_today(z);
    char text[256], method[256];
    const double off = today ? 100 * (sqt_cache_hit_share(&z->caches, today) - sizes_share(z->hits, z->requests)) : 0;
    const char *const refusal = sizes_refusal(z, today, off, text, sizeof(text));
    const int used = snprintf(method, sizeof(method), "%s", z->caches.kind->method);
    if (z->caches.halvings)
        snprintf(method + used, sizeof(method) - (size_t)used, "; of one object in %" PRIu64,
                 UINT64_C(1) << z->caches.halvings);
    if (!refusal && !z->setting->object)
        sizes_knee(z);
    if (refusal)
        sizes_row(z, today ? today : &z->caches.caches[0], today, off, refusal, method);
    for (unsigned i = 0; !refusal && i < z->caches.count; ++i) {
        const struct sqt_cache *const cache = &z->caches.caches[i];
        sizes_row(z, cache, today, off, NULL, method);
        if (sizes_is_enough(z, cache) && (!today || cache >= today))
            break;
    }
}

/* Without a cache_dir. */
static void
sizes_none(const struct sqt_sizes *z)
{
    union sqt_cell row[SQT_CELLS(whatif)];
    char value[32];
    sqt_whatif_clear(row);
    sqt_settings_size_text(value, sizeof(value), z->now);
    CELL(setting).text = z->setting->name;
    CELL(value).text = CELL(now_value).text = value;
    CELL(bound).text = "none";
    CELL(method).text = "there is no cache_dir, or the trace does not have its size";
    sqt_whatif_row(z->job, row, z->now, SQT_WHATIF_TODAY);
}

void
sqt_sizes_finish(struct sqt_sizes *z)
{
    if (z->started) {
        sqt_replay_drain(z->replay);
        if (z->caches.count)
            sizes_rows(z);
        else
            sizes_none(z);
    }
    sqt_sizes_free(z);
}

void
sqt_sizes_free(struct sqt_sizes *z)
{
    if (z->started)
        sqt_caches_free(&z->caches);
    sqt_freed(z);
}

/* ---- parts ---- */

/* Hits, or bytes of hits, as far as places go that were looked at. */
struct sizes_sums {
    uint64_t hits, followed, all; /* of those that are followed; what these stand for; of all */
    uint64_t given;               /* hits that places have */
};

/* What one place has of them, so that all together have what the whole has. */
static uint64_t
sizes_give(struct sizes_sums *s, double slope, uint64_t hits, uint64_t followed, uint64_t all)
{
    s->hits += hits;
    s->followed += followed;
    s->all += all;
    const double upto = (double)s->hits + slope * ((double)s->all - (double)s->followed) - (double)s->given;
    const uint64_t given = upto <= 0 ? 0 : upto >= (double)all ? all : (uint64_t)(upto + 0.5);
    s->given += given;
    return given;
}

void
sqt_sizes_divide(struct sqt_sizes *z)
{
    for (unsigned i = 0; z->started && i < z->caches.count; ++i) {
        const struct sqt_cache *const cache = &z->caches.caches[i];
        const double slope = sqt_cache_hit_slope(&z->caches, cache);
        const double byte_slope = sqt_cache_byte_slope(&z->caches, cache);
        struct sizes_sums hits = {0}, bytes = {0};
        for (uint32_t n = 0; n < z->group->place_count; ++n) {
            struct sqt_replay_place *const p = &z->group->places[n];
            p->hits[i] = sizes_give(&hits, slope, p->hits[i], p->followed, p->requests);
            p->hit_bytes[i] = sizes_give(&bytes, byte_slope, p->hit_bytes[i], p->followed_bytes, p->bytes);
        }
    }
}

void
sqt_sizes_parts(const struct sqt_sizes *z, uint32_t place,
                void (*part)(void *context, const struct sqt_sizes_part *part), void *context)
{
    char name[64], text[256];
    const struct sqt_cache *const today = z->started ? sizes_cache_of_today(z) : NULL;
    if (!today || place > z->group->place_count)
        return;
    const char *const refusal = sizes_cannot(z, text, sizeof(text));
    const struct sqt_replay_place *const p = &z->group->places[place - 1];
    sizes_put_name(z, name, sizeof(name));
    for (unsigned i = 0; i < z->caches.count; ++i) {
        const struct sqt_cache *const cache = &z->caches.caches[i];
        if (refusal && cache != today)
            continue;
        part(context, &(struct sqt_sizes_part){.setting = name,
                                               .value = cache->bytes,
                                               .now = z->now,
                                               .refusal = refusal,
                                               .requests = p->requests,
                                               .bytes = p->bytes,
                                               .hits = refusal ? 0 : p->hits[i],
                                               .hit_bytes = refusal ? 0 : p->hit_bytes[i],
                                               .seen_hits = p->seen_hits,
                                               .seen_hit_bytes = p->seen_hit_bytes});
    }
}
