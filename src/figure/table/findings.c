/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings.c - what requests wait for more than they should, and whose fault it is, by the rules of findings.def.
 *
 * A request's claims count for itself (ALL), for the server that it was connected to last, for the cache_dir that it
 * read from last, and for the listening port that its client came to.  The time of a request is here all that its client
 * waits for: total_ns, and what is before it, accept_wait_ns and on an https_port client_tls_ns.  What requests would take without a cause follows from three distributions, so that each request is
 * kept once, and twice more for each claim:
 *
 *     all totals  -  totals of the requests with the claim  +  the same totals less the claim
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "findings-internal.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Names of their own; all others are one server, or one cache_dir. */
#define SERVERS 1024
#define PLACES 64
#define LISTENERS 128
#define NAME_SIZE 256

static unsigned
findings_first(unsigned rule)
{
    const struct sqt_finding_rule *const r = &sqt_finding_rules[rule];
    unsigned first = 0;
    while (sqt_finding_rules[first].by != r->by || sqt_finding_rules[first].stages != r->stages)
        ++first;
    return first;
}

static void
findings_start(struct sqt_job *job)
{
    struct sqt_findings *const f = sqt_zeroed(1, sizeof(*f));
    f->set.budget = BUDGET;
    f->names[SQT_FINDING_SERVER] = (struct sqt_names){.size = sizeof(struct sqt_subject), .most = SERVERS};
    f->names[SQT_FINDING_PLACE] = (struct sqt_names){.size = sizeof(struct sqt_subject), .most = PLACES};
    f->names[SQT_FINDING_LISTENER] = (struct sqt_names){.size = sizeof(struct sqt_subject), .most = LISTENERS};
    f->names[SQT_FINDING_WORKER] = (struct sqt_names){.size = sizeof(struct sqt_subject), .most = SQT_FINDING_KIDS};
    sqt_ports_init(&f->ports);
    for (unsigned i = 0; i < SQT_FINDINGS; ++i)
        f->first[i] = findings_first(i);
    job->state = f;
}

/* ---- requests ---- */

/* The cache_dir that the request read from last: type, number and path. */
static struct sqt_subject *
findings_place(struct sqt_findings *f, const struct sqt_xact *xact)
{
    if (xact->dir == UINT32_MAX)
        return NULL;
    const struct sqt_swap swap = {.origin = xact->origin, .dir = xact->dir};
    struct sqt_row_text text;
    const char *path;
    char place[SQT_PLACE_NAME], name[NAME_SIZE];
    sqt_place_name(place, sqt_split_dir(&swap, &text, &path), xact->dir);
    snprintf(name, sizeof(name), "%s%s%s", place, path ? " " : "", path ? path : "");
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_PLACE], name);
    subject->dir = xact->dir;
    for (unsigned i = 0; i < SQT_IO_PARTS; ++i)
        subject->parts[i] += (uint64_t)xact->read_parts[i];
    return subject;
}

static int
has_stages(const union sqt_cell *row, uint64_t stages)
{
    for (; stages; stages &= stages - 1)
        if (row[__builtin_ctzll(stages)].number != SQT_CELL_MISSING)
            return 1;
    return 0;
}

static void
findings_claim(struct sqt_findings *f, struct sqt_claim *claim, uint64_t stages, const union sqt_cell *row)
{
    const int64_t ns = sqt_row_sum(row, stages), total = row[SQT_CELL(requests, total_ns)].number;
    claim->count += (unsigned)has_stages(row, stages);
    if (ns <= 0)
        return;
    claim->ns += (uint64_t)ns;
    sqt_distribution_add(&f->set, &claim->totals, total);
    sqt_distribution_add(&f->set, &claim->rests, total - ns);
}

/* Makes total_ns what the client waited for: with what was before the request began.  A handshake of a bumped CONNECT was
 * not. */
static void
findings_felt(union sqt_cell *row, const struct sqt_xact *xact)
{
    if (!xact->tls_before)
        row[SQT_CELL(requests, client_tls_ns)].number = SQT_CELL_MISSING;
    row[SQT_CELL(requests, total_ns)].number =
        sqt_row_sum(row, SQT_NS(total) | SQT_NS(accept_wait) | SQT_NS(client_tls));
}

static struct sqt_subject *
findings_listener(struct sqt_findings *f, const struct sqt_xact *xact)
{
    const char *const name = sqt_listener_text(xact->origin, xact->listener);
    if (!name)
        return NULL;
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_LISTENER], name);
    if (xact->put_off && xact->accept_wait > 0)
        subject->put_off += (uint64_t)xact->accept_wait;
    return subject;
}

/* The worker that serves the request; without several workers there are none. */
static struct sqt_subject *
findings_worker(struct sqt_findings *f, const struct sqt_identity *identity)
{
    char name[32];
    if (identity->kid_kind != SQT_KID_WORKER || identity->kid >= SQT_FINDING_KIDS)
        return NULL;
    snprintf(name, sizeof(name), "worker %u", (unsigned)identity->kid);
    struct sqt_subject *const subject = sqt_names_get(&f->names[SQT_FINDING_WORKER], name);
    subject->kid = identity->kid;
    return subject;
}

static void
findings_wait(struct sqt_findings *f, struct sqt_subject *subject, const union sqt_cell *row)
{
    const int64_t wait = row[SQT_CELL(requests, server_wait_ns)].number;
    if (subject && wait != SQT_CELL_MISSING)
        sqt_distribution_add(&f->set, &subject->waits, wait);
}

