/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_crowd.c - a folder of very many small traces, made to exhaust whoever follows it: what it takes is bounded, and all of it
 * is read.
 *
 * Each trace has a pointer to a ring that is not there, so that its process may still run.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/read/file/clock.h"
#include "../../src/read/join/stream-internal.h"
#include "read_common.h"

#ifndef __has_feature /* of clang */
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
#define MEASURED 0 /* sanitizers take memory and time of their own */
#else
#define MEASURED 1
#endif

static struct sqt_record records[SQT_BLOCK_RECORDS];

/* The identity of a trace that is one of many, and its file. */
static struct sqt_identity
crowd_identity(uint32_t number)
{
    struct sqt_identity who;
    make_identity(&who, 1, 1);
    memcpy(who.ring_id, &number, sizeof(number));
    return who;
}

static const char *
crowd_path(uint32_t number, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof(name), "%u%s", number, suffix);
    return read_path(name);
}

static void
crowd_write(uint32_t number, const struct make_bytes *bytes)
{
    const struct sqt_identity who = crowd_identity(number);
    make_file(crowd_path(number, ".sqt"), bytes);
    make_pointer_file(crowd_path(number, ".ring"), &who, read_path("no-ring"));
}

/* A child measures, so that it begins with little memory and few files. */
struct crowd_cost {
    uint64_t records, again, gaps;
    unsigned went_back; /* times, of those that were read again */
    double seconds, mebibytes;
    unsigned files, boots;
};

static struct crowd_cost
crowd_measure(void (*follower)(struct crowd_cost *cost))
{
    struct crowd_cost cost = {.records = 0};
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        follower(&cost);
        getrusage(RUSAGE_SELF, &after);
        cost.mebibytes = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
        cost.seconds = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                       (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) * 1e-6 +
                       (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                       (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec) * 1e-6;
        _exit(write(ends[1], &cost, sizeof(cost)) != (ssize_t)sizeof(cost));
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &cost, sizeof(cost)), sizeof(cost));
    close(ends[0]);
    fprintf(stderr, "# %llu and %llu records, %llu gaps, %.2f s, %.0f MiB, %u files, %u boots\n",
            (unsigned long long)cost.records, (unsigned long long)cost.again, (unsigned long long)cost.gaps,
            cost.seconds, cost.mebibytes, cost.files, cost.boots);
    return cost;
}

static void
crowd_hear(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity, (void)text;
}

static struct sqt_stream *
crowd_follow(void)
{
    const char *const path = read_path("");
    const struct sqt_following following = {.context = NULL};
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, crowd_hear, NULL);
    if (!stream || sqt_stream_follow(stream, &following) != 0)
        _exit(2);
    return stream;
}

/* Reads what is there now. */
static void
crowd_take(struct sqt_stream *stream, uint64_t *taken, struct crowd_cost *cost)
{
    struct sqt_run run;
    int64_t last = INT64_MIN;
    while (sqt_stream_next(stream, &run)) {
        const int64_t ns = sqt_line_ns(&run.line, run.records[0].time);
        cost->went_back += ns < last;
        last = ns;
        *taken += run.count;
        cost->gaps += run.records[0].event == SQT_EV_LOST;
    }
}

static unsigned
crowd_open_files(void)
{
    unsigned files = 0;
    DIR *const all = opendir("/proc/self/fd");
    while (all && readdir(all))
        ++files;
    if (all)
        closedir(all);
    return files;
}

static int
crowd_begin(void **state)
{
    (void)state;
    memset(records, 0, sizeof(records));
    for (size_t i = 0; i < SQT_BLOCK_RECORDS; ++i) {
        records[i].time = MAKE_START;
        records[i].event = SQT_EV_ROTATE;
    }
    return read_directory() ? 0 : -1;
}

static int
crowd_end(void **state)
{
    (void)state;
    read_directory_remove();
    return 0;
}

/* ---- blocks ---- */

#define FULL 120 /* whose blocks take 240 MiB */
#define MORE 20  /* records that each writes later */

/* A small file with a block of as many records as there may be, all of one time. */
static void
crowd_write_full(uint32_t number)
{
    const struct sqt_identity who = crowd_identity(number);
    struct make_bytes bytes = {NULL, 0, 0};
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    make_block(&bytes, &who, 0, records, SQT_BLOCK_RECORDS, MAKE_ZLIB);
    crowd_write(number, &bytes);
    make_free(&bytes);
}

