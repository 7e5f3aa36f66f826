/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * resources.c - processes, the machine, disks and the cache by time group, from resource samples.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "figure/table/samples.h"

typedef void print_function(struct sqt_job *job, const struct sqt_sampled_source *source, int64_t middle,
                            const uint64_t *sums);

/* part * factor / whole, rounded; missing where there is no whole. */
static int64_t
ratio(uint64_t part, uint64_t factor, uint64_t whole)
{
    return whole ? (int64_t)(((unsigned __int128)part * factor + whole / 2) / whole) : SQT_CELL_MISSING;
}

#define SUM(source, value) sums[SQT_SUM_OF(SQT_SAMPLE_##source##_##value)]
#define WEIGHT(source, value) sums[SQT_WEIGHT_OF(SQT_SAMPLE_##source##_##value)]
/* Of a counter: for each second, in thousandths. */
#define PER_SECOND(source, value) sqt_rate(SUM(source, value), (int64_t)WEIGHT(source, value))
/* Of a gauge: its mean. */
#define MEAN(source, value) ratio(SUM(source, value), 1, WEIGHT(source, value))

/* A row that has a value from that column on: of the first sample alone no counter has grown. */
static void
put_row(struct sqt_job *job, const union sqt_cell *row, unsigned first)
{
    while (first < job->table->column_count && sqt_cell_missing(job->table->columns[first].type, row[first]))
        ++first;
    if (first < job->table->column_count)
        sqt_job_row(job, row);
}

static void
resources_finish(struct sqt_job *job, print_function *print)
{
    struct sqt_sampled *const sampled = job->state;
    const struct sqt_sampled_source *first;
    sqt_sampled_finish(sampled, job);
    first = sqt_sampled_first(sampled);
    if (first)
        sqt_time_groups_note(&first->groups, job);
    for (const struct sqt_sampled_source *s = first; s; s = s->next)
        for (size_t i = 0; i < s->groups.count; ++i)
            if (s->groups.groups[i])
                print(job, s, sqt_time_groups_middle(&s->groups, i), s->groups.groups[i]->sums);
    sqt_sampled_free(sampled);
}

/* ---- processes ---- */

static void
process_sample(void *context, const struct sqt_sample_row *s)
{
    struct sqt_job *const job = context;
    sqt_sampled_add((struct sqt_sampled **)&job->state, job, s, SQT_SOURCE_PROCESS, 0);
}

#define CELL(name) row[SQT_CELL(processes, name)]

static void
print_process(struct sqt_job *job, const struct sqt_sampled_source *s, int64_t middle, const uint64_t *sums)
{
    union sqt_cell row[SQT_CELLS(processes)];
    CELL(time_s).number = middle;
    CELL(kid).number = s->origin->identity.kid;
    CELL(user_pct).number = ratio(SUM(PROCESS, cpu_user_us), 100000000, WEIGHT(PROCESS, cpu_user_us));
    CELL(system_pct).number = ratio(SUM(PROCESS, cpu_system_us), 100000000, WEIGHT(PROCESS, cpu_system_us));
    CELL(voluntary_per_s).number = PER_SECOND(PROCESS, voluntary_switches);
    CELL(involuntary_per_s).number = PER_SECOND(PROCESS, involuntary_switches);
    CELL(minor_faults_per_s).number = PER_SECOND(PROCESS, minor_faults);
    CELL(major_faults_per_s).number = PER_SECOND(PROCESS, major_faults);
    CELL(descriptors).number = MEAN(PROCESS, descriptors);
    CELL(rss_bytes).number = MEAN(PROCESS, rss_bytes);
    put_row(job, row, SQT_CELL(processes, user_pct));
}

static void
finish_processes(struct sqt_job *job)
{
    resources_finish(job, print_process);
}

/* ---- the machine ---- */

static void
machine_sample(void *context, const struct sqt_sample_row *s)
{
    struct sqt_job *const job = context;
    sqt_sampled_add((struct sqt_sampled **)&job->state, job, s, SQT_SOURCE_MACHINE, 0);
}

#undef CELL
#define CELL(name) row[SQT_CELL(machine, name)]

