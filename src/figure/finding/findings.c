/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings.c - what requests wait for more than they should, and whose fault it is, by the rules of findings.def.
 *
 * A request's claims count for itself (ALL), for the server that it was connected to last, for the cache_dir that it
 * read from last, for the listening port that its client came to, and for the helpers, the adaptation service and the
 * name server that it waited for longest.  The time of a request is here all that its client waits for: total_ns, and
 * what is before it, accept_wait_ns and on an https_port client_tls_ns.
 *
 * What requests would take without a cause follows from three distributions, so that each request is
 * kept once, and twice more for each claim:
 *
 *     all totals  -  totals of the requests with the claim  +  the same totals less the claim
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "findings-internal.h"

/* Values kept before they become histograms: 16 MiB. */
#define BUDGET ((size_t)2 << 20)
/* Octaves of these: 24 MiB. */
#define OCTAVES 12288
/* Names of their own; all others are one server, or one cache_dir. */
#define SERVERS 1024
#define PLACES 64
#define REASONS 32
#define POOLS 64
#define WAITED 32
#define LISTENERS 128
/* Sums by window, of requests and of each subject's: 12 MB. */
#define WINDOWS ((size_t)1 << 18)
#define SECOND INT64_C(1000000000)
/* A claim of less is not felt: when it was is not kept.  ns */
#define FELT INT64_C(500000)

static const unsigned findings_most[SQT_FINDING_BYS] = {
    [SQT_FINDING_SERVER] = SERVERS,    [SQT_FINDING_PLACE] = PLACES,       [SQT_FINDING_REASON] = REASONS,
    [SQT_FINDING_LEADER] = SERVERS,    [SQT_FINDING_POOL] = POOLS,         [SQT_FINDING_FAILED] = SERVERS,
    [SQT_FINDING_NEIGHBOR] = SERVERS,  [SQT_FINDING_LISTENER] = LISTENERS, [SQT_FINDING_WORKER] = SQT_FINDING_KIDS,
    [SQT_FINDING_HELPER] = WAITED,     [SQT_FINDING_REWRITER] = WAITED,    [SQT_FINDING_ADAPTER] = WAITED,
    [SQT_FINDING_NAME_SERVER] = WAITED};

static unsigned
findings_first(unsigned rule)
{
    const struct sqt_finding_rule *const r = &sqt_finding_rules[rule];
    unsigned first = 0;
    while (sqt_finding_rules[first].by != r->by || sqt_finding_rules[first].stages != r->stages)
        ++first;
    return first;
}

/* ---- looks ---- */

static unsigned
looks_count(void)
{
    unsigned count = 0;
    while (sqt_looks[count])
        ++count;
    return count;
}

static void
findings_look(struct sqt_findings *f)
{
    const unsigned count = looks_count();
    f->looking = sqt_zeroed(count + 1, sizeof(*f->looking));
    for (unsigned i = 0; i < count; ++i)
        f->looking[i] = sqt_zeroed(1, sqt_looks[i]->size);
}

/* Hands something to each look that wants it. */
#define LOOK_AT(f, function, ...) \
    for (unsigned look = 0; sqt_looks[look]; ++look) \
        if (sqt_looks[look]->function) \
    sqt_looks[look]->function((f)->looking[look], __VA_ARGS__)

static void
findings_stop_looking(struct sqt_findings *f)
{
    for (unsigned i = 0; sqt_looks[i]; ++i) {
        if (sqt_looks[i]->end)
            sqt_looks[i]->end(f->looking[i]);
        sqt_freed(f->looking[i]);
    }
    sqt_freed(f->looking);
}

static int
findings_asks(const struct sqt_job *job, int64_t at)
{
    return at >= job->since && at < job->until;
}

#define LOOK(name, type, at) \
    static void findings_##name(void *context, const type *thing) \
    { \
        const struct sqt_job *const job = context; \
        struct sqt_findings *const f = job->state; \
        if (findings_asks(job, thing->at)) \
            LOOK_AT(f, name, thing); \
    }
LOOK(wait, struct sqt_wait, begin)
LOOK(stop, struct sqt_stop_row, begin)
LOOK(closed, struct sqt_closed_row, at)
LOOK(late_read, struct sqt_late_read, at)
LOOK(incident, struct sqt_incident_row, at)
LOOK(step, struct sqt_step_row, from)