/* Each of its records lies between those of the others. */
static void
crowd_write_more(uint32_t number)
{
    const struct sqt_identity who = crowd_identity(number);
    struct make_bytes bytes = {NULL, 0, 0};
    for (unsigned i = 0; i < MORE; ++i)
        records[i].time = MAKE_START + 1000 * i + number + 1;
    make_block(&bytes, &who, SQT_BLOCK_RECORDS, records, MORE, MAKE_ZLIB);
    FILE *const file = fopen(crowd_path(number, ".sqt"), "a");
    if (!file || fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file) != 0)
        _exit(3);
    make_free(&bytes);
}

static void
crowd_read_full(struct crowd_cost *cost)
{
    struct sqt_stream *const stream = crowd_follow();
    crowd_take(stream, &cost->records, cost);
    cost->files = crowd_open_files();
    for (uint32_t i = 0; i < FULL; ++i)
        crowd_write_more(i);
    sqt_stream_wait(stream, 0);
    cost->went_back = 0;
    crowd_take(stream, &cost->again, cost);
    sqt_stream_close(stream);
}

static void
full_blocks_of_many_take_no_more_memory_than_those_of_some(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < FULL; ++i)
        crowd_write_full(i);
    const struct crowd_cost cost = crowd_measure(crowd_read_full);
    assert_int_equal(cost.records, FULL * SQT_BLOCK_RECORDS);
    assert_int_equal(cost.again, FULL * MORE);
    assert_int_equal(cost.went_back, 0);
    assert_int_equal(cost.gaps, 0);
    assert_true(cost.files < SQT_SEGMENTS_OPEN + 20);
    assert_true(!MEASURED || cost.mebibytes < 160);
}

/* ---- gaps ---- */

#define GAPPED 100 /* which is 6,400 looks at 100 files for gaps, if each has its own */
#define GAPS 64

static void
crowd_write_gaps(uint32_t number)
{
    const struct sqt_identity who = crowd_identity(number);
    struct make_bytes bytes = {NULL, 0, 0};
    make_header(&bytes, &who, 0);
    make_text(&bytes, NULL);
    for (uint64_t first = 0; first <= 2 * GAPS; first += 2)
        make_block(&bytes, &who, first, records, 1, 0);
    crowd_write(number, &bytes);
    make_free(&bytes);
}

static void
crowd_read_gaps(struct crowd_cost *cost)
{
    const char *const path = read_path("");
    struct sqt_stream *stream = sqt_stream_open(&path, 1, crowd_hear, NULL);
    if (!stream)
        _exit(2);
    crowd_take(stream, &cost->records, cost);
    sqt_stream_close(stream);
    stream = crowd_follow();
    crowd_take(stream, &cost->again, cost);
    sqt_stream_close(stream);
}

static void
gaps_of_many_are_looked_for_a_number_of_times(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < GAPPED; ++i)
        crowd_write_gaps(i);
    const struct crowd_cost cost = crowd_measure(crowd_read_gaps);
    assert_int_equal(cost.records, GAPPED * (2 * GAPS + 1));
    assert_int_equal(cost.again, cost.records);
    assert_int_equal(cost.gaps, 2 * GAPPED * GAPS);
    assert_true(!MEASURED || cost.seconds < 4);
}

/* ---- segments that come late ---- */

/* A segment of the first trace, with so many of its records. */
static void
crowd_write_part(uint32_t sequence, size_t count)
{
    const struct sqt_identity who = crowd_identity(0);
    struct make_bytes bytes = {NULL, 0, 0};
    char suffix[32];
    snprintf(suffix, sizeof(suffix), "-%u.sqt", sequence);
    make_header(&bytes, &who, sequence);
    make_text(&bytes, NULL);
    if (count)
        make_block(&bytes, &who, sequence * MORE, records, count, 0);
    make_file(crowd_path(0, suffix), &bytes);
    make_pointer_file(crowd_path(0, ".ring"), &who, read_path("no-ring"));
    make_free(&bytes);
}

