/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_leftover.c - what processes leave behind that die while they trace, and who takes it over.
 */
#include "trace_support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"
#include "trace/file/file-internal.h"

#define WRITER_KILLS 40

/* What a writer process counts for itself, in memory that outlives it. */
struct counters {
    volatile uint64_t begun, done; /* records: about to be emitted, emitted */
    volatile uint64_t id;
};

struct fixture {
    struct place place;
    struct counters *counters;
};

static int
setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof(*f));
    place_make(&f->place);
    f->counters = mmap(NULL, sizeof(*f->counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *const f = *state;
    sqt_stop();
    place_remove(&f->place);
    munmap(f->counters, sizeof(*f->counters));
    free(f);
    return 0;
}

/* Emits forever, or `limit` records; what it counts, it counts in whole units. */
static void
emit_counted(struct counters *c, uint64_t limit, unsigned burst)
{
    struct sqt_record unit[3];
    memset(unit, 0, sizeof(unit));
    unit[0].event = SQT_EV_XACT_END;
    unit[1].event = SQT_EV_PART_XACT_SIZES;
    unit[2].event = SQT_EV_PART_XACT_FLAGS;
    for (uint64_t n = 0; c->done < limit; ++n) {
        const unsigned size = n % 3 ? 1 : 3;
        ++c->id;
        c->begun += size;
        if (size == 1) {
            sqt_emit(SQT_EV_CLIENT_READ, c->id, 2 * c->id, 3);
        } else {
            unit[0].id = c->id;
            sqt_emit_unit(unit, 3);
        }
        c->done += size;
        if (burst && n % burst == burst - 1)
            usleep(100);
    }
}

/* Forks a process that traces; it emits until it is killed, or ends by itself without a stop after `limit`. */
static pid_t
fork_writer(struct fixture *f, const char *const *words, uint64_t limit, unsigned burst)
{
    memset((void *)f->counters, 0, sizeof(*f->counters));
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(&f->place, words) != 0)
            _exit(1);
        emit_counted(f->counters, limit, burst);
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static void
wait_for_end(pid_t child)
{
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result) || WEXITSTATUS(result) == 0);
}

/* Starts and stops, which is when leftovers are taken: the flusher looks for them first. */
static void
start_and_stop(struct fixture *f)
{
    assert_int_equal(place_start(&f->place, NULL), 0);
    for (unsigned i = 0; i < 5000 && place_count(f->place.ringdir, ".ring") > 1; ++i)
        usleep(1000);
    sqt_stop();
}

/* The base of the only run that has a ring. */
static void
base_of_ring(struct fixture *f, char base[128])
{
    char path[300];
    place_only(path, sizeof(path), f->place.directory, ".ring");
    path[strlen(path) - strlen(".ring")] = '\0';
    snprintf(base, 128, "%s", strrchr(path, '/') + 1);
}

/* What is read back is what the writer counted: all that it had emitted, and at most one unit more. */
static void
check_counted(const struct fixture *f, const struct decoded *d)
{
    const uint64_t emitted = d->count - d->marks + d->totals.lost - 1; /* START */
    assert_true(emitted >= f->counters->done && emitted <= f->counters->begun);
    assert_int_equal(d->totals.lost - d->totals.lost_open, d->lost);
    assert_int_equal(d->totals.marks, d->marks);
    uint64_t id = 0;
    for (uint64_t i = 0; i < d->count; ++i) {
        const struct sqt_record *const r = &d->records[i];
        if (r->event != SQT_EV_CLIENT_READ && r->event != SQT_EV_XACT_END)
            continue;
        if (!d->lost)
            assert_int_equal(r->id, id + 1);
        assert_true(r->id > id);
        id = r->id;
    }
}

static void
a_dead_ring_becomes_a_segment(void **state)
{
    struct fixture *const f = *state;
    char base[128];
    wait_for_end(fork_writer(f, NULL, 5000, 0));
    assert_int_equal(place_count(f->place.ringdir, ".ring"), 1);
    base_of_ring(f, base);
    struct decoded before, after;
    decode(&before, f->place.directory, base);
    check_counted(f, &before);

    start_and_stop(f);
    assert_non_null(strstr(place_said, "records that an earlier process left in"));
    assert_int_equal(place_count(f->place.ringdir, ""), 0);
    assert_int_equal(place_count(f->place.directory, ".ring"), 0);
    assert_int_equal(place_count(f->place.directory, ".new"), 0);
    decode(&after, f->place.directory, base);
    check_counted(f, &after);
    assert_int_equal(after.count, before.count);
    assert_memory_equal(after.records, before.records, after.count * sizeof(*after.records));
    assert_int_equal(after.totals.clean, 0);
    assert_int_equal(after.totals.head, before.totals.head);
    decode_free(&before);
    decode_free(&after);
}

