/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_recorder.c - mode=recorder: the ring keeps the last records, and becomes a segment at the end or at the next start.
 */
#include "trace_support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/events.h"
#include "trace/clock/clock-internal.h"

#define CAPACITY 2048u /* records of 64 KB */

static const char *const recorder[] = {"mode=recorder", "ring=64KB", "events=client", NULL};

/* ANCHOR records among those that came back. */
static unsigned
anchors(const struct decoded *d)
{
    unsigned count = 0;
    for (uint64_t i = 0; i < d->count; ++i)
        count += d->records[i].event == SQT_EV_ANCHOR;
    return count;
}

/* The last ids of `emitted` events came back, each once and in order. */
static void
check_last(const struct decoded *d, uint64_t emitted)
{
    uint64_t next = UINT64_MAX;
    for (uint64_t i = 0; i < d->count; ++i) {
        const struct sqt_record *const r = &d->records[i];
        if (r->event != SQT_EV_CLIENT_READ && r->event != SQT_EV_XACT_END)
            continue;
        assert_true(next == UINT64_MAX || r->id == next);
        next = r->id + 1;
    }
    assert_int_equal(next, emitted);
}

static void
the_ring_keeps_the_last_records(void **state)
{
    struct place *const place = *state;
    struct sqt_status status;
    assert_int_equal(place_start(place, recorder), 0);
    for (unsigned i = 0; i < 100; ++i) {
        emit_mixed(100 * i, 100);
        sqt_get_status(&status);
        assert_int_equal(status.lost, 0);
        assert_int_equal(status.emitted, status.overwritten + status.waiting);
        assert_true(status.waiting <= CAPACITY);
        assert_true(!status.overwritten || status.waiting >= CAPACITY / 16 * 15 - SQT_UNIT_MAX);
        if (i == 50)
            sqt_rotate();
        usleep(2000);
    }
    assert_true(status.recorder && status.overwritten > 10000);
    assert_string_equal(status.state, "recording");
    assert_in_range(status.reaches_ns, 1000000, UINT64_C(60000000000));
    assert_int_equal(status.bytes, 0);
    assert_int_equal(place_count(place->directory, ".sqt"), 0);
    sqt_poll();
    const uint64_t head = status.emitted + 2 + 2 + 1; /* two anchors, and STOP */
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.segments, 1);
    assert_int_equal(d.ends, 1);
    assert_int_equal(d.totals.clean, 1);
    assert_int_equal(d.totals.head, head);
    assert_int_equal(d.first + d.count, head);
    assert_true(d.count >= CAPACITY / 16 * 15 - SQT_UNIT_MAX && d.count <= CAPACITY);
    assert_false(d.records[0].flags & SQT_FLAG_PART);
    assert_int_equal(d.records[d.count - 1].event, SQT_EV_STOP);
    assert_int_equal(anchors(&d), 2);
    check_last(&d, 10000);
    decode_free(&d);
    assert_int_equal(place_count(place->ringdir, ""), 0);
}

static void
what_fits_is_whole(void **state)
{
    struct place *const place = *state;
    struct decoded d;
    assert_int_equal(place_start(place, recorder), 0);
    const uint64_t emitted = emit_mixed(0, 500);
    sqt_stop();
    decode(&d, place->directory, NULL);
    assert_int_equal(d.first, 0);
    assert_int_equal(d.count, 1 + 2 + emitted + 2 + 1);
    assert_int_equal(d.records[0].event, SQT_EV_START);
    decode_free(&d);
}

/* Forks a recorder that emits until it is killed. */
static pid_t
fork_recorder(const struct place *place, const char *const *words)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    if (place_start(place, words) != 0)
        _exit(1);
    for (uint64_t id = 0;; id += 7)
        emit_mixed(id, 7);
}

/* The base of the names of the only run. */
static void
base_of_run(const struct place *place, char base[300])
{
    char path[300];
    place_only(path, sizeof(path), place->directory, ".ring");
    path[strlen(path) - strlen(".ring")] = '\0';
    snprintf(base, 300, "%s", strrchr(path, '/') + 1);
}

