/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_traffic.c - records as a busy proxy makes them: requests of all classes at once, between waits of the event loop.
 */
#include "traffic-internal.h"

#include <string.h>

#include "format/events.h"

/* ---- how many ---- */

static const double per_thousand[SQT_EVENTS][TRAFFIC_COLUMNS] = {
#define TRAFFIC(event, ...) [SQT_EV_##event] = {__VA_ARGS__},
#include "traffic.def"
};

static const double shares[TRAFFIC_COLUMNS] = {
#define TRAFFIC_CLASS(class, share) [TRAFFIC_##class] = share,
#include "traffic.def"
};

#define SAMPLES_SECONDS 1.0

uint64_t
traffic_random(struct make_traffic *t, uint64_t below)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random % below;
}

void
traffic_owe(struct make_traffic *t, unsigned column, unsigned event)
{
    t->owed[event][column] += per_thousand[event][column] / 1000;
}

int
traffic_take(struct make_traffic *t, unsigned column, unsigned event, double least)
{
    const int taken = t->owed[event][column] >= least;
    t->owed[event][column] -= taken;
    return taken;
}

unsigned
traffic_times(struct make_traffic *t, unsigned column, unsigned event)
{
    unsigned times = 0;
    traffic_owe(t, column, event);
    while (traffic_take(t, column, event, 1))
        ++times;
    return times;
}

unsigned
traffic_once_or_more(struct make_traffic *t, unsigned column, unsigned event)
{
    const unsigned times = traffic_times(t, column, event);
    t->owed[event][column] -= !times;
    return times ? times : 1;
}

unsigned
traffic_varied(struct make_traffic *t, unsigned column, unsigned event)
{
    traffic_owe(t, column, event);
    const double owed = t->owed[event][column];
    unsigned times = owed < 2 ? 1 : 1 + (unsigned)traffic_random(t, 2 * (uint64_t)owed - 1);
    times = times < MAKE_TRAFFIC_BLOCKS ? times : MAKE_TRAFFIC_BLOCKS;
    t->owed[event][column] -= times;
    return times;
}

double
traffic_per_thousand(unsigned event)
{
    return per_thousand[event][TRAFFIC_ALL];
}

unsigned
traffic_pick(struct make_traffic *t, const double *of_thousand, unsigned count)
{
    double left = (double)traffic_random(t, 1000000) / 1000;
    for (unsigned i = 0; i < count; ++i)
        if ((left -= of_thousand[i]) < 0)
            return i;
    return count;
}

unsigned
traffic_class(struct make_traffic *t)
{
    unsigned next = 1;
    double most = -1e9;
    for (unsigned c = 1; c < TRAFFIC_COLUMNS; ++c) {
        t->classes[c] += shares[c] / 1000;
        const double wish = t->classes[c] + (double)traffic_random(t, 1000) / 1000;
        if (wish > most) {
            most = wish;
            next = c;
        }
    }
    t->classes[next] -= 1;
    return next;
}

/* ---- slots ---- */

