/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lines.c - see lines.h.
 */
#include "lines.h"

#include <stdlib.h>

#include "base/memory.h"
#include "timelines.h"

struct lines_reader {
    struct sqt_job *job;
    const struct sqt_family *family;
};

struct sqt_lines {
    struct sqt_job job; /* its state is the whole */
    struct sqt_timelines lines;
    struct lines_reader *readers;
    size_t count;
};

struct sqt_lines *
sqt_lines_new(int64_t bytes)
{
    struct sqt_lines *const l = sqt_zeroed(1, sizeof(*l));
    l->job.state = l;
    l->lines.left = bytes;
    return l;
}

void
sqt_lines_show(struct sqt_lines *l, struct sqt_job *job, const struct sqt_family *family)
{
    l->readers = sqt_resized(l->readers, (l->count + 1) * sizeof(*l->readers));
    l->readers[l->count++] = (struct lines_reader){job, family};
    job->lines = &l->lines;
}

struct sqt_job *
sqt_lines_job(struct sqt_lines *l)
{
    return &l->job;
}

void
sqt_lines_free(struct sqt_lines *l)
{
    if (!l)
        return;
    sqt_timelines_free(&l->lines);
    free(l->readers);
    free(l);
}

/* ---- what the model says ---- */

static struct sqt_lines *
lines_of(const void *job)
{
    return ((const struct sqt_job *)job)->state;
}

static void
lines_charge(void *job, const struct sqt_charge *charge)
{
    sqt_timelines_charge(&lines_of(job)->lines, charge);
}

static void
lines_recharge(void *job, const struct sqt_charge *charge)
{
    sqt_timelines_recharge(&lines_of(job)->lines, charge);
}

static void
lines_io(void *job, const struct sqt_io *io)
{
    sqt_timelines_io(&lines_of(job)->lines, io);
}

static void
lines_request(void *job, const struct sqt_xact *x)
{
    struct sqt_lines *const l = lines_of(job);
    struct sqt_timeline *const line = sqt_timelines_take(&l->lines, x);
    struct sqt_request_fact own;
    const struct sqt_request_fact *const fact = sqt_job_fact(job, &own, x);
    for (size_t i = 0; i < l->count; ++i)
        if (!l->readers[i].job->done)
            l->readers[i].family->line(l->readers[i].job, x, fact, line);
    sqt_timelines_put(&l->lines, line);
}

static void
lines_unlogged(void *job, const struct sqt_xact *x)
{
    struct sqt_lines *const l = lines_of(job);
    sqt_timelines_put(&l->lines, sqt_timelines_take(&l->lines, x));
}

const struct sqt_family sqt_lines_family = {
    .consumer = {.charge = lines_charge,
                 .recharge = lines_recharge,
                 .request = lines_request,
                 .unlogged = lines_unlogged,
                 .io = lines_io},
};
