/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * emit.c - the path of an event into the ring.
 *
 *        tail            head            limit
 *   .....|###############|...............|
 *
 * The flusher frees records by moving the tail; the emitter looks at it only when the head meets the limit.  The limit is
 * where the ring was full when the emitter looked last, or a quarter of the ring after that look if that is less.  There,
 * and nowhere else, the emitter wakes a flusher that sleeps.  A unit becomes visible by one store of the head.
 *
 * A flight recorder has no flusher that frees records: there the emitter itself moves the tail, by whole units, and stores
 * it before anything that overwrites them.  So a reader that copied records and then finds the tail before them has
 * whole ones.
 *
 * Most events come between two such looks, in the midst of the ring, and are stamped with the TSC.  They are made with
 * as few instructions as it takes: one pointer says where the next record goes, and a second one up to where that is
 * all there is to know.
 */
#include "emit-internal.h"

#include <string.h>

#include "format/events.h"
#ifdef SQT_DEBUG
#include <stdio.h>
#include <stdlib.h>
#endif

uint32_t sqt_groups;
uint32_t sqt_clock;
struct sqt_io_stamps sqt_io_pending;
struct sqt_emitter sqt_emitter __attribute__((aligned(64)));

/* Records ahead of the head whose cache line is asked for now: at 2 records a line, far enough to hide a miss. */
#define PREFETCH_AHEAD 16

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A word that the flusher stores when a clock stepped, at whatever instant.  The compiler would make an instruction more
 * of an atomic load. */
#if defined(__SANITIZE_THREAD__)
#define SHARED(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#else
#define SHARED(word) (word)
#endif

/* Asks for the line of a coming record, to be written.  Past the ring's end this asks in vain, which does no harm. */
static inline void
prefetch_after(const struct sqt_record *record)
{
    record += PREFETCH_AHEAD;
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*record)); /* a no-operation where it is unknown */
#else
    __builtin_prefetch(record, 1);
#endif
}

/* Time of a record that is made now.  The clock of another core may be a little behind. */
static inline uint64_t
not_before_last(const struct sqt_emitter *e, uint64_t now)
{
    return now > e->last ? now : e->last;
}

/* Members event and flags of a record, little-endian. */
typedef uint32_t __attribute__((may_alias)) event_and_flags;

/* Fills in a record.  A reader may copy it meanwhile and discards what it got, so the stores are atomic; their order
 * is nobody's business before the head covers them.  event is below 65,536; one store is enough for it and flags. */
static inline __attribute__((always_inline)) void
fill(struct sqt_record *r, uint64_t time, uint64_t id, uint64_t arg, uint32_t aux, uint32_t event, uint32_t flags)
{
    __atomic_store_n(&r->time, time, __ATOMIC_RELAXED);
    __atomic_store_n(&r->id, id, __ATOMIC_RELAXED);
    __atomic_store_n(&r->arg, arg, __ATOMIC_RELAXED);
    __atomic_store_n(&r->aux, aux, __ATOMIC_RELAXED);
    __atomic_store_n((event_and_flags *)(void *)&r->event, event | flags << 16, __ATOMIC_RELAXED);
}

/* Nobody else writes the head. */
static inline uint64_t
head_of(const struct sqt_emitter *e)
{
    return __atomic_load_n(&e->ring->writer.head, __ATOMIC_RELAXED);
}

static inline void
publish(struct sqt_emitter *e, uint64_t head, uint64_t time)
{
    e->last = time;
    __atomic_store_n(&e->ring->writer.head, head, __ATOMIC_RELEASE);
}

/* Where the next record goes, and how far the quick way leads from there: to the limit or to the ring's end. */
static inline __attribute__((always_inline)) void
aim(struct sqt_emitter *e, uint64_t head)
{
    const uint64_t place = head & e->mask, room = e->limit - head, straight = e->mask + 1 - place;
    e->next = e->records + place;
    __atomic_store_n(&e->quick, sqt_clock == SQT_CLOCK_TSC ? e->next + (room < straight ? room : straight) : NULL,
                     __ATOMIC_RELAXED);
}

