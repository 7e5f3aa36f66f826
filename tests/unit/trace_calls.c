/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_calls.c - the account of system calls.  This program is linked with --wrap, as Squid is.
 */
#include "trace_support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace/calls/calls-internal.h"

static const char *const with_calls[] = {"events=syscall", NULL};

/* Calls of a class that were told of a thread ("main", or "thread" for any that has no other name). */
static uint64_t
calls_of(const struct decoded *d, const char *thread, const char *call)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i + 1 < d->count; ++i) {
        const struct sqt_record *const r = &d->records[i];
        if (r->event != SQT_EV_CALLS || strcmp(definition(d->text, SQT_DEF_CALL, r->aux), call) != 0)
            continue;
        assert_int_equal(r[1].event, SQT_EV_PART_CALLS);
        assert_true(r[1].arg <= r->arg);         /* the longest is one of them */
        assert_true(r[1].arg * r->id >= r->arg); /* and none is longer */
        if (strncmp(definition(d->text, SQT_DEF_THREAD, r[1].aux), thread, strlen(thread)) == 0)
            count += r->id;
    }
    return count;
}

static void
read_and_write(int from, int to, unsigned times)
{
    char c = 'x';
    for (unsigned i = 0; i < times; ++i) {
        assert_int_equal(write(to, &c, 1), 1);
        assert_int_equal(read(from, &c, 1), 1);
    }
}

static void
calls_go_by_what_a_descriptor_is(void **state)
{
    struct place *const place = *state;
    char path[256];
    int pipes[2], sockets[2];
    snprintf(path, sizeof(path), "%s/file", place->ringdir);
    const int before = open("/dev/zero", O_RDWR); /* not accounted for, so not known */
    assert_int_equal(place_start(place, with_calls), 0);
    sqt_calls_tell();
    const int out = open(path, O_WRONLY | O_CREAT, 0600), in = open(path, O_RDONLY);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    read_and_write(in, out, 5);
    read_and_write(pipes[0], pipes[1], 6);
    read_and_write(sockets[0], sockets[1], 7);
    read_and_write(before, before, 8);
    close(pipes[0]);
    close(pipes[1]);
    /* The number is used again, for something else. */
    assert_int_equal(dup2(sockets[0], in), in);
    read_and_write(in, sockets[1], 1);
    errno = 0;
    assert_int_equal(read(12345, path, 1), -1);
    assert_int_equal(errno, EBADF);
    sqt_calls_tell();
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(calls_of(&d, "main", "open-write"), 1);
    assert_int_equal(calls_of(&d, "main", "open-read"), 1);
    assert_int_equal(calls_of(&d, "main", "read-disk"), 5);
    assert_int_equal(calls_of(&d, "main", "write-disk"), 5);
    assert_int_equal(calls_of(&d, "main", "read-pipe"), 6);
    assert_int_equal(calls_of(&d, "main", "write-pipe"), 6);
    assert_int_equal(calls_of(&d, "main", "read"), 7 + 8 + 1 + 1);
    assert_int_equal(calls_of(&d, "main", "write"), 7 + 8 + 1);
    assert_int_equal(calls_of(&d, "main", "close"), 2);
    assert_int_equal(calls_of(&d, "main", "pipe"), 1);
    assert_int_equal(calls_of(&d, "main", "dup"), 1);
    assert_int_equal(calls_of(&d, "main", "socket"), 1);
    decode_free(&d);
    close(sockets[0]);
    close(sockets[1]);
    close(in);
    close(out);
    close(before);
}

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
int __open_2(const char *path, int flags);

/* What a compiler calls in place of read() and the like when it is told to check the room of a buffer. */
static void
checked_calls_are_calls(void **state)
{
    struct place *const place = *state;
    char path[256], room[8];
    int sockets[2];
    snprintf(path, sizeof(path), "%s/file", place->ringdir);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(place_start(place, with_calls), 0);
    sqt_calls_tell();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const int in = __open_2(path, O_RDONLY);
    assert_true(in >= 0);
    assert_int_equal(__read_chk(in, room, 4, sizeof(room)), 0);
    assert_int_equal(write(sockets[0], "ab", 2), 2);
    assert_int_equal(__recv_chk(sockets[1], room, 8, sizeof(room), 0), 2);
    const int other = dup(in);
    sqt_calls_tell();
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(calls_of(&d, "main", "open-read"), 1);
    assert_int_equal(calls_of(&d, "main", "read-disk"), 1);
    assert_int_equal(calls_of(&d, "main", "recvfrom"), 1);
    assert_int_equal(calls_of(&d, "main", "dup"), 1);
    decode_free(&d);
    close(sockets[0]);
    close(sockets[1]);
    close(in);
    close(other);
}