/* The second of three segments comes when the third is being read.  `since`: when the number of looks was used up. */
static void
crowd_read_late(struct crowd_cost *cost, int64_t since)
{
    crowd_write_part(0, MORE);
    crowd_write_part(2, MORE);
    struct sqt_stream *const stream = crowd_follow();
    crowd_write_part(1, MORE);
    stream->sources.rescanned[0] = SQT_RESCANNED_FOLLOW_MOST;
    stream->sources.rescanned_since = since;
    crowd_take(stream, &cost->records, cost);
    cost->again = sqt_sources_rescan(&stream->sources, 1);
    sqt_stream_close(stream);
}

static void
crowd_read_after_pause(struct crowd_cost *cost)
{
    crowd_read_late(cost, sqt_monotonic_ns() - SQT_RESCANNED_NS);
}

static void
crowd_read_without_pause(struct crowd_cost *cost)
{
    crowd_read_late(cost, sqt_monotonic_ns() + 100 * SQT_RESCANNED_NS);
}

static void
what_is_missing_is_looked_for_again_after_a_pause_without_a_wait(void **state)
{
    (void)state;
    const struct crowd_cost found = crowd_measure(crowd_read_after_pause);
    assert_int_equal(found.records, 3 * MORE);
    assert_int_equal(found.gaps, 0);
    assert_int_equal(found.again, 0);
    unlink(crowd_path(0, "-1.sqt"));
    const struct crowd_cost bounded = crowd_measure(crowd_read_without_pause);
    assert_int_equal(bounded.gaps, 1);
    assert_int_equal(bounded.again, 1); /* the looks for origins whose rings are open are counted apart */
}

/* The third segment is open, and has no record yet, when another trace's gap makes the second one known. */
static void
crowd_read_known(struct crowd_cost *cost)
{
    crowd_write_part(0, MORE);
    crowd_write_part(2, 0);
    struct sqt_stream *const stream = crowd_follow();
    crowd_take(stream, &cost->records, cost);
    crowd_write_part(1, MORE);
    crowd_write_part(2, MORE);
    stream->sources.look_again = 1;
    sqt_sources_look(&stream->sources);
    sqt_stream_wait(stream, 0);
    crowd_take(stream, &cost->again, cost);
    sqt_stream_close(stream);
}

static void
a_segment_that_another_gap_made_known_is_not_missing(void **state)
{
    (void)state;
    const struct crowd_cost cost = crowd_measure(crowd_read_known);
    assert_int_equal(cost.records, MORE);
    assert_int_equal(cost.again, 2 * MORE);
    assert_int_equal(cost.gaps, 0);
}

/* ---- boots ---- */

#define BOOTS 60

static void
crowd_read_boots(struct crowd_cost *cost)
{
    struct sqt_stream *const stream = crowd_follow();
    for (unsigned i = 0; i < 10 && cost->records < BOOTS; ++i) {
        crowd_take(stream, &cost->records, cost);
        sqt_stream_wait(stream, 0);
    }
    cost->boots = (unsigned)stream->sources.boot_count;
    sqt_stream_close(stream);
}

static void
boots_are_forgotten_with_the_last_of_their_processes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < BOOTS; ++i) {
        struct sqt_identity who = crowd_identity(i);
        memcpy(who.boot_id, &i, sizeof(i));
        make_segment_file(crowd_path(i, ".sqt"), &who, 0, 0, records, 1, NULL, 0);
    }
    const struct crowd_cost cost = crowd_measure(crowd_read_boots);
    assert_int_equal(cost.records, BOOTS);
    assert_int_equal(cost.boots, SQT_FOLLOW_ENDED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(full_blocks_of_many_take_no_more_memory_than_those_of_some, crowd_begin,
                                        crowd_end),
        cmocka_unit_test_setup_teardown(gaps_of_many_are_looked_for_a_number_of_times, crowd_begin, crowd_end),
        cmocka_unit_test_setup_teardown(what_is_missing_is_looked_for_again_after_a_pause_without_a_wait, crowd_begin,
                                        crowd_end),
        cmocka_unit_test_setup_teardown(a_segment_that_another_gap_made_known_is_not_missing, crowd_begin, crowd_end),
        cmocka_unit_test_setup_teardown(boots_are_forgotten_with_the_last_of_their_processes, crowd_begin, crowd_end),
    };
    alarm(200);
    return cmocka_run_group_tests_name("read: crowd", tests, NULL, NULL);
}