static void
findings_connection(void *context, const struct sqt_attempt *attempt)
{
    const struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    sqt_findings_connection(f, attempt);
    if (findings_asks(job, attempt->begin))
        LOOK_AT(f, connection, attempt);
}

static void
findings_swap(void *context, struct sqt_swap *swap)
{
    const struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    if (findings_asks(job, swap->begin))
        LOOK_AT(f, swap, swap);
}

static void
findings_setup(void *context, const struct sqt_setup_row *row)
{
    const struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    LOOK_AT(f, setup, row);
    if ((row->event == SQT_EV_ROTATE || row->event == SQT_EV_RECONFIGURE) && f->setups.count < SQT_FINDING_SETUPS) {
        f->setups.at[f->setups.count] = row->at;
        f->setups.event[f->setups.count++] = row->event;
    }
}

static void
findings_open_loop(struct sqt_job *job, const struct sqt_open_loop *loop, const struct sqt_now *now)
{
    struct sqt_findings *const f = job->state;
    LOOK_AT(f, open_loop, loop, now);
}

static void
findings_start(struct sqt_job *job)
{
    struct sqt_findings *const f = sqt_zeroed(1, sizeof(*f));
    f->set.budget = BUDGET;
    f->set.octaves_most = OCTAVES;
    f->when.most = WINDOWS;
    f->series = f->all.series = SQT_SERIES_ALL;
    sqt_ports_init(&f->ports);
    sqt_holders_init(&f->holders);
    for (unsigned i = 0; i < SQT_FINDINGS; ++i) {
        f->first[i] = findings_first(i);
        f->claim[i] = f->first[i] == i ? f->claims[sqt_finding_rules[i].by]++ : f->claim[f->first[i]];
    }
    for (unsigned by = 0; by < SQT_FINDING_BYS; ++by) {
        const size_t size = sizeof(struct sqt_subject) + f->claims[by] * sizeof(struct sqt_claim);
        f->names[by] = (struct sqt_names){.size = size, .most = findings_most[by]};
    }
    for (unsigned i = 0; i < SQT_FINDINGS; ++i) {
        f->stages |= sqt_finding_rules[i].stages;
        if (f->first[i] == i && i != SQT_FINDING_NUMBER_connect_server)
            f->firsts[f->first_count++] = i;
    }
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        f->stage_of[SQT_STAGE_CELL(i)] = (unsigned char)(sqt_stage_columns[i] + 1);
    f->stage_of[SQT_CELL(requests, unaccounted_ns)] = SQT_UNACCOUNTED + 1;
    findings_look(f);
    job->state = f;
}

/* ---- requests ---- */

/* Those of these columns that have a value, and those whose value is above 0: a request has few of them. */
struct findings_columns {
    uint64_t with, above;
};

static struct findings_columns
findings_columns(const union sqt_cell *row, uint64_t stages)
{
    struct findings_columns found = {0, 0};
    for (; stages; stages &= stages - 1) {
        const unsigned column = (unsigned)__builtin_ctzll(stages);
        const int64_t number = row[column].number;
        found.with |= (uint64_t)(number != SQT_CELL_MISSING) << column;
        found.above |= (uint64_t)(number > 0) << column;
    }
    return found;
}

/* Nanoseconds of these columns.  What the event loop was held meanwhile is no stage's fault. */
static int64_t
findings_ns(const struct sqt_findings *f, uint64_t stages, const union sqt_cell *row, const struct sqt_xact *xact)
{
    int64_t ns = sqt_row_sum(row, stages);
    for (; stages && xact->held_in; stages &= stages - 1) {
        const unsigned stage = f->stage_of[__builtin_ctzll(stages)];
        ns -= stage ? (int64_t)xact->held_in->us[stage - 1] * 1000 : 0;
    }
    return ns;
}

struct sqt_claim *
sqt_finding_claim_of(struct sqt_findings *f, struct sqt_subject *subject, unsigned rule)
{
    struct sqt_claim *const claims = subject == &f->all ? f->of_all : (struct sqt_claim *)(void *)(subject + 1);
    return &claims[f->claim[rule]];
}

