/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * servers.c - one row for each server: how many requests it served, and how long they waited for it.
 *
 * A request counts for the server that it was connected to last, with the time of its last try: those before it may
 * have been at other servers, and are failed_tries.  Requests that are lost or unfinished are left out: their stages are
 * not what they would have been.
 */
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "figure/stat/quantile-cells.h"
#include "figure/stat/names.h"
#include "pass/family.h"
#include "row/facts.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Names that get a row of their own. */
#define SERVERS 1024

struct server {
    struct sqt_name_entry named;
    struct sqt_distribution times, waits, connects;
    uint64_t requests, retries, attempts, failures, timeouts;
};

struct servers {
    struct sqt_distributions set;
    struct sqt_names names;
    uint64_t total_ns; /* of all requests that are asked for */
};

static void
servers_start(struct sqt_job *job)
{
    struct servers *const s = sqt_zeroed(1, sizeof(*s));
    s->set.budget = BUDGET;
    s->names.size = sizeof(struct server);
    s->names.most = SERVERS;
    job->state = s;
}

static void
servers_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct servers *const s = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    if (sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_cells(row, xact);
    if (!sqt_job_wants(job, xact->begin, row))
        return;
    s->total_ns += (uint64_t)row[SQT_CELL(requests, total_ns)].number;
    const char *const name = row[SQT_CELL(requests, server)].text;
    if (!name)
        return;
    struct server *const server = sqt_names_get(&s->names, name);
    ++server->requests;
    if (row[SQT_CELL(requests, tries)].number > 1)
        server->retries += (uint64_t)row[SQT_CELL(requests, tries)].number - 1;
    sqt_distribution_add(&s->set, &server->times, sqt_row_sum(row, SQT_SERVER_TIME));
    if (row[SQT_CELL(requests, server_wait_ns)].number != SQT_CELL_MISSING)
        sqt_distribution_add(&s->set, &server->waits, row[SQT_CELL(requests, server_wait_ns)].number);
}

/* A condition is about requests, so with one the attempts to connect are left out. */
static void
servers_connection(void *context, const struct sqt_attempt *attempt)
{
    struct sqt_job *const job = context;
    struct servers *const s = job->state;
    const char *const name =
        attempt->server == UINT32_MAX ? NULL : sqt_origin_text(attempt->origin, SQT_DEF_SERVER, attempt->server);
    if (!name || job->where || attempt->reused || attempt->begin < job->since || attempt->begin >= job->until)
        return;
    struct server *const server = sqt_names_get(&s->names, name);
    ++server->attempts;
    server->failures += attempt->outcome == SQT_OUTCOME_ERROR;
    server->timeouts += attempt->outcome == SQT_OUTCOME_TIMEOUT;
    if (attempt->connected != SQT_MISSING && !sqt_durations_unknown(attempt->outcome))
        sqt_distribution_add(&s->set, &server->connects, attempt->connected - attempt->begin);
}

#define CELL(name) row[SQT_CELL(servers, name)]

static void
servers_print(struct sqt_job *job, struct server *server)
{
    struct servers *const s = job->state;
    union sqt_cell row[SQT_CELLS(servers)];
    CELL(server).text = server->named.name;
    CELL(count).number = (int64_t)server->requests;
    CELL(share_pct).number = sqt_percent((double)server->times.sum, (double)s->total_ns);
    CELL(p50_ms) = sqt_median_cell(&server->times);
    CELL(p90_ms) = sqt_quantile_cell(&server->times, 900);
    CELL(p99_ms) = sqt_quantile_cell(&server->times, 990);
    CELL(max_ms) = sqt_max_cell(&server->times);
    CELL(wait_p50_ms) = sqt_median_cell(&server->waits);
    CELL(connect_p50_ms) = sqt_median_cell(&server->connects);
    CELL(retries).number = (int64_t)server->retries;
    CELL(connects).number = job->where ? SQT_CELL_MISSING : (int64_t)server->attempts;
    CELL(failures).number = job->where ? SQT_CELL_MISSING : (int64_t)server->failures;
    CELL(timeouts).number = job->where ? SQT_CELL_MISSING : (int64_t)server->timeouts;
    sqt_job_row(job, row);
}

/* Most of the time first; then by name. */
static int
servers_compare(const void *a, const void *b)
{
    const struct server *const x = *(struct server *const *)a, *const y = *(struct server *const *)b;
    if (x->times.sum != y->times.sum)
        return x->times.sum < y->times.sum ? 1 : -1;
    return strcmp(x->named.name, y->named.name);
}

static void
servers_drop(struct servers *s, struct server *server)
{
    sqt_distribution_drop(&s->set, &server->times);
    sqt_distribution_drop(&s->set, &server->waits);
    sqt_distribution_drop(&s->set, &server->connects);
}

static void
servers_finish(struct sqt_job *job)
{
    struct servers *const s = job->state;
    struct server **const all = sqt_zeroed(s->names.count + 1, sizeof(*all));
    unsigned count = 0;
    for (struct sqt_name_entry *named = s->names.first; named; named = named->next)
        all[count++] = (struct server *)named;
    qsort(all, count, sizeof(*all), servers_compare);
    sqt_job_note_coarse(job, "percentiles", s->set.coarse);
    for (unsigned i = 0; i < count; ++i)
        servers_print(job, all[i]);
    for (unsigned i = 0; i < count; ++i)
        servers_drop(s, all[i]);
    sqt_names_free(&s->names);
    sqt_freed(all);
    sqt_freed(s);
}

const struct sqt_family sqt_family_servers = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = servers_start,
    .consumer = {.request = servers_request, .connection = servers_connection},
    .finish = servers_finish,
};
