/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare.c - what sets slow requests apart: which name do they have that quick ones, alike in all else, do not have?
 *
 * Alike are requests of the same class, method, octave of size, and kind of server connection.  A request's excess is
 * what it took beyond the mean of those that are alike and do not have the name.  A name's score is the excess of all its
 * requests, which would vanish if they were like the others.  The best name is told if its score is above what chance
 * gives, a floor that a person would notice, and the largest score after names were shuffled among requests that are
 * alike.  Then its excess is taken out, and it is asked again.  What may be a result of the harm (status, outcome, tries)
 * is no name.
 *
 * Adtributor (Bhagwan et al., NSDI 2014) and MacroBase (Bailis et al., SIGMOD 2017) rank names by how much of a change
 * they explain, and how surprising that is.  Both compare with an earlier time, or with thresholds of the user.  Here requests are
 * compared with those of the same trace that are alike, so that neither is needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/port/ports.h"
#include "figure/stat/names.h"

/* Requests that are kept: where there are more, each second one goes. */
#define KEPT 131072
#define STRATA 512
#define NAMES 1024
#define SHUFFLES 20
#define ROUNDS 4

/* A name is told from that share of the time of all requests on, if its requests take that much longer in the mean, are
 * that many, and take that many times as long as those that are alike.  In ten windows of a second at least, or all. */
#define LEAST_SHARE 0.10
#define LEAST_EXCESS 50e6
#define LEAST_REQUESTS 10
#define LEAST_TIMES 2
#define LEAST_SECONDS 3

enum compare_kind { SERVER, LISTENER, WORKER, PLACE, REASON, ASKED, KINDS };
static const char *const kind_words[KINDS] = {"server",    "listening port", "worker",
                                              "cache_dir", "miss reason",    "helper or service"};

/* What a request's time goes to, as a person would say it. */
#define PARTS(X) \
    X(DNS, SQT_NS(dns), "look-ups of its name") \
    X(CONNECT, SQT_NS(connect) | SQT_NS(tls), "connecting") \
    X(WAIT, SQT_NS(request_send) | SQT_NS(server_wait), "waiting for its first byte") \
    X(BODY, SQT_NS(server_reply), "the bodies of its replies") \
    X(UPLOAD, SQT_NS(client_body), \
      "request bodies that clients send late, as if they waited for a 100 Continue that does not come") \
    X(TRIES, SQT_NS(failed_tries) | SQT_NS(peer_select), "tries that fail, and choosing a server") \
    X(ACCESS, SQT_NS(access) | SQT_NS(helper) | SQT_NS(redirect), "access checks and helpers") \
    X(ADAPT, SQT_NS(adapt), "adaptation") \
    X(DISK, SQT_SWAP_IN, "reading from cache_dirs") \
    X(REPLY, SQT_NS(reply_wait) | SQT_NS(proxy_reply) | SQT_NS(held_back), "writing replies to clients") \
    X(ACCEPT, SQT_NS(accept_wait) | SQT_NS(client_tls), "what comes before the request")
enum compare_part {
#define PART(NAME, stages, words) PART_##NAME,
    PARTS(PART)
#undef PART
        PART_COUNT
};
static const uint64_t part_stages[PART_COUNT] = {
#define PART(NAME, stages, words) stages,
    PARTS(PART)
#undef PART
};
static const char *const part_words[PART_COUNT] = {
#define PART(NAME, stages, words) words,
    PARTS(PART)
#undef PART
};

struct compared {
    uint32_t second;
    uint16_t stratum;
    uint16_t names[KINDS]; /* 0: none */
    float felt, size;      /* ns, bytes */
    float parts[PART_COUNT];
};

struct numbered {
    struct sqt_name_entry named;
    uint16_t number;
};

struct compare {
    struct sqt_names names[KINDS], strata;
    const char *texts[KINDS][NAMES + 2];
    struct compared *kept;
    size_t count;
    uint64_t seen, stride;
};

/* Of requests with a name, of one stratum or all. */
struct sums {
    double felt, count;
};

static uint16_t
compare_number(struct sqt_names *names, const char *name, size_t most, const char **texts)
{
    if (!names->size)
        *names = (struct sqt_names){.size = sizeof(struct numbered), .most = (unsigned)most};
    struct numbered *const n = sqt_names_get(names, name);
    if (!n->number) {
        n->number = (uint16_t)names->count;
        if (texts)
            texts[n->number] = n->named.name;
    }
    return n->number;
}