void
sqt_finding_claim(struct sqt_findings *f, struct sqt_claim *claim, int64_t ns, int64_t total)
{
    if (ns <= 0)
        return;
    if (f->ledger)
        sqt_ledger_add(f->ledger, &claim->account, (uint64_t)ns);
    claim->ns += (uint64_t)ns;
    sqt_distribution_add(&f->set, &claim->totals, total);
    sqt_distribution_add(&f->set, &claim->rests, total - ns);
}

/* The handshake of a bumped CONNECT, which is inside: its time goes from where it was charged, reply_wait or what no stage
 * explains, to client_tls. */
static int64_t
findings_bumped(union sqt_cell *row)
{
    static const unsigned from[] = {SQT_CELL(requests, reply_wait_ns), SQT_CELL(requests, unaccounted_ns)};
    const int64_t shaken = sqt_row_sum(row, SQT_NS(client_tls));
    int64_t left = shaken;
    for (unsigned i = 0; i < sizeof(from) / sizeof(*from); ++i) {
        int64_t *const ns = &row[from[i]].number;
        const int64_t taken = *ns == SQT_CELL_MISSING ? 0 : *ns < left ? *ns : left;
        *ns -= taken;
        left -= taken;
    }
    row[SQT_CELL(requests, client_tls_ns)].number = shaken ? shaken - left : SQT_CELL_MISSING;
    return shaken - left;
}

/* Makes total_ns what the client waited for: with what was before the request began, and of a tunnel until it opened.
 * A handshake of a bumped CONNECT is inside. */
static int64_t
findings_felt(union sqt_cell *row, const struct sqt_xact *xact)
{
    const int64_t shaken = xact->tls_before ? 0 : findings_bumped(row);
    if (xact->held_in && row[SQT_CELL(requests, tunnel_ns)].number != SQT_CELL_MISSING)
        row[SQT_CELL(requests, loop_held_ns)].number -= (int64_t)xact->held_in->us[SQT_STAGE_TUNNEL] * 1000;
    const int64_t felt =
        sqt_row_sum(row, SQT_NS(total) | SQT_NS(accept_wait) | SQT_NS(client_tls)) - sqt_row_sum(row, SQT_NS(tunnel));
    row[SQT_CELL(requests, tunnel_ns)].number = SQT_CELL_MISSING;
    return row[SQT_CELL(requests, total_ns)].number = felt - shaken;
}

static void
findings_server_wait(struct sqt_findings *f, struct sqt_subject *subject, const union sqt_cell *row,
                     const struct sqt_xact *xact)
{
    const int64_t wait = row[SQT_CELL(requests, server_wait_ns)].number,
                  connect = row[SQT_CELL(requests, connect_ns)].number;
    if (!subject)
        return;
    subject->answer.send += (double)sqt_row_sum(row, SQT_NS(request_send));
    subject->answer.wait += (double)sqt_row_sum(row, SQT_NS(server_wait));
    subject->answer.body += (double)sqt_row_sum(row, SQT_NS(server_reply));
    const int64_t sent = xact->sent == SQT_MISSING ? 0 : xact->sent;
    subject->answer.bytes +=
        !sqt_row_sum(row, SQT_NS(server_reply)) ? 0 : (double)(xact->fetched > sent ? xact->fetched : sent);
    if (xact->outcome == SQT_OUTCOME_COMPLETE && xact->read_last != SQT_MISSING && xact->server_until > xact->read_last)
        subject->answer.ending += (double)(xact->server_until - xact->read_last);
    if (wait != SQT_CELL_MISSING)
        sqt_distribution_add(&f->set, &subject->waits, findings_ns(f, SQT_NS(server_wait), row, xact));
    if (connect > 0 && (!subject->answer.quickest || connect < subject->answer.quickest))
        subject->answer.quickest = connect;
    if (connect != SQT_CELL_MISSING)
        sqt_distribution_add(&f->set, &subject->connects, findings_ns(f, SQT_NS(connect), row, xact));
}

/* Whether the duration is what TCP waits for before it sends a SYN again, and a round trip: 1 s, or then 2 s more. */
static int
is_syn_again(int64_t ns)
{
    return (ns >= SECOND && ns < SECOND + SECOND / 3) || (ns >= 3 * SECOND && ns < 3 * SECOND + SECOND / 3);
}

