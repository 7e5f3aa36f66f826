/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rollup.c - see rollup.h.
 */
#include "rollup.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/octaves.h"
#include "base/scatter.h"
#include "figure/stat/names.h"
#include "model/class.h"

#define SECOND INT64_C(1000000000)
#define SERVER_NONE 0
/* Servers that are counted; those that come later are "other". */
#define SERVERS_MOST 8192
/* Durations of a request that are counted: its stages, what they add up to, and the time to the first byte. */
#define PARTS_MOST 64
#define PART_NONE 0
#define FIRST_SLOTS 4096u

static const struct rollup_step {
    int64_t ns;
    unsigned bits;
} rollup_steps[] = {{60 * SECOND, SQT_ROLLUP_MINUTE_BITS}, {3600 * SECOND, SQT_ROLLUP_HOUR_BITS}};
#define STEPS (sizeof(rollup_steps) / sizeof(*rollup_steps))

struct rollup_key {
    int64_t time; /* begin of the minute or hour; ns since the start of the trace */
    uint32_t origin, server;
    uint32_t bucket;
    uint8_t step, part, class, unused;
};

struct rollup_slot {
    struct rollup_key key;
    uint64_t count; /* 0: free */
};

/* A minute or an hour of a process.  Its place is the `count` of a slot, whose part is PART_NONE. */
struct rollup_stretch {
    uint64_t first, last; /* records that ended requests; UINT64_MAX: not known */
};

struct rollup_server {
    struct sqt_name_entry named;
    uint32_t number; /* from 1 */
    uint32_t as;     /* the number of what it is called in rows */
    uint64_t requests;
};

struct sqt_rollups {
    int64_t start_ns; /* time of day of time_s 0; 0: each process's own */
    struct rollup_slot *slots;
    size_t slot_count, used; /* slot_count is a power of two */
    uint64_t scatter;
    struct rollup_stretch *stretches;
    size_t stretch_count;
    struct sqt_names names;
    struct rollup_server *servers[SERVERS_MOST + 2]; /* by their number */
    const struct sqt_origin **origins;               /* by their index */
    size_t origin_count;
    struct rollup_part {
        unsigned cell;
        char name[32];
    } parts[PARTS_MOST]; /* from 1 */
    unsigned part_count;
};

/* ---- the durations ---- */

static void
rollup_add_part(struct sqt_rollups *r, unsigned cell)
{
    const char *const name = sqt_tables[SQT_TABLE_requests].columns[cell].name;
    const size_t size = strlen(name) - strlen("_ns");
    struct rollup_part *const part = &r->parts[r->part_count++];
    part->cell = cell;
    memcpy(part->name, name, size);
    part->name[size] = '\0';
}

struct sqt_rollups *
sqt_rollups_new(int64_t start_ns)
{
    struct sqt_rollups *const r = sqt_zeroed(1, sizeof(*r));
    r->start_ns = start_ns;
    r->slot_count = FIRST_SLOTS;
    r->slots = sqt_zeroed(r->slot_count, sizeof(*r->slots));
    r->scatter = sqt_scatter();
    r->names = (struct sqt_names){.size = sizeof(struct rollup_server), .most = SERVERS_MOST};
    r->part_count = PART_NONE + 1;
    rollup_add_part(r, SQT_CELL(requests, total_ns));
    rollup_add_part(r, SQT_CELL(requests, first_byte_ns));
    rollup_add_part(r, SQT_CELL(requests, client_connect_ns));
#define SQT_STAGE(NAME, stage, column, doc) rollup_add_part(r, SQT_STAGE_CELL(column));
#include "format/stages.def"
    rollup_add_part(r, SQT_CELL(requests, unaccounted_ns));
    return r;
}

/* ---- buckets ---- */

static uint32_t
rollup_bucket(int64_t value, unsigned bits)
{
    unsigned bucket;
    const unsigned octave = sqt_octave_of(value > 0 ? (uint64_t)value : 0, bits, &bucket);
    return (octave << bits) + bucket;
}

static int64_t
rollup_middle(unsigned bucket, unsigned bits)
{
    const unsigned octave = bucket >> bits, shift = octave ? octave - 1 : 0;
    const uint64_t within = bucket & ((1u << bits) - 1), first = octave ? within + (UINT64_C(1) << bits) : within;
    return (int64_t)((first << shift) + ((UINT64_C(1) << shift) - 1) / 2);
}

static size_t
rollup_place(const struct sqt_rollups *r, const struct rollup_key *key)
{
    uint64_t words[3], hash = 0;
    SQT_ASSERT(sizeof(words) == sizeof(*key), "a key has no padding");
    memcpy(words, key, sizeof(words));
    for (unsigned i = 0; i < 3; ++i)
        hash = sqt_scattered(hash ^ words[i], r->scatter);
    size_t at = (size_t)(hash >> 32);
    for (at &= r->slot_count - 1; r->slots[at].count; at = (at + 1) & (r->slot_count - 1))
        if (memcmp(&r->slots[at].key, key, sizeof(*key)) == 0)
            break;
    return at;
}