static void
print_machine(struct sqt_job *job, const struct sqt_sampled_source *s, int64_t middle, const uint64_t *sums)
{
    union sqt_cell row[SQT_CELLS(machine)];
    const uint64_t all = SUM(MACHINE, cpu_user_ms) + SUM(MACHINE, cpu_system_ms) + SUM(MACHINE, cpu_idle_ms) +
                         SUM(MACHINE, cpu_iowait_ms) + SUM(MACHINE, cpu_steal_ms);
    CELL(time_s).number = middle;
    CELL(kid).number = s->origin->identity.kid;
    CELL(user_pct).number = ratio(SUM(MACHINE, cpu_user_ms), 100000, all);
    CELL(system_pct).number = ratio(SUM(MACHINE, cpu_system_ms), 100000, all);
    CELL(iowait_pct).number = ratio(SUM(MACHINE, cpu_iowait_ms), 100000, all);
    CELL(steal_pct).number = ratio(SUM(MACHINE, cpu_steal_ms), 100000, all);
    CELL(idle_pct).number = ratio(SUM(MACHINE, cpu_idle_ms), 100000, all);
    CELL(paged_in_kb_per_s).number = PER_SECOND(MACHINE, paged_in_kb);
    CELL(paged_out_kb_per_s).number = PER_SECOND(MACHINE, paged_out_kb);
    CELL(swapped_in_pages_per_s).number = PER_SECOND(MACHINE, swapped_in_pages);
    CELL(swapped_out_pages_per_s).number = PER_SECOND(MACHINE, swapped_out_pages);
    put_row(job, row, SQT_CELL(machine, user_pct));
}

static void
finish_machine(struct sqt_job *job)
{
    resources_finish(job, print_machine);
}

/* ---- disks ---- */

static void
disk_sample(void *context, const struct sqt_sample_row *s)
{
    struct sqt_job *const job = context;
    sqt_sampled_add((struct sqt_sampled **)&job->state, job, s, SQT_SOURCE_DISK, 0);
}

#undef CELL
#define CELL(name) row[SQT_CELL(disks, name)]

static void
print_disk(struct sqt_job *job, const struct sqt_sampled_source *s, int64_t middle, const uint64_t *sums)
{
    union sqt_cell row[SQT_CELLS(disks)];
    const uint64_t ios = SUM(DISK, reads) + SUM(DISK, writes);
    CELL(time_s).number = middle;
    CELL(kid).number = s->origin->identity.kid;
    CELL(disk).text = s->name + sizeof("disk");
    CELL(reads_per_s).number = PER_SECOND(DISK, reads);
    CELL(writes_per_s).number = PER_SECOND(DISK, writes);
    CELL(read_kb_per_s).number = ratio(SUM(DISK, read_bytes), UINT64_C(1000000000000), WEIGHT(DISK, read_bytes) * 1024);
    CELL(written_kb_per_s).number =
        ratio(SUM(DISK, written_bytes), UINT64_C(1000000000000), WEIGHT(DISK, written_bytes) * 1024);
    CELL(queue).number = ratio(SUM(DISK, queue_ms), UINT64_C(1000000000), WEIGHT(DISK, queue_ms));
    CELL(wait_ms).number = ratio(SUM(DISK, read_ms) + SUM(DISK, write_ms), 1000000, ios);
    CELL(service_ms).number = ratio(SUM(DISK, busy_ms), 1000000, ios);
    CELL(busy_pct).number = ratio(SUM(DISK, busy_ms), UINT64_C(100000000000), WEIGHT(DISK, busy_ms));
    put_row(job, row, SQT_CELL(disks, reads_per_s));
}

static void
finish_disks(struct sqt_job *job)
{
    resources_finish(job, print_disk);
}

/* ---- listening ports ---- */

static void
backlog_sample(void *context, const struct sqt_sample_row *s)
{
    struct sqt_job *const job = context;
    sqt_sampled_add((struct sqt_sampled **)&job->state, job, s, SQT_SOURCE_LISTENER, 0);
}

#undef CELL
#define CELL(name) row[SQT_CELL(backlogs, name)]

static void
print_backlog(struct sqt_job *job, const struct sqt_sampled_source *s, int64_t middle, const uint64_t *sums)
{
    union sqt_cell row[SQT_CELLS(backlogs)];
    const uint32_t number = (uint32_t)strtoul(s->name + sizeof("listener"), NULL, 10);
    CELL(time_s).number = middle;
    CELL(kid).number = s->origin->identity.kid;
    CELL(listener).text = sqt_origin_text(s->origin, SQT_DEF_LISTENER, number);
    CELL(backlog).number = ratio(SUM(LISTENER, backlog), 1000, WEIGHT(LISTENER, backlog));
    CELL(backlog_limit).number = MEAN(LISTENER, backlog_limit);
    CELL(drops_per_s).number = PER_SECOND(LISTENER, drops);
    put_row(job, row, SQT_CELL(backlogs, backlog));
}

static void
finish_backlogs(struct sqt_job *job)
{
    resources_finish(job, print_backlog);
}

/* ---- the cache ---- */

enum { REQUESTS, HITS, BYTES, HIT_BYTES, CACHE_SUMS };

struct cache {
    struct sqt_time_groups requests;
    struct sqt_sampled *sampled; /* a source for each kid */
};

static void
cache_start(struct sqt_job *job)
{
    struct cache *const c = job->state = sqt_zeroed(1, sizeof(*c));
    sqt_time_groups_init(&c->requests, job, CACHE_SUMS, 0);
}