/* What a wait for a server lost at least if a packet of it was: TCP sends it again after 200 ms and a round trip. */
static int64_t
findings_late(struct sqt_findings *f, unsigned kind, int64_t ns)
{
    const int64_t again = SECOND / 5;
    f->all.late[kind] += ns >= again && ns < again + again / 2;
    f->all.between += ns >= again / 2 && ns < again;
    return ns >= again ? again : 0;
}

static int64_t
findings_lost(struct sqt_findings *f, const union sqt_cell *row)
{
    const int64_t connect = sqt_row_sum(row, SQT_NS(connect));
    const int syn = is_syn_again(connect);
    f->all.syns += (unsigned)syn;
    return (syn ? connect / SECOND * SECOND : 0) + findings_late(f, 0, sqt_row_sum(row, SQT_NS(server_wait))) +
           findings_late(f, 1, sqt_row_sum(row, SQT_NS(server_reply)));
}

int64_t
sqt_finding_slow(const struct sqt_xact *xact, int64_t ns)
{
    const int64_t bytes = xact->sent == SQT_MISSING ? 0 : xact->sent;
    const double slow = (double)ns - (double)bytes / SQT_FINDING_RATE * 1e9;
    return slow <= 0 ? 0 : slow < (double)ns ? (int64_t)slow : ns;
}

/* A claim on stages of a request, of whose reply only the time counts that its bytes do not need. */
static void
findings_claim(struct sqt_findings *f, struct sqt_claim *claim, uint64_t stages, int64_t ns, const union sqt_cell *row,
               const struct sqt_xact *xact)
{
    const int64_t reply = stages & SQT_NS(server_reply) ? sqt_row_sum(row, SQT_NS(server_reply)) : 0;
    claim->tunnels += (xact->flags & SQT_XACT_TUNNEL) != 0;
    sqt_finding_claim(f, claim, ns, row[SQT_CELL(requests, total_ns)].number);
    sqt_finding_claim_at(f, claim, reply ? ns - reply + sqt_finding_slow(xact, reply) : ns, xact->begin);
}

static uint32_t
findings_series(struct sqt_findings *f, uint32_t *series)
{
    return *series ? *series : (*series = ++f->series);
}

void
sqt_finding_claim_at(struct sqt_findings *f, struct sqt_claim *claim, int64_t ns, int64_t begin)
{
    if (ns >= FELT)
        sqt_when_add(&f->when, findings_series(f, &claim->series), begin, (uint64_t)ns, 1);
}

/* Its requests, window by window. */
static void
findings_count(struct sqt_findings *f, struct sqt_subject *const subjects[SQT_FINDING_BYS], int64_t begin,
               int64_t total)
{
    for (unsigned by = 0; by < SQT_FINDING_BYS; ++by)
        if (by != SQT_FINDING_ALL && subjects[by])
            sqt_when_add(&f->when, findings_series(f, &subjects[by]->series), begin, 0, 1);
    if (f->ledger && subjects[SQT_FINDING_SERVER])
        sqt_ledger_add(f->ledger, &subjects[SQT_FINDING_SERVER]->account, (uint64_t)total);
}

/* A request that the minute's own sums count as failed: it got an error of Squid's or of a server, or no answer. */
static int
is_failure(const struct sqt_xact *xact)
{
    return sqt_xact_got_error(xact) ||
           (!xact->status && (xact->outcome == SQT_OUTCOME_ERROR || xact->outcome == SQT_OUTCOME_TIMEOUT));
}

static void
findings_note_place(struct sqt_findings *f, const struct sqt_job *job, const struct sqt_xact *xact, int64_t total)
{
    if (f->ledger)
        sqt_ledger_request(f->ledger, xact->origin, job->source.record, xact->begin, (uint64_t)total, is_failure(xact));
}

/* A trace or log may say any times: their sum ends at 584 years. */
static void
findings_sum(uint64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, (uint64_t)ns, sum))
        *sum = UINT64_MAX;
}