static void
rollup_grow(struct sqt_rollups *r)
{
    struct rollup_slot *const before = r->slots;
    const size_t count = r->slot_count;
    r->slot_count *= 2;
    r->slots = sqt_zeroed(r->slot_count, sizeof(*r->slots));
    for (size_t i = 0; i < count; ++i)
        if (before[i].count)
            r->slots[rollup_place(r, &before[i].key)] = before[i];
    sqt_freed(before);
}

static struct rollup_slot *
rollup_get(struct sqt_rollups *r, const struct rollup_key *key)
{
    if (r->used * 2 >= r->slot_count)
        rollup_grow(r);
    struct rollup_slot *const slot = &r->slots[rollup_place(r, key)];
    if (!slot->count) {
        slot->key = *key;
        ++r->used;
    }
    return slot;
}

/* ---- requests ---- */

static struct rollup_server *
rollup_server(struct sqt_rollups *r, const char *name)
{
    struct rollup_server *const server = sqt_names_get(&r->names, name);
    if (!server->number) {
        server->number = r->names.count;
        r->servers[server->number] = server;
    }
    return server;
}

static uint8_t
rollup_class(const char *name)
{
    uint8_t class = 0;
    while (class < SQT_CLASSES && (!name || strcmp(sqt_classes[class].name, name) != 0))
        ++class;
    return class;
}

/* Times that are too large to be true are left as they are. */
static int64_t
rollup_begin(const struct sqt_origin *origin, int64_t time, int64_t step)
{
    const int64_t wall = sqt_origin_wall_ns(origin);
    int64_t since, begin;
    if (__builtin_add_overflow(time, wall == INT64_MIN ? 0 : wall, &since))
        return time;
    const int64_t within = since % step;
    return __builtin_sub_overflow(time, within + (within < 0 ? step : 0), &begin) ? time : begin;
}

static void
rollup_note_stretch(struct sqt_rollups *r, const struct rollup_key *of, uint64_t record)
{
    const struct rollup_key key = {.time = of->time, .origin = of->origin, .step = of->step, .part = PART_NONE};
    struct rollup_slot *const slot = rollup_get(r, &key);
    if (!slot->count) {
        r->stretches = sqt_resized(r->stretches, (r->stretch_count + 1) * sizeof(*r->stretches));
        r->stretches[r->stretch_count].first = record;
        slot->count = ++r->stretch_count;
    }
    r->stretches[slot->count - 1].last = record;
}

static void
rollup_note_origin(struct sqt_rollups *r, const struct sqt_origin *origin)
{
    if (origin->index >= r->origin_count) {
        r->origins = sqt_resized(r->origins, (origin->index + 1) * sizeof(struct sqt_origin *));
        memset(r->origins + r->origin_count, 0, (origin->index + 1 - r->origin_count) * sizeof(struct sqt_origin *));
        r->origin_count = origin->index + 1;
    }
    r->origins[origin->index] = origin;
}

void
sqt_rollups_add(struct sqt_rollups *r, const struct sqt_origin *origin, uint64_t record, const union sqt_cell *requests)
{
    const int64_t begin = requests[SQT_CELL(requests, time_s)].number;
    const char *const name = requests[SQT_CELL(requests, server)].text;
    struct rollup_server *const server = name ? rollup_server(r, name) : NULL;
    struct rollup_key key = {.origin = origin->index,
                             .server = server ? server->number : SERVER_NONE,
                             .class = rollup_class(requests[SQT_CELL(requests, class)].text)};
    if (server)
        ++server->requests;
    rollup_note_origin(r, origin);
    for (unsigned step = 0; step < STEPS; ++step) {
        key.step = (uint8_t)step;
        key.time = rollup_begin(origin, begin, rollup_steps[step].ns);
        rollup_note_stretch(r, &key, record);
        for (unsigned part = PART_NONE + 1; part < r->part_count; ++part) {
            const int64_t ns = requests[r->parts[part].cell].number;
            if (ns == SQT_CELL_MISSING)
                continue;
            key.part = (uint8_t)part;
            key.bucket = rollup_bucket(ns, rollup_steps[step].bits);
            ++rollup_get(r, &key)->count;
        }
    }
}

int
sqt_rollups_full(const struct sqt_rollups *r)
{
    return r->used + STEPS * PARTS_MOST >= SQT_ROLLUPS_MOST;
}

/* ---- rows ---- */

/* Most requests first; "other" last. */
static int
rollup_compare_servers(const void *a, const void *b)
{
    const struct rollup_server *const x = *(struct rollup_server *const *)a, *const y =
                                                                                 *(struct rollup_server *const *)b;
    const int others = (strcmp(x->named.name, SQT_ROLLUP_OTHER) == 0) - (strcmp(y->named.name, SQT_ROLLUP_OTHER) == 0);
    if (others)
        return others;
    if (x->requests != y->requests)
        return x->requests > y->requests ? -1 : 1;
    return strcmp(x->named.name, y->named.name);
}

