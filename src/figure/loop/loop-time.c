/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loop-time.c - the tables loop_time and profile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "seconds.h"

static void
loop_time_sample(void *context, const struct sqt_loop_sample_row *sample)
{
    struct sqt_job *const job = context;
    sqt_seconds_add(job, job->state, sample);
}

static void
loop_time_finish(struct sqt_job *job)
{
    sqt_seconds_end(job, job->state);
    sqt_freed(job->state);
}

static void
loop_time_begin(struct sqt_job *job, void (*print)(struct sqt_job *, struct sqt_loop_second *))
{
    struct sqt_seconds *const seconds = sqt_zeroed(1, sizeof(*seconds));
    seconds->print = print;
    job->state = seconds;
}

/* ---- loop_time ---- */

#define CELL(name) row[SQT_CELL(loop_time, name)]

/* "read on cache_dir 0 (ufs)", "write in Http::Stream::..."; NULL if it was not blocked as far as the row says. */
static const char *
loop_time_blocked_on(const struct sqt_loop_second *second, int blocked, char *text, size_t size)
{
    const struct sqt_thing *most = NULL;
    char name[SQT_THING_NAME];
    for (unsigned i = 0; blocked && i < second->count; ++i)
        if (second->things[i].parts[SQT_LOOP_BLOCKED] > (most ? most->parts[SQT_LOOP_BLOCKED] : 0))
            most = &second->things[i];
    if (!most)
        return NULL;
    const char *const call = most->call ? sqt_origin_text(second->origin, SQT_DEF_CALL, most->call) : NULL;
    sqt_thing_name(second->origin, most, name);
    snprintf(text, size, "%s%s%s", call && most->disk_call == SQT_DISK_OTHER ? call : "",
             call && most->disk_call == SQT_DISK_OTHER ? " in " : "", name);
    return text;
}

static void
loop_time_print(struct sqt_job *job, struct sqt_loop_second *second)
{
    const int64_t *const parts = second->parts;
    const double all = (double)sqt_second_known(parts);
    const int64_t lazy = parts[SQT_LOOP_QUEUED] + parts[SQT_LOOP_STOPPED];
    const int64_t throttled = second->throttled < lazy ? second->throttled : lazy;
    const int64_t of_queue = throttled < parts[SQT_LOOP_QUEUED] ? throttled : parts[SQT_LOOP_QUEUED];
    char text[2 * SQT_THING_NAME];
    union sqt_cell row[SQT_CELLS(loop_time)];
    CELL(time_s).number = second->begin;
    CELL(kid).number = second->origin->identity.kid;
    CELL(computing_pct).number = sqt_percent((double)parts[SQT_LOOP_COMPUTING], all);
    CELL(blocked_pct).number = sqt_percent((double)parts[SQT_LOOP_BLOCKED], all);
    CELL(not_running_pct).number = sqt_percent((double)lazy, all);
    CELL(blocked_on).text = loop_time_blocked_on(second, CELL(blocked_pct).number > 0, text, sizeof(text));
    CELL(idle_pct).number = sqt_percent((double)parts[SQT_LOOP_IDLE], all);
    CELL(waiting_pct).number = sqt_percent((double)(parts[SQT_LOOP_QUEUED] - of_queue), all);
    CELL(throttled_pct).number = second->throttled_known ? sqt_percent((double)throttled, all) : SQT_CELL_MISSING;
    CELL(stopped_pct).number = sqt_percent((double)(parts[SQT_LOOP_STOPPED] - (throttled - of_queue)), all);
    if (sqt_job_wants(job, second->begin, row))
        sqt_job_row(job, row);
}

static void
loop_time_start(struct sqt_job *job)
{
    loop_time_begin(job, loop_time_print);
}

#undef CELL

/* ---- profile ---- */

#define CELL(name) row[SQT_CELL(profile, name)]

static int
profile_compare(const void *one, const void *two)
{
    const struct sqt_thing *const a = one, *const b = two;
    const int64_t x = sqt_second_known(a->parts), y = sqt_second_known(b->parts);
    if (x != y)
        return x < y ? 1 : -1;
    return a->activity != b->activity ? (a->activity < b->activity ? -1 : 1) : (a->acl < b->acl ? -1 : a->acl > b->acl);
}

static void
profile_print_thing(struct sqt_job *job, const struct sqt_loop_second *second, const struct sqt_thing *t)
{
    const double all = (double)sqt_second_known(second->parts);
    char text[SQT_THING_NAME];
    union sqt_cell row[SQT_CELLS(profile)];
    CELL(time_s).number = second->begin;
    CELL(kid).number = second->origin->identity.kid;
    CELL(activity).text = sqt_thing_name(second->origin, t, text);
    CELL(acl).text = t->acl ? sqt_origin_text(second->origin, SQT_DEF_ACL, t->acl) : NULL;
    CELL(samples).number = (int64_t)t->samples;
    CELL(share_pct).number = sqt_percent((double)sqt_second_known(t->parts), all);
    CELL(computing_pct).number = sqt_percent((double)t->parts[SQT_LOOP_COMPUTING], all);
    CELL(blocked_pct).number = sqt_percent((double)t->parts[SQT_LOOP_BLOCKED], all);
    CELL(not_running_pct).number = sqt_percent((double)(t->parts[SQT_LOOP_QUEUED] + t->parts[SQT_LOOP_STOPPED]), all);
    CELL(call).text = t->call ? sqt_origin_text(second->origin, SQT_DEF_CALL, t->call) : NULL;
    if (sqt_job_wants(job, second->begin, row))
        sqt_job_row(job, row);
}

static void
profile_print(struct sqt_job *job, struct sqt_loop_second *second)
{
    qsort(second->things, second->count, sizeof(*second->things), profile_compare);
    for (unsigned i = 0; i < second->count; ++i)
        profile_print_thing(job, second, &second->things[i]);
}

static void
profile_start(struct sqt_job *job)
{
    loop_time_begin(job, profile_print);
}

const struct sqt_family sqt_family_loop_time = {.where = {SQT_TABLE_loop_time},
                                                .where_count = 1,
                                                .start = loop_time_start,
                                                .consumer = {.loop_sample = loop_time_sample},
                                                .finish = loop_time_finish};
const struct sqt_family sqt_family_profile = {.where = {SQT_TABLE_profile},
                                              .where_count = 1,
                                              .start = profile_start,
                                              .consumer = {.loop_sample = loop_time_sample},
                                              .finish = loop_time_finish};
