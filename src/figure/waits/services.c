/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * services.c - one row for each helper, adaptation service and name server: how often, and how long, it was waited for.
 *
 * Waits that are lost or unfinished are left out: how long they took is not known.  Time in which no request waited is in
 * the percentiles, but not in the share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "figure/stat/quantile-cells.h"
#include "figure/stat/names.h"
#include "pass/family.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Names that get a row of their own. */
#define SERVICES 256

enum service_part { TOTAL, QUEUE, SERVICE, SERVICE_PARTS };

struct service {
    struct sqt_name_entry named; /* "<kind> <name>" */
    const char *kind;
    struct sqt_distribution parts[SERVICE_PARTS];
    uint64_t waited_ns; /* of requests */
    uint64_t timeouts, failures, retries;
    int64_t deepest;
};

struct services {
    struct sqt_distributions set;
    struct sqt_names names;
    uint64_t total_ns; /* of all requests */
};

static void
services_start(struct sqt_job *job)
{
    struct services *const s = sqt_zeroed(1, sizeof(*s));
    s->set.budget = BUDGET;
    s->names.size = sizeof(struct service);
    s->names.most = SERVICES;
    job->state = s;
}

static void
services_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct services *const s = job->state;
    if (!sqt_durations_unknown(xact->outcome) && xact->outcome != SQT_OUTCOME_UNFINISHED && xact->begin >= job->since &&
        xact->begin < job->until)
        s->total_ns += (uint64_t)(xact->end - xact->begin);
}

static struct service *
services_find(struct services *s, const char *kind, const char *name)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s %s", kind ? kind : "-", name ? name : "-");
    struct service *const service = sqt_names_get(&s->names, whole);
    if (!service->kind)
        service->kind = kind ? kind : "-";
    return service;
}

static void
services_add(struct services *s, struct service *service, enum service_part part, int64_t ns)
{
    if (ns != SQT_CELL_MISSING)
        sqt_distribution_add(&s->set, &service->parts[part], ns);
}

#define CELL(name) row[SQT_CELL(waits, name)]

static void
services_wait(void *context, const struct sqt_wait *wait)
{
    struct sqt_job *const job = context;
    struct services *const s = job->state;
    union sqt_cell row[SQT_CELLS(waits)];
    sqt_wait_cells(row, wait);
    if (sqt_wait_unknown(wait) || wait->outcome == SQT_WAIT_UNFINISHED || !sqt_job_wants(job, wait->begin, row))
        return;
    struct service *const service = services_find(s, CELL(kind).text, CELL(name).text);
    services_add(s, service, TOTAL, CELL(total_ns).number);
    services_add(s, service, QUEUE, CELL(queue_ns).number);
    services_add(s, service, SERVICE, CELL(service_ns).number);
    if (wait->xact)
        service->waited_ns += (uint64_t)(wait->end - wait->begin);
    service->timeouts += wait->outcome == SQT_WAIT_TIMEOUT;
    service->failures +=
        wait->outcome == SQT_WAIT_BROKEN || wait->outcome == SQT_WAIT_FAILED || wait->outcome == SQT_WAIT_DIED;
    service->retries += (unsigned)wait->again + wait->repeats;
    if (wait->depth > service->deepest)
        service->deepest = wait->depth;
}

#undef CELL
#define CELL(name) row[SQT_CELL(services, name)]

/* Three cells: the median and two percentiles. */
static void
services_quantiles(union sqt_cell *cells, struct sqt_distribution *d)
{
    cells[0] = sqt_median_cell(d);
    cells[1] = sqt_quantile_cell(d, 900);
    cells[2] = sqt_quantile_cell(d, 990);
}

static void
services_print(struct sqt_job *job, struct service *service)
{
    struct services *const s = job->state;
    union sqt_cell row[SQT_CELLS(services)];
    const char *const space = strchr(service->named.name, ' ');
    CELL(kind).text = space ? service->kind : "-";
    CELL(name).text = space ? space + 1 : service->named.name;
    CELL(count).number = (int64_t)service->parts[TOTAL].count;
    CELL(share_pct).number = sqt_percent((double)service->waited_ns, (double)s->total_ns);
    services_quantiles(&CELL(p50_ms), &service->parts[TOTAL]);
    services_quantiles(&CELL(queue_p50_ms), &service->parts[QUEUE]);
    services_quantiles(&CELL(service_p50_ms), &service->parts[SERVICE]);
    CELL(max_ms) = sqt_max_cell(&service->parts[TOTAL]);
    CELL(depth_max).number = service->deepest;
    CELL(timeouts).number = (int64_t)service->timeouts;
    CELL(failures).number = (int64_t)service->failures;
    CELL(retries).number = (int64_t)service->retries;
    sqt_job_row(job, row);
}

/* Most of the time first; then by name. */
static int
services_compare(const void *a, const void *b)
{
    const struct service *const x = *(struct service *const *)a, *const y = *(struct service *const *)b;
    if (x->waited_ns != y->waited_ns)
        return x->waited_ns < y->waited_ns ? 1 : -1;
    return strcmp(x->named.name, y->named.name);
}

static void
services_drop(struct services *s, struct service *service)
{
    for (unsigned i = 0; i < SERVICE_PARTS; ++i)
        sqt_distribution_drop(&s->set, &service->parts[i]);
}

static void
services_finish(struct sqt_job *job)
{
    struct services *const s = job->state;
    struct service **const all = sqt_zeroed(s->names.count + 1, sizeof(*all));
    unsigned count = 0;
    for (struct sqt_name_entry *named = s->names.first; named; named = named->next)
        all[count++] = (struct service *)named;
    qsort(all, count, sizeof(*all), services_compare);
    sqt_job_note_coarse(job, "percentiles", s->set.coarse);
    for (unsigned i = 0; i < count; ++i)
        services_print(job, all[i]);
    for (unsigned i = 0; i < count; ++i)
        services_drop(s, all[i]);
    sqt_names_free(&s->names);
    sqt_freed(all);
    sqt_freed(s);
}

const struct sqt_family sqt_family_services = {
    .where = {SQT_TABLE_waits},
    .where_count = 1,
    .start = services_start,
    .consumer = {.request = services_request, .wait = services_wait},
    .finish = services_finish,
};
