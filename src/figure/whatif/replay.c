/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * replay.c - see replay.h.
 */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { LOOK_UP, DATA, FETCHED, SENT };
/* Flights and events that there is room for at first.  A flight that is looked up has at most six events: on each side, data,
 * the end of the fetch, and of the hit. */
#define FIRST_ROOM 256
/* Of how many values a mean is, at most: what was long ago counts for less and less. */
#define MEAN_OF 256

void
sqt_replay_init(struct sqt_replay *r)
{
    memset(r, 0, sizeof(*r));
    r->conns = sqt_zeroed(SQT_REPLAY_CONNS, sizeof(*r->conns));
    r->free = UINT32_MAX;
    r->newest = r->done = INT64_MIN;
}

struct sqt_replay_group *
sqt_replay_caches(struct sqt_replay *r, struct sqt_caches *caches, enum sqt_replay_side side, int64_t metadata)
{
    r->seen[side].groups |= 1u << r->group_count;
    r->groups[r->group_count] = (struct sqt_replay_group){.caches = caches, .metadata = metadata};
    return &r->groups[r->group_count++];
}

/* ---- the heap ---- */

static inline int
replay_before(const struct sqt_replay_event *a, const struct sqt_replay_event *b)
{
    return a->at < b->at ||
           (a->at == b->at && (a->flight < b->flight || (a->flight == b->flight && a->what < b->what)));
}