#ifdef SQT_DEBUG
static void
check_thread(const struct sqt_emitter *e)
{
    if (e->ring && !pthread_equal(e->thread, pthread_self())) {
        fprintf(stderr, "sqtrace: an event was emitted outside the main thread\n");
        abort();
    }
}
#else
#define check_thread(e) ((void)0)
#endif

/* Counts n records that found no room. */
static void
emit_drop(struct sqt_emitter *e, uint64_t now, unsigned n)
{
    const uint64_t time = now + e->offset;
    struct sqt_ring_writer *const w = &e->ring->writer;
    if (!e->losing) {
        const uint64_t episodes = w->episodes + 1;
        struct sqt_ring_loss *const loss = &w->loss[episodes & 1];
        __atomic_store_n(&loss->at, w->head, __ATOMIC_RELAXED);
        __atomic_store_n(&loss->from, time, __ATOMIC_RELAXED);
        __atomic_store_n(&loss->base, w->lost, __ATOMIC_RELAXED);
        __atomic_store_n(&w->episodes, episodes, __ATOMIC_RELEASE);
        __atomic_store_n(&w->lost_from, time, __ATOMIC_RELAXED);
        e->losing = 1;
        e->limit = 0; /* whatever comes next must look */
        __atomic_store_n(&e->quick, NULL, __ATOMIC_RELAXED);
    }
    e->last = now;
    __atomic_store_n(&w->lost_until, time, __ATOMIC_RELAXED);
    __atomic_store_n(&w->lost, w->lost + n, __ATOMIC_RELEASE);
    __atomic_store_n(&w->lost_open, w->lost_open + n, __ATOMIC_RELAXED);
}

/* What was lost, as a record in front of the first one that found room again. */
static void
put_lost(struct sqt_emitter *e, uint64_t time)
{
    const struct sqt_ring_writer *const w = &e->ring->writer;
    const struct sqt_ring_loss *const loss = &w->loss[w->episodes & 1];
    fill(&e->records[w->head & e->mask], time, loss->from, w->lost - loss->base, SQT_LOSS_RING_FULL, SQT_EV_LOST, 0);
}

/* How much of a flight recorder's ring is freed at once. */
#define RECORDER_PIECES 16

