/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_adopt.c - what tracing believes of what it finds: directories, keys, pointers and rings that somebody else owns,
 * can write or planted, that change while they are read, or that are too many.
 */
#define _GNU_SOURCE
#include "trace_leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/file/file-internal.h"

#define SOMEBODY 65534 /* another user */
#define RECORDS 100    /* that a dead process left */

static void
need_root(void)
{
    if (geteuid() != 0)
        SKIP_BECAUSE("needs root, to make files of another user");
}

/* Tracing does not start, says one line with both texts, and leaves nothing behind. */
static void
check_refused(const struct place *place, const char *found, const char *expected)
{
    assert_int_equal(place_start(place, NULL), -1);
    if (!strstr(place_said, found) || !strstr(place_said, expected))
        fail_msg("\"%s\" or \"%s\" is missing in: %s", found, expected, place_said);
    assert_non_null(strstr(place_said, "; tracing is off\n"));
    assert_ptr_equal(strchr(place_said, '\n'), place_said + strlen(place_said) - 1);
    assert_int_equal(place_count(place->ringdir, ""), 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
}

static void
check_starts(const struct place *place)
{
    if (place_start(place, NULL) != 0)
        fail_msg("tracing does not start: %s", place_said);
    sqt_stop();
}

/* ---- the directories ---- */

static void
a_directory_that_everybody_can_write(void **state)
{
    struct place *const place = *state;
    assert_int_equal(chmod(place->directory, 0777), 0);
    check_refused(place, "everybody may write there (mode 0777)", "that others cannot write (chmod o-w)");
    assert_int_equal(chmod(place->directory, 01777), 0);
    check_refused(place, "everybody may write there (mode 1777)", "that others cannot write (chmod o-w)");
    assert_int_equal(place_count(place->directory, ""), 0);
    assert_int_equal(chmod(place->directory, 0770), 0); /* operators */
    check_starts(place);
}

static void
a_directory_of_somebody_else(void **state)
{
    struct place *const place = *state;
    need_root();
    assert_int_equal(chown(place->directory, SOMEBODY, (gid_t)-1), 0);
    check_refused(place, "it belongs to uid 65534", "expected is uid 0");
    assert_int_equal(place_count(place->directory, ""), 0);
    assert_int_equal(chown(place->directory, 0, (gid_t)-1), 0);
    check_starts(place);
}

static void
a_ring_directory_that_is_not_ours(void **state)
{
    struct place *const place = *state;
    assert_int_equal(chmod(place->ringdir, 0777), 0);
    check_refused(place, "everybody may write there (mode 0777)", "or one with the sticky bit");
    assert_int_equal(chmod(place->ringdir, 01777), 0);
    check_starts(place);
    need_root();
    assert_int_equal(chown(place->ringdir, SOMEBODY, (gid_t)-1), 0);
    check_refused(place, "it belongs to uid 65534", "expected is uid 0");
}

/* ---- the key ---- */

static void
key_path(const struct place *place, char path[300])
{
    snprintf(path, 300, "%s/sqtrace.key", place->directory);
}

static void
make_key(const struct place *place, mode_t mode)
{
    char path[300];
    key_path(place, path);
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_int_equal(write(fd, "0123456789abcdef", 16), 16);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void
a_key_that_others_can_read_or_write(void **state)
{
    struct place *const place = *state;
    static const mode_t modes[] = {0644, 0640, 0620, 0602, 0604};
    char path[300], said[64];
    key_path(place, path);
    make_key(place, 0600);
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); ++i) {
        assert_int_equal(chmod(path, modes[i]), 0);
        snprintf(said, sizeof(said), "sqtrace.key is refused: its mode is %04o", (unsigned)modes[i]);
        check_refused(place, said, "expected is at most 0600; chown and chmod mend that");
    }
    assert_int_equal(chmod(path, 0600), 0);
    check_starts(place);
}

static void
a_key_with_two_names(void **state)
{
    struct place *const place = *state;
    char path[300], other[320];
    key_path(place, path);
    snprintf(other, sizeof(other), "%s.other", path);
    make_key(place, 0600);
    assert_int_equal(link(path, other), 0);
    check_refused(place, "it has 2 names (hard links)", "expected is one");
    assert_int_equal(unlink(other), 0);
    check_starts(place);
}

static void
a_key_of_somebody_else(void **state)
{
    struct place *const place = *state;
    char path[300];
    need_root();
    key_path(place, path);
    make_key(place, 0600);
    assert_int_equal(chown(path, SOMEBODY, (gid_t)-1), 0);
    check_refused(place, "it belongs to uid 65534", "expected is uid 0");
}