/* A request that only a log knows: how long it took, and names.  How long a tunnel was open says nothing of waiting. */
static void
findings_logged(struct sqt_findings *f, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const int64_t total = sqt_row_sum(fact->row, SQT_NS(total));
    ++f->logged.requests;
    if (sqt_logged_tunnel(fact)) {
        ++f->logged.tunnels;
        return;
    }
    ++f->felt.requests;
    findings_sum(&f->felt.total_ns, total);
    for (unsigned look = 0; sqt_looks[look]; ++look)
        if (sqt_looks[look]->of_log && sqt_looks[look]->request)
            sqt_looks[look]->request(f->looking[look], xact, fact, total);
    if (sqt_durations_unknown(fact->outcome)) {
        ++f->logged.untimed;
        return;
    }
    findings_sum(&f->total_ns, total);
    findings_sum(&f->slow_ns, sqt_finding_slow(xact, total));
    sqt_distribution_add(&f->set, &f->totals, total);
    sqt_when_add(&f->when, SQT_SERIES_ALL, xact->begin, (uint64_t)total, 1);
}

static void
findings_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    struct sqt_request_fact own;
    const struct sqt_request_fact *const fact = sqt_job_fact(job, &own, xact);
    union sqt_cell row[SQT_CELLS(requests)];
    if ((sqt_durations_unknown(fact->outcome) && !xact->of_log) || !sqt_job_wants(job, fact->begin, fact->row)) {
        sqt_findings_connected(f, xact, -1);
        return;
    }
    if (xact->of_log) {
        findings_logged(f, xact, fact);
        return;
    }
    if (xact->origin != f->met)
        f->attached |= sqt_origin_text(xact->origin, SQT_DEF_ATTACHED, 0) != NULL;
    f->met = xact->origin;
    memcpy(row, fact->row, sizeof(row));
    const int64_t total = findings_felt(row, xact);
    findings_note_place(f, job, xact, total);
    ++f->felt.requests;
    findings_sum(&f->felt.total_ns, total);
    LOOK_AT(f, request, xact, fact, total);
    struct sqt_subject *subjects[SQT_FINDING_BYS];
    sqt_findings_subjects(f, xact, row, subjects);
    findings_sum(&f->total_ns, total);
    findings_sum(&f->slow_ns, sqt_finding_slow(xact, total));
    sqt_distribution_add(&f->set, &f->totals, total);
    sqt_when_add(&f->when, SQT_SERIES_ALL, xact->begin, (uint64_t)total, 1);
    findings_count(f, subjects, xact->begin, total);
    findings_server_wait(f, &f->all, row, xact);
    findings_server_wait(f, subjects[SQT_FINDING_SERVER], row, xact);
    const struct findings_columns found = findings_columns(row, f->stages);
    for (unsigned k = 0; k < f->first_count; ++k) {
        const unsigned i = f->firsts[k];
        const uint64_t stages = sqt_finding_rules[i].stages;
        struct sqt_subject *const subject = subjects[sqt_finding_rules[i].by];
        if (!subject)
            continue;
        struct sqt_claim *const claim = sqt_finding_claim_of(f, subject, i);
        claim->count += (stages & found.with) != 0;
        if (subject == &f->all && stages & found.above)
            f->plain[i] += (uint64_t)sqt_row_sum(row, stages);
        if (i == SQT_FINDING_NUMBER_lost_packets)
            sqt_finding_claim(f, claim, findings_lost(f, row), total);
        else if (stages & found.above)
            findings_claim(f, claim, stages, findings_ns(f, stages, row, xact), row, xact);
    }
    sqt_findings_connected(f, xact, total);
}

/* ---- listening ports ---- */

static void
findings_accept(void *context, const struct sqt_accept_row *row)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    sqt_ports_accept(&f->ports, job, row);
    if (findings_asks(job, row->at))
        LOOK_AT(f, accept, row);
}

static void
findings_client_closed(void *context, const struct sqt_client_closed_row *row)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    if (findings_asks(job, row->at))
        LOOK_AT(f, client_closed, row);
}

static void
findings_put_off(void *context, const struct sqt_put_off_row *row)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    sqt_ports_put_off(&f->ports, job, row);
    if (findings_asks(job, row->begin))
        LOOK_AT(f, put_off, row);
}

static void
findings_sample(void *context, const struct sqt_sample_row *sample)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    sqt_ports_sample(&f->ports, job, sample);
    if (findings_asks(job, sample->at))
        LOOK_AT(f, sample, sample);
}

