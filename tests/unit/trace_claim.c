/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_claim.c - who may adopt a ring: a reader's lock prevents nothing, and of two adopters one waits for the other.
 */
#define _GNU_SOURCE
#include "trace_leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/file/file-internal.h"

#define SOMEBODY 65534 /* a user who may read a trace by its group */
#define RECORDS 5000
#define ROUNDS 12

struct left {
    char ring[300], pointer[300], base[128];
};

/* ---- a process that traces, and readers that wait for its locks ---- */

/* Ends with the test, also with one that failed. */
static void
wait_for_end(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() != 1)
        pause();
    _exit(1);
}

/* Traces, emits, says so and waits for its end. */
static pid_t
fork_owner(struct place *place, struct left *left, const char *const *words)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(place, words) != 0)
            _exit(1);
        for (unsigned i = 1; i < RECORDS; ++i)
            sqt_emit(SQT_EV_CLIENT_READ, i, 2 * i, 3);
        if (write(ready[1], "x", 1) == 1)
            wait_for_end();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    place_only(left->ring, sizeof(left->ring), place->ringdir, ".ring");
    place_only(left->pointer, sizeof(left->pointer), place->directory, ".ring");
    snprintf(left->base, sizeof(left->base), "%s", strrchr(left->pointer, '/') + 1);
    left->base[strlen(left->base) - strlen(".ring")] = '\0';
    return child;
}

/* Waits for a read lock as another user of the file's group, says so, and keeps it.  command: OFD's or POSIX's. */
static pid_t
fork_reader(const char *path, int command, int ready)
{
    const pid_t child = fork();
    if (child)
        return child;
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (geteuid() == 0 && setuid(SOMEBODY) != 0)
        _exit(1);
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || write(ready, "o", 1) != 1 || fcntl(fd, command, &lock) != 0 || write(ready, "l", 1) != 1)
        _exit(1);
    wait_for_end();
    _exit(1);
}

/* Kills the owner of a ring while two readers wait: from then on both have their read lock. */
static void
leave_locked(struct place *place, struct left *left, pid_t readers[2], int command, const char *const *words)
{
    int ready[2];
    char bytes[2];
    const pid_t owner = fork_owner(place, left, words);
    assert_int_equal(chmod(place->directory, 0755), 0);
    assert_int_equal(chmod(place->ringdir, 0755), 0);
    assert_int_equal(pipe(ready), 0);
    readers[0] = fork_reader(left->ring, command, ready[1]);
    readers[1] = fork_reader(left->pointer, command, ready[1]);
    close(ready[1]);
    for (unsigned i = 0; i < 2; ++i) {
        assert_int_equal(read(ready[0], bytes, 1), 1);
        assert_int_equal(bytes[0], 'o');
    }
    kill(owner, SIGKILL);
    assert_int_equal(waitpid(owner, NULL, 0), owner);
    for (unsigned i = 0; i < 2; ++i) {
        assert_int_equal(read(ready[0], bytes, 1), 1);
        assert_int_equal(bytes[0], 'l');
    }
    close(ready[0]);
}

static void
end_readers(const pid_t readers[2])
{
    for (unsigned i = 0; i < 2; ++i) {
        int result;
        kill(readers[i], SIGKILL);
        assert_int_equal(waitpid(readers[i], &result, 0), readers[i]);
        assert_true(WIFSIGNALED(result)); /* it had its lock until now */
    }
}

static void
until_adopted(const struct left *left)
{
    for (unsigned i = 0; i < 10000 && access(left->pointer, F_OK) == 0; ++i)
        usleep(1000);
}

static void
check_adopted(const struct place *place, const struct left *left)
{
    struct decoded d;
    assert_int_equal(access(left->ring, F_OK), -1);
    assert_int_equal(access(left->pointer, F_OK), -1);
    decode(&d, place->directory, left->base);
    assert_int_equal(d.count, RECORDS); /* with START */
    decode_free(&d);
}

/* ---- readers ---- */

static void
adopted_under_locks(struct place *place, int command)
{
    struct left left;
    pid_t readers[2];
    leave_locked(place, &left, readers, command, NULL);
    struct sqt_leftovers l = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    assert_false(sqt_leftover_lives(&l, left.base)); /* so its segments count, and may be deleted */
    close(l.directory);
    assert_int_equal(place_start(place, NULL), 0);
    until_adopted(&left);
    wait_flushed();
    const unsigned segments = place_count(place->directory, ".sqt");
    sqt_rotate(); /* that goes on, too */
    for (unsigned i = 0; i < 10000 && place_count(place->directory, ".sqt") == segments; ++i) {
        sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3);
        usleep(1000);
    }
    assert_true(place_count(place->directory, ".sqt") > segments);
    sqt_stop();
    assert_non_null(strstr(place_said, "are in a segment now"));
    check_adopted(place, &left);
    end_readers(readers);
}

static void
a_ring_that_readers_have_locked(void **state)
{
    adopted_under_locks(*state, F_OFD_SETLKW);
}

static void
a_ring_that_readers_have_locked_as_posix_says(void **state)
{
    adopted_under_locks(*state, F_SETLKW);
}

/* ---- adopters ---- */