static void
a_key_that_is_a_pipe(void **state)
{
    struct place *const place = *state;
    char path[300];
    key_path(place, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_refused(place, "sqtrace.key is refused", "it is not a regular file");
}

/* ---- leftovers ---- */

struct left {
    char ring[300], pointer[300], base[128];
};

/* At once: the _exit() of ThreadSanitizer waits for a second, in which the flusher would write. */
static void
die(void)
{
    syscall(SYS_exit_group, 0);
}

static void
until_unlocked(const struct place *place)
{
    for (unsigned i = 0; i < 10000 && place_locked(place->directory) + place_locked(place->ringdir); ++i)
        usleep(1000);
}

/* A process that traces, emits and dies. */
static void
leave_ring(const struct place *place, struct left *left, const char *const *words)
{
    int result;
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(place, words) != 0)
            _exit(1);
        for (unsigned i = 1; i < RECORDS; ++i)
            sqt_emit(SQT_EV_CLIENT_READ, i, 2 * i, 3);
        die();
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    until_unlocked(place);
    if (!left)
        return;
    place_only(left->ring, sizeof(left->ring), place->ringdir, ".ring");
    place_only(left->pointer, sizeof(left->pointer), place->directory, ".ring");
    snprintf(left->base, sizeof(left->base), "%.*s", (int)strcspn(strrchr(left->pointer, '/') + 1, ""),
             strrchr(left->pointer, '/') + 1);
    left->base[strlen(left->base) - strlen(".ring")] = '\0';
}

static void
read_header(const struct left *left, struct sqt_ring_header *header)
{
    const int fd = open(left->ring, O_RDONLY);
    assert_int_equal(pread(fd, header, sizeof(*header), 0), sizeof(*header));
    close(fd);
}

static void
write_header(const struct left *left, const struct sqt_ring_header *header)
{
    const int fd = open(left->ring, O_WRONLY);
    assert_int_equal(pwrite(fd, header, sizeof(*header), 0), sizeof(*header));
    close(fd);
}

/* Starts, waits until the flusher has said what it did with what it found, and stops. */
static void
start_and_stop(const struct place *place)
{
    if (place_start(place, NULL) != 0)
        fail_msg("tracing does not start: %s", place_said);
    for (unsigned i = 0; i < 10000 && !strstr(place_said, "left alone: ") && !strstr(place_said, "in a segment now");
         ++i) {
        usleep(1000);
        sqt_poll();
    }
    sqt_stop();
}

/* Nothing is done with what was left, and a line says why. */
static void
check_left_alone(const struct place *place, const struct left *left, const char *why)
{
    start_and_stop(place);
    if (!strstr(place_said, "is left alone: ") || !strstr(place_said, why))
        fail_msg("\"%s\" is missing in: %s", why, place_said);
    assert_null(strstr(strstr(place_said, "is left alone: ") + 1, "is left alone: "));
    assert_null(strstr(place_said, "are in a segment now"));
    assert_int_equal(access(left->ring, F_OK), 0);
    assert_int_equal(access(left->pointer, F_OK), 0);
}

static void
check_adopted(const struct place *place, const struct left *left)
{
    struct decoded d;
    start_and_stop(place);
    assert_int_equal(access(left->ring, F_OK), -1);
    assert_int_equal(access(left->pointer, F_OK), -1);
    decode(&d, place->directory, left->base);
    assert_int_equal(d.count, RECORDS);
    decode_free(&d);
}

static void
a_pointer_that_is_not_ours(void **state)
{
    struct place *const place = *state;
    struct left left;
    leave_ring(place, &left, NULL);
    assert_int_equal(chmod(left.pointer, 0660), 0);
    check_left_alone(place, &left, "its mode is 0660; expected is at most 0644");
    assert_int_equal(chmod(left.pointer, 0640), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(left.pointer, SOMEBODY, (gid_t)-1), 0);
        check_left_alone(place, &left, "it belongs to uid 65534");
        assert_int_equal(chown(left.pointer, 0, (gid_t)-1), 0);
    }
    check_adopted(place, &left);
}

static void
a_ring_that_is_not_ours(void **state)
{
    struct place *const place = *state;
    struct left left;
    leave_ring(place, &left, NULL);
    assert_int_equal(chmod(left.ring, 0666), 0);
    check_left_alone(place, &left, "its mode is 0666; expected is at most 0644");
    assert_int_equal(chmod(left.ring, 0640), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(left.ring, SOMEBODY, (gid_t)-1), 0);
        check_left_alone(place, &left, "it belongs to uid 65534");
        assert_int_equal(chown(left.ring, 0, (gid_t)-1), 0);
    }
    check_adopted(place, &left);
}

