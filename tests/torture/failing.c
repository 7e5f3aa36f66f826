/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failing.c - a library to preload: allocation number N of a run fails.
 *
 * SQT_FAILING names a file of one struct failing.  All processes of a run map it, so N counts the allocations of all of
 * them: malloc and its kin, also those within the C library, zlib or zstd; mappings, and new threads and processes.
 * Programs that the run executes are left alone.  The library stands before the C library or before ASan's functions, so
 * that it serves plain builds and those with sanitizers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failing.h"

static struct failing *failing; /* NULL: nothing is counted yet */
static __thread int failing_paused;

/* The function that would be called without this library. */
#define NEXT(name) \
    static __typeof__(&(name)) next; \
    do \
        if (!next) \
            next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
    while (0)

/* To find out which one failed: the numbers of its callers, on the standard error. */
static void
failing_show(void)
{
    void *callers[24];
    failing_paused = 1;
    backtrace_symbols_fd(callers, backtrace(callers, 24), 2);
    failing_paused = 0;
}

/* Whether the allocation that is asked for fails. */
static int
failing_now(void)
{
    if (!failing || failing_paused || !failing->armed)
        return 0;
    const uint64_t number = __atomic_add_fetch(&failing->count, 1, __ATOMIC_RELAXED);
    if (!failing->at || number < failing->at || (number > failing->at && !failing->lasting))
        return 0;
    if (failing->show && number == failing->at)
        failing_show();
    __atomic_add_fetch(&failing->failed, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return 1;
}

__attribute__((constructor)) static void
failing_begin(void)
{
    const char *const path = getenv("SQT_FAILING");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    unsetenv("LD_PRELOAD");
    if (fd < 0)
        return;
    void *const map =
        (void *)syscall(SYS_mmap, NULL, sizeof(struct failing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        failing = map;
}

void
failing_arm(int armed)
{
    if (failing)
        failing->armed = (uint64_t)armed;
}

void *
malloc(size_t size)
{
    NEXT(malloc);
    return failing_now() ? NULL : next(size);
}

void *
calloc(size_t count, size_t size)
{
    NEXT(calloc);
    return failing_now() ? NULL : next(count, size);
}

void *
realloc(void *memory, size_t size)
{
    NEXT(realloc);
    return size && failing_now() ? NULL : next(memory, size);
}

void *
reallocarray(void *memory, size_t count, size_t size)
{
    NEXT(reallocarray);
    return failing_now() ? NULL : next(memory, count, size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    NEXT(aligned_alloc);
    return failing_now() ? NULL : next(alignment, size);
}

int
posix_memalign(void **memory, size_t alignment, size_t size)
{
    NEXT(posix_memalign);
    return failing_now() ? ENOMEM : next(memory, alignment, size);
}

void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return failing_now() ? MAP_FAILED : next(at, size, protection, flags, fd, offset);
}

void *
mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    NEXT(mmap64);
    return failing_now() ? MAP_FAILED : next(at, size, protection, flags, fd, offset);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *context)
{
    NEXT(pthread_create);
    return failing_now() ? EAGAIN : next(thread, attributes, start, context);
}

/* A sanitizer asks for it in each new thread, and ends the process if it fails. */
int
pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    NEXT(pthread_getattr_np);
    ++failing_paused;
    const int failure = next(thread, attributes);
    --failing_paused;
    return failure;
}

pid_t
fork(void)
{
    NEXT(fork);
    return failing_now() ? -1 : next();
}

int
clone(int (*function)(void *), void *stack, int flags, void *context, ...)
{
    NEXT(clone);
    return failing_now() ? -1 : next(function, stack, flags, context);
}
