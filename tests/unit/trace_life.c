/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_life.c - tracing from start to stop: what reaches the segments, rotation, reconfiguration.
 */
#define _GNU_SOURCE
#include "trace_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/ring/emit-internal.h"

static void
without_a_directory_nothing_is_there(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    struct sqt_status status;
    sqt_config_init(&config);
    assert_int_equal(sqt_start(&config, &place_process, place_log), 0);
    sqt_get_status(&status);
    assert_string_equal(status.state, "off");
    assert_int_equal(sqt_groups, 0);
    sqt_rotate();
    sqt_poll();
    sqt_stop();
    assert_int_equal(place_count(place->directory, ""), 0);
    assert_int_equal(place_count(place->ringdir, ""), 0);
}

static void
everything_is_in_a_closed_segment_after_a_stop(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    assert_true(sqt_on(SQT_GROUP_CLIENT));
    assert_false(sqt_on(SQT_GROUP_SYSCALL));
    assert_int_equal(place_count(place->directory, ".ring"), 1);
    assert_int_equal(place_count(place->ringdir, ".ring"), 1);
    const uint64_t emitted = emit_mixed(0, 200000);
    struct sqt_status status;
    sqt_get_status(&status);
    assert_int_equal(status.emitted, emitted + 1);
    assert_int_equal(status.lost, 0);
    sqt_stop();
    assert_int_equal(sqt_groups, 0);
    assert_int_equal(sqt_clock, 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
    assert_int_equal(place_count(place->ringdir, ""), 0);

    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.first, 0);
    assert_int_equal(d.count, emitted + 2);
    assert_int_equal(d.records[0].event, SQT_EV_START);
    assert_int_equal(d.records[0].arg, getpid());
    assert_int_equal(d.records[d.count - 1].event, SQT_EV_STOP);
    check_mixed(&d, 0, 200000);
    assert_int_equal(d.ends, 1);
    assert_int_equal(d.totals.clean, 1);
    assert_int_equal(d.totals.head, d.count);
    assert_int_equal(d.totals.lost, 0);
    decode_free(&d);
}