/* Frees the oldest records of a flight recorder, if it must, so that n more have room. */
static void
emit_overwrite(struct sqt_emitter *e, unsigned n)
{
    uint64_t *const tail = &e->ring->flusher.tail;
    const uint64_t capacity = e->mask + 1, head = head_of(e), needed = head + n + capacity / RECORDER_PIECES;
    uint64_t at = __atomic_load_n(tail, __ATOMIC_RELAXED); /* nobody else stores it */
    if (head + n <= at + capacity)
        return;
    at = needed - capacity;
    while (at < head && (e->records[at & e->mask].flags & SQT_FLAG_PART))
        ++at;
    __atomic_store_n(tail, at, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* before what overwrites them */
}

/* Where the ring ends for the head, by what the tail is now.  n: so many records are to find room. */
static uint64_t
look_at_tail(struct sqt_emitter *e, unsigned n)
{
    if (e->recorder)
        emit_overwrite(e, n);
    return __atomic_load_n(&e->ring->flusher.tail, __ATOMIC_ACQUIRE) + e->mask + 1;
}

/* Where the emitter looks at the tail next, if it has looked with that head. */
static uint64_t
next_look(const struct sqt_emitter *e, uint64_t head, uint64_t full)
{
    const uint64_t quarter = head + (e->mask + 1) / 4;
    return quarter < full ? quarter : full;
}

/* Looks at the tail for room for n records and what must go before them.  Returns the number of the first of the n,
 * or UINT64_MAX after counting them as lost. */
static __attribute__((noinline, cold)) uint64_t
look_for_room(struct sqt_emitter *e, uint64_t now, unsigned n)
{
    const uint64_t head = head_of(e), full = look_at_tail(e, n);
    if (e->nap && !e->recorder)
        sqt_nap_work(e->nap);
    if (head + e->losing + n > full) {
        emit_drop(e, now, n);
        return UINT64_MAX;
    }
    e->limit = next_look(e, head + e->losing + n, full);
    if (!e->losing)
        return head;
    put_lost(e, now + e->offset);
    return head + 1;
}

/* After the publication that ended a stretch of losses. */
static __attribute__((noinline, cold)) void
loss_is_told(struct sqt_emitter *e)
{
    struct sqt_ring_writer *const w = &e->ring->writer;
    e->losing = 0;
    __atomic_store_n(&w->marks, w->episodes, __ATOMIC_RELAXED);
    __atomic_store_n(&w->lost_open, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&w->lost_from, 0, __ATOMIC_RELAXED);
}

/* Appends a unit made at the reading `now`, whatever the clock and the state of the ring; offset: the emitter's. */
static inline __attribute__((always_inline)) void
put(struct sqt_emitter *e, uint64_t now, uint64_t offset, const struct sqt_record *records, unsigned n)
{
    const uint64_t last = not_before_last(e, now);
    uint64_t head = head_of(e);

    if (UNLIKELY(head + n > e->limit)) {
        head = look_for_room(e, last, n);
        if (head == UINT64_MAX)
            return;
    }
    for (unsigned i = 0; i < n; ++i) {
        const struct sqt_record *const from = &records[i];
        struct sqt_record *const r = &e->records[(head + i) & e->mask];
        fill(r, last + offset, from->id, from->arg, from->aux, from->event, i ? SQT_FLAG_PART : n - 1);
        prefetch_after(r);
    }
    publish(e, head + n, last);
    if (UNLIKELY(e->losing))
        loss_is_told(e);
    aim(e, head + n);
}

/* ---- steps of the clock: see step-internal.h ---- */

int
sqt_steps_room(const struct sqt_steps *s, unsigned count)
{
    return s->added - __atomic_load_n(&s->taken, __ATOMIC_ACQUIRE) + count <= SQT_STEPS_PENDING;
}

void
sqt_steps_add(struct sqt_steps *s, const struct sqt_step *step)
{
    s->steps[s->added % SQT_STEPS_PENDING] = *step;
    __atomic_store_n(&s->added, s->added + 1, __ATOMIC_RELEASE);
}

void
sqt_steps_remind(struct sqt_emitter *e, const struct sqt_steps *s)
{
    if (s->added == __atomic_load_n(&s->taken, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&e->plain, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&e->quick, NULL, __ATOMIC_RELAXED);
}

/* Readings get another offset.  What the newest record says stays the least that the next one may say. */
static void
set_offset(struct sqt_emitter *e, uint64_t offset)
{
    const uint64_t newest = e->last + e->offset;
    e->last = newest > offset ? newest - offset : 0;
    e->offset = offset;
}

/* put() for what is rare. */
static __attribute__((noinline, cold)) void
put_apart(struct sqt_emitter *e, uint64_t now, const struct sqt_record *records, unsigned n)
{
    put(e, now, e->offset, records, n);
}

/* Tells the steps that wait.  A step that finds no room waits on: it is never among the lost. */
static void
tell_steps(struct sqt_emitter *e)
{
    struct sqt_steps *const s = e->steps;
    while (s && s->taken != __atomic_load_n(&s->added, __ATOMIC_ACQUIRE)) {
        const struct sqt_step *const step = &s->steps[s->taken % SQT_STEPS_PENDING];
        const struct sqt_record record = {
            .id = step->from, .arg = step->size_ns, .aux = step->kind, .event = SQT_EV_CLOCK_STEP};
        set_offset(e, step->offset);
        if (head_of(e) + e->losing + 1 > look_at_tail(e, 1))
            return;
        /* Later than what came before by more than a reader rounds off, so that it can tell before from after. */
        const uint64_t now = sqt_read_clock(sqt_clock),
                       least = e->last + e->ring->identity.ticks_per_second / 1000000 + 1;
        put_apart(e, now > least ? now : least, &record, 1);
        __atomic_store_n(&s->taken, s->taken + 1, __ATOMIC_RELEASE);
    }
}

/* A reading that was taken elsewhere, with the offset; it may be older than that, but not later than the record. */
static uint64_t
shifted(const struct sqt_emitter *e, enum sqt_kind kind, uint64_t value, uint64_t time)
{
    if (kind != SQT_KIND_TIME || !value)
        return value;
    return value + e->offset < time ? value + e->offset : time;
}

static void
put_shifted(struct sqt_emitter *e, uint64_t now, const struct sqt_record *records, unsigned n)
{
    struct sqt_record unit[SQT_UNIT_MAX];
    const uint64_t time = not_before_last(e, now) + e->offset;
    for (unsigned i = 0; i < n; ++i) {
        const struct sqt_event_info *const event = &sqt_events[records[i].event < SQT_EVENTS ? records[i].event : 0];
        unit[i] = records[i];
        unit[i].id = shifted(e, event->id.kind, unit[i].id, time);
        unit[i].arg = shifted(e, event->arg.kind, unit[i].arg, time);
    }
    put_apart(e, now, unit, n);
}

/* emit_append() for when something is not as it mostly is. */
static __attribute__((noinline, cold)) void
append_otherwise(struct sqt_emitter *e, uint64_t now, const struct sqt_record *records, unsigned n)
{
    if (!e->ring)
        return;
    __atomic_store_n(&e->plain, 1, __ATOMIC_SEQ_CST); /* first: a step that comes now sets it to 0 again */
    tell_steps(e);
    if (!e->offset) {
        put_apart(e, now, records, n);
        return;
    }
    put_shifted(e, now, records, n);
    __atomic_store_n(&e->plain, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&e->quick, NULL, __ATOMIC_RELAXED);
}

/* Appends a unit made at the reading `now`. */
static void
emit_append(struct sqt_emitter *e, uint64_t now, const struct sqt_record *records, unsigned n)
{
    if (UNLIKELY(!SHARED(e->plain)))
        append_otherwise(e, now, records, n);
    else
        put(e, now, 0, records, n);
}

/* What meets anything but a TSC and room in the ring.  too: at the time of the record before it. */
static __attribute__((noinline)) void
emit_with_care(int too, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    const struct sqt_record record = {.id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
    emit_append(&sqt_emitter, too ? 0 : sqt_read_clock(sqt_clock), &record, 1);
}

static __attribute__((noinline)) void
emit_unit_with_care(const struct sqt_record *records, unsigned n)
{
    emit_append(&sqt_emitter, sqt_read_clock(sqt_clock), records, n);
}

/* given: made at `now`. */
static __attribute__((noinline)) void
emit_pair_with_care(int given, uint64_t now, uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id,
                    uint64_t part_arg, uint32_t part_aux)
{
    const struct sqt_record pair[2] = {
        {.id = id, .arg = arg, .aux = aux, .event = (uint16_t)events},
        {.id = part_id, .arg = part_arg, .aux = part_aux, .event = (uint16_t)(events >> 16)}};
    emit_append(&sqt_emitter, given ? now : sqt_read_clock(sqt_clock), pair, 2);
}

#if SQT_HAVE_CYCLES
/* The n records before next are filled in. */
static inline void
publish_quickly(struct sqt_emitter *e, struct sqt_record *next, unsigned n, uint64_t time)
{
    e->next = next;
    publish(e, head_of(e) + n, time);
}
#endif

/* One record, stamped by the TSC or at the time of the one before it. */
static inline __attribute__((always_inline)) void
emit_one(int too, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    check_thread(&sqt_emitter);
#if SQT_HAVE_CYCLES
    struct sqt_emitter *const e = &sqt_emitter;
    struct sqt_record *const r = e->next;
    if (UNLIKELY(r >= SHARED(e->quick))) {
        emit_with_care(too, event, id, arg, aux);
        return;
    }
    const uint64_t time = too ? e->last : not_before_last(e, sqt_read_cycles());
    fill(r, time, id, arg, aux, event, 0);
    publish_quickly(e, r + 1, 1, time);
    prefetch_after(r);
#else
    emit_with_care(too, event, id, arg, aux);
#endif
}

void
sqt_emit(unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    emit_one(0, event, id, arg, aux);
}

void
sqt_emit_too(unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    emit_one(1, event, id, arg, aux);
}

void
sqt_emit_unit(struct sqt_record *records, unsigned n)
{
    check_thread(&sqt_emitter);
    if (UNLIKELY(n - 1 >= SQT_UNIT_MAX))
        return;
#if SQT_HAVE_CYCLES
    struct sqt_emitter *const e = &sqt_emitter;
    struct sqt_record *r = e->next, *const next = r + n;
    if (UNLIKELY(next > SHARED(e->quick))) {
        emit_unit_with_care(records, n);
        return;
    }
    const uint64_t time = not_before_last(e, sqt_read_cycles());
    unsigned flags = n - 1;
    do {
        fill(r, time, records->id, records->arg, records->aux, records->event, flags);
        prefetch_after(r);
        flags = SQT_FLAG_PART;
        ++records;
    } while (++r != next);
    publish_quickly(e, next, n, time);
#else
    emit_unit_with_care(records, n);
#endif
}

/* A pair of records, stamped by the TSC or made at a given time. */
static inline __attribute__((always_inline)) void
emit_pair(int given, uint64_t now, uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id,
          uint64_t part_arg, uint32_t part_aux)
{
    check_thread(&sqt_emitter);
#if SQT_HAVE_CYCLES
    struct sqt_emitter *const e = &sqt_emitter;
    struct sqt_record *const r = e->next, *const next = r + 2;
    if (UNLIKELY(next > SHARED(e->quick))) {
        emit_pair_with_care(given, now, events, id, arg, aux, part_id, part_arg, part_aux);
        return;
    }
    const uint64_t time = not_before_last(e, given ? now : sqt_read_cycles());
    fill(r, time, id, arg, aux, events & UINT16_MAX, 1);
    fill(r + 1, time, part_id, part_arg, part_aux, events >> 16, SQT_FLAG_PART);
    publish_quickly(e, next, 2, time);
    prefetch_after(r); /* a record of each line does that */
#else
    emit_pair_with_care(given, now, events, id, arg, aux, part_id, part_arg, part_aux);
#endif
}

void
sqt_emit_pair(uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id, uint64_t part_arg,
              uint32_t part_aux)
{
    emit_pair(0, 0, events, id, arg, aux, part_id, part_arg, part_aux);
}

void
sqt_emit_pair_at(uint64_t now, uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id,
                 uint64_t part_arg, uint32_t part_aux)
{
    emit_pair(1, now, events, id, arg, aux, part_id, part_arg, part_aux);
}

void
sqt_emitter_attach(struct sqt_emitter *e, struct sqt_ring_header *header)
{
    memset(e, 0, sizeof(*e));
    e->records = sqt_ring_records(header);
    e->mask = header->capacity - 1;
    e->limit = next_look(e, 0, header->capacity);
    e->plain = 1;
    aim(e, 0);
#ifdef SQT_DEBUG
    e->thread = pthread_self();
#endif
    e->ring = header;
}

void
sqt_emitter_detach(struct sqt_emitter *e)
{
    memset(e, 0, sizeof(*e));
}
