/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls-wrap.c - what Squid calls in place of the C library's functions, if it is linked with --wrap for them.
 *
 * While calls are not accounted for, a wrapper is a test or two and a jump.  sqtrace-dump(1) says what no wrapper sees.
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

/* A new descriptor of a path.  Devices and the like are looked at when they are first read or written. */
static inline enum sqt_call
is_opened(int fd, const char *path, int flags)
{
    if (fd >= 0)
        sqt_fd_set(fd, strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ? SQT_FD_UNKNOWN : SQT_FD_FILE);
    return (flags & O_ACCMODE) == O_RDONLY ? SQT_CALL_OPEN_READ : SQT_CALL_OPEN_WRITE;
}

/* Apart from the wrapper, so that that saves no registers for it. */
#define COLD __attribute__((noinline, cold))

/* What is done while calls are timed.  errno is what that left: what comes after it keeps it. */
#define SQT_TIMED(type, name, parameters, call, class) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    static COLD type timed_##name parameters \
    { \
        const uint64_t begin = sqt_call_clock(); \
        const type result = call; \
        const uint64_t end = sqt_call_clock(); \
        if (begin) \
            sqt_call_took(class, begin, end); \
        return result; \
    }

#define SQT_WRAP(type, name, parameters, arguments, class) \
    SQT_TIMED(type, name, parameters, __real_##name arguments, class) \
    type __wrap_##name parameters \
    { \
        return sqt_calls_are_timed() ? timed_##name arguments : __real_##name arguments; \
    }

#ifdef SQT_CALLS_DIRECT_KNOWN
#define SQT_WRAPPED(name, arguments) \
    const uint32_t way = sqt_calls_go(); \
    return !way ? __real_##name arguments : way == SQT_CALLS_DIRECT ? kernel_##name arguments : timed_##name arguments;
/* What a timed one calls. */
#define SQT_CALLEE(name, arguments) \
    (sqt_calls_go() & SQT_CALLS_DIRECT ? kernel_##name arguments : __real_##name arguments)
#define SQT_WRAP_DIRECT(type, name, parameters, arguments, class) \
    SQT_TIMED(type, name, parameters, SQT_CALLEE(name, arguments), class) \
    type __wrap_##name parameters \
    { \
        SQT_WRAPPED(name, arguments) \
    }
#else
#define SQT_WRAPPED(name, arguments) return sqt_calls_are_timed() ? timed_##name arguments : __real_##name arguments;
#define SQT_CALLEE(name, arguments) __real_##name arguments
#define SQT_WRAP_DIRECT SQT_WRAP
#endif
#define SQT_WRAP_SPECIAL(name)
#include "calls-wrap.def"
#undef SQT_WRAP
#undef SQT_WRAP_DIRECT
#undef SQT_WRAP_SPECIAL

int __real_close(int fd);
int __real_fcntl(int fd, int what, ...);
int __real_open(const char *path, int flags, ...);
int __real_openat(int fd, const char *path, int flags, ...);
int __real_pipe(int fds[2]);
int __real_socketpair(int domain, int type, int protocol, int fds[2]);

/* An argument that may be left out stands where it would stand if it might not: one that is not there is passed on as
 * the nothing that it is, without the 30 instructions that looking for it takes. */
int __wrap_close(int fd);
int __wrap_fcntl(int fd, int what, void *argument);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_openat(int fd, const char *path, int flags, mode_t mode);
int __wrap_pipe(int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2]);

static COLD int
timed_close(int fd)
{
    const uint64_t begin = sqt_call_begins();
    /* Before the call: afterwards the descriptor may be another thread's new one. */
    sqt_fd_set(fd, SQT_FD_UNKNOWN);
    const int result = SQT_CALLEE(close, (fd));
    if (begin)
        sqt_call_ends(SQT_CALL_CLOSE, begin);
    return result;
}

int
__wrap_close(int fd)
{
    SQT_WRAPPED(close, (fd))
}

/* argument: as the kernel takes it, a number or a pointer */
static COLD int
timed_fcntl(int fd, int what, void *argument)
{
    const uint64_t begin = sqt_call_begins();
    const int result = __real_fcntl(fd, what, argument);
    if (begin)
        sqt_call_ends(SQT_CALL_FCNTL, begin);
    return result;
}

int
__wrap_fcntl(int fd, int what, void *argument)
{
    return sqt_calls_are_timed() ? timed_fcntl(fd, what, argument) : __real_fcntl(fd, what, argument);
}

static COLD int
timed_open(const char *path, int flags, mode_t mode)
{
    const uint64_t begin = sqt_call_begins();
    const int result = SQT_CALLEE(open, (path, flags, mode));
    if (begin)
        sqt_call_ends(is_opened(result, path, flags), begin);
    return result;
}

int
__wrap_open(const char *path, int flags, mode_t mode)
{
    SQT_WRAPPED(open, (path, flags, mode))
}

static COLD int
timed_openat(int fd, const char *path, int flags, mode_t mode)
{
    const uint64_t begin = sqt_call_begins();
    const int result = __real_openat(fd, path, flags, mode);
    if (begin)
        sqt_call_ends(is_opened(result, path, flags), begin);
    return result;
}

int
__wrap_openat(int fd, const char *path, int flags, mode_t mode)
{
    return sqt_calls_are_timed() ? timed_openat(fd, path, flags, mode) : __real_openat(fd, path, flags, mode);
}

int
__wrap_pipe(int fds[2])
{
    const uint64_t begin = sqt_call_begins();
    const int result = __real_pipe(fds);
    if (begin) {
        sqt_call_ends(SQT_CALL_PIPE, begin);
        if (result == 0) {
            sqt_fd_set(fds[0], SQT_FD_PIPE);
            sqt_fd_set(fds[1], SQT_FD_PIPE);
        }
    }
    return result;
}

int
__wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
    const uint64_t begin = sqt_call_begins();
    const int result = __real_socketpair(domain, type, protocol, fds);
    if (begin) {
        sqt_call_ends(SQT_CALL_SOCKET, begin);
        if (result == 0) {
            sqt_fd_set(fds[0], SQT_FD_OTHER);
            sqt_fd_set(fds[1], SQT_FD_OTHER);
        }
    }
    return result;
}
