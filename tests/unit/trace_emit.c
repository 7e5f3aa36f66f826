/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_emit.c - the writer's end of the ring: order, units, wrapping, and the account of what is lost.
 *
 * The ring here has no flusher; the test moves the tail itself.
 */
#include "trace_support.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/ring/emit-internal.h"

#define CAPACITY 64u

/* A ring in memory, and what the test knows of it. */
struct fixture {
    struct sqt_ring_header *ring;
    uint64_t offered; /* records handed to the emitter, counted here and not there */
};

static int
setup(void **state, uint32_t clock)
{
    struct fixture *const f = calloc(1, sizeof(*f));
    f->ring = ring_in_memory(CAPACITY, 4096, clock);
    *state = f;
    return 0;
}

/* The TSC has a path of its own through the emitter. */
static int
setup_tsc(void **state)
{
#if SQT_HAVE_CYCLES
    return setup(state, SQT_CLOCK_TSC);
#else
    return setup(state, SQT_CLOCK_MONOTONIC);
#endif
}

static int
setup_monotonic(void **state)
{
    return setup(state, SQT_CLOCK_MONOTONIC);
}

static int
teardown(void **state)
{
    struct fixture *const f = *state;
    ring_in_memory_end(f->ring);
    free(f);
    return 0;
}

static const struct sqt_record *
record(const struct fixture *f, uint64_t number)
{
    return &sqt_ring_records(f->ring)[number & (CAPACITY - 1)];
}

static void
emit(struct fixture *f, uint64_t id)
{
    sqt_emit(SQT_EV_CLIENT_READ, id, id + 1, (uint32_t)id + 2);
    ++f->offered;
}

/* A unit of two in the one way and the other, in turn.  Units of all lengths, with numbers that say which unit it is:
 * the ring does not look at them. */
static void
emit_unit(struct fixture *f, uint64_t id, unsigned n)
{
    static unsigned pairs;
    if (n == 2 && ++pairs % 2) {
        sqt_emit_pair(SQT_PAIR(SQT_EV_SWAPIN_OPEN, SQT_EV_PART_SWAP_FILE), id, 0, 2, id, 1, 2);
        f->offered += 2;
        return;
    }
    struct sqt_record unit[SQT_UNIT_MAX];
    memset(unit, 0xff, sizeof(unit));
    for (unsigned i = 0; i < n; ++i) {
        unit[i].event = i ? SQT_EV_PART_DIGEST_UPDATES : SQT_EV_DIGEST_REBUILD;
        unit[i].id = id;
        unit[i].arg = i;
        unit[i].aux = n;
    }
    sqt_emit_unit(unit, n);
    f->offered += n;
}

static void
free_until(struct fixture *f, uint64_t tail)
{
    __atomic_store_n(&f->ring->flusher.tail, tail, __ATOMIC_RELEASE);
}

/* emitted = written + lost, and the header's account agrees with the records that the test has seen go by. */
static void
check_account(const struct fixture *f, uint64_t marks, uint64_t told)
{
    struct sqt_totals totals;
    sqt_ring_totals(f->ring, &totals);
    assert_int_equal(totals.head - totals.marks + totals.lost, f->offered);
    assert_int_equal(totals.marks, marks);
    assert_int_equal(totals.lost - totals.lost_open, told);
    assert_int_equal(f->ring->writer.marks, marks);
    assert_int_equal(f->ring->writer.lost_open, totals.lost_open);
    assert_int_equal(f->ring->writer.lost_from, totals.lost_from);
    assert_int_equal(totals.lost_open != 0, totals.lost_from != 0);
}

static void
fields_arrive_in_order(void **state)
{
    struct fixture *const f = *state;
    for (uint64_t i = 0; i < CAPACITY; ++i)
        emit(f, i);
    assert_int_equal(f->ring->writer.head, CAPACITY);
    for (uint64_t i = 0; i < CAPACITY; ++i) {
        const struct sqt_record *const r = record(f, i);
        assert_int_equal(r->id, i);
        assert_int_equal(r->arg, i + 1);
        assert_int_equal(r->aux, i + 2);
        assert_int_equal(r->event, SQT_EV_CLIENT_READ);
        assert_int_equal(r->flags, 0);
        assert_true(r->time && (!i || r->time >= record(f, i - 1)->time));
    }
    check_account(f, 0, 0);
}

