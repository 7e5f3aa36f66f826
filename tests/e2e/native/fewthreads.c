/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fewthreads.c - lets only one thread of each kind be made, for LD_PRELOAD: aufs then has one for all its disks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#define KINDS 8

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static void *(*kinds[KINDS])(void *);
    static unsigned count;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    for (unsigned i = 0; i < count; ++i)
        if (kinds[i] == start)
            return EAGAIN;
    if (count < KINDS)
        kinds[count++] = start;
    return next(thread, attributes, start, argument);
}