/* A ring somewhere else, with a pointer that names it: its directory may be swapped by whoever can write above it. */
static void
a_ring_in_another_directory(void **state)
{
    struct place *const place = *state;
    struct left left;
    char elsewhere[200], moved[300], text[1024];
    leave_ring(place, &left, NULL);
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", place->ringdir);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    snprintf(moved, sizeof(moved), "%s%s", elsewhere, strrchr(left.ring, '/'));
    assert_int_equal(rename(left.ring, moved), 0);

    const int fd = open(left.pointer, O_RDWR);
    const ssize_t size = read(fd, text, sizeof(text) - 1);
    assert_true(size > 0);
    text[size] = '\0';
    const char *const rest = strchr(text, '\n');
    assert_int_equal(ftruncate(fd, 0), 0);
    lseek(fd, 0, SEEK_SET);
    dprintf(fd, "ring=%s%s", moved, rest);
    close(fd);

    snprintf(left.ring, sizeof(left.ring), "%s", moved);
    check_left_alone(place, &left, "expected is ");
    assert_int_equal(unlink(moved), 0);
    assert_int_equal(rmdir(elsewhere), 0);
}

static void
a_link_in_the_place_of_a_ring(void **state)
{
    struct place *const place = *state;
    struct left left;
    char moved[320];
    leave_ring(place, &left, NULL);
    snprintf(moved, sizeof(moved), "%s.moved", left.ring);
    assert_int_equal(rename(left.ring, moved), 0);
    assert_int_equal(symlink(moved, left.ring), 0);
    check_left_alone(place, &left, "it is a symbolic link");
    assert_int_equal(rename(moved, left.ring), 0);
    check_adopted(place, &left);
}

/* What a later version wrote is its to adopt, and what does not fit together is nobody's. */
static void
a_ring_that_is_not_understood(void **state)
{
    struct place *const place = *state;
    struct left left;
    struct sqt_ring_header good, bad;
    leave_ring(place, &left, NULL);
    read_header(&left, &good);
    bad = good;
    bad.version = 2;
    write_header(&left, &bad);
    check_left_alone(place, &left, "its format is version 2");
    bad = good;
    bad.capacity *= 2;
    write_header(&left, &bad);
    check_left_alone(place, &left, "its header does not fit a file of ");
    bad = good;
    bad.identity.ticks_per_second = 0;
    write_header(&left, &bad);
    check_left_alone(place, &left, "its header does not fit a file of ");
    bad = good;
    bad.identity.ring_id[15] ^= 1;
    write_header(&left, &bad);
    check_left_alone(place, &left, "has another id");
    write_header(&left, &good);
    check_adopted(place, &left);
}

static void
a_ring_that_got_shorter(void **state)
{
    struct place *const place = *state;
    struct left left;
    leave_ring(place, &left, NULL);
    assert_int_equal(truncate(left.ring, 8192), 0);
    check_left_alone(place, &left, "its header does not fit a file of 8192 bytes");
    assert_int_equal(truncate(left.ring, 100), 0);
    check_left_alone(place, &left, "its header cannot be read");
}

/* ---- while it is read ---- */

#define LARGE (1u << 22) /* records, 128 MB of holes, which take long enough to be met in the middle */

/* Makes the ring large, with records that are all zero, and waits until a child adopts it. */
static pid_t
adopt_large(const struct place *place, const struct left *left)
{
    struct sqt_ring_header header;
    read_header(left, &header);
    header.records_offset += header.capacity * sizeof(struct sqt_record);
    header.capacity = header.writer.head = LARGE;
    header.flusher.tail = 0;
    assert_int_equal(truncate(left->ring, (off_t)(header.records_offset + LARGE * sizeof(struct sqt_record))), 0);
    write_header(left, &header);
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(place, NULL) != 0)
            _exit(1);
        for (unsigned i = 0;
             i < 10000 && place_count(place->ringdir, ".ring") > 1 && !strstr(place_said, "got shorter"); ++i) {
            usleep(1000);
            sqt_poll();
        }
        sqt_stop();
        _exit(strstr(place_said, "got shorter") ? 2 : 0);
    }
    for (unsigned i = 0; i < 100000 && place_count(place->directory, ".sqt.new") == 0; ++i)
        usleep(100);
    return child;
}

static int
status_of(pid_t child)
{
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFSIGNALED(result))
        fail_msg("ended by signal %d", WTERMSIG(result));
    return WEXITSTATUS(result);
}

