/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stalls.c - the table of the longest times in which the event loop served nobody else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loops.h"
#include "base/memory.h"

#define STALLS 20
#define CELL(name) row[SQT_CELL(stalls, name)]

/* The worst, the worst first: passes by their work, and waits in which Squid did not run. */
struct stalls {
    unsigned count;
    struct stall {
        const struct sqt_origin *origin;
        int64_t pass; /* when its wait began */
        int64_t begin;
        int64_t work;    /* ns; of a wait, for which Squid did not run */
        int64_t stopped; /* ns of work for which Squid did not run */
        int waited;
        int64_t parts[SQT_LOOP_PARTS]; /* ns; all 0: not known */
        struct sqt_longest longest;
    } worst[STALLS];
};

/* What stands in the place of an activity. */
static const char NOT_RUNNING[] = "not running";

static void
stall_start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct stalls));
}

static int
is_among_the_worst(const struct stalls *s, int64_t work)
{
    return s->count < STALLS || work > s->worst[STALLS - 1].work;
}

static void
stall_insert(struct stalls *s, const struct stall *stall)
{
    unsigned i = s->count < STALLS ? s->count++ : STALLS - 1;
    for (; i && s->worst[i - 1].work < stall->work; --i)
        s->worst[i] = s->worst[i - 1];
    s->worst[i] = *stall;
}

static void
stall_take_out(struct stalls *s, const struct stall *stall)
{
    const size_t i = (size_t)(stall - s->worst);
    memmove(&s->worst[i], &s->worst[i + 1], (--s->count - i) * sizeof(*stall));
}

static void
stall_judge(void *context, const struct sqt_loop_row *p)
{
    struct sqt_job *const job = context;
    struct stalls *const s = job->state;
    struct stall stall = {.origin = p->origin, .pass = p->begin, .begin = p->work, .work = p->end - p->work};
    if (p->unknown || !is_among_the_worst(s, stall.work))
        return;
    memcpy(stall.parts, p->parts, sizeof(stall.parts));
    union sqt_cell row[SQT_CELLS(loops)];
    sqt_loop_cells(row, p, &stall.longest);
    if (sqt_job_wants(job, p->begin, row))
        stall_insert(s, &stall);
}

/* The stall of that pass's work. */
static struct stall *
find_work(struct stalls *s, const struct sqt_loop_row *p)
{
    for (unsigned i = 0; i < s->count; ++i)
        if (!s->worst[i].waited && s->worst[i].pass == p->begin && s->worst[i].origin == p->origin)
            return &s->worst[i];
    return NULL;
}

/* The stall that was told of the same stretch of a wait before. */
static struct stall *
find_wait(struct stalls *s, const struct sqt_stop_row *stop)
{
    for (unsigned i = 0; i < s->count; ++i) {
        struct stall *const w = &s->worst[i];
        if (w->waited && w->origin == stop->pass->origin && w->begin < stop->end && stop->begin < w->begin + w->work)
            return w;
    }
    return NULL;
}

static void
judge_wait(struct sqt_job *job, const struct sqt_stop_row *stop)
{
    struct stalls *const s = job->state;
    struct stall stall = {.origin = stop->pass->origin,
                          .pass = stop->pass->begin,
                          .begin = stop->begin,
                          .work = stop->ns,
                          .stopped = stop->ns,
                          .waited = 1};
    struct stall *const before = find_wait(s, stop);
    if (before && before->work >= stall.work)
        return;
    if (before)
        stall_take_out(s, before);
    if (!is_among_the_worst(s, stall.work))
        return;
    union sqt_cell row[SQT_CELLS(loops)];
    sqt_loop_cells(row, stop->pass, &stall.longest);
    snprintf(stall.longest.name, sizeof(stall.longest.name), "%s", NOT_RUNNING);
    stall.longest.ns = stop->ns;
    row[SQT_CELL(loops, longest_activity)].text = stall.longest.name;
    row[SQT_CELL(loops, longest_ns)].number = stop->ns;
    if (sqt_job_wants(job, stop->pass->begin, row))
        stall_insert(s, &stall);
}

