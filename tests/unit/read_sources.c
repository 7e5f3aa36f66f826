/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_sources.c - what is named and cannot be read gets one clear line; pipes; many files.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/open.h"
#include "read/file/listing.h"
#include "read_fixture.h"

static int
begin(void **state)
{
    (void)state;
    return read_begin(10, 6000, 1);
}

static void
expect_refused(const char *name, const void *content, size_t size, const char *message)
{
    struct make_bytes bytes = {NULL, 0, 0};
    if (content) {
        make_append(&bytes, content, size);
        make_file(read_path(name), &bytes);
        make_free(&bytes);
    }
    read_all(&result, read_path(name), NULL);
    assert_false(result.opened);
    read_expect_messages(&result, message);
}

static void
set_crc(struct sqt_segment_header *h)
{
    h->crc = 0;
    h->crc = (uint32_t)crc32(0, (const Bytef *)h, sizeof(*h));
}

static void
what_is_no_trace_gets_one_line(void **state)
{
    struct make_bytes newer = {NULL, 0, 0};
    (void)state;
    expect_refused("missing", NULL, 0, "E missing: No such file or directory\n");
    expect_refused("empty", "", 0, "E empty: empty, there is no trace in it\n");
    expect_refused("log", "1753 2 127.0.0.1 TCP_HIT/200\n", 29, "E log: not a trace: it looks like a text file\n");
    expect_refused("gz", "\x1f\x8b\x08\0\0\0\0\0", 8,
                   "E gz: not a trace: it looks like gzip data; pipe it through zcat\n");
    expect_refused("elf",
                   "\x7f"
                   "ELF\2\1\1",
                   7, "E elf: not a trace: it looks like a program\n");
    expect_refused("ctf", "\xc1\x1f\xfc\xc1\0\0\0\0", 8,
                   "E ctf: not a trace: it looks like a CTF stream; babeltrace2 reads it\n");
    expect_refused("bytes", "\1\2\3\4\5\6\7\10\11\12", 10,
                   "E bytes: not a trace: it looks like something else, "
                   "it begins with the bytes 01 02 03 04 05 06 07 08\n");
    expect_refused("short", SQT_SEGMENT_MAGIC, 8, "E short: offset 0: ends in the middle of the header\n");

    make_header(&newer, &who, 0);
    struct sqt_segment_header *const h = (struct sqt_segment_header *)newer.data;
    h->version = 2;
    set_crc(h);
    expect_refused("newer", newer.data, newer.size, "E newer: written by a newer sqtrace (format 2, this reads 1)\n");
    make_free(&newer);
    assert_int_equal(mkdir(read_path("dir"), 0755), 0);
    expect_refused("dir", NULL, 0, "E dir: there is no trace (*.sqt, *.ring) in this directory\n");
    assert_int_equal(symlink("loop", read_path("loop")), 0);
    expect_refused("loop", NULL, 0, "E loop: Too many levels of symbolic links\n");
    read_all(&result, "/dev/null", NULL);
    read_expect_messages(&result, "E /dev/null: neither a regular file nor a directory nor a pipe\n");
    read_all(&result, "/proc/version", NULL);
    read_expect_messages(&result, "E /proc/version: neither a regular file nor a directory nor a pipe\n");
    /* A name must not break the line. */
    expect_refused("two\nlines", "text", 4, "E two\\x0alines: not a trace: it looks like a text file\n");
}

/* A gap makes the reader look into the folder again. */
static void
what_is_refused_is_said_once(void **state)
{
    (void)state;
    struct sqt_record records[2];
    struct make_bytes bytes = {NULL, 0, 0};
    read_simple(records, 2);
    make_segment_file(read_path("0.sqt"), &who, 0, 0, records, 1, NULL, 0);
    make_segment_file(read_path("1.sqt"), &who, 1, 9, records + 1, 1, NULL, 0);
    make_pointer_file(read_path("0.ring"), &who, read_path("no-ring"));
    make_append(&bytes, SQT_SEGMENT_MAGIC, 8);
    make_file(read_path("short.sqt"), &bytes);
    make_free(&bytes);
    read_all(&result, read_path(""), NULL);
    read_expect_messages(&result, "E short.sqt: offset 0: ends in the middle of the header\n"
                                  "W 1.sqt: 8 records before record 9 are missing (a segment is not there)\n");
}

