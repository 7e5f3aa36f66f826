/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_threads.c - writer, flusher and readers at once, on one ring.
 *
 * Readers copy the ring's file, as other processes do.  The account of losses they also take from the writer's own mapping,
 * where ThreadSanitizer sees all three.  Every field of a record follows from its id: a torn one shows.
 */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "trace_support.h"

#include "read/file/ring.h"
#include "trace/ring/emit-internal.h"

#define RECORDS 1500000u /* that the writer offers, in a ring of 2,048 */
#define READERS 2
#define PIECE 512u

static int ended;

struct findings {
    pthread_t thread;
    const char *ringdir;
    uint64_t copied, moved_on, torn, disordered, split, impossible;
};

static uint32_t
aux_of(uint64_t id)
{
    return (uint32_t)(id * UINT64_C(2654435761));
}

static int
is_whole(const struct sqt_record *r)
{
    return r->arg == ~r->id && r->aux == aux_of(r->id);
}

static int
is_ours(const struct sqt_record *r)
{
    return r->event == SQT_EV_CLIENT_READ || r->event == SQT_EV_XACT_END || (r->flags & SQT_FLAG_PART);
}

static void
look_at(struct findings *f, const struct sqt_record *records, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const struct sqt_record *const r = &records[i];
        if (i && r->time < r[-1].time)
            ++f->disordered;
        if (!is_ours(r))
            continue;
        f->torn += !is_whole(r);
        if (r->flags & SQT_FLAG_PART)
            f->split += i && r->id != r[-1].id;
        else if (i + (r->flags & SQT_FLAG_MORE) >= count && count < PIECE)
            ++f->split; /* the head never stands within a unit */
    }
    f->copied += count;
}

/* The only file of the directory of rings. */
static void
open_the_ring(struct findings *f, struct sqt_ring *ring)
{
    struct sqt_diagnostics nobody = {.function = NULL};
    glob_t found;
    char pattern[160];
    snprintf(pattern, sizeof(pattern), "%s/sqtrace-*", f->ringdir);
    f->impossible += glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1;
    const int fd = open(found.gl_pathv[0], O_RDONLY);
    f->impossible += sqt_ring_open(ring, fd, found.gl_pathv[0], &nobody) != 0;
    close(fd);
    globfree(&found);
}

/* Copies from tail to head again and again. */
static void *
read_on(void *context)
{
    struct findings *const f = context;
    struct sqt_record records[PIECE];
    struct sqt_ring ring;
    struct sqt_anchor anchor;
    struct sqt_totals mapped;
    open_the_ring(f, &ring);
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        uint64_t tail;
        sqt_ring_copy(&ring, 0, 0, records, &tail);
        f->impossible += sqt_ring_refresh(&ring) != 0 || ring.wrong;
        sqt_ring_totals(sqt_emitter.ring, &mapped);
        f->impossible += tail > ring.head || ring.totals.lost_open > ring.totals.lost || mapped.head < ring.head ||
                         mapped.lost < ring.totals.lost;
        sqt_ring_anchor(&ring, &anchor);
        for (uint64_t next = tail; next < ring.head;) {
            const size_t count = sqt_ring_copy(&ring, next, PIECE, records, &tail);
            look_at(f, records, count);
            f->moved_on += !count;
            next = count ? next + count : tail;
        }
    }
    sqt_ring_close(&ring);
    return NULL;
}

static void
flood(void)
{
    static const uint16_t events[] = {SQT_EV_XACT_END, SQT_EV_PART_XACT_SIZES, SQT_EV_PART_XACT_FLAGS};
    struct sqt_record unit[3];
    memset(unit, 0, sizeof(unit));
    for (uint64_t id = 1; id <= RECORDS / 2; ++id) {
        if (id % 4) {
            sqt_emit(SQT_EV_CLIENT_READ, id, ~id, aux_of(id));
        } else {
            for (unsigned i = 0; i < 3; ++i) {
                unit[i].event = events[i];
                unit[i].id = id;
                unit[i].arg = ~id;
                unit[i].aux = aux_of(id);
            }
            sqt_emit_unit(unit, 3);
        }
        if (id % 65536 == 0)
            sqt_rotate();
        if (id % 1024 == 0)
            usleep(100); /* on few cores the others want their turn */
    }
}

static void
nothing_torn_while_all_run(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=64KB", "segment=1MB", NULL};
    struct findings readers[READERS];
    struct sqt_status status;
    memset(readers, 0, sizeof(readers));
    assert_int_equal(place_start(place, words), 0);
    for (unsigned i = 0; i < READERS; ++i) {
        readers[i].ringdir = place->ringdir;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    flood();
    sqt_get_status(&status);
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < READERS; ++i) {
        pthread_join(readers[i].thread, NULL);
        print_message("# reader %u: %llu records copied, %llu times overtaken\n", i,
                      (unsigned long long)readers[i].copied, (unsigned long long)readers[i].moved_on);
        assert_int_equal(readers[i].torn, 0);
        assert_int_equal(readers[i].disordered, 0);
        assert_int_equal(readers[i].split, 0);
        assert_int_equal(readers[i].impossible, 0);
        assert_true(readers[i].copied > 0);
    }
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.lost + d.totals.lost_open, d.totals.lost);
    assert_int_equal(d.totals.head - d.totals.marks + d.totals.lost, status.emitted + 1); /* and STOP */
    decode_free(&d);
}

static int
setup(void **state)
{
    static struct place place;
    place_make(&place);
    *state = &place;
    return 0;
}

static int
teardown(void **state)
{
    place_remove(*state);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_torn_while_all_run, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
