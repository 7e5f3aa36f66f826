/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * peak.c - see peak.h.
 */
#include "peak.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
sqt_peak_init(struct sqt_peak *p, const struct sqt_job *job, unsigned value_count)
{
    memset(p, 0, sizeof(*p));
    p->value_count = value_count;
    p->base = job->since > 0 ? job->since : 0;
    p->width = job->peak;
    p->best = sqt_zeroed(value_count, sizeof(*p->best));
}

static void
peak_empty(struct sqt_peak *p, struct sqt_distribution *values)
{
    for (unsigned i = 0; values && i < p->value_count; ++i)
        if (values[i].count)
            sqt_distribution_drop(&p->set, &values[i]);
}

/* Compares the window that begins with the oldest slot. */
static void
peak_judge(struct sqt_peak *p)
{
    uint64_t requests = 0;
    for (uint64_t i = p->first; i < p->first + SQT_PEAK_SLOTS; ++i)
        requests += p->slots[i % SQT_PEAK_OPEN].requests;
    if (p->found && requests <= p->best_requests)
        return;
    p->found = 1;
    p->best_first = p->first;
    p->best_requests = requests;
    peak_empty(p, p->best);
    for (uint64_t i = p->first; i < p->first + SQT_PEAK_SLOTS; ++i)
        for (unsigned v = 0; p->slots[i % SQT_PEAK_OPEN].values && v < p->value_count; ++v)
            sqt_distribution_add_all(&p->set, &p->best[v], &p->slots[i % SQT_PEAK_OPEN].values[v]);
}

static void
leave_oldest(struct sqt_peak *p)
{
    struct sqt_peak_slot *const oldest = &p->slots[p->first % SQT_PEAK_OPEN];
    peak_empty(p, oldest->values);
    oldest->requests = 0;
    ++p->first;
}

/* The slot of that time; NULL if it is not open any more. */
static struct sqt_peak_slot *
slot_at(struct sqt_peak *p, int64_t time)
{
    const uint64_t since = time > p->base ? (uint64_t)(time - p->base) : 0;
    const uint64_t slot = (uint64_t)((unsigned __int128)since * SQT_PEAK_SLOTS / (uint64_t)p->width);
    if (slot < p->first)
        return NULL;
    /* Behind a gap that leaves all open slots behind, all windows in between are empty. */
    for (unsigned left = SQT_PEAK_OPEN; slot >= p->first + SQT_PEAK_OPEN; --left) {
        if (!left) {
            p->first = slot - SQT_PEAK_OPEN + 1;
            break;
        }
        peak_judge(p);
        leave_oldest(p);
    }
    if (slot >= p->end)
        p->end = slot + 1;
    return &p->slots[slot % SQT_PEAK_OPEN];
}

void
sqt_peak_request(struct sqt_peak *p, int64_t time)
{
    struct sqt_peak_slot *const slot = slot_at(p, time);
    if (slot)
        ++slot->requests;
}

void
sqt_peak_add(struct sqt_peak *p, int64_t time, unsigned which, int64_t value)
{
    struct sqt_peak_slot *const slot = slot_at(p, time);
    if (!slot) {
        ++p->late;
        return;
    }
    if (!slot->values)
        slot->values = sqt_zeroed(p->value_count, sizeof(*slot->values));
    sqt_distribution_add(&p->set, &slot->values[which], value);
}

void
sqt_peak_finish(struct sqt_peak *p, struct sqt_job *job)
{
    char text[160];
    do
        peak_judge(p);
    while (p->first + SQT_PEAK_SLOTS < p->end && (leave_oldest(p), 1));
    const int64_t end = job->until < job->length ? job->until : job->length;
    const double from = (double)p->base + (double)p->best_first * (double)p->width / SQT_PEAK_SLOTS;
    if (end - p->base < p->width)
        snprintf(text, sizeof(text), "%llu requests; the whole trace, because it is shorter than %.9g s",
                 (unsigned long long)p->best_requests, (double)p->width / 1e9);
    else
        snprintf(text, sizeof(text), "%llu requests between %.3f s and %.3f s", (unsigned long long)p->best_requests,
                 from / 1e9, (from + (double)p->width) / 1e9);
    job->note(job->context, "peak", text);
    if (p->late) {
        snprintf(text, sizeof(text), "%llu that lasted longer than the window are left out",
                 (unsigned long long)p->late);
        job->note(job->context, "late", text);
    }
}

void
sqt_peak_free(struct sqt_peak *p)
{
    for (unsigned i = 0; i < SQT_PEAK_OPEN; ++i) {
        peak_empty(p, p->slots[i].values);
        sqt_freed(p->slots[i].values);
    }
    peak_empty(p, p->best);
    sqt_freed(p->best);
}