static void
time_never_goes_back(void **state)
{
    struct fixture *const f = *state;
    emit(f, 1);
    const uint64_t future = record(f, 0)->time + UINT64_C(3600000000000);
    sqt_emitter.last = future; /* another core's clock was ahead */
    emit(f, 2);
    emit_unit(f, 3, 2);
    for (uint64_t i = 1; i < 4; ++i)
        assert_int_equal(record(f, i)->time, future);
}

static void
records_of_one_moment(void **state)
{
    struct fixture *const f = *state;
    emit(f, 0);
    const uint64_t first = record(f, 0)->time;
    uint64_t now;
    while ((now = sqt_read_clock(sqt_clock)) <= first)
        ;
    sqt_emit_too(SQT_EV_CLIENT_READ, 1, 2, 3);
    assert_int_equal(record(f, 1)->time, first);
    assert_int_equal(record(f, 1)->id, 1);
    assert_int_equal(record(f, 1)->arg, 2);
    assert_int_equal(record(f, 1)->aux, 3);
    assert_int_equal(record(f, 1)->flags, 0);
    const uint64_t times[2] = {now, first}; /* the later one also stands for the earlier */
    for (unsigned i = 0; i < 2; ++i) {
        sqt_emit_pair_at(times[i], SQT_PAIR(SQT_EV_SWAPIN_OPEN, SQT_EV_PART_SWAP_FILE), 4, 5, 6, 7, 8, 9);
        for (unsigned part = 0; part < 2; ++part) {
            const struct sqt_record *const r = record(f, 2 + 2 * i + part);
            assert_int_equal(r->time, now);
            assert_int_equal(r->id, part ? 7 : 4);
            assert_int_equal(r->event, part ? SQT_EV_PART_SWAP_FILE : SQT_EV_SWAPIN_OPEN);
            assert_int_equal(r->flags, part ? SQT_FLAG_PART : 1);
        }
    }
    f->offered += 5;
    while (f->offered < CAPACITY)
        emit(f, f->offered);
    sqt_emit_too(SQT_EV_CLIENT_READ, 1, 2, 3);
    sqt_emit_pair_at(now, SQT_PAIR(SQT_EV_SWAPIN_OPEN, SQT_EV_PART_SWAP_FILE), 4, 5, 6, 7, 8, 9);
    f->offered += 3;
    assert_int_equal(f->ring->writer.lost, 3);
    check_account(f, 0, 0);
}

static void
a_unit_wraps_and_stays_whole(void **state)
{
    struct fixture *const f = *state;
    for (uint64_t i = 0; i < CAPACITY - 3; ++i)
        emit(f, i);
    free_until(f, CAPACITY - 3);
    emit_unit(f, 77, SQT_UNIT_MAX);
    assert_int_equal(f->ring->writer.head, CAPACITY - 3 + SQT_UNIT_MAX);
    for (unsigned i = 0; i < SQT_UNIT_MAX; ++i) {
        const struct sqt_record *const r = record(f, CAPACITY - 3 + i);
        assert_int_equal(r->id, 77);
        assert_int_equal(r->arg, i);
        assert_int_equal(r->time, record(f, CAPACITY - 3)->time);
        assert_int_equal(r->flags, i ? SQT_FLAG_PART : SQT_UNIT_MAX - 1);
    }
}