static void
flags_of_a_later_version_are_refused(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_segment_header h;
    (void)state;
    make_header(&bytes, &who, 0);
    memcpy(&h, bytes.data, sizeof(h));
    make_free(&bytes);
    h.incompatible = 6;
    set_crc(&h);
    expect_refused("later", &h, sizeof(h),
                   "E later: written by a newer sqtrace (it needs features 0x6 that this "
                   "does not know)\n");
    h.incompatible = 0;
    h.identity.ticks_per_second = 3;
    set_crc(&h);
    expect_refused("clock", &h, sizeof(h), "E clock: offset 0: the header's clock is impossible\n");
}

static void
an_unreadable_file_is_said(void **state)
{
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, made_count, NULL, 0);
    assert_int_equal(chmod(read_path("a.sqt"), 0), 0);
    /* Root may read everything, so another user tries. */
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (chmod(read_path(""), 0755) != 0 || setuid(65534) != 0))
            _exit(3);
        read_all(&result, read_path("a.sqt"), NULL);
        const char *const said =
            "E a.sqt: cannot be opened: Permission denied; run this as root, or as a user in Squid's group\n";
        if (result.opened || strcmp(result.messages, said) != 0)
            _exit(1);
        read_all(&result, read_path(""), NULL);
        _exit(result.opened || result.messages[0] != 'W' || strcmp(result.messages + 1, said + 1) != 0 ? 2 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void
a_directory_is_read_past_what_is_wrong_in_it(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    (void)state;
    make_segment_file(read_path("b.sqt"), &who, 0, 0, made, made_count, NULL, 0);
    make_file(read_path("a.sqt"), &bytes); /* just made, nothing written yet */
    make_append(&bytes, "hello\n", 6);
    make_file(read_path("c.sqt"), &bytes);
    make_file(read_path("d.ring"), &bytes);
    make_file(read_path("notes.txt"), &bytes);
    make_free(&bytes);
    assert_int_equal(mkdir(read_path("e.sqt"), 0755), 0);
    assert_int_equal(symlink("/proc/self/status", read_path("f.sqt")), 0);
    read_all(&result, read_path(""), NULL);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "W d.ring: not a trace: it looks like a text file\n"
                                  "N a.sqt: empty, there is no trace in it\n"
                                  "W c.sqt: not a trace: it looks like a text file\n"
                                  "E e.sqt: is not a regular file\n"
                                  "E f.sqt: is not a regular file\n");
}