static uint16_t
compare_name(struct compare *c, enum compare_kind kind, const char *name)
{
    return name ? compare_number(&c->names[kind], name, NAMES, c->texts[kind]) : 0;
}

static unsigned
octave(int64_t size)
{
    unsigned octave = 0;
    for (; size > 0; size >>= 1)
        ++octave;
    return octave;
}

static uint16_t
compare_stratum(struct compare *c, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    char name[64];
    snprintf(name, sizeof(name), "%d %u %u %d", (int)fact->class, (unsigned)xact->method,
             fact->class == SQT_CLASS_TUNNEL ? 0 : octave(xact->size == SQT_MISSING ? 0 : xact->size), xact->reused);
    return compare_number(&c->strata, name, STRATA, NULL);
}

/* Whom the request waited for longest, besides servers. */
static const char *
compare_asked(const struct sqt_xact *xact)
{
    const struct sqt_longest_wait *longest = NULL;
    for (unsigned i = 0; i < SQT_NAMED_STAGES; ++i)
        if (xact->longest[i].def && (!longest || xact->longest[i].ns > longest->ns))
            longest = &xact->longest[i];
    return longest ? sqt_origin_text(xact->origin, longest->def, longest->who) : NULL;
}

/* Room for one more: every second one goes. */
static void
compare_thin(struct compare *c)
{
    size_t left = 0;
    for (size_t i = 0; i < c->count; i += 2)
        c->kept[left++] = c->kept[i];
    c->count = left;
    c->stride *= 2;
}

static void
compare_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct compare *const c = state;
    char worker[32], place[SQT_FINDING_NAME];
    if (!c->kept) {
        c->kept = sqt_zeroed(KEPT, sizeof(*c->kept));
        c->stride = 1;
    }
    if (c->seen++ % c->stride)
        return;
    if (c->count == KEPT)
        compare_thin(c);
    snprintf(worker, sizeof(worker), "worker %u", (unsigned)xact->origin->identity.kid);
    struct compared *const r = &c->kept[c->count++];
    *r = (struct compared){.second = (uint32_t)(xact->begin / INT64_C(1000000000)),
                           .stratum = compare_stratum(c, xact, fact),
                           .felt = (float)sqt_finding_slow(xact, felt),
                           .size = xact->size == SQT_MISSING ? 0 : (float)xact->size};
    r->names[SERVER] = compare_name(c, SERVER, fact->row[SQT_CELL(requests, server)].text);
    r->names[LISTENER] = compare_name(c, LISTENER, sqt_listener_text(xact->origin, xact->listener));
    r->names[WORKER] = xact->origin->identity.kid_kind == SQT_KID_WORKER ? compare_name(c, WORKER, worker) : 0;
    r->names[PLACE] = sqt_finding_place_name(xact, place) ? compare_name(c, PLACE, place) : 0;
    r->names[REASON] = compare_name(c, REASON, fact->row[SQT_CELL(requests, miss_reason)].text);
    r->names[ASKED] = compare_name(c, ASKED, compare_asked(xact));
    for (unsigned i = 0; i < PART_COUNT; ++i)
        r->parts[i] = (float)sqt_row_sum(fact->row, part_stages[i]);
}

/* ---- scores ---- */

/* What is known of a kind's names, stratum by stratum. */
struct scores {
    struct sums of[NAMES + 2], strata[STRATA + 2];
    struct sums *cells; /* [name][stratum] */
    size_t strata_count, names_count;
};

static void
scores_fill(struct scores *s, const struct compared *kept, size_t count, enum compare_kind kind,
            const uint16_t *shuffled)
{
    memset(s->of, 0, sizeof(s->of));
    memset(s->strata, 0, sizeof(s->strata));
    memset(s->cells, 0, s->names_count * s->strata_count * sizeof(*s->cells));
    for (size_t i = 0; i < count; ++i) {
        const struct compared *const r = &kept[i];
        const uint16_t name = shuffled ? shuffled[i] : r->names[kind];
        struct sums *const sums[] = {&s->of[name], &s->strata[r->stratum],
                                     &s->cells[name * s->strata_count + r->stratum]};
        for (unsigned k = 0; k < sizeof(sums) / sizeof(*sums); ++k) {
            sums[k]->felt += r->felt;
            ++sums[k]->count;
        }
    }
}

