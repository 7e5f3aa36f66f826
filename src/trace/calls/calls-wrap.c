/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls-wrap.c - what Squid calls in place of the C library's functions, if it is linked with --wrap for them.
 *
 * A wrapper jumps to where its calls go now: to the C library's function, straight to the kernel, or to what times one
 * of these.  sqtrace-tables(7) says what no wrapper sees.
 */
#define _GNU_SOURCE
#include "calls-direct.h"
#include "calls-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int __wrap_fstat(int fd, struct stat *st);

static enum sqt_fd
what_is(int fd)
{
    enum sqt_fd what = sqt_fd_get(fd);
    if (what == SQT_FD_UNKNOWN) {
        const int saved = errno;
        struct stat st;
        /* A system call that Squid would not have made is accounted for like the others. */
        const int failed = __wrap_fstat(fd, &st);
        errno = saved;
        if (failed)
            return SQT_FD_OTHER;
        what = S_ISREG(st.st_mode) ? SQT_FD_FILE : S_ISFIFO(st.st_mode) ? SQT_FD_PIPE : SQT_FD_OTHER;
        sqt_fd_set(fd, what);
    }
    return what;
}

static inline enum sqt_call
read_class(int fd)
{
    const enum sqt_fd what = what_is(fd);
    return what == SQT_FD_FILE ? SQT_CALL_READ_DISK : what == SQT_FD_PIPE ? SQT_CALL_READ_PIPE : SQT_CALL_READ;
}

static inline enum sqt_call
write_class(int fd)
{
    const enum sqt_fd what = what_is(fd);
    return what == SQT_FD_FILE ? SQT_CALL_WRITE_DISK : what == SQT_FD_PIPE ? SQT_CALL_WRITE_PIPE : SQT_CALL_WRITE;
}

/* A new descriptor of something that was there before. */
static inline enum sqt_call
is_unknown(int fd, enum sqt_call call)
{
    sqt_fd_set(fd, SQT_FD_UNKNOWN);
    return call;
}

/* A new descriptor that is no file and no pipe. */
static inline enum sqt_call
is_other(int fd, enum sqt_call call)
{
    if (fd >= 0)
        sqt_fd_set(fd, SQT_FD_OTHER);
    return call;
}

/* Two new descriptors of a kind, unless there are none. */
static inline enum sqt_call
are_two(int failed, const int fds[2], enum sqt_fd what, enum sqt_call call)
{
    if (!failed) {
        sqt_fd_set(fds[0], what);
        sqt_fd_set(fds[1], what);
    }
    return call;
}

/* A new descriptor of a path.  Devices and the like are looked at when they are first read or written. */
static inline enum sqt_call
is_opened(int fd, const char *path, int flags)
{
    if (fd >= 0)
        sqt_fd_set(fd,
                   strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ? SQT_FD_UNKNOWN : SQT_FD_FILE);
    return (flags & O_ACCMODE) == O_RDONLY ? SQT_CALL_OPEN_READ : SQT_CALL_OPEN_WRITE;
}

/* ---- the ways of a call ---- */

/* What a wrapper calls: one pointer for each, so that a wrapper takes no more than the entry of the procedure linkage
 * table that it stands for, an indirect jump, whichever way it leads. */