/* Reads `bytes` through a pipe as the standard input. */
static void
read_pipe(const struct make_bytes *bytes)
{
    int ends[2];
    const int keep = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        size_t done = 0;
        close(ends[0]);
        while (done < bytes->size) {
            /* In pieces that fit nothing. */
            const size_t piece = bytes->size - done < 977 ? bytes->size - done : 977;
            const ssize_t n = write(ends[1], bytes->data + done, piece);
            if (n <= 0)
                _exit(1);
            done += (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    read_all(&result, "-", NULL);
    dup2(keep, STDIN_FILENO);
    close(keep);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
add_segment(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t sequence, size_t first,
            size_t end_at, unsigned flags)
{
    const struct sqt_totals totals = {.head = end_at};
    make_header(bytes, identity, sequence);
    make_text(bytes, NULL);
    make_blocks(bytes, identity, first, made + first, end_at - first, 500, flags);
    make_end(bytes, identity, &totals);
}

static size_t
records_of_kid(uint32_t kid)
{
    size_t count = 0;
    for (size_t i = 0; i < result.count; ++i)
        count += result.kid[i] == kid;
    return count;
}

static void
segments_joined_on_a_pipe_come_in_any_order(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    const size_t cut = unit_at(2000);
    (void)state;
    add_segment(&bytes, &who, 1, cut, made_count, 0);
    add_segment(&bytes, &who, 0, 0, cut, MAKE_ZLIB);
    read_pipe(&bytes);
    read_expect_records(&result, made, made_count, 0);
    read_expect_messages(&result, "");

    /* Two kids one after the other, as `cat` gives them, are merged by time. */
    struct sqt_identity other;
    make_identity(&other, 2, 2);
    bytes.size = 0;
    add_segment(&bytes, &who, 0, 0, made_count, 0);
    add_segment(&bytes, &other, 0, 0, made_count, 0);
    read_pipe(&bytes);
    assert_int_equal(result.count, 2 * made_count);
    assert_false(result.went_back);
    assert_int_equal(records_of_kid(1), made_count);
    assert_int_equal(records_of_kid(2), made_count);

    /* A cut one before a whole one. */
    bytes.size = 0;
    add_segment(&bytes, &who, 0, 0, cut, 0);
    bytes.size -= 100;
    const size_t whole = bytes.size;
    add_segment(&bytes, &other, 0, 0, made_count, 0);
    read_pipe(&bytes);
    assert_true(result.count > made_count);
    assert_int_equal(result.problems, 1);
    assert_non_null(strstr(result.messages, "W standard input: ends in the middle of a block at offset "));
    assert_true(whole > 0);
    make_free(&bytes);
}

/* A pipe with a name stands where a segment was when the directory was listed.  Whoever waits for its writer hangs. */
static void
a_pipe_in_the_place_of_a_segment_is_not_waited_for(void **state)
{
    struct sqt_record r[3];
    const char *const path = read_path("a.sqt");
    struct sqt_run run;
    (void)state;
    read_simple(r, 3);
    make_segment_file(path, &who, 0, 0, r, 3, NULL, 0);
    struct sqt_stream *const stream = sqt_stream_open(&path, 1, NULL, NULL);
    assert_non_null(stream);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_int_equal(sqt_stream_next(stream, &run), 0);
    assert_int_equal(sqt_stream_problems(stream), 1);
    assert_int_equal(sqt_open_regular(AT_FDCWD, path, O_RDONLY, NULL), -1);
    alarm(0);
    assert_int_equal(errno, EINVAL);
    sqt_stream_close(stream);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(sqt_open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, NULL), -1);
    assert_int_equal(errno, ELOOP);
}

static void
a_pipe_that_holds_no_trace_is_said(void **state)
{
    struct make_bytes bytes = {NULL, 0, 0};
    (void)state;
    read_pipe(&bytes);
    assert_false(result.opened);
    read_expect_messages(&result, "E standard input: empty, there is no trace in it\n");
    make_append(&bytes, "GET / HTTP/1.1\n", 15);
    read_pipe(&bytes);
    assert_false(result.opened);
    read_expect_messages(&result, "E standard input: not a trace: it looks like a text file\n");
    make_free(&bytes);
}

static void
a_file_may_be_the_standard_input(void **state)
{
    const int keep = dup(STDIN_FILENO);
    (void)state;
    make_segment_file(read_path("a.sqt"), &who, 0, 0, made, made_count, NULL, 0);
    const int fd = open(read_path("a.sqt"), O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    read_all(&result, "-", NULL);
    dup2(keep, STDIN_FILENO);
    close(keep);
    read_expect_records(&result, made, made_count, 0);
}

/* Where one reading of the pipe ends and the next begins may lie within the next segment's magic. */
static void
a_segment_is_found_wherever_it_begins(void **state)
{
    static const size_t readings[] = {256u << 10, (256u << 10) + 4096, 512u << 10, (512u << 10) + 4096};
    const size_t cut = unit_at(2000), frame = sizeof(struct sqt_frame);
    uint8_t *const filling = calloc(1, 600u << 10);
    (void)state;
    assert_non_null(filling);
    for (size_t i = 0; i < 4; ++i)
        for (int by = -12; by <= 12; ++by) {
            struct make_bytes bytes = {NULL, 0, 0};
            add_segment(&bytes, &who, 0, 0, cut, 0);
            /* A frame of a type that is passed over fills it up. */
            make_frame(&bytes, 99, 0, filling, readings[i] + (size_t)by - bytes.size - frame);
            add_segment(&bytes, &who, 1, cut, made_count, 0);
            make_file(read_path("joined"), &bytes);
            make_free(&bytes);
            const int keep = dup(STDIN_FILENO), fd = open(read_path("joined"), O_RDONLY);
            dup2(fd, STDIN_FILENO);
            close(fd);
            read_all(&result, "-", NULL);
            dup2(keep, STDIN_FILENO);
            close(keep);
            read_expect_records(&result, made, made_count, 0);
        }
    free(filling);
}

/* 300 segments of one origin and 300 origins of one segment, with 64 descriptors for all. */
static void
many_files_need_few_descriptors(void **state)
{
    struct rlimit old, few = {64, 64};
    struct sqt_identity each;
    char name[64];
    (void)state;
    for (unsigned i = 0; i < 300; ++i) {
        const size_t first = unit_at(made_count * i / 300);
        const size_t past = i == 299 ? made_count : unit_at(made_count * (i + 1) / 300);
        snprintf(name, sizeof(name), "one-%u.sqt", i);
        make_segment_file(read_path(name), &who, i, first, made + first, past - first, NULL, 0);
        /* Each lives after the one before it. */
        make_identity(&each, 2, 9);
        memcpy(each.ring_id, &i, sizeof(i));
        each.start = make_anchor(&each, made[first].time - 10);
        snprintf(name, sizeof(name), "other-%u.sqt", i);
        make_segment_file(read_path(name), &each, 0, 0, made + first, past - first, NULL, 0);
    }
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    read_all(&result, read_path(""), NULL);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(result.count, 2 * made_count);
    assert_false(result.went_back);
    read_expect_messages(&result, "");
    read_kid(&result, 1, read_path(""));
    read_expect_records(&result, made, made_count, 0);
}

/* Of a folder only the names that are wanted are kept, and the first of them. */
static void
names_in_a_folder_are_bounded(void **state)
{
    struct sqt_listing listing;
    char folder[4096], name[8];
    (void)state;
    snprintf(folder, sizeof(folder), "%s", read_path("names"));
    assert_int_equal(mkdir(folder, 0700), 0);
    const int at = open(folder, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < 60; ++i) {
        snprintf(name, sizeof(name), "%02u%s", i * 37 % 60, i % 3 ? ".sqt" : ".txt");
        close(openat(at, name, O_WRONLY | O_CREAT, 0600));
    }
    close(openat(at, ".sqt", O_WRONLY | O_CREAT, 0600));
    assert_int_equal(sqt_listing_read(&listing, folder, sqt_listing_ends, ".sqt", 7), 0);
    assert_int_equal(listing.count, 7);
    assert_int_equal(listing.left_out, 40 - 7);
    for (unsigned i = 0; i < 7; ++i) {
        snprintf(name, sizeof(name), "%02u.sqt", i / 2 * 3 + 1 + i % 2);
        assert_string_equal(listing.names[i], name);
    }
    sqt_listing_free(&listing);
    assert_int_equal(sqt_listing_read(&listing, folder, sqt_listing_ends, ".sqt", 40), 0);
    assert_int_equal(listing.count, 40);
    assert_int_equal(listing.left_out, 0);
    sqt_listing_free(&listing);
    assert_int_equal(sqt_listing_read(&listing, read_path("nowhere"), sqt_listing_ends, ".sqt", 7), -1);
    assert_int_equal(errno, ENOENT);
    for (unsigned i = 0; i < 60; ++i) {
        snprintf(name, sizeof(name), "%02u%s", i * 37 % 60, i % 3 ? ".sqt" : ".txt");
        unlinkat(at, name, 0);
    }
    unlinkat(at, ".sqt", 0);
    close(at);
    rmdir(folder);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, read_end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_trace_gets_one_line),
        TEST(what_is_refused_is_said_once),
        TEST(flags_of_a_later_version_are_refused),
        TEST(an_unreadable_file_is_said),
        TEST(a_directory_is_read_past_what_is_wrong_in_it),
        TEST(segments_joined_on_a_pipe_come_in_any_order),
        TEST(a_pipe_in_the_place_of_a_segment_is_not_waited_for),
        TEST(a_pipe_that_holds_no_trace_is_said),
        TEST(a_file_may_be_the_standard_input),
        TEST(a_segment_is_found_wherever_it_begins),
        TEST(many_files_need_few_descriptors),
        TEST(names_in_a_folder_are_bounded),
    };
    return cmocka_run_group_tests_name("read_sources", tests, NULL, NULL);
}