/* What the requests of a name took beyond others that are alike; where there are hardly any, beyond nothing: they do not
 * count.  *compared: how many of its requests have others. */
static double
scores_excess(const struct scores *s, size_t name, double *compared)
{
    double excess = 0;
    *compared = 0;
    for (size_t k = 0; k < s->strata_count; ++k) {
        const struct sums *const its = &s->cells[name * s->strata_count + k], *const all = &s->strata[k];
        const double others = all->count - its->count;
        if (its->count < 1 || others < LEAST_REQUESTS)
            continue;
        excess += its->felt - its->count * (all->felt - its->felt) / others;
        *compared += its->count;
    }
    return excess;
}

static double
scores_largest(const struct scores *s, size_t *name)
{
    double largest = 0, compared;
    *name = 0;
    for (size_t i = 1; i < s->names_count; ++i) {
        const double excess = scores_excess(s, i, &compared);
        if (excess > largest) {
            largest = excess;
            *name = i;
        }
    }
    return largest;
}

/* The same numbers for each trace: a xorshift generator. */
static uint32_t
compare_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

struct by_stratum {
    uint16_t stratum;
    uint32_t second, index;
};

static int
compare_by_stratum(const void *a, const void *b)
{
    const struct by_stratum *const x = a, *const y = b;
    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Names change places among requests that are alike. */
static void
compare_shuffle(const struct compare *c, enum compare_kind kind, const struct by_stratum *order, uint16_t *shuffled,
                uint32_t *random)
{
    for (size_t i = 0; i < c->count; ++i)
        shuffled[order[i].index] = c->kept[order[i].index].names[kind];
    for (size_t begin = 0, end; begin < c->count; begin = end) {
        for (end = begin + 1; end < c->count && order[end].stratum == order[begin].stratum; ++end)
            ;
        for (size_t i = end - 1; i > begin; --i) {
            const size_t k = begin + compare_random(random) % (i - begin + 1);
            const uint16_t kept = shuffled[order[i].index];
            shuffled[order[i].index] = shuffled[order[k].index];
            shuffled[order[k].index] = kept;
        }
    }
}

/* What chance alone gives. */
static double
compare_chance(struct compare *c, enum compare_kind kind, struct scores *s)
{
    struct by_stratum *const order = sqt_zeroed(c->count + 1, sizeof(*order));
    uint16_t *const shuffled = sqt_zeroed(c->count + 1, sizeof(*shuffled));
    uint32_t random = 2463534242;
    double largest = 0;
    for (size_t i = 0; i < c->count; ++i)
        order[i] = (struct by_stratum){c->kept[i].stratum, c->kept[i].second, (uint32_t)i};
    qsort(order, c->count, sizeof(*order), compare_by_stratum);
    for (unsigned i = 0; i < SHUFFLES; ++i) {
        size_t name;
        compare_shuffle(c, kind, order, shuffled, &random);
        scores_fill(s, c->kept, c->count, kind, shuffled);
        const double score = scores_largest(s, &name);
        largest = score > largest ? score : largest;
    }
    free(order);
    free(shuffled);
    return largest;
}

/* ---- what is told ---- */

struct culprit {
    enum compare_kind kind;
    size_t name;
    double excess, requests, mean, others;
};

/* The seconds in which its requests take at least half of what they take in all beyond others. */
static unsigned
culprit_seconds(const struct compare *c, const struct culprit *x, uint32_t *bad, double *sizes)
{
    unsigned count = 0;
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < c->count; ++i) {
        const struct compared *const r = &c->kept[i];
        if (r->names[x->kind] != x->name || r->felt - x->others < (x->mean - x->others) / 2 ||
            (last != UINT32_MAX && r->second <= last))
            continue;
        sizes[count] = r->felt;
        bad[count++] = last = r->second;
    }
    return count;
}

static unsigned
compare_seconds(const struct compare *c, uint32_t *active)
{
    unsigned count = 0;
    for (size_t i = 0; i < c->count; ++i)
        if (!count || c->kept[i].second > active[count - 1])
            active[count++] = c->kept[i].second;
    return count;
}

