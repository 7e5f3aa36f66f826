/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * scatter.c - see scatter.h.
 */
#include "scatter.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

static uint64_t multiplier;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
scatter_draw(void)
{
    struct timespec now;
    if (getrandom(&multiplier, sizeof(multiplier), GRND_NONBLOCK) != sizeof(multiplier)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        multiplier = UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)now.tv_nsec << 24;
    }
    multiplier |= 1;
}

uint64_t
sqt_scatter(void)
{
    pthread_once(&once, scatter_draw);
    return multiplier;
}
