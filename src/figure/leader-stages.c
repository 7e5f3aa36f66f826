/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * leader-stages.c - in which stage leaders were while followers waited for them (collapsed forwarding), by the leader's
 * server.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/stat/names.h"
#include "pass/family.h"

/* Servers that get a row of their own. */
#define SERVERS 64

/* What is told apart, in the order of the columns; then all other stages, and what is not known. */
static const unsigned leader_stages[] = {SQT_STAGE_PEER_SELECT,  SQT_STAGE_DNS,          SQT_STAGE_CONNECT,
                                         SQT_STAGE_TLS,          SQT_STAGE_REQUEST_SEND, SQT_STAGE_SERVER_WAIT,
                                         SQT_STAGE_SERVER_REPLY, SQT_STAGE_FAILED_TRIES};
#define STAGES (sizeof(leader_stages) / sizeof(*leader_stages))
SQT_ASSERT(SQT_CELL(leader_stages, other_pct) - SQT_CELL(leader_stages, peer_select_pct) == STAGES, "a column a stage");

struct leader {
    struct sqt_name_entry named;
    uint64_t count, total, max, stages[STAGES], unknown;
};

static void
leader_stages_start(struct sqt_job *job)
{
    struct sqt_names *const names = job->state = sqt_zeroed(1, sizeof(*names));
    names->size = sizeof(struct leader);
    names->most = SERVERS;
}

static void
leader_stages_add(struct leader *leader, const struct sqt_follow *follow)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < SQT_FOLLOW_STAGES; ++i)
        total += (uint64_t)follow->ns[i];
    ++leader->count;
    leader->total += total;
    leader->max = total > leader->max ? total : leader->max;
    leader->unknown += (uint64_t)follow->ns[SQT_FOLLOW_UNKNOWN];
    for (unsigned i = 0; i < STAGES; ++i)
        leader->stages[i] += (uint64_t)follow->ns[leader_stages[i]];
}

static void
leader_stages_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(requests)];
    if (!xact->follow || sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_cells(row, xact);
    if (!sqt_job_wants(job, xact->begin, row))
        return;
    const char *const server = sqt_leader_server(xact);
    leader_stages_add(sqt_names_get(job->state, server ? server : "-"), xact->follow);
}

#define CELL(name) row[SQT_CELL(leader_stages, name)]

static void
leader_stages_print(struct sqt_job *job, const struct leader *l)
{
    union sqt_cell row[SQT_CELLS(leader_stages)];
    uint64_t told = l->unknown;
    CELL(server).text = strcmp(l->named.name, "-") == 0 ? NULL : l->named.name;
    CELL(count).number = (int64_t)l->count;
    CELL(total_s).number = (int64_t)l->total;
    CELL(mean_ms).number = (int64_t)(l->total / l->count);
    CELL(max_ms).number = (int64_t)l->max;
    for (unsigned i = 0; i < STAGES; ++i) {
        (&CELL(peer_select_pct))[i].number = sqt_share(l->stages[i], l->total);
        told += l->stages[i];
    }
    CELL(other_pct).number = sqt_share(l->total - told, l->total);
    CELL(unknown_pct).number = sqt_share(l->unknown, l->total);
    sqt_job_row(job, row);
}

/* Most time first; then by name. */
static int
leader_stages_compare(const void *a, const void *b)
{
    const struct leader *const x = *(struct leader *const *)a, *const y = *(struct leader *const *)b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return strcmp(x->named.name, y->named.name);
}

static void
leader_stages_finish(struct sqt_job *job)
{
    struct sqt_names *const names = job->state;
    const struct leader *all[SERVERS + 1];
    unsigned count = 0;
    for (struct sqt_name_entry *named = names->first; named; named = named->next)
        all[count++] = (const struct leader *)named;
    qsort(all, count, sizeof(*all), leader_stages_compare);
    for (unsigned i = 0; i < count; ++i)
        leader_stages_print(job, all[i]);
    sqt_names_free(names);
    sqt_freed(names);
}

const struct sqt_family sqt_family_leader_stages = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = leader_stages_start,
    .consumer = {.request = leader_stages_request},
    .finish = leader_stages_finish,
};