static void
losses_of_a_dead_ring_are_kept(void **state)
{
    struct fixture *const f = *state;
    const char *const words[] = {"ring=64KB", NULL};
    char base[128];
    wait_for_end(fork_writer(f, words, 50000, 0)); /* much faster than the flusher */
    base_of_ring(f, base);
    start_and_stop(f);
    struct decoded d;
    decode(&d, f->place.directory, base);
    assert_true(d.totals.lost > 0);
    assert_true(d.totals.lost_open < 1000 || d.totals.lost_us > 0); /* of the last stretch, which nothing ended */
    assert_true(d.totals.lost_open || !d.totals.lost_us);
    check_counted(f, &d);
    decode_free(&d);
}

/* Kills a writer at random moments.  Before and after the takeover, all that it emitted is there once. */
static void
kill_writers(struct fixture *f, const char *const *words, unsigned burst)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < WRITER_KILLS; ++i) {
        char base[128];
        const pid_t child = fork_writer(f, words, UINT64_MAX, burst);
        while (!f->counters->done)
            usleep(100);
        usleep((i * 7919) % 60000);
        kill(child, SIGKILL);
        wait_for_end(child);
        base_of_ring(f, base);
        start_and_stop(f);
        struct decoded d;
        decode(&d, f->place.directory, base);
        check_counted(f, &d);
        total += d.count;
        decode_free(&d);
        assert_int_equal(place_count(f->place.ringdir, ""), 0);
        assert_int_equal(place_count(f->place.directory, ".ring"), 0);
    }
    assert_true(total > 0);
}

static void
nothing_is_lost_or_doubled_by_a_kill(void **state)
{
    const char *const words[] = {"ring=1MB", "segment=256KB", "compress=off", NULL};
    kill_writers(*state, words, 20);
}

static void
losses_are_exact_after_a_kill(void **state)
{
    const char *const words[] = {"ring=64KB", "segment=64KB", NULL};
    kill_writers(*state, words, 0);
}

static void
what_lives_is_left_alone(void **state)
{
    struct fixture *const f = *state;
    char base[128];
    const pid_t child = fork_writer(f, NULL, UINT64_MAX, 100);
    while (f->counters->done < 1000)
        usleep(1000);
    base_of_ring(f, base);
    for (unsigned i = 0; i < 3; ++i) { /* the same service and kid in the same directory */
        assert_int_equal(place_start(&f->place, NULL), 0);
        usleep(60000);
        sqt_stop();
        assert_null(strstr(place_said, "earlier process"));
        assert_int_equal(place_count(f->place.ringdir, ".ring"), 1);
        assert_int_equal(place_count(f->place.directory, ".ring"), 1);
    }
    kill(child, SIGKILL);
    wait_for_end(child);
    struct decoded d;
    decode(&d, f->place.directory, base);
    check_counted(f, &d);
    decode_free(&d);
}

/* Each of the two locks alone says that the owner lives. */
static void
one_lock_is_enough(void **state)
{
    struct fixture *const f = *state;
    char paths[2][300];
    wait_for_end(fork_writer(f, NULL, 100, 0));
    place_only(paths[0], sizeof(paths[0]), f->place.ringdir, ".ring");
    place_only(paths[1], sizeof(paths[1]), f->place.directory, ".ring");
    const uint64_t long_ago = 1;
    const int ring = open(paths[0], O_RDWR);
    assert_int_equal(pwrite(ring, &long_ago, sizeof(long_ago), offsetof(struct sqt_ring_header, flusher.heartbeat_ns)),
                     sizeof(long_ago));
    close(ring);
    for (unsigned i = 0; i < 2; ++i) {
        const int fd = open(paths[i], O_RDWR);
        for (unsigned tries = 0; tries < 5000 && sqt_lock(fd) != 0; ++tries)
            usleep(1000); /* a process that was killed just now still holds its locks for a moment */
        assert_int_equal(sqt_lock(fd), 0);
        assert_int_equal(place_start(&f->place, NULL), 0);
        usleep(60000);
        sqt_stop();
        assert_int_equal(access(paths[0], F_OK), 0);
        assert_int_equal(access(paths[1], F_OK), 0);
        close(fd);
    }
    start_and_stop(f);
    assert_int_equal(place_count(f->place.ringdir, ""), 0);
}