static void
replay_push(struct sqt_replay *r, int64_t at, uint32_t flight, unsigned what, unsigned groups)
{
    const struct sqt_replay_event event = {at < r->done ? r->done : at, flight, (uint8_t)what, (uint8_t)groups};
    if (r->event_count == r->event_room) {
        r->event_room = r->event_room ? 2 * r->event_room : FIRST_ROOM;
        r->events = sqt_resized(r->events, r->event_room * sizeof(*r->events));
    }
    size_t place = r->event_count++;
    while (place && replay_before(&event, &r->events[(place - 1) / 2])) {
        r->events[place] = r->events[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    r->events[place] = event;
    ++r->flights[flight].events;
}

static struct sqt_replay_event
replay_pop(struct sqt_replay *r)
{
    const struct sqt_replay_event first = r->events[0], last = r->events[--r->event_count];
    size_t place = 0;
    for (;;) {
        size_t next = 2 * place + 1;
        if (next >= r->event_count)
            break;
        if (next + 1 < r->event_count && replay_before(&r->events[next + 1], &r->events[next]))
            ++next;
        if (!replay_before(&r->events[next], &last))
            break;
        r->events[place] = r->events[next];
        place = next;
    }
    r->events[place] = last;
    return first;
}

/* ---- what requests take ---- */

static unsigned
replay_size(int64_t bytes)
{
    const unsigned bits = bytes > 0 ? 64 - (unsigned)__builtin_clzll((uint64_t)bytes) : 0;
    return bits < SQT_REPLAY_SIZES ? bits : SQT_REPLAY_SIZES - 1;
}

static void
replay_learn_mean(struct sqt_replay_mean *mean, const struct sqt_access *a)
{
    mean->count += mean->count < MEAN_OF;
    mean->data_ns += ((double)(a->data - a->begin) - mean->data_ns) / (double)mean->count;
    mean->end_ns += ((double)(a->end - a->data) - mean->end_ns) / (double)mean->count;
}

/* The mean of requests of that size, or of the size nearest to it that there was. */
static const struct sqt_replay_mean *
replay_mean(const struct sqt_replay_mean *means, unsigned of_size)
{
    const int size = (int)of_size;
    for (int off = 0; off < SQT_REPLAY_SIZES; ++off) {
        if (size - off >= 0 && means[size - off].count)
            return &means[size - off];
        if (size + off < SQT_REPLAY_SIZES && means[size + off].count)
            return &means[size + off];
    }
    return &means[size];
}

/* ---- the pace of clients ---- */

/* Requests between two looks at the pace, and before the first one. */
#define BLOCK 512
/* Clients wait for answers if their pauses are shorter than that share of their waits. */
#define PAUSE 0.5
/* Of a smoothed share, the part of the last block. */
#define SMOOTH 0.3
#define PACE_LEAST 0.25
#define PACE_MOST 8.0

static void
replay_smooth(struct sqt_replay_share *s, uint64_t hits, uint64_t requests)
{
    const double share = requests ? (double)(hits - s->hits) / (double)requests : s->share;
    s->share += SMOOTH * (share - s->share);
    s->hits = hits;
}

static void
replay_pace_of(const struct sqt_replay *r, const struct sqt_replay_seen *seen, struct sqt_replay_group *g)
{
    const struct sqt_replay_clients *const k = &r->clients;
    const double cycle = (k->gaps + k->waits) / (double)k->cycles;
    const double gain = seen->took_ns[0] / (double)seen->count[0] - seen->took_ns[1] / (double)seen->count[1];
    for (unsigned i = 0; i < g->caches->count; ++i) {
        const double then = cycle - (g->shares[i].share - seen->today.share) * gain;
        const double pace = then > 0 ? cycle / then : PACE_MOST;
        sqt_cache_set_pace(&g->caches->caches[i], r->done,
                           pace < PACE_LEAST  ? PACE_LEAST
                           : pace > PACE_MOST ? PACE_MOST
                                              : pace);
    }
}

static void
replay_block(struct sqt_replay *r, struct sqt_replay_seen *seen)
{
    const struct sqt_replay_clients *const k = &r->clients;
    replay_smooth(&seen->today, seen->looked_hits, r->looked - r->block_of);
    for (unsigned groups = seen->groups; groups; groups &= groups - 1) {
        struct sqt_replay_group *const g = &r->groups[__builtin_ctz(groups)];
        const struct sqt_caches *const c = g->caches;
        for (unsigned i = 0; i < c->count; ++i)
            replay_smooth(&g->shares[i], c->caches[i].hits, c->followed - g->followed);
        g->followed = c->followed;
        if (k->cycles >= BLOCK && seen->count[0] && seen->count[1] && k->gaps <= PAUSE * k->waits)
            replay_pace_of(r, seen, g);
    }
}

static void
replay_count(struct sqt_replay *r, const struct sqt_access *a)
{
    for (unsigned side = 0; side < SQT_REPLAY_SIDES; ++side)
        r->seen[side].looked_hits += a->hit >> side & 1;
    if (++r->looked % BLOCK)
        return;
    for (unsigned side = 0; side < SQT_REPLAY_SIDES; ++side)
        replay_block(r, &r->seen[side]);
    r->block_of = r->looked;
}

/* ---- events ---- */

static int64_t
replay_stored(const struct sqt_replay_group *g, const struct sqt_access *a)
{
    return a->stored_bytes ? a->stored_bytes + g->metadata : 0;
}

/* hits: bits of caches, if the object is followed.  seen: it was a hit in the trace. */
static void
replay_place(struct sqt_replay_group *g, const struct sqt_access *a, unsigned seen, uint32_t hits)
{
    while (g->place_count < a->place) {
        const uint32_t more = g->place_count ? 2 * g->place_count : 64;
        g->places = sqt_resized(g->places, more * sizeof(*g->places));
        memset(g->places + g->place_count, 0, (more - g->place_count) * sizeof(*g->places));
        g->place_count = more;
    }
    struct sqt_replay_place *const p = &g->places[a->place - 1];
    const unsigned halvings = g->caches->halvings;
    ++p->requests;
    p->bytes += (uint64_t)a->bytes;
    p->seen_hits += seen;
    p->seen_hit_bytes += seen ? (uint64_t)a->bytes : 0;
    if (!sqt_caches_follow(g->caches, a->object))
        return;
    p->followed += UINT64_C(1) << halvings;
    p->followed_bytes += (uint64_t)a->bytes << halvings;
    for (; hits; hits &= hits - 1) {
        const unsigned i = (unsigned)__builtin_ctz(hits);
        p->hits[i] += UINT64_C(1) << halvings;
        p->hit_bytes[i] += (uint64_t)a->bytes << halvings;
    }
}

/* Looks the object up in the caches of a group.  hit: it was one in the trace.  Returns the bits of those that have it, or
 * are just fetching it. */
static uint32_t
replay_ask(struct sqt_replay *r, struct sqt_flight *f, unsigned group, unsigned hit)
{
    struct sqt_caches *const c = r->groups[group].caches;
    const struct sqt_access *const a = &f->access;
    const uint32_t all = (UINT32_C(1) << c->count) - 1;
    uint32_t joined;
    sqt_caches_count(c, a->object, a->bytes);
    const int follows = sqt_caches_follow(c, a->object);
    if (!follows && !c->kind->whole) {
        /* Time goes on all the same. */
        f->of[group].misses = hit || !c->kind->comes ? 0 : all;
        return 0;
    }
    if (a->never) {
        f->of[group].misses = all;
        return 0;
    }
    const int64_t stored = replay_stored(&r->groups[group], a);
    f->of[group].hits =
        follows ? sqt_caches_look_up(c, a->object, a->bytes, &joined) : sqt_caches_draw(c, stored, hit != 0, &joined);
    f->of[group].misses = all & ~(f->of[group].hits | joined);
    if (follows && c->kind->whole)
        sqt_caches_learn(c, stored, hit != 0, f->of[group].hits, joined);
    return f->of[group].hits | joined;
}

static void
replay_fetch(struct sqt_replay *r, uint32_t number, unsigned groups, int64_t data, int64_t end)
{
    if (!groups)
        return;
    replay_push(r, data, number, DATA, groups);
    replay_push(r, end, number, FETCHED, groups);
}

/* What is in the trace happens when it did; what is not takes as long as its like. */
static void
replay_looked_up(struct sqt_replay *r, uint32_t number, int64_t now)
{
    struct sqt_flight *const f = &r->flights[number];
    const struct sqt_access *const a = &f->access;
    const unsigned size = replay_size(a->bytes);
    unsigned sent_then = 0, missed_then = 0;
    for (unsigned side = 0; side < SQT_REPLAY_SIDES; ++side) {
        const unsigned hit = a->hit >> side & 1;
        unsigned sent = 0, missed = 0;
        if (!r->seen[side].groups)
            continue;
        for (unsigned groups = r->seen[side].groups; groups; groups &= groups - 1) {
            const unsigned group = (unsigned)__builtin_ctz(groups);
            const uint32_t hits = replay_ask(r, f, group, hit);
            if (a->place)
                replay_place(&r->groups[group], a, hit, hits);
            sent |= (unsigned)(f->of[group].hits != 0) << group;
            missed |= (unsigned)(f->of[group].misses != 0) << group;
        }
        if (hit)
            sent_then |= sent;
        else
            missed_then |= missed;
        const struct sqt_replay_mean *const mean = replay_mean(r->seen[side].means[!hit], size);
        const int64_t end = now + (int64_t)(mean->data_ns + mean->end_ns);
        if (!hit && sent)
            replay_push(r, end, number, SENT, sent);
        if (hit)
            replay_fetch(r, number, missed, end - (int64_t)mean->end_ns, end);
    }
    if (sent_then)
        replay_push(r, a->end, number, SENT, sent_then);
    replay_fetch(r, number, missed_then, a->data < now ? now : a->data, a->end);
    replay_count(r, a);
}

static void
replay_event_of(struct sqt_replay *r, const struct sqt_replay_event *event, unsigned group)
{
    struct sqt_flight *const f = &r->flights[event->flight];
    const struct sqt_access *const a = &f->access;
    struct sqt_caches *const c = r->groups[group].caches;
    const int64_t stored = replay_stored(&r->groups[group], a);
    if (event->what == DATA)
        f->of[group].node = sqt_caches_data(c, event->at, a->object, stored, f->of[group].misses, a->keeps);
    else if (event->what == FETCHED)
        sqt_caches_end(c, f->of[group].node, a->object, stored, f->of[group].misses, a->keeps);
    else
        sqt_caches_sent(c, a->object, stored, f->of[group].hits);
}

static void
replay_event(struct sqt_replay *r, const struct sqt_replay_event *event)
{
    struct sqt_flight *const f = &r->flights[event->flight];
    r->done = event->at;
    if (event->what == LOOK_UP)
        replay_looked_up(r, event->flight, event->at);
    else
        for (unsigned groups = event->groups; groups; groups &= groups - 1)
            replay_event_of(r, event, (unsigned)__builtin_ctz(groups));
    if (!--f->events) {
        f->next = r->free;
        r->free = event->flight;
    }
}

/* Memory that the next events need is prefetched in three steps: the flight, the object's place in the index, its node.  The
 * next event is the first one of the heap, the one after it is the second or the third. */
static void
replay_expect(const struct sqt_replay *r)
{
    if (r->event_count < 7)
        return;
    for (unsigned i = 3; i < 7; ++i)
        __builtin_prefetch(&r->flights[r->events[i].flight]);
    for (unsigned i = 0; i < 3; ++i) {
        const uint64_t object = r->flights[r->events[i].flight].access.object;
        for (unsigned group = 0; r->events[i].what == LOOK_UP && group < r->group_count; ++group) {
            if (i)
                sqt_caches_expect(r->groups[group].caches, object);
            else
                sqt_caches_expect_node(r->groups[group].caches, object);
        }
    }
}

static void
replay_next(struct sqt_replay *r)
{
    const struct sqt_replay_event event = replay_pop(r);
    replay_expect(r);
    replay_event(r, &event);
}

/* What the client did since the request that came before on the same connection. */
static void
replay_follow(struct sqt_replay *r, const struct sqt_access *a)
{
    struct sqt_replay_conn *const last = &r->conns[sqt_cache_mix(a->conn) % SQT_REPLAY_CONNS];
    if (!a->conn)
        return;
    if (last->conn == a->conn) {
        r->clients.gaps += a->begin > last->end ? (double)(a->begin - last->end) : 0;
        r->clients.waits += (double)(a->end - a->begin);
        ++r->clients.cycles;
    }
    *last = (struct sqt_replay_conn){a->conn, a->end};
}

/* What the request took, as each side has it. */
static void
replay_learn(struct sqt_replay *r, const struct sqt_access *a)
{
    const unsigned size = replay_size(a->bytes);
    for (unsigned side = 0; side < SQT_REPLAY_SIDES; ++side) {
        struct sqt_replay_seen *const seen = &r->seen[side];
        const unsigned hit = a->hit >> side & 1;
        if (!seen->groups)
            continue;
        replay_learn_mean(&seen->means[hit][size], a);
        seen->took_ns[hit] += (double)(a->end - a->begin);
        ++seen->count[hit];
    }
}

void
sqt_replay_add(struct sqt_replay *r, const struct sqt_access *access)
{
    replay_learn(r, access);
    if (access->end > r->newest)
        r->newest = access->end;
    while (r->event_count && r->events[0].at < r->newest - SQT_REPLAY_LAG)
        replay_next(r);
    while (r->free == UINT32_MAX && r->flight_count == SQT_REPLAY_FLIGHTS)
        replay_next(r);
    uint32_t number = r->flight_count;
    if (r->free != UINT32_MAX) {
        number = r->free;
        r->free = r->flights[number].next;
    } else {
        if (r->flight_count == r->flight_room) {
            r->flight_room = r->flight_room ? 2 * r->flight_room : FIRST_ROOM;
            r->flights = sqt_resized(r->flights, r->flight_room * sizeof(*r->flights));
        }
        ++r->flight_count;
    }
    struct sqt_flight *const f = &r->flights[number];
    *f = (struct sqt_flight){.access = *access};
    for (unsigned i = 0; i < r->group_count; ++i)
        f->of[i].node = SQT_NO_NODE;
    r->late += access->begin < r->done;
    replay_push(r, access->begin, number, LOOK_UP, 0);
    replay_follow(r, access);
}

void
sqt_replay_drain(struct sqt_replay *r)
{
    while (r->event_count)
        replay_next(r);
}

void
sqt_replay_free(struct sqt_replay *r)
{
    for (unsigned i = 0; i < r->group_count; ++i)
        sqt_freed(r->groups[i].places);
    sqt_freed(r->conns);
    sqt_freed(r->flights);
    sqt_freed(r->events);
}
