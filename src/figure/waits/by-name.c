/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * by-name.c - how long each server, helper or service was waited for, by time group.
 *
 * A wait belongs to the group in which its request, or itself, began.  Those that are lost or unfinished are left out: how
 * long they took is not known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "figure/stat/time-groups.h"
#include "figure/stat/names.h"
#include "row/facts.h"

/* Names that are counted apart, and those of them with rows of their own: the ones that are waited for most.  All others
 * together are `other`. */
#define COUNTED 128
#define TOLD 8
enum { COUNT, WAITED_NS, SUMS };

struct waited_for {
    struct sqt_name_entry named;
    unsigned place; /* among the sums of a group, and 1; 0: not yet known */
    uint64_t ns;
};

struct by_name {
    struct sqt_time_groups groups;
    struct sqt_names names;
    unsigned places;
};

static void
by_name_start(struct sqt_job *job)
{
    struct by_name *const b = job->state = sqt_zeroed(1, sizeof(*b));
    sqt_time_groups_init(&b->groups, job, (COUNTED + 1) * SUMS, 1);
    b->names.size = sizeof(struct waited_for);
    b->names.most = COUNTED;
}

static void
by_name_add(struct sqt_job *job, const char *name, int64_t begin, int64_t ns)
{
    struct by_name *const b = job->state;
    struct sqt_time_group *const group = sqt_time_groups_at(&b->groups, begin);
    if (!group)
        return;
    struct waited_for *const one = sqt_names_get(&b->names, name);
    if (!one->place)
        one->place = ++b->places;
    one->ns += (uint64_t)ns;
    uint64_t *const sums = &group->sums[SUMS * (one->place - 1)];
    sums[COUNT] += 1;
    sums[WAITED_NS] += (uint64_t)ns;
}

static void
server_waits_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(requests)];
    if (xact->server == UINT32_MAX || sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_cells(row, xact);
    const char *const name = row[SQT_CELL(requests, server)].text;
    if (name && sqt_job_wants(job, xact->begin, row))
        by_name_add(job, name, xact->begin, sqt_row_sum(row, SQT_SERVER_TIME));
}

static void
service_waits_wait(void *context, const struct sqt_wait *wait)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(waits)];
    char name[256];
    sqt_wait_cells(row, wait);
    if (sqt_wait_unknown(wait) || wait->outcome == SQT_WAIT_UNFINISHED || !sqt_job_wants(job, wait->begin, row))
        return;
    const char *const kind = row[SQT_CELL(waits, kind)].text, *const called = row[SQT_CELL(waits, name)].text;
    snprintf(name, sizeof(name), "%s:%s", kind ? kind : "-", called ? called : "-");
    by_name_add(job, name, wait->begin, wait->end - wait->begin);
}

/* ---- rows ---- */

/* Both figures have the same columns. */
#define SAME(name) SQT_ASSERT(SQT_CELL(server_waits, name) == SQT_CELL(service_waits, name), "the same columns")
SAME(count);
SAME(mean_ms);
SAME(waiting);
SQT_ASSERT(SQT_CELL(server_waits, server) == SQT_CELL(service_waits, service), "the same columns");
#define CELL(name) row[SQT_CELL(server_waits, name)]

/* Thousandths.  A group that ends with the trace may be short, and what is added up in it is not. */
static int64_t
by_name_waiting(uint64_t ns, int64_t covered)
{
    const double waiting = covered > 0 ? (double)ns / (double)covered * 1000 + 0.5 : -1;
    return waiting < 0 ? SQT_CELL_MISSING : sqt_whole(waiting);
}

static void
by_name_print(struct sqt_job *job, const struct by_name *b, size_t index, const char *name, const uint64_t *sums)
{
    union sqt_cell row[SQT_CELLS(server_waits)];
    if (!sums[COUNT])
        return;
    CELL(time_s).number = sqt_time_groups_middle(&b->groups, index);
    CELL(server).text = name;
    CELL(count).number = (int64_t)sums[COUNT];
    CELL(mean_ms).number = (int64_t)(sums[WAITED_NS] / sums[COUNT]);
    CELL(waiting).number = by_name_waiting(sums[WAITED_NS], sqt_time_groups_covered(&b->groups, index));
    sqt_job_row(job, row);
}

/* Most of the time first, then by name; what stands for all others comes last. */
static int
by_name_compare(const void *a, const void *b)
{
    const struct waited_for *const x = *(struct waited_for *const *)a, *const y = *(struct waited_for *const *)b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return strcmp(x->named.name, y->named.name);
}

static void
by_name_rows(struct sqt_job *job, const struct by_name *b, struct waited_for *const *all, unsigned told)
{
    for (size_t i = 0; i < b->groups.count; ++i) {
        uint64_t others[SUMS] = {0};
        if (!b->groups.groups[i])
            continue;
        for (unsigned n = 0; n < b->places; ++n) {
            const uint64_t *const sums = &b->groups.groups[i]->sums[SUMS * (all[n]->place - 1)];
            if (n < told)
                by_name_print(job, b, i, all[n]->named.name, sums);
            else
                for (unsigned s = 0; s < SUMS; ++s)
                    others[s] += sums[s];
        }
        by_name_print(job, b, i, "other", others);
    }
}

static void
by_name_finish(struct sqt_job *job)
{
    struct by_name *const b = job->state;
    struct waited_for *all[COUNTED + 1];
    unsigned count = 0, told = 0;
    for (struct sqt_name_entry *named = b->names.first; named; named = named->next)
        all[count++] = (struct waited_for *)named;
    qsort(all, count, sizeof(*all), by_name_compare);
    while (told < count && told < TOLD && strcmp(all[told]->named.name, "other") != 0)
        ++told;
    sqt_time_groups_finish(&b->groups, job);
    sqt_time_groups_note(&b->groups, job);
    by_name_rows(job, b, all, told);
    sqt_time_groups_free(&b->groups);
    sqt_names_free(&b->names);
    sqt_freed(b);
}

const struct sqt_family sqt_family_server_waits = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = by_name_start,
    .consumer = {.request = server_waits_request},
    .finish = by_name_finish,
};
const struct sqt_family sqt_family_service_waits = {
    .where = {SQT_TABLE_waits},
    .where_count = 1,
    .start = by_name_start,
    .consumer = {.wait = service_waits_wait},
    .finish = by_name_finish,
};