/* ---- workers ---- */

static void
findings_loop(void *context, const struct sqt_loop_row *pass)
{
    struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    const struct sqt_identity *const identity = &pass->origin->identity;
    if (findings_asks(job, pass->begin))
        LOOK_AT(f, loop, pass);
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
            sqt_findings_worker(f, &identity)->busy = 100.0 * (double)f->loops[kid].work / (double)f->loops[kid].all;
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

/* A condition is about requests, and says nothing of the main thread. */
static void
findings_loop_sample(void *context, const struct sqt_loop_sample_row *sample)
{
    const struct sqt_job *const job = context;
    struct sqt_findings *const f = job->state;
    if (sample->until < job->since || sample->from >= job->until)
        return;
    sqt_holders_add(&f->holders, sample);
    LOOK_AT(f, loop_sample, sample);
}

static void
findings_drop(struct sqt_findings *f, struct sqt_subject *subject, struct sqt_claim *claims, unsigned count)
{
    sqt_distribution_drop(&f->set, &subject->waits);
    sqt_distribution_drop(&f->set, &subject->connects);
    for (unsigned i = 0; i < count; ++i) {
        sqt_distribution_drop(&f->set, &claims[i].totals);
        sqt_distribution_drop(&f->set, &claims[i].rests);
    }
}

static void
findings_free(struct sqt_findings *f)
{
    for (unsigned by = SQT_FINDING_SERVER; by < SQT_FINDING_BYS; ++by) {
        for (struct sqt_name_entry *named = f->names[by].first; named; named = named->next)
            findings_drop(f, (struct sqt_subject *)named, (void *)((struct sqt_subject *)named + 1), f->claims[by]);
        sqt_names_free(&f->names[by]);
    }
    sqt_names_free(&f->ports);
    sqt_holders_free(&f->holders);
    findings_drop(f, &f->all, f->of_all, f->claims[SQT_FINDING_ALL]);
    findings_stop_looking(f);
    sqt_tolds_free(&f->tolds);
    sqt_when_free(&f->when);
    sqt_ledger_free(f->ledger);
    sqt_distribution_drop(&f->set, &f->totals);
    sqt_freed(f->connecting);
    sqt_sparse_free(&f->asked);
    sqt_freed(f);
}

void
sqt_findings_conclude(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    f->felt.begin = job->since > job->from ? job->since : job->from;
    f->felt.end = job->until < job->length ? job->until : job->length;
    findings_ports(f);
    findings_workers(f);
    sqt_findings_tell(job);
}

static void
findings_finish(struct sqt_job *job)
{
    struct sqt_findings *const f = job->state;
    char text[128] = "exact";
    if (f->set.coarse)
        snprintf(text, sizeof(text),
                 "costs are differences of percentiles that are at most %.1f %% off (log-linear histogram)",
                 0.2 * (1 << f->set.halvings));
    job->note(job->context, "percentiles", text);
    sqt_findings_conclude(job);
    sqt_tolds_rows(&f->tolds, job);
    findings_free(f);
}

void
sqt_findings_drop(struct sqt_job *job)
{
    findings_free(job->state);
}

void
sqt_findings_inherit(struct sqt_job *job, const struct sqt_job *from)
{
    const struct sqt_findings *const old = from->state;
    struct sqt_findings *const f = job->state;
    for (unsigned look = 0; sqt_looks[look]; ++look)
        if (sqt_looks[look]->inherit)
            sqt_looks[look]->inherit(f->looking[look], old->looking[look]);
}

const struct sqt_family sqt_family_findings = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = findings_start,
    .consumer = {.request = findings_request,
                 .connection = findings_connection,
                 .closed = findings_closed,
                 .late_read = findings_late_read,
                 .incident = findings_incident,
                 .step = findings_step,
                 .wait = findings_wait,
                 .swap = findings_swap,
                 .stop = findings_stop,
                 .setup = findings_setup,
                 .accept = findings_accept,
                 .client_closed = findings_client_closed,
                 .put_off = findings_put_off,
                 .loop = findings_loop,
                 .sample = findings_sample,
                 .loop_sample = findings_loop_sample},
    .unpicked = 1,
    .open_loop = findings_open_loop,
    .finish = findings_finish,
};