static void
files_have_the_promised_names_and_modes(void **state)
{
    struct place *const place = *state;
    const mode_t before = umask(077); /* the group reads traces whatever the umask */
    assert_int_equal(place_start(place, NULL), 0);
    emit_mixed(1, 1);
    wait_flushed();
    struct sqt_status status;
    sqt_get_status(&status);
    umask(before);
    struct stat st;
    assert_int_equal(stat(status.file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(stat(status.ring, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);

    const char *const name = strrchr(status.file, '/') + 1;
    unsigned kid, sequence;
    char stamp[32], id[16], service[16];
    int size = 0;
    assert_int_equal(
        sscanf(name, "%4[a-z].%u.%16[0-9TZ].%8[0-9a-f].%6u.sqt%n", service, &kid, stamp, id, &sequence, &size), 5);
    assert_int_equal(strlen(name), size);
    assert_string_equal(service, "test");
    assert_int_equal(kid, 3);
    assert_int_equal(sequence, 0);
    assert_int_equal(strlen(stamp), 16);
    char want[9];
    snprintf(want, sizeof(want), "%02x%02x%02x%02x", sqt_emitter.ring->identity.ring_id[0],
             sqt_emitter.ring->identity.ring_id[1], sqt_emitter.ring->identity.ring_id[2],
             sqt_emitter.ring->identity.ring_id[3]);
    assert_string_equal(id, want);

    char pointer[256], path[300];
    place_only(pointer, sizeof(pointer), place->directory, ".ring");
    snprintf(path, sizeof(path), "%.*s.ring", (int)(strlen(status.file) - strlen(".000000.sqt")), status.file);
    assert_string_equal(pointer, path);
    snprintf(path, sizeof(path), "%s/sqtrace.key", place->directory);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 16);
}

/* A trace takes so many names that clients invent, and each new one as many again. */
static void
invented_names_are_bounded_in_each_trace(void **state)
{
    struct place *const place = *state;
    for (unsigned turn = 0; turn < 2; ++turn) {
        char text[128], line[160];
        assert_int_equal(place_start(place, NULL), 0);
        for (uint32_t i = 0; i < SQT_INVENTED; ++i) {
            snprintf(text, sizeof(text), "METHOD%u", (unsigned)i);
            for (unsigned twice = 0; twice < 2; ++twice)
                assert_int_equal(sqt_define_invented(SQT_DEF_METHOD, 1000 + i, text), 1000 + i);
        }
        assert_int_equal(sqt_define_invented(SQT_DEF_METHOD, 2000, "ONE-TOO-MANY"), 0);
        assert_int_equal(sqt_define_invented(SQT_DEF_METHOD, 1000, "METHOD0"), 1000);
        memset(text, 'L', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        assert_int_equal(sqt_define_invented(SQT_DEF_PEER, 1000, text), 1000); /* each kind for itself */
        emit_mixed(1, 1);
        sqt_stop();
        struct decoded d;
        decode(&d, place->directory, NULL);
        assert_non_null(strstr(d.text, "\ndef\t3\t1063\tMETHOD63\n"));
        assert_null(strstr(d.text, "ONE-TOO-MANY"));
        snprintf(line, sizeof(line), "\ndef\t%u\t1000\t%.*s\n", SQT_DEF_PEER, SQT_INVENTED_TEXT, text);
        assert_non_null(strstr(d.text, line));
        decode_free(&d);
        place_only(line, sizeof(line), place->directory, ".sqt");
        assert_int_equal(unlink(line), 0);
    }
}

/* Names of helpers come from squid.conf, which is not believed. */
static void
names_of_who_is_waited_for_are_cut_escaped_and_bounded(void **state)
{
    struct place *const place = *state;
    char text[10001], line[160];
    struct decoded d;
    assert_int_equal(place_start(place, NULL), 0);
    memset(text, 'L', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    text[3] = '\t', text[4] = '\n', text[5] = '\x7f';
    const uint32_t number = sqt_waited_number(SQT_WAITED_AUTH, text);
    assert_int_equal(sqt_waited_number(SQT_WAITED_AUTH, text), number);
    assert_int_not_equal(sqt_waited_number(SQT_WAITED_EXTERNAL_ACL, text), number);
    for (unsigned i = 0; i < 3 * SQT_WAITED_NAMES; ++i) {
        snprintf(line, sizeof(line), "name%u", i);
        const uint32_t other = sqt_waited_number(SQT_WAITED_URL_REWRITE, line);
        assert_int_equal(other == SQT_WAITED_URL_REWRITE, i >= SQT_WAITED_NAMES);
    }
    sqt_waited_number(SQT_WAITED_STORE_ID, "");
    sqt_define_named(SQT_DEF_SERVICE, 77, text);
    emit_mixed(1, 1);
    sqt_stop();
    decode(&d, place->directory, NULL);
    snprintf(line, sizeof(line), "\ndef\t%u\t%u\tauth LLL???%.58s\n", SQT_DEF_WAITED, (unsigned)number, text + 6);
    assert_non_null(strstr(d.text, line));
    snprintf(line, sizeof(line), "\ndef\t%u\t77\tLLL???%.58s\n", SQT_DEF_SERVICE, text + 6);
    assert_non_null(strstr(d.text, line));
    snprintf(line, sizeof(line), "\ndef\t%u\t%u\turl_rewrite other\n", SQT_DEF_WAITED, SQT_WAITED_URL_REWRITE);
    assert_non_null(strstr(d.text, line));
    assert_non_null(strstr(d.text, "\tstore_id ?\n"));
    assert_non_null(strstr(d.text, "\turl_rewrite name99\n"));
    assert_null(strstr(d.text, "name100"));
    decode_free(&d);
}

/* The text of the note's definition. */
static const char *
note_text(char line[200], const struct decoded *d, uint32_t number)
{
    char start[32];
    const int size = snprintf(start, sizeof(start), "\ndef\t%d\t%u\t", SQT_DEF_NOTE, (unsigned)number);
    const char *const found = strstr(d->text, start);
    assert_non_null(found);
    snprintf(line, 200, "%.*s", (int)strcspn(found + size, "\n"), found + size);
    return line;
}

static uint32_t
note_of(unsigned place, const char *value)
{
    return sqt_note_number(place, value, strlen(value));
}

/* Their values come from helpers and clients. */
static void
values_of_notes_are_cut_escaped_and_bounded(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    struct decoded d;
    char line[200], value[16];
    char longer[1000];
    assert_int_equal(place_start(place, (const char *const[]){"note=site,group", "names=off", NULL}), 0);
    assert_int_equal(sqt_note_count, 2);
    assert_string_equal(sqt_notes[1].name, "group");
    const uint32_t a = note_of(0, "a"), group = note_of(1, "a");
    assert_int_not_equal(a, group);
    assert_int_equal(note_of(0, "a"), a);
    memset(longer, 'L', sizeof(longer));
    memcpy(longer, "\t\n\x1b", 3);
    memcpy(longer + SQT_NOTE_VALUE - 1, "\xc3\xa9", 2); /* a character of which one byte has no room */
    const uint32_t cut = sqt_note_number(0, longer, sizeof(longer));
    assert_int_equal(sqt_note_number(0, longer, SQT_NOTE_VALUE + 1), cut);
    uint32_t numbers[2 * SQT_NOTE_VALUES];
    for (unsigned i = 0; i < 2 * SQT_NOTE_VALUES; ++i) {
        snprintf(value, sizeof(value), "value%u", i);
        numbers[i] = note_of(0, value);
    }
    for (unsigned i = 0; i < 2 * SQT_NOTE_VALUES; ++i)
        assert_int_equal(numbers[i] == numbers[2 * SQT_NOTE_VALUES - 1], i >= SQT_NOTE_VALUES - 2);
    assert_int_equal(note_of(0, "a"), a); /* it is known already */
    const uint32_t more = note_of(1, "more");

    /* Another configuration: a name that stays has no more values, whatever its place. */
    place_config(place, (const char *const[]){"note=new,site", NULL}, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    assert_int_equal(note_of(1, "a"), a);
    assert_int_equal(note_of(1, "ninth"), numbers[2 * SQT_NOTE_VALUES - 1]);
    const uint32_t new = note_of(0, "a");
    place_config(place, (const char *const[]){NULL}, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    assert_int_equal(sqt_note_count, 0);
    emit_mixed(1, 1);
    sqt_stop();
    decode(&d, place->directory, NULL);
    assert_string_equal(note_text(line, &d, a), "site a");
    assert_string_equal(note_text(line, &d, group), "group a");
    assert_string_equal(note_text(line, &d, more), "group more");
    assert_string_equal(note_text(line, &d, new), "new a");
    assert_string_equal(note_text(line, &d, numbers[2 * SQT_NOTE_VALUES - 1]), "site other");
    assert_int_equal(strlen(note_text(line, &d, cut)), strlen("site ") + SQT_NOTE_VALUE - 1);
    assert_memory_equal(line, "site ???LLL", 11);
    assert_null(strstr(d.text, "ninth"));
    decode_free(&d);
}

static void
without_names_a_helper_is_a_number(void **state)
{
    struct place *const place = *state;
    char line[160];
    struct decoded d;
    assert_int_equal(place_start(place, (const char *const[]){"names=off", NULL}), 0);
    const uint32_t number = sqt_waited_number(SQT_WAITED_EXTERNAL_ACL, "secret");
    emit_mixed(1, 1);
    sqt_stop();
    decode(&d, place->directory, NULL);
    snprintf(line, sizeof(line), "\ndef\t%u\t%u\texternal_acl external_acl-%08x\n", SQT_DEF_WAITED, (unsigned)number,
             (unsigned)number);
    assert_non_null(strstr(d.text, line));
    assert_null(strstr(d.text, "secret"));
    decode_free(&d);
}

static void
definitions_stand_before_the_records_that_need_them(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    assert_int_equal(sqt_define(SQT_DEF_DIR, 0, "ufs /var/spool/squid"), 0);
    assert_int_equal(sqt_defined(SQT_DEF_DIR, 0), 1);
    assert_int_equal(sqt_defined(SQT_DEF_DIR, 1), 0);
    emit_mixed(1, 10);
    wait_flushed();
    assert_int_equal(sqt_define(SQT_DEF_TAG, 17, "TCP_HIT"), 17);
    sqt_define(SQT_DEF_TAG, 17, "TCP_MISS"); /* known already */
    sqt_define(SQT_DEF_METHOD, 1000000, "a\tb\nc");
    sqt_define(SQT_DEF_METHOD, 1000000, "again");
    assert_int_equal(sqt_defined(SQT_DEF_METHOD, 1000000), 1);
    assert_int_equal(sqt_defined(SQT_DEF_METHOD, 1000001), 0);
    emit_mixed(11, 10);
    wait_flushed();
    struct decoded d;
    decode(&d, place->directory, NULL); /* the segment is still open */
    assert_non_null(strstr(d.text, "event\t"));
    assert_non_null(strstr(d.text, "\ndef\t1\t0\tufs /var/spool/squid\n"));
    assert_non_null(strstr(d.text, "\ndef\t2\t17\tTCP_HIT\n"));
    assert_non_null(strstr(d.text, "\ndef\t3\t1000000\ta?b?c\n"));
    assert_null(strstr(d.text, "TCP_MISS"));
    assert_null(strstr(d.text, "again"));
    decode_free(&d);
    sqt_rotate();
    for (unsigned i = 0; i < 5000 && place_count(place->directory, ".sqt") == 1; ++i) {
        emit_mixed(21 + i, 1);
        usleep(1000);
    }
    sqt_stop();
    decode(&d, place->directory, NULL); /* the text of the new segment */
    assert_int_equal(d.segments, 2);
    assert_non_null(strstr(d.text, "\ndef\t2\t17\tTCP_HIT\n"));
    decode_free(&d);
}

static void
many_definitions_are_dropped_without_harm(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    for (uint32_t i = 0; i < 20000; ++i)
        assert_int_equal(sqt_define(SQT_DEF_METHOD, 7 * i, "a definition of some length"), 7 * i);
    emit_mixed(0, 100);
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    check_mixed(&d, 0, 100);
    decode_free(&d);
}

static void
a_new_segment_begins_at_the_size(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"segment=64KB", "compress=off", "ring=1MB", NULL};
    assert_int_equal(place_start(place, words), 0);
    uint64_t emitted = 0;
    for (unsigned i = 0; i < 20; ++i) {
        emitted += emit_mixed(1000 * i, 1000);
        usleep(5000);
        wait_flushed();
    }
    struct sqt_status status;
    sqt_get_status(&status);
    assert_int_equal(status.lost, 0);
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_true(d.segments >= 2);
    assert_int_equal(d.ends, d.segments);
    assert_int_equal(d.count, emitted + 2);
    check_mixed(&d, 0, 20000);
    decode_free(&d);
}

static void
rotation_under_load_loses_nothing(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=1MB", NULL}; /* goes round several times */
    assert_int_equal(place_start(place, words), 0);
    uint64_t emitted = 0;
    for (unsigned i = 0; i < 60; ++i) {
        emitted += emit_mixed(2000 * i, 2000);
        sqt_rotate();
        usleep(3000);
        if (i % 8 == 7)
            wait_flushed();
        sqt_poll();
    }
    sqt_stop();
    assert_string_equal(strchr(place_said, '\n'), "\n"); /* the line of the start, and no other */
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_true(d.segments > 10);
    assert_int_equal(d.ends, d.segments);
    assert_int_equal(d.lost, 0);
    assert_int_equal(d.count, emitted + 2 + 60);
    check_mixed(&d, 0, 120000);
    decode_free(&d);
}

static void
a_rotation_without_records_makes_no_empty_segment(void **state)
{
    struct place *const place = *state;
    assert_int_equal(place_start(place, NULL), 0);
    sqt_stop();
    assert_int_equal(place_count(place->directory, ".sqt"), 1);
}

static void
reconfiguration_applies_at_once(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    assert_int_equal(place_start(place, NULL), 0);
    uint64_t emitted = emit_mixed(0, 1000);
    for (unsigned i = 0; i < 20; ++i) {
        const char *const odd[] = {"events=store", "compress=off", "segment=64KB", NULL}, *const even[] = {NULL};
        place_config(place, i % 2 ? odd : even, &config);
        sqt_reconfigure(&config, &place_process, place_log);
        assert_int_equal(sqt_groups, config.groups | SQT_GROUP_TRACE);
        emitted += emit_mixed(1000 + 1000 * i, 1000);
        usleep(2000);
    }
    sqt_stop();
    assert_null(strstr(place_said, "restart"));
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.count, emitted + 2 + 20);
    check_mixed(&d, 0, 21000);
    decode_free(&d);
}

static void
what_needs_a_restart_is_said_once(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=2MB", NULL};
    struct sqt_config config;
    assert_int_equal(place_start(place, NULL), 0);
    place_config(place, words, &config);
    place_said[0] = '\0';
    sqt_reconfigure(&config, &place_process, place_log);
    assert_string_equal(
        place_said, "WARNING: sqtrace: a changed DIRECTORY, ring, ringdir or mode of sqtrace_log needs a restart\n");
    struct sqt_status status;
    sqt_get_status(&status);
    assert_string_equal(status.state, "tracing");
    assert_int_equal(status.capacity, 1u << 20);

    const char *const same[] = {"ring=32MB", NULL}; /* what the default is anyway */
    place_config(place, same, &config);
    place_said[0] = '\0';
    sqt_reconfigure(&config, &place_process, place_log);
    assert_string_equal(place_said, "");
}

static void
the_directive_may_come_and_go(void **state)
{
    struct place *const place = *state;
    struct sqt_config on, off;
    place_config(place, NULL, &on);
    sqt_config_init(&off);
    for (unsigned i = 0; i < 4; ++i) {
        sqt_reconfigure(&on, &place_process, place_log);
        assert_true(sqt_groups != 0);
        emit_mixed(0, 10);
        sqt_reconfigure(&off, &place_process, place_log);
        assert_int_equal(sqt_groups, 0);
        assert_int_equal(place_count(place->ringdir, ""), 0);
    }
    assert_int_equal(place_count(place->directory, ".sqt"), 4);
}

static void
status_adds_up(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=64KB", NULL};
    struct sqt_status status;
    assert_int_equal(place_start(place, words), 0);
    uint64_t emitted = 1;
    for (unsigned i = 0; i < 50; ++i) {
        emitted += emit_mixed(3000 * i, 3000); /* more than the ring holds */
        sqt_get_status(&status);
        assert_int_equal(status.emitted, emitted);
        assert_int_equal(status.written + status.lost, emitted);
        assert_int_equal(status.capacity, 2048);
        assert_true(status.high_water <= status.capacity);
        assert_true(status.waiting <= status.capacity);
    }
    assert_true(status.lost > 0);
    emitted += emit_mixed(150000, 1); /* tells the loss, if there is room by now */
    wait_flushed();
    sqt_get_status(&status);
    const uint64_t lost = status.lost;
    assert_int_equal(status.high_water, 2048);
    assert_true(status.bytes > 0);
    sqt_poll();
    assert_non_null(strstr(place_said, "records lost because the ring was full"));
    emitted += emit_mixed(200000, 1); /* there is room for sure */
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.lost, lost);
    assert_int_equal(d.count - d.marks + d.lost, emitted + 1);
    assert_int_equal(d.totals.lost, lost);
    assert_int_equal(d.totals.lost_open, 0);
    assert_int_equal(d.totals.marks, d.marks);
    decode_free(&d);
}

/* The thread of that name of this process; 0: there is none. */
static int
thread_named(const char *name)
{
    int found = 0;
    DIR *const tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *task; !found && (task = readdir(tasks));) {
        char path[300], text[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *const file = fopen(path, "re");
        if (file && fgets(text, sizeof(text), file) && strcmp(strtok(text, "\n"), name) == 0)
            found = atoi(task->d_name);
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return found;
}

static int
leads_to_pipe(const char *path)
{
    char to[256];
    const ssize_t size = readlink(path, to, sizeof(to));
    return size > 5 && memcmp(to, "pipe:", 5) == 0;
}

static __attribute__((unused)) void
the_flusher_has_descriptors_of_its_own(void **state)
{
    struct place *const place = *state;
    int ends[2];
    char path[64], to[16];
    if (close_range(UINT32_MAX, UINT32_MAX, 0) != 0 && errno == ENOSYS)
        skip(); /* before Linux 5.9 it shares ours */
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(place_start(place, NULL), 0);
    int flusher = 0, tries = 2000;
    while (!flusher && tries--) {
        flusher = thread_named("sqtrace");
        usleep(1000);
    }
    assert_true(flusher > 0);
    snprintf(path, sizeof(path), "/proc/self/task/%d/fd/%d", flusher, ends[0]);
    while (leads_to_pipe(path) && tries-- > 0) /* the number may lead to a file of the flusher's own */
        usleep(1000);
    assert_false(leads_to_pipe(path));
    /* Nor has it a copy: the pipe ends when ours is closed. */
    close(ends[1]);
    assert_int_equal(read(ends[0], to, 1), 0);
    close(ends[0]);
    const uint64_t emitted = emit_mixed(0, 1000);
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.count, emitted + 2);
    decode_free(&d);
}

static void
hashes_are_keyed_by_directory(void **state)
{
    struct place *const place = *state;
    struct place other;
    assert_int_equal(place_start(place, NULL), 0);
    const uint64_t first = sqt_hash("key", 3);
    assert_int_equal(sqt_hash("key", 3), first);
    assert_true(sqt_hash("kez", 3) != first);
    assert_true(first != 0);
    sqt_stop();
    assert_int_equal(place_start(place, NULL), 0);
    assert_int_equal(sqt_hash("key", 3), first);
    sqt_stop();
    place_make(&other);
    assert_int_equal(place_start(&other, NULL), 0);
    assert_true(sqt_hash("key", 3) != first);
    sqt_stop();
    place_remove(&other);
}

static void
is_off(const char *why)
{
    struct sqt_status status;
    sqt_get_status(&status);
    assert_string_equal(status.state, "off");
    if (!strstr(status.reason, why))
        fail_msg("\"%s\" is missing in: %s", why, status.reason);
}

/* mgr:sqtrace says why tracing is off. */
static void
a_reason_to_be_off(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    struct sqt_status status;
    struct place nowhere = *place;
    strcpy(nowhere.directory, "/nonexistent");
    assert_int_equal(place_start(&nowhere, NULL), -1);
    is_off("/nonexistent: No such file or directory");
    sqt_config_init(&config);
    sqt_reconfigure(&config, &place_process, place_log); /* the directive is taken out */
    is_off("there is no sqtrace_log");
    assert_int_equal(place_start(place, NULL), 0);
    sqt_get_status(&status);
    assert_string_equal(status.reason, "");
    assert_string_equal(status.group_names, "client,server,store,diskop,digest");
    sqt_config_init(&config);
    sqt_reconfigure(&config, &place_process, place_log);
    is_off("there is no sqtrace_log any more");
}

/* In a process that nobody has asked for a trace. */
static void
a_reason_without_a_directive(void **state)
{
    (void)state;
    is_off("there is no sqtrace_log");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_reason_without_a_directive), /* first */
        PLACE_TEST(a_reason_to_be_off),
        PLACE_TEST(without_a_directory_nothing_is_there),
        PLACE_TEST(everything_is_in_a_closed_segment_after_a_stop),
        PLACE_TEST(files_have_the_promised_names_and_modes),
        PLACE_TEST(invented_names_are_bounded_in_each_trace),
        PLACE_TEST(names_of_who_is_waited_for_are_cut_escaped_and_bounded),
        PLACE_TEST(values_of_notes_are_cut_escaped_and_bounded),
        PLACE_TEST(without_names_a_helper_is_a_number),
        PLACE_TEST(definitions_stand_before_the_records_that_need_them),
        PLACE_TEST(many_definitions_are_dropped_without_harm),
        PLACE_TEST(a_new_segment_begins_at_the_size),
        PLACE_TEST(rotation_under_load_loses_nothing),
        PLACE_TEST(a_rotation_without_records_makes_no_empty_segment),
        PLACE_TEST(reconfiguration_applies_at_once),
        PLACE_TEST(what_needs_a_restart_is_said_once),
        PLACE_TEST(the_directive_may_come_and_go),
        PLACE_TEST(status_adds_up),
#ifndef __SANITIZE_THREAD__ /* which knows of one table of descriptors only */
        PLACE_TEST(the_flusher_has_descriptors_of_its_own),
#endif
        PLACE_TEST(hashes_are_keyed_by_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
