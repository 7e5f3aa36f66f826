/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls-direct.h - system calls without the C library.
 *
 * With the flusher's thread there, the C library switches cancellation on and off around each call that may wait, which
 * takes longer than all the rest of it; Squid cancels no thread.  So while anything is traced, the calls that a request
 * makes go straight to the kernel.
 */
#ifndef SQT_CALLS_DIRECT_H
#define SQT_CALLS_DIRECT_H

/* Whether they may: this machine's way is known, and it is the C library that they would go through, not another library
 * that was put in front of it.  Main thread; looks once. */
int sqt_calls_can_be_direct(void);

#if defined(__x86_64__)
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SQT_CALLS_DIRECT_KNOWN 1

/* What the functions of those names in calls-wrap.def do; errno as they leave it.  Any thread. */

static __attribute__((noinline, cold)) long
kernel_refused(long result)
{
    errno = (int)-result;
    return -1;
}

static inline long
direct_kernel(long call, long a, long b, long c, long d, long e)
{
    register const long fourth __asm__("r10") = d, fifth __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(call), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return __builtin_expect(result < 0, 0) ? kernel_refused(result) : result; /* which is else never below 0 */
}

static inline int
kernel_close(int fd)
{
    return (int)direct_kernel(SYS_close, fd, 0, 0, 0, 0);
}

static inline int
kernel_epoll_wait(int epoll, struct epoll_event *events, int room, int ms)
{
    return (int)direct_kernel(SYS_epoll_wait, epoll, (long)events, room, ms, 0);
}

static inline ssize_t
kernel_msgrcv(int queue, void *message, size_t size, long type, int flags)
{
    return direct_kernel(SYS_msgrcv, queue, (long)message, (long)size, type, flags);
}

static inline int
kernel_msgsnd(int queue, const void *message, size_t size, int flags)
{
    return (int)direct_kernel(SYS_msgsnd, queue, (long)message, (long)size, flags, 0);
}

static inline int
kernel_open(const char *path, int flags, mode_t mode)
{
    return (int)direct_kernel(SYS_open, (long)path, flags, (long)mode, 0, 0);
}

static inline ssize_t
kernel_pread(int fd, void *buffer, size_t size, off_t offset)
{
    return direct_kernel(SYS_pread64, fd, (long)buffer, (long)size, offset, 0);
}

static inline ssize_t
kernel_pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
    return direct_kernel(SYS_pwrite64, fd, (long)buffer, (long)size, offset, 0);
}

static inline ssize_t
kernel_read(int fd, void *buffer, size_t size)
{
    return direct_kernel(SYS_read, fd, (long)buffer, (long)size, 0, 0);
}

static inline ssize_t
kernel_recvmsg(int fd, struct msghdr *message, int flags)
{
    return direct_kernel(SYS_recvmsg, fd, (long)message, flags, 0, 0);
}

static inline ssize_t
kernel_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return direct_kernel(SYS_sendmsg, fd, (long)message, flags, 0, 0);
}

static inline ssize_t
kernel_write(int fd, const void *buffer, size_t size)
{
    return direct_kernel(SYS_write, fd, (long)buffer, (long)size, 0, 0);
}
#endif

#endif