#define SQT_WRAPPER(type, name, parameters, arguments) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    static type(*way_##name) parameters = __real_##name; \
    type __wrap_##name parameters \
    { \
        return __atomic_load_n(&way_##name, __ATOMIC_ACQUIRE) arguments; \
    }

/* Whether what is timed goes to the kernel without the C library. */
static int direct;

#ifdef SQT_CALLS_DIRECT_KNOWN
#define SQT_DIRECT(name) kernel_##name
#define SQT_CALLEE(name, arguments) \
    (__atomic_load_n(&direct, __ATOMIC_RELAXED) ? kernel_##name arguments : __real_##name arguments)
#else
#define SQT_DIRECT(name) __real_##name
#define SQT_CALLEE(name, arguments) __real_##name arguments
#endif

/* A call that is timed.  errno is what the call left: what comes after it keeps it. */
#define SQT_TIMED(type, name, parameters, call, class) \
    static type timed_##name parameters \
    { \
        const uint64_t begin = sqt_call_clock(); \
        const type result = call; \
        const uint64_t end = sqt_call_clock(); \
        if (begin) \
            sqt_call_took(class, begin, end); \
        return result; \
    }

#define SQT_WRAP(type, name, parameters, arguments, class) \
    SQT_WRAPPER(type, name, parameters, arguments) \
    SQT_TIMED(type, name, parameters, __real_##name arguments, class)
#define SQT_WRAP_DIRECT(type, name, parameters, arguments, class) \
    SQT_WRAPPER(type, name, parameters, arguments) \
    SQT_TIMED(type, name, parameters, SQT_CALLEE(name, arguments), class)
#include "calls-wrap.def"

/* An argument that may be left out stands where it would stand if it might not: one that is not there is passed on as
 * the nothing that it is, without the 30 instructions that looking for it takes.  fcntl's is a number or a pointer, as
 * the kernel takes it. */
SQT_WRAPPER(int, close, (int fd), (fd))
SQT_WRAPPER(int, fcntl, (int fd, int what, void *argument), (fd, what, argument))
SQT_WRAPPER(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
SQT_WRAPPER(int, openat, (int fd, const char *path, int flags, mode_t mode), (fd, path, flags, mode))
SQT_WRAPPER(int, pipe, (int fds[2]), (fds))
SQT_WRAPPER(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))

SQT_TIMED(int, fcntl, (int fd, int what, void *argument), __real_fcntl(fd, what, argument), SQT_CALL_FCNTL)
SQT_TIMED(int, open, (const char *path, int flags, mode_t mode), SQT_CALLEE(open, (path, flags, mode)),
          is_opened(result, path, flags))
SQT_TIMED(int, openat, (int fd, const char *path, int flags, mode_t mode), __real_openat(fd, path, flags, mode),
          is_opened(result, path, flags))
SQT_TIMED(int, pipe, (int fds[2]), __real_pipe(fds), are_two(result, fds, SQT_FD_PIPE, SQT_CALL_PIPE))
SQT_TIMED(int, socketpair, (int domain, int type, int protocol, int fds[2]),
          __real_socketpair(domain, type, protocol, fds), are_two(result, fds, SQT_FD_OTHER, SQT_CALL_SOCKET))

static int
timed_close(int fd)
{
    const uint64_t begin = sqt_call_clock();
    /* Before the call: afterwards the descriptor may be another thread's new one. */
    sqt_fd_set(fd, SQT_FD_UNKNOWN);
    const int result = SQT_CALLEE(close, (fd));
    const uint64_t end = sqt_call_clock();
    if (begin)
        sqt_call_took(SQT_CALL_CLOSE, begin, end);
    return result;
}

void
sqt_calls_go(uint32_t way)
{
    const int timed = (way & SQT_CALLS_TIMED) != 0, straight = (way & SQT_CALLS_DIRECT) != 0;
    __atomic_store_n(&direct, straight, __ATOMIC_RELAXED);
#define SQT_GO(name, untimed) __atomic_store_n(&way_##name, timed ? timed_##name : (untimed), __ATOMIC_RELEASE);
    /* First: what a timed call notes of a descriptor, no other close may leave standing. */
    SQT_GO(close, straight ? SQT_DIRECT(close) : __real_close)
#define SQT_WRAP(type, name, parameters, arguments, class) SQT_GO(name, __real_##name)
#define SQT_WRAP_DIRECT(type, name, parameters, arguments, class) \
    SQT_GO(name, straight ? SQT_DIRECT(name) : __real_##name)
#include "calls-wrap.def"
    SQT_GO(fcntl, __real_fcntl)
    SQT_GO(open, straight ? SQT_DIRECT(open) : __real_open)
    SQT_GO(openat, __real_openat)
    SQT_GO(pipe, __real_pipe)
    SQT_GO(socketpair, __real_socketpair)
}
