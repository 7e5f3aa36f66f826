/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * apart.c - see apart-internal.h.
 *
 * The helper is made by clone() without CLONE_THREAD, so that neither the kernel nor the C library takes it for a thread
 * of Squid, and without a signal at its end, so that Squid's wait() does not see it.  What the thread does while the
 * helper works, and the helper while it waits, goes straight to the kernel: errno belongs to the other.
 */
#define _GNU_SOURCE
#include "apart-internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"

static __thread int inside; /* work is under way, so it is work that asks */
static __thread uint64_t worked_ns, worked_from;

static void
work_begins(void)
{
    inside = 1;
    worked_from = sqt_monotonic_ns();
}

/* In the helper: if Squid is stopped, the helper goes on, and knows when its work was done. */
static void
work_is_done(void)
{
    worked_ns += sqt_monotonic_ns() - worked_from;
}

/* Without a helper, or within work, whose time is counted already. */
static long
apart_here(sqt_apart_work *work, void *context)
{
    if (inside)
        return work(context);
    work_begins();
    const long result = work(context);
    work_is_done();
    inside = 0;
    return result;
}

uint64_t
sqt_apart_worked_ns(void)
{
    return worked_ns;
}

/* ThreadSanitizer takes the helper for a thread that it does not know. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)

/* Seconds until it is seen that the other has died without a signal. */
#define HELPER_WAITS 5
#define THREAD_WAITS 1

#define STACK_SIZE (512u << 10) /* bytes; of it only what is used takes memory */

enum turn { TURN_THREAD, TURN_HELPER };

struct apart {
    uint32_t turn; /* enum turn; a futex */
    sqt_apart_work *work;
    void *context;
    long result;
    pid_t pid, owner; /* the helper's, and that of the process that began it */
    uid_t user;
    void *stack;
};

static __thread struct apart *mine;

static long
apart_kernel(long call, long a, long b, long c, long d)
{
    register const long fourth __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(call), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

/* Waits until it is that one's turn, or about so many seconds. */
static int
wait_a_while(struct apart *a, enum turn turn, int seconds)
{
    const struct timespec most = {seconds, 0};
    if (__atomic_load_n(&a->turn, __ATOMIC_ACQUIRE) != turn)
        apart_kernel(SYS_futex, (long)&a->turn, FUTEX_WAIT_PRIVATE, !turn, (long)&most);
    return __atomic_load_n(&a->turn, __ATOMIC_ACQUIRE) == turn;
}

static void
give_turn(struct apart *a, enum turn turn)
{
    __atomic_store_n(&a->turn, turn, __ATOMIC_RELEASE);
    apart_kernel(SYS_futex, (long)&a->turn, FUTEX_WAKE_PRIVATE, 1, 0);
}

static int
help(void *context)
{
    struct apart *const a = context;
    /* Of this process alone.  The real and the saved user stay those of Squid: with Squid's user as the only one, any other
     * process of that user could trace this one, and through the shared memory get at a Squid that can become root. */
    apart_kernel(SYS_setresuid, -1, a->user, -1, 0);
    apart_kernel(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    apart_kernel(SYS_prctl, PR_SET_NAME, (long)"sqtrace-disk", 0, 0);
    for (;;) {
        /* The signal may not come: if the thread died before it was asked for, or has another user now. */
        while (!wait_a_while(a, TURN_HELPER, HELPER_WAITS))
            if (apart_kernel(SYS_getppid, 0, 0, 0, 0) != a->owner)
                apart_kernel(SYS_exit_group, 0, 0, 0, 0);
        if (!a->work)
            return 0; /* ends the process */
        a->result = a->work(a->context);
        work_is_done();
        give_turn(a, TURN_THREAD);
    }
}

/* Valgrind gives up where it sees such a clone(). */
static int
valgrind_runs(void)
{
    const char *const preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload");
}

void
sqt_apart_begin(void)
{
    struct apart *const a = valgrind_runs() ? NULL : calloc(1, sizeof(*a));
    if (!a)
        return;
    a->owner = getpid();
    a->user = geteuid();
    a->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (a->stack != MAP_FAILED) {
        a->pid = clone(help, (char *)a->stack + STACK_SIZE, CLONE_VM | CLONE_FS | CLONE_FILES, a);
        if (a->pid > 0) {
            mine = a;
            return;
        }
        munmap(a->stack, STACK_SIZE);
    }
    free(a);
}

/* Lets the helper do its work.  Returns 0, or -1 if it died. */
static int
take_turns(struct apart *a)
{
    give_turn(a, TURN_HELPER);
    while (!wait_a_while(a, TURN_THREAD, THREAD_WAITS))
        if (apart_kernel(SYS_wait4, a->pid, 0, WNOHANG | __WALL, 0) != 0)
            return -1;
    return 0;
}

long
sqt_apart_call(sqt_apart_work *work, void *context)
{
    struct apart *const a = mine;
    if (inside || !a)
        return apart_here(work, context);
    a->work = work;
    a->context = context;
    work_begins();
    const int failed = take_turns(a);
    inside = 0;
    if (!failed)
        return a->result;
    work_is_done();
    /* It has ended, and take_turns() has fetched its status. */
    mine = NULL;
    munmap(a->stack, STACK_SIZE);
    free(a);
    errno = ECHILD;
    return -1;
}

void
sqt_apart_end(void)
{
    struct apart *const a = mine;
    if (!a)
        return;
    mine = NULL;
    a->work = NULL;
    give_turn(a, TURN_HELPER);
    while (apart_kernel(SYS_wait4, a->pid, 0, __WALL, 0) == -EINTR)
        ;
    munmap(a->stack, STACK_SIZE);
    free(a);
}

int
sqt_apart_pid(void)
{
    return mine ? mine->pid : 0;
}

#else

void
sqt_apart_begin(void)
{
}

long
sqt_apart_call(sqt_apart_work *work, void *context)
{
    return apart_here(work, context);
}

void
sqt_apart_end(void)
{
}

int
sqt_apart_pid(void)
{
    return 0;
}

#endif