static void *
lseek_often(void *argument)
{
    for (unsigned i = 0; i < 10000; ++i)
        lseek(*(int *)argument, 0, SEEK_SET);
    return NULL;
}

/* Threads never write to the ring; what they did is told by the main thread, each call once. */
static void
calls_of_other_threads(void **state)
{
    struct place *const place = *state;
    pthread_t threads[3];
    char path[256];
    snprintf(path, sizeof(path), "%s/file", place->ringdir);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(place_start(place, with_calls), 0);
    sqt_calls_tell();
    for (unsigned i = 0; i < 3; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, lseek_often, &fd), 0);
    for (unsigned i = 0; i < 200; ++i)
        sqt_calls_tell();
    for (unsigned i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    wait_flushed(); /* so the flusher has written */
    sqt_stop();     /* tells the rest */
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(calls_of(&d, "thread", "lseek"), 30000);
    assert_int_equal(calls_of(&d, "main", "lseek"), 0);
    assert_true(calls_of(&d, "flusher", "write-disk") > 0);
    decode_free(&d);
    close(fd);
}

static void
nothing_is_told_without_the_group_or_from_before_it(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    char path[256];
    snprintf(path, sizeof(path), "%s/file", place->ringdir);
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(place_start(place, NULL), 0);
    for (unsigned i = 0; i < 10; ++i)
        lseek(fd, 0, SEEK_SET);
    place_config(place, with_calls, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    for (unsigned i = 0; i < 3; ++i)
        lseek(fd, 0, SEEK_SET); /* before the account begins */
    sqt_calls_tell();
    for (unsigned i = 0; i < 4; ++i)
        lseek(fd, 0, SEEK_SET);
    sqt_calls_tell();
    place_config(place, NULL, &config);
    sqt_reconfigure(&config, &place_process, place_log);
    for (unsigned i = 0; i < 5; ++i)
        lseek(fd, 0, SEEK_SET);
    sqt_stop();
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(calls_of(&d, "main", "lseek"), 4);
    decode_free(&d);
    close(fd);
}

/* They go another way then. */
static void
calls_do_what_they_do_while_something_is_traced(void **state)
{
    struct place *const place = *state;
    char path[256], text[8] = "";
    struct message {
        long type;
        char text[4];
    } message = {1, "abc"};
    struct epoll_event event = {.events = EPOLLIN};
    snprintf(path, sizeof(path), "%s/file", place->ringdir);
    assert_int_equal(place_start(place, NULL), 0);
    umask(022);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0640);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(write(fd, "hello", 5), 5);
    assert_int_equal(pwrite(fd, "J", 1, 0), 1);
    assert_int_equal(pread(fd, text, sizeof(text), 1), 4);
    assert_string_equal(text, "ello");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(read(fd, text, 1), 1);
    assert_int_equal(text[0], 'J');
    assert_int_equal(close(fd), 0);
    errno = 0;
    assert_int_equal(close(fd), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(open(path, O_RDWR | O_CREAT | O_EXCL, 0600), -1);
    assert_int_equal(errno, EEXIST);

    const int queue = msgget(IPC_PRIVATE, 0600);
    assert_true(queue >= 0);
    assert_int_equal(msgsnd(queue, &message, sizeof(message.text), 0), 0);
    message.text[0] = 0;
    assert_int_equal(msgrcv(queue, &message, sizeof(message.text), 0, IPC_NOWAIT), sizeof(message.text));
    assert_string_equal(message.text, "abc");
    assert_int_equal(msgrcv(queue, &message, sizeof(message.text), 0, IPC_NOWAIT), -1);
    assert_int_equal(errno, ENOMSG);
    assert_int_equal(msgctl(queue, IPC_RMID, NULL), 0);

    int sockets[2];
    struct iovec part = {.iov_base = text, .iov_len = 1};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const int epoll = epoll_create1(0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[1], &event), 0);
    assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
    assert_int_equal(sendmsg(sockets[0], &header, 0), 1);
    assert_int_equal(epoll_wait(epoll, &event, 1, 1000), 1);
    text[0] = 0;
    assert_int_equal(recvmsg(sockets[1], &header, 0), 1);
    assert_int_equal(text[0], 'J');
    assert_int_equal(recvmsg(sockets[1], &header, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    close(epoll);
    close(sockets[0]);
    close(sockets[1]);
    sqt_stop();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(calls_go_by_what_a_descriptor_is),
        PLACE_TEST(checked_calls_are_calls),
        PLACE_TEST(calls_of_other_threads),
        PLACE_TEST(nothing_is_told_without_the_group_or_from_before_it),
        PLACE_TEST(calls_do_what_they_do_while_something_is_traced),
    };
    return cmocka_run_group_tests_name("trace_calls", tests, NULL, NULL);
}