static void
a_unit_that_does_not_fit_is_lost_whole(void **state)
{
    struct fixture *const f = *state;
    for (uint64_t i = 0; i < CAPACITY - 4; ++i)
        emit(f, i);
    emit_unit(f, 1000, 5);
    assert_int_equal(f->ring->writer.head, CAPACITY - 4);
    assert_int_equal(f->ring->writer.lost, 5);
    check_account(f, 0, 0);
    /* A smaller one that fits must not overtake without the LOST record in front. */
    emit_unit(f, 1001, 4);
    assert_int_equal(f->ring->writer.head, CAPACITY - 4);
    assert_int_equal(f->ring->writer.lost, 9);
    emit_unit(f, 1002, 3);
    assert_int_equal(f->ring->writer.head, CAPACITY);
    assert_int_equal(record(f, CAPACITY - 4)->event, SQT_EV_LOST);
    assert_int_equal(record(f, CAPACITY - 3)->id, 1002);
    check_account(f, 1, 9);
}

static void
senseless_units_are_ignored(void **state)
{
    struct fixture *const f = *state;
    struct sqt_record unit[SQT_UNIT_MAX + 1];
    memset(unit, 0, sizeof(unit));
    sqt_emit_unit(unit, 0);
    sqt_emit_unit(unit, SQT_UNIT_MAX + 1);
    assert_int_equal(f->ring->writer.head, 0);
    assert_int_equal(f->ring->writer.lost, 0);
}

static void
losses_are_told_as_soon_as_there_is_room(void **state)
{
    struct fixture *const f = *state;
    for (uint64_t i = 0; i < CAPACITY; ++i)
        emit(f, i);
    for (uint64_t i = 0; i < 7; ++i)
        emit(f, 100 + i);
    check_account(f, 0, 0);
    free_until(f, 1); /* room for the LOST record only: not yet */
    emit(f, 200);
    assert_int_equal(f->ring->writer.head, CAPACITY);
    check_account(f, 0, 0);
    free_until(f, 2);
    emit(f, 300);
    assert_int_equal(f->ring->writer.head, CAPACITY + 2);
    const struct sqt_record *const lost = record(f, CAPACITY);
    assert_int_equal(lost->event, SQT_EV_LOST);
    assert_int_equal(lost->arg, 8);
    assert_int_equal(lost->aux, SQT_LOSS_RING_FULL);
    assert_int_equal(lost->flags, 0);
    assert_true(lost->id >= record(f, CAPACITY - 1)->time && lost->id <= lost->time);
    assert_int_equal(record(f, CAPACITY + 1)->id, 300);
    assert_int_equal(lost->time, record(f, CAPACITY + 1)->time);
    check_account(f, 1, 8);
}

static uint64_t
random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A flusher that comes at random and takes what it likes; every record is offered, kept or told as lost. */
static void
random_fill_and_drain_accounts_for_all(void **state)
{
    struct fixture *const f = *state;
    uint64_t seed = UINT64_C(0x123456789abcdef), tail = 0, marks = 0, told = 0, kept = 0, id = 0, last_id = 0;
    for (unsigned round = 0; round < 200000; ++round) {
        const uint64_t dice = random_next(&seed);
        if (dice % 4) {
            const unsigned n = (unsigned)(dice >> 8) % SQT_UNIT_MAX + 1;
            ++id;
            if (n == 1)
                emit(f, id);
            else
                emit_unit(f, id, n);
        } else {
            uint64_t take = (dice >> 16) % (f->ring->writer.head - tail + 1);
            for (; take; --take, ++tail) {
                const struct sqt_record *const r = record(f, tail);
                if (r->event == SQT_EV_LOST) {
                    ++marks;
                    told += r->arg;
                    assert_true(r->arg > 0);
                } else {
                    ++kept;
                    assert_true(r->id >= last_id);
                    last_id = r->id;
                }
            }
            free_until(f, tail);
        }
        assert_true(f->ring->writer.head - tail <= CAPACITY);
    }
    uint64_t open_marks = 0, open_told = 0;
    for (; tail < f->ring->writer.head; ++tail)
        if (record(f, tail)->event == SQT_EV_LOST) {
            ++open_marks;
            open_told += record(f, tail)->arg;
        } else {
            ++kept;
        }
    check_account(f, marks + open_marks, told + open_told);
    struct sqt_totals totals;
    sqt_ring_totals(f->ring, &totals);
    assert_int_equal(kept + told + open_told + totals.lost_open, f->offered);
    assert_true(told > 1000 && kept > 1000);
}