void
traffic_add(struct make_traffic_slot *slot, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    slot->records[slot->count++] = (struct sqt_record){
        .time = slot->waits ? TRAFFIC_WAIT : 0, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
    slot->waits = 0;
}

void
traffic_part(struct make_traffic_slot *slot, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    size_t first = slot->count - 1;
    while (slot->records[first].flags & SQT_FLAG_PART)
        --first;
    ++slot->records[first].flags;
    traffic_add(slot, event, id, arg, aux);
    slot->records[slot->count - 1].flags = SQT_FLAG_PART;
}

void
traffic_wait(struct make_traffic_slot *slot)
{
    slot->waits = 1;
}

/* ---- turns ---- */

/* Takes the next slot in turn, and makes what the event loop does first. */
static void
turn(struct make_traffic *t)
{
    struct make_traffic_slot *const slot = &t->slots[t->current = (unsigned)traffic_random(t, t->at_a_time)];
    t->loop.count = t->loop.next = 0;
    traffic_loop(t);
    if (slot->next == slot->count)
        traffic_request(t, slot);
    t->resumed = 1;
}

/* ---- records ---- */

/* So long the event loop waits on average, that rounds of samples come once a second. */
static uint64_t
wait_ticks(struct make_traffic *t)
{
    const double seconds = per_thousand[SQT_EV_SAMPLE][TRAFFIC_ALL] / SQT_SAMPLES * SAMPLES_SECONDS /
                           per_thousand[SQT_EV_WAIT_BEGIN][TRAFFIC_ALL];
    return traffic_random(t, (uint64_t)(2 * seconds * MAKE_TICKS_PER_SECOND));
}

/* The stamps of a service lie between question and answer, and after the service before. */
static void
stamp_service(struct make_traffic *t, const struct make_traffic_slot *slot, struct sqt_record *r)
{
    const uint64_t from = slot->asked > slot->noticed ? slot->asked : slot->noticed, quarter = (t->time - from) / 4;
    r->id = from + quarter;
    r->arg = t->time - quarter;
    r->aux = (uint32_t)(traffic_random(t, 2000) * quarter / (quarter + 2000));
}

/* The flusher looks at the main thread in the last wait, or just now while it works. */
static void
stamp_sample(struct make_traffic *t, struct sqt_record *r)
{
    const uint64_t half = (t->worked_from - t->waits_from) / 2;
    const uint64_t at = r->aux ? t->time - 300 : t->worked_from - half, waited = t->waited - (r->aux ? 0 : half);
    r->id = t->sampled.at;
    r->arg = at;
    t->sampled.since = at - t->sampled.at;
    t->sampled.ran = t->sampled.since - (waited - t->sampled.waited);
    t->sampled.at = at;
    t->sampled.waited = waited;
}

/* In every other sample it waited for a processor, an eighth of the time in which it would have run. */
static void
stamp_ran(struct make_traffic *t, struct sqt_record *r)
{
    const uint64_t ns = t->sampled.ran * 1000000000 / MAKE_TICKS_PER_SECOND;
    r->arg = traffic_random(t, 2) ? ns / 8 : 0;
    r->id = ns - r->arg;
    r->aux |= (uint32_t)(t->sampled.since * 1000000 / MAKE_TICKS_PER_SECOND) << SQT_LOOP_FLAG_BITS;
}

/* Fills in what depends on the time. */
static void
stamp(struct make_traffic *t, struct make_traffic_slot *slot, struct sqt_record *r)
{
    switch (r->event) {
    case SQT_EV_SWAPIN_OPEN:
    case SQT_EV_SWAPIN_READ:
    case SQT_EV_SWAPIN_CLOSE:
    case SQT_EV_SWAPOUT_OPEN:
    case SQT_EV_SWAPOUT_WRITE:
    case SQT_EV_SWAPOUT_CLOSE:
    case SQT_EV_UNLINK:
        slot->asked = t->time;
        break;
    case SQT_EV_PART_DISKOP_IO:
        stamp_service(t, slot, r);
        slot->noticed = t->time;
        break;
    case SQT_EV_DISKOP_END:
        r->arg = slot->noticed = r->flags & SQT_FLAG_MORE ? t->time : slot->noticed;
        break;
    case SQT_EV_PART_ACTIVITY:
        r->id = t->worked_from + (t->time - t->worked_from) / 3;
        r->arg = t->time;
        break;
    case SQT_EV_WAIT_BEGIN:
        t->waits_from = t->time;
        break;
    case SQT_EV_WAIT_END:
        t->worked_from = t->time;
        t->waited += t->time - t->waits_from;
        break;
    case SQT_EV_LOOP_SAMPLE:
        stamp_sample(t, r);
        break;
    case SQT_EV_PART_LOOP_RAN:
        stamp_ran(t, r);
        break;
    case SQT_EV_HELPER_BEGIN:
    case SQT_EV_DNS_BEGIN:
        slot->queried = t->time;
        break;
    case SQT_EV_PART_HELPER:
        r->id = slot->queried + (t->time - slot->queried < 2700 ? 500 : 2700); /* ticks; a child is free */
        break;
    case SQT_EV_QUERY_END:
        r->arg = r->id ? slot->queried : t->waits_from;
        break;
    case SQT_EV_SAMPLE:
    case SQT_EV_CALLS_TOLD:
        r->arg = t->time;
        break;
    default:
        break;
    }
}

/* Hands out the next unit of a slot; returns how many records. */
static size_t
hand_out(struct make_traffic *t, struct make_traffic_slot *slot, struct sqt_record *to)
{
    const struct sqt_record *const from = &slot->records[slot->next];
    const size_t n = 1 + (from->flags & SQT_FLAG_MORE);
    t->time += 600 + traffic_random(t, 9000); /* 0.2 to 3.2 us at 3 GHz */
    if (from->event == SQT_EV_WAIT_END)
        t->time += wait_ticks(t);
    for (size_t i = 0; i < n; ++i) {
        to[i] = from[i];
        to[i].time = t->time;
        stamp(t, slot, &to[i]);
    }
    slot->next += n;
    return n;
}

size_t
make_traffic_records(struct make_traffic *t, struct sqt_record *records, size_t room)
{
    size_t n = 0;
    while (room - n >= SQT_UNIT_MAX) {
        struct make_traffic_slot *const slot = &t->slots[t->current];
        if (t->loop.next < t->loop.count)
            n += hand_out(t, &t->loop, records + n);
        else if (slot->next == slot->count || (slot->records[slot->next].time == TRAFFIC_WAIT && !t->resumed))
            turn(t);
        else {
            n += hand_out(t, slot, records + n);
            t->resumed = 0;
        }
    }
    return n;
}

void
make_traffic_init(struct make_traffic *t, uint64_t seed)
{
    memset(t, 0, sizeof(*t));
    t->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    t->time = t->worked_from = t->waits_from = t->sampled.at = MAKE_START;
    t->at_a_time = MAKE_TRAFFIC_SLOTS;
    for (unsigned event = 0; event < SQT_EVENTS; ++event)
        for (unsigned c = 0; c < TRAFFIC_COLUMNS; ++c)
            t->owed[event][c] = per_thousand[event][c] > 0 ? (double)traffic_random(t, 1000) / 1000 : 0;
}

void
make_traffic_renew(struct sqt_record *to, const struct sqt_record *from, unsigned n, uint64_t now)
{
    for (unsigned i = 0; i < n; ++i) {
        const struct sqt_event_info *const info = &sqt_events[from[i].event];
        to[i] = from[i];
        if (info->id.kind == SQT_KIND_TIME)
            to[i].id = now - (from[i].time - from[i].id);
        if (info->arg.kind == SQT_KIND_TIME)
            to[i].arg = now - (from[i].time - from[i].arg);
    }
}