static void
of_two_claims_one_waits(void **state)
{
    struct place *const place = *state;
    struct left left;
    pid_t readers[2];
    struct sqt_leftover first, second;
    struct sqt_error error;
    leave_locked(place, &left, readers, F_OFD_SETLKW, NULL);
    struct sqt_leftovers l = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    const char *const name = strrchr(left.pointer, '/') + 1;
    sqt_leftover_find(&l, name, left.base, &first, &error);
    sqt_leftover_find(&l, name, left.base, &second, &error);
    assert_int_equal(sqt_leftover_claim(&l, &first), 0);
    assert_int_equal(sqt_leftover_claim(&l, &second), -1);
    sqt_leftover_close(&first);
    sqt_leftover_close(&second);
    sqt_leftover_find(&l, name, left.base, &second, &error);
    assert_int_equal(sqt_leftover_claim(&l, &second), 0);
    sqt_leftover_close(&second);
    close(l.directory);
    end_readers(readers);
}

/* Versions before this one claim by a write lock on the pointer, which says to them as well that the owner lives. */
static void
a_claim_and_one_of_an_older_version(void **state)
{
    struct place *const place = *state;
    struct left left;
    pid_t readers[2];
    struct sqt_leftover found;
    struct sqt_error error;
    leave_locked(place, &left, readers, F_OFD_SETLKW, NULL);
    end_readers(readers);
    struct sqt_leftovers l = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    const char *const name = strrchr(left.pointer, '/') + 1;
    const int older = open(left.pointer, O_RDWR);
    sqt_leftover_find(&l, name, left.base, &found, &error);
    assert_int_equal(sqt_leftover_claim(&l, &found), 0);
    assert_int_equal(sqt_lock(older), -1);
    sqt_leftover_close(&found);
    assert_int_equal(sqt_lock(older), 0);
    sqt_leftover_find(&l, name, left.base, &found, &error);
    assert_int_equal(sqt_leftover_claim(&l, &found), -1);
    sqt_leftover_close(&found);
    close(older);
    close(l.directory);
}

/* Without the file of claims, or where others may lock it, two adopters do not write one draft, and a reader's lock keeps
 * them from it. */
static void
claims_without_a_file_for_them(void **state)
{
    struct place *const place = *state;
    struct left left;
    pid_t readers[2];
    struct sqt_leftover first, second;
    struct sqt_error error;
    char key[300];
    leave_locked(place, &left, readers, F_OFD_SETLKW, NULL);
    snprintf(key, sizeof(key), "%s/%s", place->directory, SQT_KEY_FILE);
    struct sqt_leftovers l = place_leftovers(place, "test.1.20300101T000000Z.00000000");
    const char *const name = strrchr(left.pointer, '/') + 1;
    sqt_leftover_find(&l, name, left.base, &first, &error);
    for (unsigned i = 0; i < sizeof(l.boot_id); ++i) /* else the ring counts as one of an earlier boot */
        assert_int_equal(sscanf(first.pointer.boot + 2 * i, "%2hhx", &l.boot_id[i]), 1);
    sqt_leftover_close(&first);
    for (unsigned missing = 0; missing < 2; ++missing) {
        assert_int_equal(missing ? unlink(key) : chmod(key, 0644), 0);
        sqt_leftover_find(&l, name, left.base, &first, &error);
        assert_int_equal(sqt_leftover_claim(&l, &first), missing ? 0 : -1);
        sqt_leftover_close(&first);
        if (!missing)
            end_readers(readers);
        sqt_leftover_find(&l, name, left.base, &first, &error);
        sqt_leftover_find(&l, name, left.base, &second, &error);
        assert_int_equal(sqt_leftover_claim(&l, &first), 0);
        assert_int_equal(first.claim_fd, -1);
        assert_int_equal(sqt_leftover_claim(&l, &second), -1);
        assert_int_equal(sqt_leftover_lock(&first, first.ring_fd), 0);
        assert_int_equal(sqt_leftover_lock(&second, second.ring_fd), -1);
        sqt_leftover_close(&first);
        sqt_leftover_close(&second);
    }
    close(l.directory);
}

static pid_t
fork_adopter(struct place *place, const struct left *left)
{
    const pid_t child = fork();
    if (child == 0) {
        if (place_start(place, NULL) != 0)
            _exit(1);
        until_adopted(left);
        sqt_stop();
        _exit(0);
    }
    return child;
}

/* Two adopt at a time, and one of them is killed at some moment. */
static void
nothing_is_lost_or_doubled_by_two_adopters(void **state)
{
    struct place *const place = *state;
    for (unsigned i = 0; i < ROUNDS; ++i) {
        struct left left;
        pid_t readers[2], adopters[2];
        int result;
        leave_locked(place, &left, readers, F_OFD_SETLKW, NULL);
        for (unsigned k = 0; k < 2; ++k)
            adopters[k] = fork_adopter(place, &left);
        usleep((i * 7919) % 60000);
        kill(adopters[i % 2], SIGKILL);
        assert_int_equal(waitpid(adopters[i % 2], &result, 0), adopters[i % 2]);
        assert_int_equal(waitpid(adopters[!(i % 2)], &result, 0), adopters[!(i % 2)]);
        assert_int_equal(result, 0);
        check_adopted(place, &left);
        end_readers(readers);
        assert_int_equal(place_start(place, NULL), 0); /* takes what the adopter that was killed left */
        for (unsigned k = 0; k < 10000 && place_count(place->ringdir, ".ring") > 1; ++k)
            usleep(1000);
        sqt_stop();
        assert_int_equal(place_count(place->ringdir, ""), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_ring_that_readers_have_locked), PLACE_TEST(a_ring_that_readers_have_locked_as_posix_says),
        PLACE_TEST(of_two_claims_one_waits),         PLACE_TEST(a_claim_and_one_of_an_older_version),
        PLACE_TEST(claims_without_a_file_for_them),  PLACE_TEST(nothing_is_lost_or_doubled_by_two_adopters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
