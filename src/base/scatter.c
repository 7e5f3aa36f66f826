/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * scatter.c - see scatter.h.
 */
#include "scatter.h"

#include <pthread.h>
#include <string.h>
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

static uint64_t
scatter_word(uint64_t word, uint64_t scatter)
{
    const unsigned __int128 product = (unsigned __int128)word * scatter;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t
sqt_scattered_text(const char *text, size_t size)
{
    const uint64_t scatter = sqt_scatter();
    uint64_t hash = scatter_word(~scatter ^ size, scatter), word;
    for (; size >= sizeof(word); text += sizeof(word), size -= sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        hash = scatter_word(hash ^ word, scatter);
    }
    word = 0;
    memcpy(&word, text, size);
    return scatter_word(scatter_word(hash ^ word, scatter), scatter);
}
