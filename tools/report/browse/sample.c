/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sample->c - some of many requests: those with the smallest hashes, so that each has the same chance.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "browse-internal.h"

int
browse_sample_wants(const struct browse_sample *sample, uint64_t hash)
{
    return sample->count < sample->most || hash < sample->heap[0].hash;
}

static void
sample_swap(struct browse_sample *sample, unsigned a, unsigned b)
{
    const struct browse_chosen chosen = sample->heap[a];
    sample->heap[a] = sample->heap[b];
    sample->heap[b] = chosen;
}

static void
sample_up(struct browse_sample *sample, unsigned at)
{
    for (; at && sample->heap[(at - 1) / 2].hash < sample->heap[at].hash; at = (at - 1) / 2)
        sample_swap(sample, at, (at - 1) / 2);
}

static void
sample_down(struct browse_sample *sample)
{
    unsigned at = 0;
    for (;;) {
        unsigned largest = at;
        for (unsigned child = 2 * at + 1; child <= 2 * at + 2 && child < sample->count; ++child)
            if (sample->heap[child].hash > sample->heap[largest].hash)
                largest = child;
        if (largest == at)
            return;
        sample_swap(sample, at, largest);
        at = largest;
    }
}

void
browse_sample_take(struct browse_sample *sample, struct browse_request *request)
{
    if (!sample->heap)
        sample->heap = sqt_zeroed(sample->most, sizeof(*sample->heap));
    if (!browse_sample_wants(sample, request->hash)) {
        free(request);
        return;
    }
    sample->bytes += request->size;
    if (sample->count < sample->most) {
        sample->heap[sample->count] = (struct browse_chosen){request->hash, request};
        sample_up(sample, sample->count++);
        return;
    }
    sample->bytes -= sample->heap[0].request->size;
    free(sample->heap[0].request);
    sample->heap[0] = (struct browse_chosen){request->hash, request};
    sample_down(sample);
}

void
browse_sample_free(struct browse_sample *sample)
{
    for (unsigned i = 0; i < sample->count; ++i)
        free(sample->heap[i].request);
    free(sample->heap);
}