/* The account is right if the process dies between any two stores of a loss; each is tried by undoing the later ones. */
static void
the_account_is_exact_after_a_kill_between_stores(void **state)
{
    struct fixture *const f = *state;
    struct sqt_ring_writer *const w = &f->ring->writer;
    struct sqt_totals totals;
    for (uint64_t i = 0; i < CAPACITY; ++i)
        emit(f, i);
    emit(f, 100);
    free_until(f, 8);
    emit(f, 101); /* the first stretch is told: head is CAPACITY + 2 */
    for (uint64_t i = 0; w->lost == 1; ++i)
        emit(f, i);
    emit(f, 102); /* 3 lost, 2 of them in the open stretch */
    const struct sqt_ring_writer open = *w;
    assert_int_equal(open.lost, 3);
    assert_int_equal(open.episodes, 2);

    w->lost = 1; /* the stretch has begun and its first record is not counted yet */
    sqt_ring_totals(f->ring, &totals);
    assert_int_equal(totals.marks, 1);
    assert_int_equal(totals.lost, 1);
    assert_int_equal(totals.lost_open, 0);
    assert_int_equal(totals.lost_from, 0);

    w->episodes = 1; /* nor has the stretch begun: its slot is filled in */
    sqt_ring_totals(f->ring, &totals);
    assert_int_equal(totals.marks, 1);
    assert_int_equal(totals.lost_open, 0);

    *w = open;
    free_until(f, CAPACITY);
    emit(f, 200);
    const struct sqt_ring_writer told = *w;
    w->marks = open.marks; /* published, and nothing stored after that */
    w->lost_open = open.lost_open;
    w->lost_from = open.lost_from;
    sqt_ring_totals(f->ring, &totals);
    assert_int_equal(totals.head, told.head);
    assert_int_equal(totals.marks, 2);
    assert_int_equal(totals.lost, 3);
    assert_int_equal(totals.lost_open, 0);
    assert_int_equal(totals.lost_from, 0);
    *w = told;
}

static void
nothing_happens_without_a_ring(void **state)
{
    struct fixture *const f = *state;
    struct sqt_record unit[2];
    memset(unit, 0, sizeof(unit));
    sqt_emitter_detach(&sqt_emitter);
    sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3);
    sqt_emit_unit(unit, 2);
    assert_int_equal(f->ring->writer.head, 0);
    assert_int_equal(f->ring->writer.lost, 0);
}

#ifdef SQT_DEBUG
static void *
emit_elsewhere(void *unused)
{
    sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3);
    return unused;
}

static void
a_debug_build_watches_the_thread(void **state)
{
    (void)state;
    int result;
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        fclose(stderr);
        pthread_create(&thread, NULL, emit_elsewhere, NULL);
        pthread_join(thread, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGABRT);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_EACH_CLOCK(fields_arrive_in_order),
        WITH_EACH_CLOCK(time_never_goes_back),
        WITH_EACH_CLOCK(records_of_one_moment),
        WITH_EACH_CLOCK(a_unit_wraps_and_stays_whole),
        WITH_EACH_CLOCK(a_unit_that_does_not_fit_is_lost_whole),
        WITH_EACH_CLOCK(senseless_units_are_ignored),
        WITH_EACH_CLOCK(losses_are_told_as_soon_as_there_is_room),
        WITH_EACH_CLOCK(random_fill_and_drain_accounts_for_all),
        WITH_EACH_CLOCK(the_account_is_exact_after_a_kill_between_stores),
        WITH_EACH_CLOCK(nothing_happens_without_a_ring),
#ifdef SQT_DEBUG
        WITH_EACH_CLOCK(a_debug_build_watches_the_thread),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