/* Killed while it overwrites: the next start saves what the ring had. */
static void
the_next_start_saves_what_a_killed_one_had(void **state)
{
    struct place *const place = *state;
    for (unsigned round = 0; round < 10; ++round) {
        char base[300];
        struct decoded d;
        int result;
        const pid_t child = fork_recorder(place, recorder);
        while (place_count(place->directory, ".ring") == 0)
            usleep(1000);
        usleep(30000 + 3701 * round);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_true(WIFSIGNALED(result));
        base_of_run(place, base);
        assert_int_equal(place_start(place, NULL), 0);
        for (unsigned i = 0; i < 5000 && place_count(place->ringdir, ".ring") > 1; ++i)
            usleep(1000);
        sqt_stop();
        decode(&d, place->directory, base);
        assert_true(d.first > 0);
        assert_true(d.count >= CAPACITY / 16 * 15 - SQT_UNIT_MAX && d.count <= CAPACITY);
        assert_false(d.records[0].flags & SQT_FLAG_PART);
        assert_int_equal(d.totals.clean, 0);
        assert_int_equal(d.totals.lost, 0);
        decode_free(&d);
    }
}

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Whether the only ring has had more records than it holds. */
static int
is_full(const struct place *place)
{
    char path[300];
    struct sqt_ring_header header = {.capacity = 1};
    place_only(path, sizeof(path), place->ringdir, ".ring");
    const int fd = open(path, O_RDONLY);
    const ssize_t got = fd < 0 ? -1 : pread(fd, &header, sizeof(header), 0);
    if (fd >= 0)
        close(fd);
    return got == sizeof(header) && header.capacity && header.writer.head > header.capacity;
}

/* Makes each record of the only ring one after which times begin again.  Returns how many there are. */
static uint64_t
make_steps(const struct place *place)
{
    char path[300];
    struct sqt_ring_header header;
    place_only(path, sizeof(path), place->ringdir, ".ring");
    const int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    assert_true(header.writer.head > header.capacity);
    const size_t size = header.capacity * sizeof(struct sqt_record);
    struct sqt_record *const records = malloc(size);
    assert_int_equal(pread(fd, records, size, (off_t)header.records_offset), (ssize_t)size);
    for (uint64_t i = 0; i < header.capacity; ++i) {
        records[i].event = SQT_EV_CLOCK_STEP;
        records[i].aux = SQT_STEP_FORWARD;
        records[i].flags = 0;
    }
    assert_int_equal(pwrite(fd, records, size, (off_t)header.records_offset), (ssize_t)size);
    free(records);
    close(fd);
    return header.writer.head - header.flusher.tail;
}

/* Squid's user can leave a ring whose every record is a mark: its successor reads it once or twice, and not once for each. */
static void
a_ring_of_marks_takes_no_longer(void **state)
{
    static const char *const large[] = {"mode=recorder", "ring=2MB", "events=client", NULL};
    struct place *const place = *state;
    int result;
    const pid_t child = fork_recorder(place, large);
    while (place_count(place->directory, ".ring") == 0 || !is_full(place))
        usleep(1000);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &result, 0), child);
    const uint64_t steps = make_steps(place);
    const double before = seconds();
    assert_int_equal(place_start(place, NULL), 0);
    for (unsigned i = 0; i < 60000 && place_count(place->ringdir, ".ring") > 1; ++i)
        usleep(1000);
    const double took = seconds() - before;
    sqt_stop();
    assert_non_null(strstr(place_said, " are in a segment now"));
    if (took > 20)
        fail_msg("%.1f s for %llu records", took, (unsigned long long)steps);
}

static void
another_mode_needs_a_restart(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    struct sqt_status status;
    assert_int_equal(place_start(place, recorder), 0);
    place_config(place, NULL, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    assert_non_null(strstr(place_said, "ring, ringdir or mode of sqtrace_log needs a restart"));
    sqt_get_status(&status);
    assert_int_equal(status.recorder, 1);
    sqt_stop();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_ring_keeps_the_last_records),
        PLACE_TEST(what_fits_is_whole),
        PLACE_TEST(the_next_start_saves_what_a_killed_one_had),
        PLACE_TEST(a_ring_of_marks_takes_no_longer),
        PLACE_TEST(another_mode_needs_a_restart),
    };
    return cmocka_run_group_tests_name("trace_recorder", tests, NULL, NULL);
}