/* The part in which its requests take most beyond the others; how much of the excess it is, and what each takes in it. */
static enum compare_part
culprit_part(const struct compare *c, const struct culprit *x, double *share, double *each, double *rate)
{
    double its[PART_COUNT] = {0}, others[PART_COUNT] = {0}, bytes = 0;
    unsigned most = 0;
    for (size_t i = 0; i < c->count; ++i)
        for (unsigned k = 0; k < PART_COUNT; ++k)
            *(c->kept[i].names[x->kind] == x->name ? &its[k] : &others[k]) += c->kept[i].parts[k];
    const double rest = (double)c->count - x->requests;
    for (unsigned k = 0; k < PART_COUNT; ++k) {
        its[k] /= x->requests;
        others[k] = rest > 0 ? others[k] / rest : 0;
        if (its[k] - others[k] > its[most] - others[most])
            most = k;
    }
    for (size_t i = 0; i < c->count; ++i)
        bytes += c->kept[i].names[x->kind] == x->name ? c->kept[i].size : 0;
    *share = x->mean > x->others ? (its[most] - others[most]) / (x->mean - x->others) : 0;
    *each = its[most];
    *rate = its[PART_BODY] > 0 ? bytes / x->requests / its[PART_BODY] * 1e9 : 0;
    return (enum compare_part)most;
}

static int
is_told_already(const struct sqt_tolds *tolds, const char *name, double excess)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        if (sqt_told_names(tolds->told[i]->culprit, name) && (double)tolds->told[i]->waiting >= excess / 2)
            return 1;
    return 0;
}

static void
culprit_sentence(const struct compare *c, const struct culprit *x, struct sqt_told *told, double share_of_all)
{
    double share, each, rate;
    char its[SQT_HUMAN_ROOM], others[SQT_HUMAN_ROOM], in_part[SQT_HUMAN_ROOM], bytes[SQT_HUMAN_ROOM];
    const enum compare_part part = culprit_part(c, x, &share, &each, &rate);
    const char *const name = c->texts[x->kind][x->name];
    sqt_human_time(its, x->mean, " ", "us");
    sqt_human_time(others, x->others > 0 ? x->others : 0, " ", "us");
    sqt_human_time(in_part, each, " ", "us");
    sqt_human_bytes(bytes, rate);
    if (part == PART_BODY && x->kind == SERVER)
        sqt_told_print(
            told->sentence,
            "%.0f %% of the time of requests is bodies of %s that come at %s/s: its requests take %s, others "
            "that are alike %s.",
            100 * share_of_all, name, bytes, its, others);
    else
        sqt_told_print(told->sentence,
                       "%.0f %% of the time of requests sets those of %s %s apart: they take %s, others that are alike "
                       "%s. Most of it is %s: %s for each.",
                       100 * share_of_all, kind_words[x->kind], name, its, others, part_words[part], in_part);
    if (x->kind == SERVER && part == PART_UPLOAD)
        sqt_told_print(
            told->advice,
            "Clients send their bodies late to that server only: if they ask with Expect: 100-continue, it does "
            "not answer 100 Continue, and they wait for that. force_request_body_continuation: Squid answers.");
    else if (x->kind == SERVER)
        sqt_told_print(told->advice, part == PART_DNS ? "The name servers of that domain: ask one of them by hand."
                                                      : "Look at that server, and at the way to it.");
    else if (x->kind == WORKER)
        sqt_told_print(told->advice, "Table loop_time says what that worker does.");
    else
        sqt_told_print(told->advice, "Table requests says what they have in common besides.");
    if (x->kind == SERVER)
        sqt_finding_text(told->command, SQT_TOLD_TEXT, "sqtrace-dump --where='{server}' TRACE",
                         &(struct sqt_finding_values){.culprit = name});
    else
        sqt_told_print(told->command, "sqtrace-dump TRACE");
}

/* Names of one server only take long to be looked up: then it is not the name server that is slow. */
static void
culprit_spare(const struct compare *c, const struct culprit *x, const struct sqt_told *told, struct sqt_tolds *tolds)
{
    double share, each, rate;
    if (x->kind == SERVER && culprit_part(c, x, &share, &each, &rate) == PART_DNS)
        sqt_tolds_spare(tolds, "slow_name_server", told->waiting);
}