static void
a_ring_that_is_shortened_while_it_is_read(void **state)
{
    struct place *const place = *state;
    struct left left;
    leave_ring(place, &left, NULL);
    const pid_t child = adopt_large(place, &left);
    assert_int_equal(truncate(left.ring, SQT_RING_HEADER), 0);
    assert_int_equal(status_of(child), 2);
    assert_int_equal(place_count(place->directory, ".new"), 0);
    assert_int_equal(access(left.ring, F_OK), 0);
    assert_int_equal(access(left.pointer, F_OK), 0);
}

static void
a_header_that_changes_while_it_is_used(void **state)
{
    struct place *const place = *state;
    struct left left;
    struct sqt_ring_header header;
    leave_ring(place, &left, NULL);
    const pid_t child = adopt_large(place, &left);
    read_header(&left, &header);
    header.capacity = UINT64_C(1) << 40;
    header.writer.head = UINT64_C(1) << 39;
    header.writer.text_used = UINT64_C(1) << 30;
    header.records_offset = UINT64_C(1) << 41;
    write_header(&left, &header);
    assert_int_equal(status_of(child), 0);
    struct decoded d;
    decode(&d, place->directory, left.base);
    assert_int_equal(d.count, LARGE);
    decode_free(&d);
}

/* ---- segments ---- */

/* A segment's name that is taken by somebody else: the file keeps its bytes and its name. */
static void
a_segment_of_somebody_else(void **state)
{
    struct place *const place = *state;
    struct left left;
    struct stat st;
    char segment[400];
    need_root();
    leave_ring(place, &left, NULL);
    for (unsigned sequence = 0; sequence < 2; ++sequence) {
        snprintf(segment, sizeof(segment), "%s/%s.%06u.sqt", place->directory, left.base, sequence);
        const int fd = open(segment, O_CREAT | O_EXCL | O_WRONLY, 0666);
        assert_int_equal(write(fd, "mine", 4), 4);
        assert_int_equal(fchown(fd, SOMEBODY, (gid_t)-1), 0);
        close(fd);
    }
    start_and_stop(place);
    assert_non_null(strstr(place_said, "are in a segment now"));
    for (unsigned sequence = 0; sequence < 2; ++sequence) {
        snprintf(segment, sizeof(segment), "%s/%s.%06u.sqt", place->directory, left.base, sequence);
        assert_int_equal(stat(segment, &st), 0);
        assert_int_equal(st.st_uid, SOMEBODY);
        assert_int_equal(st.st_size, 4);
        assert_int_equal(unlink(segment), 0);
    }
    struct decoded d;
    decode(&d, place->directory, left.base);
    assert_int_equal(d.count, RECORDS);
    decode_free(&d);
}

/* ---- too many ---- */

