/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare.c - what sets slow requests apart: which name do they have that quick ones, alike in all else, do not have?
 *
 * Alike are requests of the same class, method, octave of size, and kind of server connection; where that tells nobody, of
 * less of these (enum compare_level).  A request's excess is
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

#include "base/memory.h"
#include "compare.h"
#include "figure/finding/findings.h"
#include "figure/port/ports.h"

/* Requests that are kept: where there are more, each second one goes. */
#define KEPT 131072
/* Room for so many at first, and for twice as many when that is full. */
#define ROOM_AT_FIRST 1024
_Static_assert(KEPT % ROOM_AT_FIRST == 0 && !(KEPT & (KEPT - 1)), "room that is doubled is never more than is kept");
/* So often it is asked for a name, at one level or the next. */
#define ROUNDS (4 + COMPARE_LEVELS)

/* A name is told from that share of the time of all requests on, if its requests take that much longer in the mean, in
 * ns, and that many times as long as those that are alike. */
#define LEAST_SHARE 0.10
#define LEAST_EXCESS 50e6
#define LEAST_TIMES 2
/* A name says nearly as much as another if its score is that part of the other's. */
#define NEARLY 0.98

static const uint64_t part_stages[PART_COUNT] = {
#define PART(NAME, stages, words) stages,
    PARTS(PART)
#undef PART
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
    /* Those without a name of their own are compared with nobody. */
    return texts && sqt_names_is_others(&n->named) ? 0 : n->number;
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

static void
compare_strata(struct compare *c, struct compared *r, const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const int64_t bytes = xact->size == SQT_MISSING && xact->of_log ? xact->sent : xact->size;
    const int size = fact->class == SQT_CLASS_TUNNEL || bytes == SQT_MISSING ? 0 : (int)octave(bytes);
    for (unsigned level = 0; level < COMPARE_LEVELS; ++level) {
        char name[64];
        const int from_server = level == LIKE_METHOD && xact->server != UINT32_MAX && fact->class != SQT_CLASS_TUNNEL;
        snprintf(name, sizeof(name), "%d %u %d %d", from_server ? -1 : (int)fact->class, (unsigned)xact->method,
                 level < LIKE_METHOD ? size : 0, level < LIKE_SIZE ? xact->reused : 0);
        r->strata[level] = compare_number(&c->strata[level], name, STRATA, NULL);
    }
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

/* The place of a note's name, SQT_NOTES if there were too many: squid.conf was changed. */
static unsigned
compare_note_place(struct compare *c, const char *name)
{
    unsigned place = 0;
    while (place < SQT_NOTES && c->notes[place][0] && strcmp(c->notes[place], name) != 0)
        ++place;
    if (place < SQT_NOTES)
        snprintf(c->notes[place], sizeof(c->notes[place]), "%s", name);
    return place;
}

/* What had no number of its own in the trace is no value. */
static void
compare_notes(struct compare *c, struct compared *r, const struct sqt_notes *notes)
{
    for (unsigned i = 0; notes && i < notes->count; ++i) {
        char name[sizeof("note =") + SQT_NOTE_NAME + SQT_NOTE_VALUE];
        const unsigned place = compare_note_place(c, notes->of[i].name);
        if (place == SQT_NOTES || strcmp(notes->of[i].value, "other") == 0)
            continue;
        snprintf(name, sizeof(name), "note %s=%s", notes->of[i].name, notes->of[i].value);
        r->names[NOTE + place] = compare_name(c, NOTE + place, name);
    }
}

/* The server that the request waited for: one that it tried to connect to in vain, or that a try failed at which another one
 * followed, if that took most of its time; else the one that it was connected to last. */
static const char *
compare_server(struct compare *c, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct sqt_blame blame;
    const int failed = sqt_blame_take(&c->blames, xact, &blame);
    for (unsigned at = SQT_BLAMED_CONNECT; failed && at <= SQT_BLAMED_TLS; ++at)
        if ((blame.failed >> at & 1) && 2 * blame.took[at] > felt)
            return sqt_blame_name(&blame, (enum sqt_blamed)at);
    if (xact->failed_server != UINT32_MAX && sqt_row_sum(fact->row, SQT_NS(failed_tries)) > felt / 2)
        return sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->failed_server);
    return fact->row[SQT_CELL(requests, server)].text;
}

static void
compare_connection(void *state, const struct sqt_attempt *attempt)
{
    sqt_blame_attempt(&((struct compare *)state)->blames, attempt);
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
    const char *const server = compare_server(c, xact, fact, felt);
    if (!c->kept)
        c->stride = 1;
    if (c->seen++ % c->stride)
        return;
    if (c->count == KEPT)
        compare_thin(c);
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : ROOM_AT_FIRST;
        c->kept = sqt_resized(c->kept, c->room * sizeof(*c->kept));
    }
    snprintf(worker, sizeof(worker), "worker %u", (unsigned)xact->origin->identity.kid);
    struct compared *const r = &c->kept[c->count++];
    *r = (struct compared){.second = xact->begin > 0 ? (uint32_t)(xact->begin / INT64_C(1000000000)) : 0,
                           .felt = (float)sqt_finding_slow(xact, felt),
                           .size = xact->size == SQT_MISSING ? 0 : (float)xact->size};
    compare_strata(c, r, xact, fact);
    r->names[SERVER] = compare_name(c, SERVER, server);
    r->names[LISTENER] = compare_name(c, LISTENER, sqt_listener_text(xact->origin, xact->listener));
    r->names[WORKER] = xact->origin->identity.kid_kind == SQT_KID_WORKER ? compare_name(c, WORKER, worker) : 0;
    r->names[PLACE] = sqt_finding_place_name(xact, place) ? compare_name(c, PLACE, place) : 0;
    r->names[REASON] = compare_name(c, REASON, fact->row[SQT_CELL(requests, miss_reason)].text);
    r->names[ASKED] = compare_name(c, ASKED, compare_asked(xact));
    r->names[HOST] = compare_name(c, HOST, fact->row[SQT_CELL(requests, url_host)].text);
    r->names[CLIENT] = compare_name(c, CLIENT, fact->row[SQT_CELL(requests, client)].text);
    r->names[USER] = compare_name(c, USER, fact->row[SQT_CELL(requests, user_name)].text);
    compare_notes(c, r, xact->notes);
    c->of_log = xact->of_log;
    for (unsigned i = 0; i < (xact->of_log ? PART_COUNT : PART_OF_LOG); ++i)
        r->parts[i] = (float)sqt_row_sum(fact->row, part_stages[i]);
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
    struct culprit x = {.kind = kind, .level = s->level};
    sqt_scores_fill(s, c->kept, c->count, kind, NULL);
    struct sums compared;
    x.excess = sqt_scores_largest(s, &x.name, &compared);
    x.requests = compared.count;
    x.mean = x.requests > 0 ? compared.felt / x.requests : 0;
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

/* Requests of those whom a finding names already for most of their time go.  Not of whom they ask: he may be slow for some
 * server's requests only. */
static void
compare_leave_told(struct compare *c, const struct sqt_told *told, enum compare_kind kind)
{
    for (unsigned name = 1; name <= c->names[kind].count; ++name) {
        double felt = 0;
        size_t left = 0;
        if (!sqt_told_names(told->culprit, c->texts[kind][name]))
            continue;
        for (size_t i = 0; i < c->count; ++i)
            felt += c->kept[i].names[kind] == name ? c->kept[i].felt : 0;
        if (2 * (double)told->waiting < felt * (double)c->stride)
            continue;
        for (size_t i = 0; i < c->count; ++i)
            if (c->kept[i].names[kind] != name)
                c->kept[left++] = c->kept[i];
        c->count = left;
    }
}

static int
compare_by_second(const void *a, const void *b)
{
    const struct compared *const x = a, *const y = b;
    return x->second < y->second ? -1 : x->second > y->second;
}

/* What a name of another kind must exceed: where names= leaves the server a number, a name that says nearly as much is
 * better.  So is a note that squid.conf gives to clients, as a port is only an address. */
static double
compare_to_exceed(const struct compare *c, const struct culprit *best, unsigned kind)
{
    static const char number[] = "origin-";
    const char *const name = best->name && best->kind == SERVER ? c->texts[SERVER][best->name] : NULL;
    const int nearly = (name && strncmp(name, number, sizeof(number) - 1) == 0) ||
                       (best->name && best->kind == LISTENER && kind >= NOTE);
    return nearly ? best->excess * NEARLY : best->excess;
}

/* The name with the largest score, of those that may be told; none has an excess of 0. */
static struct culprit
compare_round(struct compare *c, struct scores *s, double all)
{
    struct culprit best = {.excess = 0};
    for (unsigned kind = c->first; kind < KINDS; ++kind) {
        if (!c->names[kind].count)
            continue;
        s->names_count = c->names[kind].count + 1;
        s->cells = sqt_zeroed(s->names_count * s->strata_count, sizeof(*s->cells));
        const struct culprit x = compare_best(c, (enum compare_kind)kind, s);
        if (x.excess > compare_to_exceed(c, &best, kind) && is_noticed(&x, all) && sqt_culprit_is_fair(c, &x) &&
            x.excess > sqt_compare_chance(c, (enum compare_kind)kind, s))
            best = x;
        sqt_freed(s->cells);
    }
    return best;
}

static void
compare_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct compare *const c = state;
    struct scores *const s = sqt_zeroed(1, sizeof(*s));
    const double all = (double)totals->total_ns / (double)(c->stride ? c->stride : 1);
    for (unsigned i = 0; i < tolds->count; ++i)
        if (c->notes[0][0] && strcmp(tolds->told[i]->cause, "only_server") == 0)
            c->first = NOTE; /* it may be slow for some only */
    for (unsigned i = 0; i < tolds->count && !c->first; ++i)
        for (unsigned kind = 0; kind < ASKED && *tolds->told[i]->culprit; ++kind)
            compare_leave_told(c, tolds->told[i], (enum compare_kind)kind);
    if (c->count)
        qsort(c->kept, c->count, sizeof(*c->kept), compare_by_second);
    for (unsigned round = 0; round < ROUNDS && c->count && s->level < COMPARE_LEVELS; ++round) {
        s->strata_count = c->strata[s->level].count + 2;
        const struct culprit best = compare_round(c, s, all);
        if (best.name) {
            sqt_culprit_tell(c, &best, totals, tolds);
            compare_take_out(c, &best);
        } else {
            ++s->level;
        }
    }
    sqt_freed(s);
}

static void
compare_end(void *state)
{
    struct compare *const c = state;
    for (unsigned kind = 0; kind < KINDS; ++kind)
        sqt_names_free(&c->names[kind]);
    for (unsigned level = 0; level < COMPARE_LEVELS; ++level)
        sqt_names_free(&c->strata[level]);
    sqt_blames_free(&c->blames);
    sqt_freed(c->kept);
}

const struct sqt_look sqt_look_compare = {.size = sizeof(struct compare),
                                          .of_log = 1,
                                          .request = compare_request,
                                          .connection = compare_connection,
                                          .tell = compare_tell,
                                          .end = compare_end};