static void
culprit_tell(const struct compare *c, const struct culprit *x, const struct sqt_look_totals *totals,
             struct sqt_tolds *tolds)
{
    const char *const name = c->texts[x->kind][x->name];
    uint32_t *const bad = sqt_zeroed(2 * c->count + 1, sizeof(*bad)), *const active = bad + c->count;
    double *const sizes = sqt_zeroed(c->count + 1, sizeof(*sizes));
    const unsigned bads = culprit_seconds(c, x, bad, sizes), actives = compare_seconds(c, active);
    const double excess = x->excess * (double)c->stride;
    if (bads >= LEAST_SECONDS && !is_told_already(tolds, name, excess)) {
        struct sqt_told *const told = sqt_tolds_add(tolds, x->kind == SERVER ? "slow_at_server" : "set_apart",
                                                    SQT_HARM_WAITING, sqt_told_ns(excess));
        if (told) {
            snprintf(told->culprit, sizeof(told->culprit), "%s", name);
            told->requests = (uint64_t)x->requests * c->stride;
            told->waiting = sqt_told_ns(excess);
            told->share = sqt_percent(excess, (double)totals->total_ns);
            sqt_when_pattern(told, bad, sizes, bads, active, actives, active[actives - 1], INT64_C(1000000000));
            culprit_sentence(c, x, told, excess / (double)totals->total_ns);
            sqt_tolds_supersede(tolds, told);
            culprit_spare(c, x, told, tolds);
        }
    }
    free(bad);
    free(sizes);
}

static int
is_noticed(const struct culprit *x, double all)
{
    return x->requests >= LEAST_REQUESTS && x->excess >= LEAST_SHARE * all && x->excess >= LEAST_EXCESS * x->requests &&
           x->mean >= LEAST_TIMES * x->others;
}

/* The name of a kind with the largest score. */
static struct culprit
compare_best(struct compare *c, enum compare_kind kind, struct scores *s)
{
    struct culprit x = {.kind = kind};
    scores_fill(s, c->kept, c->count, kind, NULL);
    x.excess = scores_largest(s, &x.name);
    x.requests = s->of[x.name].count;
    x.mean = x.requests > 0 ? s->of[x.name].felt / x.requests : 0;
    x.others = x.requests > 0 ? x.mean - x.excess / x.requests : 0;
    return x;
}

/* Its requests are from now on like the others. */
static void
compare_take_out(struct compare *c, const struct culprit *x)
{
    for (size_t i = 0; i < c->count; ++i)
        if (c->kept[i].names[x->kind] == x->name && c->kept[i].felt > x->others)
            c->kept[i].felt = (float)(x->others > 0 ? x->others : 0);
}

static int
compare_by_second(const void *a, const void *b)
{
    const struct compared *const x = a, *const y = b;
    return x->second < y->second ? -1 : x->second > y->second;
}

static void
compare_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct compare *const c = state;
    struct scores *const s = sqt_zeroed(1, sizeof(*s));
    const double all = (double)totals->total_ns / (double)(c->stride ? c->stride : 1);
    s->strata_count = c->strata.count + 2;
    if (c->count)
        qsort(c->kept, c->count, sizeof(*c->kept), compare_by_second);
    for (unsigned round = 0; round < ROUNDS && c->count; ++round) {
        struct culprit best = {.excess = 0};
        for (unsigned kind = 0; kind < KINDS; ++kind) {
            s->names_count = c->names[kind].count + 1;
            s->cells = sqt_zeroed(s->names_count * s->strata_count, sizeof(*s->cells));
            const struct culprit x = compare_best(c, (enum compare_kind)kind, s);
            if (x.excess > best.excess && is_noticed(&x, all) &&
                x.excess > compare_chance(c, (enum compare_kind)kind, s))
                best = x;
            free(s->cells);
        }
        if (!best.name)
            break;
        culprit_tell(c, &best, totals, tolds);
        compare_take_out(c, &best);
    }
    free(s);
}

static void
compare_end(void *state)
{
    struct compare *const c = state;
    for (unsigned kind = 0; kind < KINDS; ++kind)
        sqt_names_free(&c->names[kind]);
    sqt_names_free(&c->strata);
    free(c->kept);
}

const struct sqt_look sqt_look_compare = {
    .size = sizeof(struct compare), .request = compare_request, .tell = compare_tell, .end = compare_end};
