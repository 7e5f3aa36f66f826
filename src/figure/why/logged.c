/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * logged.c - where writing cache.log holds the event loop: how many lines.
 *
 * It adds to what others told.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/table/samples.h"

#define KIDS 256

struct logged {
    struct {
        uint64_t first, last;
        int64_t since, until;
        int begun;
    } kids[KIDS];
};

static void
logged_sample(void *state, const struct sqt_sample_row *sample)
{
    struct logged *const l = state;
    const uint64_t kid = sample->origin->identity.kid;
    enum sqt_sample_value what;
    char source[SQT_SOURCE_NAME];
    sqt_sample_split(sample, source, &what);
    if (what != SQT_SAMPLE_SQUID_cache_log_lines || kid >= KIDS)
        return;
    if (!l->kids[kid].begun || sample->value < l->kids[kid].last) { /* a new process counts anew */
        l->kids[kid].begun = 1;
        l->kids[kid].first = sample->value;
        l->kids[kid].since = sample->at;
    }
    l->kids[kid].last = sample->value;
    l->kids[kid].until = sample->at;
}

/* Lines a second, of all kids. */
static double
logged_rate(const struct logged *l)
{
    double rate = 0;
    for (unsigned i = 0; i < KIDS; ++i)
        if (l->kids[i].until > l->kids[i].since)
            rate += (double)(l->kids[i].last - l->kids[i].first) * 1e9 / (double)(l->kids[i].until - l->kids[i].since);
    return rate;
}

static void
logged_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const double rate = logged_rate(state);
    (void)totals;
    for (unsigned i = 0; rate >= 1 && i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        const size_t used = strlen(told->sentence);
        if (strstr(told->culprit, "cache.log"))
            snprintf(told->sentence + used, sizeof(told->sentence) - used, " Squid writes %.0f lines a second to it.",
                     rate);
    }
}

const struct sqt_look sqt_look_logged = {.size = sizeof(struct logged), .sample = logged_sample, .tell = logged_tell};
