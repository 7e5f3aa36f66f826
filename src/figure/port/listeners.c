/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * listeners.c - one row for each listening port of each kid: who came over it, how long clients had waited before Squid
 * accepted them, and what the kernel dropped.
 *
 * Requests that are lost or unfinished are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "figure/stat/quantile-cells.h"
#include "base/distribution.h"
#include "base/memory.h"
#include "ports.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)

/* What requests say of a port. */
struct listener {
    struct sqt_name_entry named; /* as that of its sqt_port */
    uint64_t requests;
    struct sqt_distribution waits, handshakes;
};

struct listeners {
    struct sqt_distributions set;
    struct sqt_names ports, listeners;
    uint64_t total_ns; /* of all requests that are asked for, with the waits before them */
};

static void
listeners_start(struct sqt_job *job)
{
    struct listeners *const l = job->state = sqt_zeroed(1, sizeof(*l));
    l->set.budget = BUDGET;
    sqt_ports_init(&l->ports);
    l->listeners = (struct sqt_names){.size = sizeof(struct listener), .most = SQT_PORTS};
}

static void
listeners_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct listeners *const l = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    if (sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED)
        return;
    sqt_request_cells(row, xact);
    if (!sqt_job_wants(job, xact->begin, row))
        return;
    const int64_t waited = row[SQT_CELL(requests, accept_wait_ns)].number;
    l->total_ns += (uint64_t)row[SQT_CELL(requests, total_ns)].number + (waited > 0 ? (uint64_t)waited : 0);
    const struct sqt_port *const port = sqt_ports_get(&l->ports, xact->origin, xact->listener);
    if (!port)
        return;
    struct listener *const listener = sqt_names_get(&l->listeners, port->named.name);
    ++listener->requests;
    if (waited != SQT_CELL_MISSING)
        sqt_distribution_add(&l->set, &listener->waits, waited);
    if (xact->tls_before && xact->client_tls != SQT_MISSING)
        sqt_distribution_add(&l->set, &listener->handshakes, xact->client_tls);
}

static void
listeners_accept(void *context, const struct sqt_accept_row *row)
{
    struct sqt_job *const job = context;
    sqt_ports_accept(&((struct listeners *)job->state)->ports, job, row);
}

static void
listeners_put_off(void *context, const struct sqt_put_off_row *row)
{
    struct sqt_job *const job = context;
    sqt_ports_put_off(&((struct listeners *)job->state)->ports, job, row);
}

static void
listeners_sample(void *context, const struct sqt_sample_row *sample)
{
    struct sqt_job *const job = context;
    sqt_ports_sample(&((struct listeners *)job->state)->ports, job, sample);
}

#define CELL(name) row[SQT_CELL(listeners, name)]

/* With a condition, which is about requests, the rest is left out. */
static void
listeners_print(struct sqt_job *job, const struct sqt_port *port, struct listener *listener)
{
    struct listeners *const l = job->state;
    union sqt_cell row[SQT_CELLS(listeners)];
    const int all = !job->where;
    CELL(listener).text = sqt_port_name(port);
    CELL(kid).number = sqt_port_kid(port);
    CELL(count).number = (int64_t)listener->requests;
    CELL(share_pct).number = sqt_percent((double)listener->waits.sum, (double)l->total_ns);
    CELL(p50_ms) = sqt_median_cell(&listener->waits);
    CELL(p90_ms) = sqt_quantile_cell(&listener->waits, 900);
    CELL(p99_ms) = sqt_quantile_cell(&listener->waits, 990);
    CELL(max_ms) = sqt_max_cell(&listener->waits);
    CELL(tls_p50_ms) = sqt_median_cell(&listener->handshakes);
    CELL(connections).number = all ? (int64_t)port->connections : SQT_CELL_MISSING;
    CELL(backlog).number = all && port->sampled ? (int64_t)port->backlog : SQT_CELL_MISSING;
    CELL(backlog_limit).number = all && port->sampled ? (int64_t)port->limit : SQT_CELL_MISSING;
    CELL(drops).number = all && port->drops_known ? (int64_t)port->drops : SQT_CELL_MISSING;
    CELL(put_off).number = all ? (int64_t)port->put_off : SQT_CELL_MISSING;
    CELL(put_off_ms).number = all ? (int64_t)port->put_off_ns : SQT_CELL_MISSING;
    sqt_job_row(job, row);
}

/* By name, then by kid. */
static int
listeners_compare(const void *a, const void *b)
{
    const struct sqt_port *const x = *(struct sqt_port *const *)a, *const y = *(struct sqt_port *const *)b;
    const int names = strcmp(sqt_port_name(x), sqt_port_name(y));
    return names ? names : (sqt_port_kid(x) > sqt_port_kid(y)) - (sqt_port_kid(x) < sqt_port_kid(y));
}

static void
listeners_finish(struct sqt_job *job)
{
    struct listeners *const l = job->state;
    struct sqt_port **const all = sqt_zeroed(l->ports.count + 2, sizeof(*all));
    unsigned count = 0;
    for (struct sqt_name_entry *named = l->ports.first; named; named = named->next)
        all[count++] = (struct sqt_port *)named;
    qsort(all, count, sizeof(*all), listeners_compare);
    sqt_job_note_coarse(job, "percentiles", l->set.coarse);
    for (unsigned i = 0; i < count; ++i) {
        struct listener *const listener = sqt_names_get(&l->listeners, all[i]->named.name);
        if (listener->requests || !job->where)
            listeners_print(job, all[i], listener);
    }
    for (struct sqt_name_entry *named = l->listeners.first; named; named = named->next) {
        sqt_distribution_drop(&l->set, &((struct listener *)named)->waits);
        sqt_distribution_drop(&l->set, &((struct listener *)named)->handshakes);
    }
    sqt_names_free(&l->listeners);
    sqt_names_free(&l->ports);
    sqt_freed(all);
    sqt_freed(l);
}

const struct sqt_family sqt_family_listeners = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = listeners_start,
    .consumer = {.request = listeners_request,
                 .accept = listeners_accept,
                 .put_off = listeners_put_off,
                 .sample = listeners_sample},
    .finish = listeners_finish,
};
