/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * idlethread.c - for LD_PRELOAD: a second thread that does nothing.  For benchmarks: what a thread costs a process by
 * being there.  The C library and the kernel then lock what one thread has for itself.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *
idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static __attribute__((constructor)) void
start(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, idle, NULL) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