static void
findings_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    if (sqt_durations_unknown(xact->outcome) || xact->outcome == SQT_OUTCOME_UNFINISHED ||
        sqt_request_cells(row, xact) == SQT_CLASS_TUNNEL || !sqt_job_wants(job, xact->begin, row))
        return;
    findings_felt(row, xact);
    const char *const server = row[SQT_CELL(requests, server)].text;
    struct sqt_subject *const subjects[] = {
        [SQT_FINDING_ALL] = &f->all,
        [SQT_FINDING_SERVER] = server ? sqt_names_get(&f->names[SQT_FINDING_SERVER], server) : NULL,
        [SQT_FINDING_PLACE] = findings_place(f, xact),
        [SQT_FINDING_LISTENER] = findings_listener(f, xact),
        [SQT_FINDING_WORKER] = findings_worker(f, &xact->origin->identity),
    };
    f->total_ns += (uint64_t)row[SQT_CELL(requests, total_ns)].number;
    sqt_distribution_add(&f->set, &f->totals, row[SQT_CELL(requests, total_ns)].number);
    findings_wait(f, &f->all, row);
    findings_wait(f, subjects[SQT_FINDING_SERVER], row);
    for (unsigned i = 0; i < SQT_FINDINGS; ++i) {
        struct sqt_subject *const subject = subjects[sqt_finding_rules[i].by];
        if (f->first[i] == i && subject)
            findings_claim(f, &subject->claims[i], sqt_finding_rules[i].stages, row);
    }
}

/* ---- listening ports ---- */

static void
findings_accept(void *context, const struct sqt_accept_row *row)
{
    struct sqt_job *const job = context;
    sqt_ports_accept(&((struct sqt_findings *)job->state)->ports, job, row);
}

static void
findings_put_off(void *context, const struct sqt_put_off_row *row)
{
    struct sqt_job *const job = context;
    sqt_ports_put_off(&((struct sqt_findings *)job->state)->ports, job, row);
}

static void
findings_sample(void *context, const struct sqt_sample_row *sample)
{
    struct sqt_job *const job = context;
    sqt_ports_sample(&((struct sqt_findings *)job->state)->ports, job, sample);
}

/* ---- workers ---- */

static void
findings_loop(void *context, const struct sqt_loop_row *pass)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    const struct sqt_identity *const identity = &pass->origin->identity;
    if (identity->kid_kind != SQT_KID_WORKER || identity->kid >= SQT_FINDING_KIDS || pass->unknown ||
        pass->begin < job->since || pass->begin >= job->until || pass->work < pass->begin || pass->end < pass->work)
        return;
    f->loops[identity->kid].work += (uint64_t)(pass->end - pass->work);
    f->loops[identity->kid].all += (uint64_t)(pass->end - pass->begin);
}

/* One that serves nobody has passes all the same. */
static void
findings_workers(struct sqt_findings *f)
{
    for (unsigned kid = 0; kid < SQT_FINDING_KIDS; ++kid)
        if (f->loops[kid].all) {
            const struct sqt_identity identity = {.kid = kid, .kid_kind = SQT_KID_WORKER};
            findings_worker(f, &identity)->busy = 100.0 * (double)f->loops[kid].work / (double)f->loops[kid].all;
        }
}

/* Kids may share a socket, and then tell the same drops. */
static void
findings_ports(struct sqt_findings *f)
{
    for (struct sqt_name_entry *named = f->ports.first; named; named = named->next) {
        const struct sqt_port *const port = (const struct sqt_port *)named;
        struct sqt_subject *const s = sqt_names_get(&f->names[SQT_FINDING_LISTENER], sqt_port_name(port));
        s->connections += port->connections;
        s->drops = port->drops > s->drops ? port->drops : s->drops;
        s->backlog = port->limit > s->backlog ? port->limit : s->backlog;
        s->descriptors = port->descriptors ? port->descriptors : s->descriptors;
    }
}

static void
findings_drop(struct sqt_findings *f, struct sqt_subject *subject)
{
    sqt_distribution_drop(&f->set, &subject->waits);
    for (unsigned i = 0; i < SQT_FINDINGS; ++i) {
        sqt_distribution_drop(&f->set, &subject->claims[i].totals);
        sqt_distribution_drop(&f->set, &subject->claims[i].rests);
    }
}

static void
findings_free(struct sqt_findings *f)
{
    for (unsigned by = SQT_FINDING_SERVER; by < SQT_FINDING_BYS; ++by) {
        for (struct sqt_name_entry *named = f->names[by].first; named; named = named->next)
            findings_drop(f, (struct sqt_subject *)named);
        sqt_names_free(&f->names[by]);
    }
    sqt_names_free(&f->ports);
    findings_drop(f, &f->all);
    sqt_distribution_drop(&f->set, &f->totals);
    free(f);
}

static void
findings_finish(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    job->note(job->context, "percentiles",
              f->set.coarse ? "costs are differences of percentiles that are at most 0.2 % off (log-linear histogram)"
                            : "exact");
    findings_ports(f);
    findings_workers(f);
    sqt_findings_rows(job);
    findings_free(f);
}

const struct sqt_family sqt_family_findings = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = findings_start,
    .consumer = {.request = findings_request,
                 .accept = findings_accept,
                 .put_off = findings_put_off,
                 .loop = findings_loop,
                 .sample = findings_sample},
    .finish = findings_finish,
};