/* Where there are no locks, the heartbeat speaks. */
static void
a_heartbeat_is_enough_without_locks(void **state)
{
    struct fixture *const f = *state;
    char ring[300];
    struct sqt_ring_header header;
    wait_for_end(fork_writer(f, NULL, 100, 0));
    place_only(ring, sizeof(ring), f->place.ringdir, ".ring");
    const int fd = open(ring, O_RDWR);
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    header.compatible = 0; /* as its owner leaves it that got no lock */
    header.flusher.heartbeat_ns = sqt_monotonic_ns();
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(place_start(&f->place, NULL), 0);
    usleep(60000);
    sqt_stop();
    assert_int_equal(access(ring, F_OK), 0);

    header.flusher.heartbeat_ns = sqt_monotonic_ns() - SQT_RING_STALE_NS;
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    close(fd);
    start_and_stop(f);
    assert_int_equal(place_count(f->place.ringdir, ""), 0);
}

/* A helper that Squid forked and that outlives it must not pass for its parent. */
static void
a_surviving_child_does_not_hold_the_ring(void **state)
{
    struct fixture *const f = *state;
    int survivor[2];
    assert_int_equal(pipe(survivor), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(&f->place, NULL) != 0)
            _exit(1);
        f->counters->done = 0;
        emit_counted(f->counters, 100, 0);
        if (fork() == 0) {
            char byte;
            close(survivor[1]);
            _exit(read(survivor[0], &byte, 1) == 0 ? 0 : 1); /* until the test closes the pipe */
        }
        _exit(0);
    }
    wait_for_end(child);
    start_and_stop(f);
    assert_int_equal(place_count(f->place.ringdir, ".ring"), 0);
    close(survivor[0]);
    close(survivor[1]);
}

static void
change_pointer(struct fixture *f, const char *from, const char *to)
{
    char path[300], text[2048], *at;
    place_only(path, sizeof(path), f->place.directory, ".ring");
    const int fd = open(path, O_RDWR);
    const ssize_t size = read(fd, text, sizeof(text) - 1);
    assert_true(size > 0);
    text[size] = '\0';
    at = strstr(text, from);
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    assert_int_equal(pwrite(fd, text, (size_t)size, 0), size);
    close(fd);
}

static void
what_an_earlier_boot_left_is_forgotten(void **state)
{
    struct fixture *const f = *state;
    wait_for_end(fork_writer(f, NULL, 100, 0));
    const unsigned segments = place_count(f->place.directory, ".sqt");
    change_pointer(f, "boot=", "boot=xxxx");
    assert_int_equal(place_start(&f->place, NULL), 0);
    for (unsigned i = 0; i < 5000 && place_count(f->place.directory, ".ring") > 1; ++i)
        usleep(1000);
    sqt_stop();
    assert_int_equal(place_count(f->place.directory, ".ring"), 0);
    assert_int_equal(place_count(f->place.directory, ".sqt"), segments + 1);
}

static void
a_pointer_to_nothing_is_removed(void **state)
{
    struct fixture *const f = *state;
    char ring[300];
    wait_for_end(fork_writer(f, NULL, 100, 0));
    place_only(ring, sizeof(ring), f->place.ringdir, ".ring");
    unlink(ring);
    assert_int_equal(place_start(&f->place, NULL), 0);
    for (unsigned i = 0; i < 5000 && place_count(f->place.directory, ".ring") > 1; ++i)
        usleep(1000);
    sqt_stop();
    assert_int_equal(place_count(f->place.directory, ".ring"), 0);
}

/* A pointer that someone planted does not make Squid remove a file. */
static void
a_pointer_to_something_else_does_no_harm(void **state)
{
    struct fixture *const f = *state;
    char ring[300], victim[300];
    wait_for_end(fork_writer(f, NULL, 100, 0));
    place_only(ring, sizeof(ring), f->place.ringdir, ".ring");
    snprintf(victim, sizeof(victim), "%s", ring);
    memcpy(strrchr(victim, '/') + 1, "victim!", 7); /* of the same length */
    assert_int_equal(rename(ring, victim), 0);
    assert_int_equal(truncate(victim, 100), 0);
    change_pointer(f, strrchr(ring, '/') + 1, strrchr(victim, '/') + 1);
    assert_int_equal(place_start(&f->place, NULL), 0);
    for (unsigned i = 0; i < 5000 && place_count(f->place.directory, ".ring") > 1; ++i)
        usleep(1000);
    sqt_stop();
    assert_int_equal(access(victim, F_OK), 0);
}

