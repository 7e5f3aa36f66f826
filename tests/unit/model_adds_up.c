/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_adds_up.c - whatever the records are and in whatever order: each nanosecond is charged once.
 *
 * Random records of all events with ids of few transactions, connections and swaps, so that most of them meet
 * something that is open.  The checks are made on every row.
 */
#include "model_script.h"

static uint64_t random_state;

static uint64_t
next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static unsigned requests_seen, swaps_seen, ios_seen, diskops_seen;

static void
check_request(void *context, const struct sqt_xact *x)
{
    (void)context;
    ++requests_seen;
    if (x->begin == SQT_MISSING)
        return;
    int64_t sum = 0;
    for (unsigned i = 0; i <= SQT_STAGES; ++i) {
        assert_true(x->stages.ns[i] >= 0);
        if (i < SQT_STAGES && !(x->stages.seen >> i & 1))
            assert_int_equal(x->stages.ns[i], 0);
        sum += x->stages.ns[i];
    }
    assert_int_equal(sum, x->end - x->begin);
    assert_true(x->first_byte == SQT_MISSING || (x->first_byte >= x->begin && x->first_byte <= x->end));
}

static void
check_swap(void *context, struct sqt_swap *s)
{
    (void)context;
    ++swaps_seen;
    int64_t sum = 0;
    for (unsigned i = 0; i <= SQT_STAGES; ++i) {
        assert_true(s->phases.ns[i] >= 0);
        sum += s->phases.ns[i];
    }
    assert_int_equal(sum, s->end - s->begin);
}

static void
check_io(void *context, const struct sqt_io *i)
{
    (void)context;
    ++ios_seen;
    if (i->outcome == SQT_OUTCOME_CLOCK)
        return;
    assert_true(i->queue >= 0 && i->service >= 0 && i->notice >= 0);
    assert_int_equal(i->queue + i->service + i->notice, i->done - i->asked);
}

static void
check_diskop(void *context, const struct sqt_diskop *op)
{
    (void)context;
    ++diskops_seen;
    if (op->outcome == SQT_OUTCOME_UNFINISHED || sqt_durations_unknown(op->outcome))
        return;
    int64_t sum = 0;
    for (unsigned i = 0; i < SQT_DISKOP_STAGES; ++i)
        if (op->stages[i] != SQT_MISSING) {
            assert_true(op->stages[i] >= 0);
            sum += op->stages[i];
        }
    assert_int_equal(sum, op->end - op->begin);
}

/* A value that fits the kind of the field, from a small set. */
static uint64_t
value_of(enum sqt_kind kind, int64_t time)
{
    switch (kind) {
    case SQT_KIND_XACT:
        return next_random(2) ? 1 + next_random(6) : SQT_UNNAMED | next_random(6);
    case SQT_KIND_CONN:
    case SQT_KIND_SIO:
    case SQT_KIND_SERIAL:
        return next_random(6);
    case SQT_KIND_OFFSET:
        return 4096 * next_random(4);
    case SQT_KIND_TIME:
        return (uint64_t)time - next_random(100) + next_random(50);
    case SQT_KIND_BYTES:
    case SQT_KIND_IO_BYTES:
        return next_random(4) ? 4096 * next_random(4) : 1u << 31;
    default:
        return next_random(4);
    }
}

static void
random_records(uint64_t seed, int with_losses)
{
    const struct sqt_consumer consumer = {
        .request = check_request, .swap = check_swap, .io = check_io, .diskop = check_diskop};
    struct sqt_model *const model = sqt_model_new(&consumer);
    int64_t time = 1000;
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (unsigned run = 0; run < 20; ++run) {
        for (unsigned i = 0; i < 1000; ++i) {
            const unsigned event = 1 + (unsigned)next_random(SQT_EVENTS - 1);
            if (event == SQT_EV_CLOCK_STEP && next_random(10))
                continue;
            if (event == SQT_EV_LOST && !(with_losses && next_random(10) == 0))
                continue;
            const struct sqt_event_info *const info = &sqt_events[event];
            time += (int64_t)next_random(20);
            put(time, event, value_of(info->id.kind, time), value_of(info->arg.kind, time),
                (uint32_t)value_of(info->aux.kind, time));
            if (event == SQT_EV_DISKOP_BEGIN)
                part(SQT_EV_PART_DISKOP, value_of(SQT_KIND_TIME, time), next_random(6), (uint32_t)next_random(8));
            if ((event == SQT_EV_DISKOP_END || event == SQT_EV_DISKOP_LATE) && next_random(4))
                part(SQT_EV_PART_DISKOP_IO, value_of(SQT_KIND_TIME, time), value_of(SQT_KIND_TIME, time),
                     (uint32_t)next_random(10));
            if (next_random(4) == 0)
                part(SQT_EV_PART_STAMP, 0, (uint64_t)time - next_random(40), 1 + (uint32_t)next_random(3));
        }
        /* The clock's line may jump back a little from block to block. */
        struct sqt_run r = {.origin = &script.origins[0],
                            .records = script.records,
                            .count = script.count,
                            .next = script.count,
                            .line = {0, -(int64_t)next_random(30), 1.0}};
        sqt_model_run(model, &r);
        script.count = 0;
    }
    sqt_model_finish(model);
    sqt_model_free(model);
}

static void
random_records_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; ++seed)
        random_records(seed, 0);
    /* The test is worth something only if there was something to check. */
    assert_true(requests_seen > 10000);
    assert_true(swaps_seen > 10000);
    assert_true(ios_seen > 1000);
    assert_true(diskops_seen > 10000);
}

static void
random_records_with_losses_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; ++seed)
        random_records(seed, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(random_records_add_up),
        SCRIPT_TEST(random_records_with_losses_add_up),
    };
    return cmocka_run_group_tests_name("model: adds up", tests, NULL, NULL);
}