/* Processes that die before they can adopt what their predecessors left. */
static void
rings_do_not_pile_up(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=1MB", NULL};
    for (unsigned i = 0; i < 3; ++i)
        leave_ring(place, NULL, words);
    assert_int_equal(place_count(place->ringdir, ".ring"), 3);
    for (unsigned i = 0; i < 7; ++i) {
        int result;
        const pid_t child = fork();
        if (child == 0) {
            const int started = place_start(place, words) == 0;
            const int told = strstr(place_said, "3 rings that earlier processes of kid 3 left wait in ") &&
                             strstr(place_said, "'squid -k reconfigure' starts tracing; tracing is off");
            _exit(started ? 2 : told ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &result, 0), child);
        if (result && (i == 0 || WEXITSTATUS(result) != 2)) /* the first adopts perhaps, so that another can start */
            fail_msg("child %u ended with %x", i, (unsigned)result);
        assert_true(place_count(place->ringdir, ".ring") <= 3);
    }

    /* Nothing is lost by that, and there is an end to it. */
    (void)place_start(place, words);
    for (unsigned i = 0; i < 5000 && place_count(place->ringdir, ".ring") > 0; ++i)
        usleep(1000);
    sqt_stop();
    assert_int_equal(place_count(place->ringdir, ""), 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
    assert_int_equal(place_count(place->directory, ".new"), 0);
    check_starts(place);
    DIR *const dir = opendir(place->directory);
    const struct dirent *entry;
    uint64_t records = 0;
    while ((entry = readdir(dir)))
        if (strstr(entry->d_name, ".000000.sqt")) {
            struct decoded d;
            char base[128];
            snprintf(base, sizeof(base), "%.*s", (int)(strlen(entry->d_name) - strlen(".000000.sqt")), entry->d_name);
            decode(&d, place->directory, base);
            for (uint64_t i = 0; i < d.count; ++i)
                records += d.records[i].event == SQT_EV_CLIENT_READ;
            decode_free(&d);
        }
    closedir(dir);
    assert_int_equal(records, 3 * (RECORDS - 1));
}

/* The bound is each kid's own, and what lives does not count. */
static void
others_do_not_use_up_the_bound(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=1MB", NULL};
    pid_t alive[4];
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    for (unsigned i = 0; i < 4; ++i) {
        alive[i] = fork();
        if (alive[i] == 0) {
            if (place_start(place, words) == 0 && write(ready[1], "x", 1) == 1)
                pause();
            _exit(1);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
    }
    check_starts(place);
    for (unsigned i = 0; i < 4; ++i) {
        kill(alive[i], SIGKILL);
        assert_int_equal(waitpid(alive[i], NULL, 0), alive[i]);
    }
    until_unlocked(place);
    struct sqt_config config;
    const struct sqt_process other = {4, SQT_KID_WORKER, "test", "7.7", NULL};
    place_config(place, words, &config);
    assert_int_equal(sqt_start(&config, &other, place_log), 0);
    sqt_stop();
    close(ready[0]);
    close(ready[1]);
}

/* Whatever the number of kids, dead processes hold at most half of the file system of the rings. */
static int
fill_half(const struct place *place)
{
    const char *const words[] = {"ring=1MB", NULL};
    struct sqt_config config;
    unsigned kids = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", place->ringdir, "tmpfs", 0, "size=16m") != 0)
        return 77;
    place_config(place, words, &config);
    for (; kids < 12; ++kids) {
        const struct sqt_process process = {10 + kids, SQT_KID_WORKER, "test", "7.7", NULL};
        int result;
        const pid_t child = fork();
        if (child == 0) {
            place_said[0] = '\0';
            if (sqt_start(&config, &process, place_log) == 0)
                die();
            _exit(strstr(place_said, "and at most 8192 KB may; they are written to segments now") ? 1 : 2);
        }
        if (waitpid(child, &result, 0) != child)
            return 1;
        until_unlocked(place);
        if (result)
            return kids == 8 && WEXITSTATUS(result) == 1 ? 0 : 2; /* rings of a bit more than 1 MB each */
    }
    return 3;
}

static void
rings_of_all_kids_are_bounded(void **state)
{
    struct place *const place = *state;
    int result;
    const pid_t child = fork();
    if (child == 0)
        _exit(fill_half(place));
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
        SKIP_BECAUSE("needs the right to mount a tmpfs");
    assert_int_equal(result, 0);
}

/* A changed ringdir= does not forget what lies in the default one. */
static void
the_default_ring_directory_is_looked_at(void **state)
{
    struct place *const place = *state;
    const char *const words[] = {"ring=1MB", "ringdir=/dev/shm", NULL};
    char pointer[300], text[600];
    leave_ring(place, NULL, words);
    place_only(pointer, sizeof(pointer), place->directory, ".ring");
    const int fd = open(pointer, O_RDONLY);
    const ssize_t size = read(fd, text, sizeof(text) - 1);
    assert_true(size > 0);
    text[size] = '\0';
    close(fd);
    assert_memory_equal(text, "ring=/dev/shm/sqtrace-", strlen("ring=/dev/shm/sqtrace-"));
    *strchr(text, '\n') = '\0';
    start_and_stop(place);
    assert_int_equal(access(text + strlen("ring="), F_OK), -1);
    assert_int_equal(access(pointer, F_OK), -1);
    assert_non_null(strstr(place_said, "100 records that an earlier process left in /dev/shm/sqtrace-"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_directory_that_everybody_can_write),
        PLACE_TEST(a_directory_of_somebody_else),
        PLACE_TEST(a_ring_directory_that_is_not_ours),
        PLACE_TEST(a_key_that_others_can_read_or_write),
        PLACE_TEST(a_key_with_two_names),
        PLACE_TEST(a_key_of_somebody_else),
        PLACE_TEST(a_key_that_is_a_pipe),
        PLACE_TEST(a_pointer_that_is_not_ours),
        PLACE_TEST(a_ring_that_is_not_ours),
        PLACE_TEST(a_ring_in_another_directory),
        PLACE_TEST(a_link_in_the_place_of_a_ring),
        PLACE_TEST(a_ring_that_is_not_understood),
        PLACE_TEST(a_ring_that_got_shorter),
        PLACE_TEST(a_ring_that_is_shortened_while_it_is_read),
        PLACE_TEST(a_header_that_changes_while_it_is_used),
        PLACE_TEST(a_segment_of_somebody_else),
        PLACE_TEST(rings_do_not_pile_up),
        PLACE_TEST(others_do_not_use_up_the_bound),
        PLACE_TEST(rings_of_all_kids_are_bounded),
        PLACE_TEST(the_default_ring_directory_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