/* A process that died while it made its ring: there is no magic yet. */
static void
a_ring_that_was_never_finished_is_removed(void **state)
{
    struct fixture *const f = *state;
    char ring[300];
    wait_for_end(fork_writer(f, NULL, 100, 0));
    place_only(ring, sizeof(ring), f->place.ringdir, ".ring");
    const int fd = open(ring, O_WRONLY);
    assert_int_equal(write(fd, "\0\0\0\0\0\0\0\0", 8), 8);
    close(fd);
    start_and_stop(f);
    assert_int_equal(place_count(f->place.ringdir, ""), 0);
    assert_int_equal(place_count(f->place.directory, ".ring"), 0);
}

/* Killed between the last block and the move of the tail, and in the middle of a block. */
static void
a_block_that_is_in_the_file_is_not_written_again(void **state)
{
    struct fixture *const f = *state;
    static const char *const words[] = {"ring=8MB", NULL};
    char base[128], ring[300], segment[300];
    const pid_t child = fork_writer(f, words, 200000, 100); /* fewer than the ring holds, more than wake the flusher */
    while (place_count(f->place.directory, ".sqt") == 0)
        usleep(1000);
    base_of_ring(f, base);
    place_only(ring, sizeof(ring), f->place.ringdir, ".ring");
    place_only(segment, sizeof(segment), f->place.directory, ".sqt");
    const int fd = open(ring, O_RDWR);
    struct sqt_ring_header header;
    do {
        usleep(1000);
        assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    } while (header.flusher.tail == 0);
    kill(child, SIGKILL);
    wait_for_end(child);
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    header.flusher.tail = 0; /* as if it had not moved */
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    close(fd);
    const int torn = open(segment, O_WRONLY | O_APPEND);
    const struct sqt_frame frame = {SQT_FRAME_MAGIC, SQT_FRAME_BLOCK, 0, 5000, 1};
    assert_int_equal(write(torn, &frame, sizeof(frame)), sizeof(frame));
    assert_int_equal(write(torn, "torn", 4), 4);
    close(torn);

    start_and_stop(f);
    struct decoded d;
    decode(&d, f->place.directory, base); /* fails on a double, and on the torn frame */
    check_counted(f, &d);
    decode_free(&d);
}

/* Killed between the rename and the unlink of a takeover. */
static void
a_takeover_that_was_killed_is_not_done_twice(void **state)
{
    struct fixture *const f = *state;
    char base[128], ring[300], copy[320], pointer[300], pointer_copy[320], command[1500];
    wait_for_end(fork_writer(f, NULL, 5000, 0));
    base_of_ring(f, base);
    place_only(ring, sizeof(ring), f->place.ringdir, ".ring");
    place_only(pointer, sizeof(pointer), f->place.directory, ".ring");
    snprintf(copy, sizeof(copy), "%s.copy", ring);
    snprintf(pointer_copy, sizeof(pointer_copy), "%s.copy", pointer);
    snprintf(command, sizeof(command), "cp %s %s && cp %s %s", ring, copy, pointer, pointer_copy);
    assert_int_equal(system(command), 0);
    start_and_stop(f);
    assert_int_equal(rename(copy, ring), 0);
    assert_int_equal(rename(pointer_copy, pointer), 0);
    start_and_stop(f);
    assert_int_equal(place_count(f->place.ringdir, ""), 0);
    struct decoded d;
    decode(&d, f->place.directory, base);
    check_counted(f, &d);
    decode_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dead_ring_becomes_a_segment, setup, teardown),
        cmocka_unit_test_setup_teardown(losses_of_a_dead_ring_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_lost_or_doubled_by_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(losses_are_exact_after_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(what_lives_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(one_lock_is_enough, setup, teardown),
        cmocka_unit_test_setup_teardown(a_heartbeat_is_enough_without_locks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_surviving_child_does_not_hold_the_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(what_an_earlier_boot_left_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pointer_to_nothing_is_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pointer_to_something_else_does_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(a_ring_that_was_never_finished_is_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_that_is_in_the_file_is_not_written_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_takeover_that_was_killed_is_not_done_twice, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