static void
rollup_choose_servers(struct sqt_rollups *r)
{
    struct rollup_server *sorted[SERVERS_MOST + 1];
    const unsigned count = r->names.count;
    for (unsigned i = 0; i < count; ++i)
        sorted[i] = r->servers[i + 1];
    qsort(sorted, count, sizeof(*sorted), rollup_compare_servers);
    for (unsigned i = 0; i < count; ++i)
        sorted[i]->as = i < SQT_ROLLUP_SERVERS ? sorted[i]->number : rollup_server(r, SQT_ROLLUP_OTHER)->number;
}

#define ROLLUP_ORDER(member) \
    if (x->key.member != y->key.member) \
    return x->key.member < y->key.member ? -1 : 1

static int
rollup_compare(const void *a, const void *b)
{
    const struct rollup_slot *const x = a, *const y = b;
    ROLLUP_ORDER(origin);
    ROLLUP_ORDER(step);
    ROLLUP_ORDER(time);
    ROLLUP_ORDER(part); /* what is no part comes first */
    ROLLUP_ORDER(class);
    ROLLUP_ORDER(server);
    ROLLUP_ORDER(bucket);
    return 0;
}

#define CELL(name) row[SQT_CELL(rollups, name)]

/* How much later, by the clock that time_s counts by, the minutes of a process begin than by its own. */
static int64_t
rollup_later(const struct sqt_rollups *r, const struct sqt_origin *origin, int64_t time)
{
    const int64_t wall = sqt_origin_wall_ns(origin);
    int64_t later, sum;
    if (!r->start_ns || wall == INT64_MIN || __builtin_sub_overflow(wall, r->start_ns, &later))
        return 0;
    return __builtin_add_overflow(time, later, &sum) ? 0 : later;
}

static void
rollup_print(const struct sqt_rollups *r, const struct rollup_slot *slot, struct sqt_row_source *source,
             sqt_rollup_function *take, void *context)
{
    const struct rollup_key *const key = &slot->key;
    union sqt_cell row[SQT_CELLS(rollups)];
    source->later_ns = rollup_later(r, source->origin, key->time);
    CELL(time_s).number = key->time + source->later_ns;
    CELL(kid).number = source->origin->identity.kid;
    CELL(step_s).number = rollup_steps[key->step].ns / SECOND;
    CELL(class).text = key->class < SQT_CLASSES ? sqt_classes[key->class].name : NULL;
    CELL(stage).text = r->parts[key->part].name;
    CELL(server).text = key->server == SERVER_NONE ? NULL : r->servers[key->server]->named.name;
    CELL(ns).number = rollup_middle(key->bucket, rollup_steps[key->step].bits);
    CELL(count).number = (int64_t)slot->count;
    take(context, source, row);
}

/* Moves what is used to the front, in order, with servers as rows call them. */
static void
rollup_sort(struct sqt_rollups *r)
{
    size_t count = 0;
    rollup_choose_servers(r);
    for (size_t i = 0; i < r->slot_count; ++i) {
        if (!r->slots[i].count)
            continue;
        r->slots[count] = r->slots[i];
        if (r->slots[count].key.server != SERVER_NONE)
            r->slots[count].key.server = r->servers[r->slots[count].key.server]->as;
        ++count;
    }
    qsort(r->slots, count, sizeof(*r->slots), rollup_compare);
}

/* A file of these rows begins with the first row of a stretch.  So the numbers of these do not depend on how much was read
 * at a time: of two files that begin with the same request, the one that ends later has the rows of the other, too. */
void
sqt_rollups_emit(struct sqt_rollups *r, sqt_rollup_function *take, void *context)
{
    const struct rollup_stretch *stretch = NULL;
    size_t before = 0; /* slots of other processes */
    int first = 0;
    rollup_sort(r);
    for (size_t i = 0; i < r->used; ++i) {
        struct rollup_slot *const slot = &r->slots[i];
        const struct rollup_key *const key = &slot->key;
        if (i && key->origin != slot[-1].key.origin)
            before = i;
        if (key->part == PART_NONE) {
            stretch = &r->stretches[slot->count - 1];
            first = 1;
            continue;
        }
        if (i + 1 < r->used && rollup_compare(slot, slot + 1) == 0) { /* both are of "other" */
            slot[1].count += slot->count;
            continue;
        }
        const uint64_t record = first ? stretch->first : stretch->last;
        const uint64_t index = first ? key->step : STEPS + i - before;
        struct sqt_row_source source = {r->origins[key->origin], record, record == UINT64_MAX ? 0 : index, 0};
        rollup_print(r, slot, &source, take, context);
        first = 0;
    }
    memset(r->slots, 0, r->slot_count * sizeof(*r->slots));
    r->used = 0;
    r->stretch_count = 0;
    sqt_names_free(&r->names);
    r->names = (struct sqt_names){.size = sizeof(struct rollup_server), .most = SERVERS_MOST};
}

void
sqt_rollups_free(struct sqt_rollups *r)
{
    if (!r)
        return;
    sqt_names_free(&r->names);
    sqt_freed(r->slots);
    sqt_freed(r->stretches);
    sqt_freed(r->origins);
    sqt_freed(r);
}