static void
judge_stop(void *context, const struct sqt_stop_row *stop)
{
    struct sqt_job *const job = context;
    struct stall *const work = stop->waited ? NULL : find_work(job->state, stop->pass);
    if (stop->waited)
        judge_wait(job, stop);
    else if (work) /* a damaged trace may tell the same again and again */
        work->stopped = stop->ns < work->work - work->stopped ? work->stopped + stop->ns : work->work;
}

static int
mostly_stopped(const struct stall *stall)
{
    return stall->stopped && stall->stopped >= stall->work / 2;
}

/* "214 ms", "1.22 s" */
static const char *
stall_duration(char text[32], int64_t ns)
{
    const double ms = (double)ns / 1e6;
    if (ms < 999.5)
        snprintf(text, 32, "%.3g ms", ms);
    else
        snprintf(text, 32, ms < 999.5e3 ? "%.3g s" : "%.0f s", ms / 1e3);
    return text;
}

/* "12.041 s: 214 ms in write on cache_dir 1 (aufs)" */
static void
stall_say(char *text, size_t size, const struct stall *stall)
{
    const double begin = (double)stall->begin / 1e9;
    const struct sqt_longest *const longest = &stall->longest;
    char work[32], part[32];
    stall_duration(work, stall->work);
    if (stall->waited)
        snprintf(text, size, "%.3f s: %s %s (stopped, or no processor)", begin, work, NOT_RUNNING);
    else if (mostly_stopped(stall))
        snprintf(text, size, "%.3f s: %s, of which %s %s (stopped, or no processor)", begin, work,
                 stall_duration(part, stall->stopped), NOT_RUNNING);
    else if (!longest->name[0])
        snprintf(text, size, "%.3f s: %s in nothing that is known", begin, work);
    else if (longest->ns >= stall->work / 2)
        snprintf(text, size, "%.3f s: %s in %s", begin, stall_duration(part, longest->ns), longest->name);
    else
        snprintf(text, size, "%.3f s: %s in many activities, of which %s in %s", begin, work,
                 stall_duration(part, longest->ns), longest->name);
}

/* The flusher's heartbeat tells of a stop that the samples of its pass do not show. */
static void
stall_parts(union sqt_cell *row, const struct stall *stall)
{
    const int64_t *const parts = stall->parts;
    const int64_t absent = parts[SQT_LOOP_QUEUED] + parts[SQT_LOOP_STOPPED];
    const int known = parts[SQT_LOOP_COMPUTING] || parts[SQT_LOOP_BLOCKED] || absent;
    const int64_t stopped = stall->stopped > absent ? stall->stopped : absent, left = stall->work - stopped;
    CELL(computing_ms).number = CELL(blocked_ms).number = SQT_CELL_MISSING;
    CELL(not_running_ms).number = known || stall->stopped ? stopped : SQT_CELL_MISSING;
    if (!known)
        return;
    CELL(computing_ms).number = parts[SQT_LOOP_COMPUTING] < left ? parts[SQT_LOOP_COMPUTING] : left;
    CELL(blocked_ms).number = left - CELL(computing_ms).number < parts[SQT_LOOP_BLOCKED]
                                  ? left - CELL(computing_ms).number
                                  : parts[SQT_LOOP_BLOCKED];
}

static void
stall_finish(struct sqt_job *job)
{
    struct stalls *const s = job->state;
    for (unsigned i = 0; i < s->count; ++i) {
        const struct stall *const stall = &s->worst[i];
        char what[SQT_LONGEST_NAME + 160];
        stall_say(what, sizeof(what), stall);
        union sqt_cell row[SQT_CELLS(stalls)];
        CELL(time_s).number = stall->begin;
        CELL(kid).number = stall->origin->identity.kid;
        CELL(work_ms).number = stall->work;
        CELL(longest_ms).number = mostly_stopped(stall) ? stall->stopped : stall->longest.ns;
        CELL(stall).text = what;
        stall_parts(row, stall);
        sqt_job_row(job, row);
    }
    if (!s->count)
        job->note(job->context, "stalls", "the trace has no pass of the event loop (group loop)");
    sqt_freed(s);
}

const struct sqt_family sqt_family_stalls = {.where = {SQT_TABLE_loops},
                                             .where_count = 1,
                                             .start = stall_start,
                                             .consumer = {.loop = stall_judge, .stop = judge_stop},
                                             .finish = stall_finish};