static void
cache_request(void *context, const struct sqt_xact *x)
{
    struct sqt_job *const job = context;
    struct cache *const c = job->state;
    struct sqt_request_fact own;
    const struct sqt_request_fact *const r = sqt_job_fact(job, &own, x);
    struct sqt_time_group *const group =
        sqt_job_wants_request(job, r) ? sqt_time_groups_at(&c->requests, r->begin) : NULL;
    if (!group)
        return;
    const int64_t sent = r->row[SQT_CELL(requests, sent_bytes)].number;
    const uint64_t bytes = sent > 0 ? (uint64_t)sent : 0;
    const int hit = SQT_HITS >> r->class & 1;
    group->sums[REQUESTS] += 1;
    group->sums[HITS] += (uint64_t)hit;
    group->sums[BYTES] += bytes;
    group->sums[HIT_BYTES] += hit ? bytes : 0;
}

static void
cache_sample(void *context, const struct sqt_sample_row *s)
{
    struct sqt_job *const job = context;
    struct cache *const c = job->state;
    sqt_sampled_add(&c->sampled, job, s, SQT_SOURCE_SQUID, 1);
}

/* The sum over kids of the means of a value in a group; missing where no kid tells it. */
static int64_t
in_all_kids(const struct cache *c, size_t group, enum sqt_sample_value value)
{
    int64_t sum = SQT_CELL_MISSING;
    for (const struct sqt_sampled_source *s = sqt_sampled_first(c->sampled); s; s = s->next) {
        const struct sqt_time_group *const g = group < s->groups.count ? s->groups.groups[group] : NULL;
        const int64_t mean = g ? ratio(g->sums[SQT_SUM_OF(value)], 1, g->sums[SQT_WEIGHT_OF(value)]) : SQT_CELL_MISSING;
        if (mean != SQT_CELL_MISSING)
            if (__builtin_add_overflow(sum == SQT_CELL_MISSING ? 0 : sum, mean, &sum))
                sum = INT64_MAX;
    }
    return sum;
}

#undef CELL
#define CELL(name) row[SQT_CELL(cache_fill, name)]

static void
finish_cache(struct sqt_job *job)
{
    struct cache *const c = job->state;
    struct sqt_time_groups *const g = &c->requests;
    sqt_time_groups_finish(g, job);
    sqt_sampled_finish(c->sampled, job);
    sqt_time_groups_note(g, job);
    for (size_t i = 0; i < g->count; ++i) {
        const uint64_t nothing[CACHE_SUMS] = {0}, *const sums = g->groups[i] ? g->groups[i]->sums : nothing;
        union sqt_cell row[SQT_CELLS(cache_fill)];
        CELL(time_s).number = sqt_time_groups_middle(g, i);
        CELL(requests).number = (int64_t)sums[REQUESTS];
        CELL(dhr_pct).number = sqt_share(sums[HITS], sums[REQUESTS]);
        CELL(bhr_pct).number = sqt_share(sums[HIT_BYTES], sums[BYTES]);
        CELL(memory_bytes).number = in_all_kids(c, i, SQT_SAMPLE_SQUID_memory_bytes);
        CELL(memory_objects).number = in_all_kids(c, i, SQT_SAMPLE_SQUID_memory_objects);
        CELL(disk_bytes).number = in_all_kids(c, i, SQT_SAMPLE_SQUID_disk_bytes);
        CELL(disk_objects).number = in_all_kids(c, i, SQT_SAMPLE_SQUID_disk_objects);
        if (CELL(dhr_pct).number != SQT_CELL_MISSING || CELL(disk_bytes).number != SQT_CELL_MISSING)
            sqt_job_row(job, row);
    }
    sqt_time_groups_free(g);
    sqt_sampled_free(c->sampled);
    sqt_freed(c);
}

const struct sqt_family sqt_family_processes = {
    .where = {SQT_TABLE_samples}, .where_count = 1, .consumer = {.sample = process_sample}, .finish = finish_processes};
const struct sqt_family sqt_family_machine = {
    .where = {SQT_TABLE_samples}, .where_count = 1, .consumer = {.sample = machine_sample}, .finish = finish_machine};
const struct sqt_family sqt_family_disks = {
    .where = {SQT_TABLE_samples}, .where_count = 1, .consumer = {.sample = disk_sample}, .finish = finish_disks};
const struct sqt_family sqt_family_backlogs = {
    .where = {SQT_TABLE_samples}, .where_count = 1, .consumer = {.sample = backlog_sample}, .finish = finish_backlogs};
const struct sqt_family sqt_family_cache_fill = {.where = {SQT_TABLE_requests},
                                                 .where_count = 1,
                                                 .unpicked = 1,
                                                 .start = cache_start,
                                                 .consumer = {.request = cache_request, .sample = cache_sample},
                                                 .finish = finish_cache};
