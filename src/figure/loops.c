/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loops.c - the table of passes of the event loop, and the worst of them.
 *
 * Squid has one loop: whatever blocks it blocks everyone.  Where one disk call is at least half of the longest
 * activity, the disk call is named, because it says more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loops.h"

#define STALLS 20

static void
longest_of(const struct sqt_loop_row *p, struct sqt_longest *longest)
{
    longest->name[0] = '\0';
    longest->ns = SQT_CELL_MISSING;
    if (p->disk_ns && p->disk_ns >= p->activity_ns / 2) {
        const char *const dir = sqt_origin_text(p->origin, SQT_DEF_DIR, p->dir);
        snprintf(longest->name, SQT_LONGEST_NAME, "%s on cache_dir %u (%.*s)", sqt_disk_op_names[p->disk_call],
                 (unsigned)p->dir, dir ? (int)strcspn(dir, " ") : 1, dir ? dir : "?");
        longest->ns = p->disk_ns;
    } else if (p->activity != UINT32_MAX) {
        const char *const name = sqt_origin_text(p->origin, SQT_DEF_ACTIVITY, p->activity);
        snprintf(longest->name, SQT_LONGEST_NAME, "%s", name ? name : "unknown");
        longest->ns = p->activity_ns;
    }
}

#define CELL(name) row[SQT_CELL(loops, name)]

void
sqt_loop_cells(union sqt_cell *row, const struct sqt_loop_row *p, struct sqt_longest *longest)
{
    longest_of(p, longest);
    CELL(time_s).number = p->begin;
    CELL(kid).number = p->origin->identity.kid;
    CELL(wait_ns).number = p->work - p->begin;
    CELL(work_ns).number = p->end - p->work;
    CELL(ready_fds).number = (int64_t)p->ready;
    CELL(longest_activity).text = longest->name[0] ? longest->name : NULL;
    CELL(longest_ns).number = longest->ns;
}

static void
pass(void *context, const struct sqt_loop_row *p)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(loops)];
    struct sqt_longest longest;
    sqt_loop_cells(row, p, &longest);
    if (sqt_job_wants(job, p->begin, row))
        sqt_job_row(job, row);
}

#undef CELL
#define CELL(name) row[SQT_CELL(stalls, name)]

/* The worst passes so far, the worst first. */
struct stalls {
    unsigned count;
    struct stall {
        int64_t begin, work;
        uint32_t kid;
        struct sqt_longest longest;
    } worst[STALLS];
};

static void
start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(struct stalls));
}

static void
judge(void *context, const struct sqt_loop_row *p)
{
    struct sqt_job *const job = context;
    struct stalls *const s = job->state;
    const int64_t work = p->end - p->work;
    if (s->count == STALLS && work <= s->worst[STALLS - 1].work)
        return;
    union sqt_cell row[SQT_CELLS(loops)];
    struct sqt_longest longest;
    sqt_loop_cells(row, p, &longest);
    if (!sqt_job_wants(job, p->begin, row))
        return;
    unsigned i = s->count < STALLS ? s->count++ : STALLS - 1;
    for (; i && s->worst[i - 1].work < work; --i)
        s->worst[i] = s->worst[i - 1];
    s->worst[i] = (struct stall){p->work, work, p->origin->identity.kid, longest};
}

/* "12.041 s: 214 ms in write on cache_dir 1 (aufs)" */
static void
say(char *text, size_t size, const struct stall *stall)
{
    const double begin = (double)stall->begin / 1e9, work = (double)stall->work / 1e6;
    const double longest = (double)stall->longest.ns / 1e6;
    if (!stall->longest.name[0])
        snprintf(text, size, "%.3f s: %.3g ms in nothing that is known", begin, work);
    else if (stall->longest.ns >= stall->work / 2)
        snprintf(text, size, "%.3f s: %.3g ms in %s", begin, longest, stall->longest.name);
    else
        snprintf(text, size, "%.3f s: %.3g ms in many activities, of which %.3g ms in %s", begin, work, longest,
                 stall->longest.name);
}

static void
finish(struct sqt_job *job)
{
    struct stalls *const s = job->state;
    for (unsigned i = 0; i < s->count; ++i) {
        const struct stall *const stall = &s->worst[i];
        char what[SQT_LONGEST_NAME + 96];
        say(what, sizeof(what), stall);
        union sqt_cell row[SQT_CELLS(stalls)];
        CELL(time_s).number = stall->begin;
        CELL(kid).number = stall->kid;
        CELL(work_ms).number = stall->work;
        CELL(longest_ms).number = stall->longest.ns;
        CELL(stall).text = what;
        sqt_job_row(job, row);
    }
    if (!s->count)
        job->note(job->context, "stalls", "the trace has no pass of the event loop (group loop)");
    free(s);
}

const struct sqt_family sqt_family_loops = {
    .where = {SQT_TABLE_loops}, .where_count = 1, .consumer = {.loop = pass}};
const struct sqt_family sqt_family_stalls = {
    .where = {SQT_TABLE_loops}, .where_count = 1, .start = start, .consumer = {.loop = judge}, .finish = finish};
