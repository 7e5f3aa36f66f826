/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare-told.c - a name that sets slow requests apart, as a finding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "compare.h"
#include "figure/finding/findings.h"

/* A server that explains that part of what waits for servers, in %, is told instead; and a name is told unless another finding
 * about it has that part of it. */
#define EXPLAINS 60
/* A name is told if its requests are slow in so many different seconds. */
#define LEAST_SECONDS 3

/* A body of fewer bytes is no long one: what is late is its end. */
#define SMALL 2048

/* Before the name, if it does not say what it is. */
static const char *const kind_words[NOTE] = {"server ", "",      "",        "cache_dir ", "miss reason ",
                                             "",        "host ", "client ", "user "};
/* Columns of `requests` that have such a name, with quotes; NULL: a condition on it would say less than the table. */
static const char *const kind_columns[KINDS] = {
    [SERVER] = "server", [HOST] = "url_host", [CLIENT] = "client", [USER] = "user_name", [REASON] = "miss_reason"};

static const char *const part_words[PART_COUNT] = {
#define PART(NAME, stages, words) words,
    PARTS(PART)
#undef PART
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

/* The part in which its requests take most beyond the others, what each takes in it, and bytes a second of bodies. */
static enum compare_part
culprit_part(const struct compare *c, const struct culprit *x, double *each, double *rate)
{
    double its[PART_COUNT] = {0}, others[PART_COUNT] = {0}, bytes = 0, count = 0;
    unsigned most = 0;
    for (size_t i = 0; i < c->count; ++i) {
        const int is_its = c->kept[i].names[x->kind] == x->name;
        count += is_its;
        for (unsigned k = 0; k < PART_COUNT; ++k)
            *(is_its ? &its[k] : &others[k]) += c->kept[i].parts[k];
    }
    const double rest = (double)c->count - count;
    for (unsigned k = 0; k < PART_COUNT; ++k) {
        its[k] /= count;
        others[k] = rest > 0 ? others[k] / rest : 0;
        if (its[k] - others[k] > its[most] - others[most])
            most = k;
    }
    for (size_t i = 0; i < c->count; ++i)
        bytes += c->kept[i].names[x->kind] == x->name ? c->kept[i].size : 0;
    *each = its[most];
    *rate = its[PART_BODY] > 0 ? bytes / count / its[PART_BODY] * 1e9 : 0;
    return (enum compare_part)most;
}

/* Where sizes may differ, bodies are compared by their rate: they come at less than that, in bytes a second, and at less than
 * half of what others come at. */
#define FAIR_RATE 131072

int
sqt_culprit_is_fair(const struct compare *c, const struct culprit *x)
{
    double each, rate, bytes = 0, took = 0;
    if (x->level < LIKE_METHOD || culprit_part(c, x, &each, &rate) != PART_BODY)
        return 1;
    for (size_t i = 0; i < c->count; ++i)
        if (c->kept[i].names[x->kind] != x->name && c->kept[i].parts[PART_BODY] > 0) {
            bytes += c->kept[i].size;
            took += c->kept[i].parts[PART_BODY];
        }
    return rate < FAIR_RATE && 2 * rate * took < bytes * 1e9;
}

/* What the times take that the log has, if it has any. */
static void
culprit_add_log_part(struct sqt_told *told, enum compare_part part, double each, const char *in_part)
{
    const size_t length = strlen(told->sentence);
    if (each > 0)
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length, " Most of it is %s: %s for each.", part_words[part],
                 in_part);
    else
        snprintf(told->sentence + length, SQT_TOLD_TEXT - length, " The log does not say in what.");
}

static void
culprit_sentence(const struct compare *c, const struct culprit *x, struct sqt_told *told, double share_of_all)
{
    double each, rate;
    char its[SQT_HUMAN_ROOM], others[SQT_HUMAN_ROOM], in_part[SQT_HUMAN_ROOM], bytes[SQT_HUMAN_ROOM],
        size[SQT_HUMAN_ROOM];
    const enum compare_part part = culprit_part(c, x, &each, &rate);
    const char *const name = c->texts[x->kind][x->name];
    sqt_human_time(its, x->mean, " ", "us");
    sqt_human_time(others, x->others > 0 ? x->others : 0, " ", "us");
    sqt_human_time(in_part, each, " ", "us");
    sqt_human_bytes(bytes, rate);
    sqt_human_bytes(size, rate * each / 1e9);
    if (part == PART_BODY && x->kind == SERVER && !c->of_log && rate * each < SMALL * 1e9) {
        sqt_told_print(
            told->sentence,
            "%.0f %% of the time of requests is the end of replies of %s: the last byte comes %s after the first, "
            "of %s in the mean. Its requests take %s, others that are alike %s.",
            100 * share_of_all, name, in_part, size, its, others);
        return;
    }
    if (part == PART_BODY && x->kind == SERVER && !c->of_log) {
        sqt_told_print(
            told->sentence,
            "%.0f %% of the time of requests is bodies of %s that come at %s/s: its requests take %s, others "
            "that are alike %s.",
            100 * share_of_all, name, bytes, its, others);
        return;
    }
    sqt_told_print(told->sentence,
                   "%.0f %% of the time of requests sets those of %s%s apart: they take %s, others that are alike %s.",
                   100 * share_of_all, x->kind < NOTE ? kind_words[x->kind] : "", name, its, others);
    if (c->of_log)
        culprit_add_log_part(told, part, each, in_part);
    else
        snprintf(told->sentence + strlen(told->sentence), SQT_TOLD_TEXT - strlen(told->sentence),
                 " Most of it is %s: %s for each.", part_words[part], in_part);
}

/* What to do about what a log says of clients and users, and of all others. */
static const char log_of_clients[] =
    "Look at what they ask for, and at the way to them: a log's time has the client's reading in "
    "it. A trace says what they wait for.";
static const char log_of_servers[] = "Look at that server, at the way to it, and at what Squid does for these requests "
                                     "only. %<tt, %<pt and %dt in a logformat "
                                     "divide the time; a trace has each stage.";

static void
culprit_advice(const struct compare *c, const struct culprit *x, struct sqt_told *told)
{
    double each, rate;
    const enum compare_part part = culprit_part(c, x, &each, &rate);
    if (c->of_log)
        sqt_told_print(told->advice, "%s", x->kind >= CLIENT ? log_of_clients : log_of_servers);
    else if (x->kind == SERVER && part == PART_UPLOAD)
        sqt_told_print(
            told->advice,
            "Clients send their bodies late to that server only: if they ask with Expect: 100-continue, it does "
            "not answer 100 Continue, and they wait for that. force_request_body_continuation: Squid answers.");
    else if (x->kind == SERVER && part == PART_BODY && rate * each < SMALL * 1e9)
        sqt_told_print(told->advice, "That server sends little data, and ends its replies late: a reply without "
                                     "Content-Length ends when it closes "
                                     "the connection. Look at what it does after the last byte, and at the way to it.");
    else if (x->kind == SERVER || x->kind == HOST)
        sqt_told_print(told->advice, part == PART_DNS ? "The name servers of that domain: ask one of them by hand."
                                                      : "Look at that server, and at the way to it.");
    else if (x->kind == WORKER)
        sqt_told_print(told->advice, "Table loop_time says what that worker does.");
    else
        sqt_told_print(told->advice, "Table requests says what they have in common besides.");
}

static void
culprit_command(const struct compare *c, const struct culprit *x, struct sqt_told *told)
{
    const char *const source = c->of_log ? "--access-log=FILE" : "TRACE";
    char with_log[32] = "", condition[SQT_TOLD_TEXT] = "";
    if (x->kind >= HOST && x->kind < NOTE && !c->of_log)
        snprintf(with_log, sizeof(with_log), "--access-log=FILE ");
    if (kind_columns[x->kind] || x->kind >= NOTE) {
        char pattern[64];
        snprintf(pattern, sizeof(pattern), "--where='{%s}' ", x->kind >= NOTE ? "note" : kind_columns[x->kind]);
        sqt_finding_text(condition, sizeof(condition), pattern,
                         &(struct sqt_finding_values){.culprit = c->texts[x->kind][x->name]});
    }
    sqt_told_print(told->command, "sqtrace-dump %s%s%s", condition, with_log, source);
}

/* Whether what takes long is at the server, or on the way to it. */
static int
culprit_is_by_way(const struct compare *c, const struct culprit *x)
{
    double each, rate;
    const enum compare_part part = culprit_part(c, x, &each, &rate);
    return part == PART_CONNECT || part == PART_WAIT || part == PART_BODY;
}

/* Names of one server only take long to be looked up: then it is not the name server that is slow. */
static void
culprit_spare(const struct compare *c, const struct culprit *x, const struct sqt_told *told, struct sqt_tolds *tolds)
{
    double each, rate;
    if (x->kind == SERVER && culprit_part(c, x, &each, &rate) == PART_DNS)
        sqt_tolds_spare(tolds, "slow_name_server", told->waiting);
}

/* What misses of that reason ask for, as a person would say it; NULL: the reason's own name. */
static const char *
culprit_reason(const char *name)
{
    static const struct {
        const char *reason, *words;
    } known[] = {{"uncacheable", "misses whose replies may not be stored (uncacheable)"},
                 {"absent", "misses of what the cache does not have (absent)"},
                 {"stale", "misses of objects that had expired (stale)"},
                 {"vary", "misses of another variant (vary)"},
                 {"reload", "what clients reload (reload)"},
                 {"no_cache", "what clients want from the server (no_cache)"}};
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); ++i)
        if (strcmp(known[i].reason, name) == 0)
            return known[i].words;
    return NULL;
}

/* Findings about all of a kind together: whose wait it is, and no name.  The first one is about what servers do. */
static const char *const of_all[] = {"slow_servers", "far_servers",  "connect",       "tls",        "name_server",
                                     "helpers",      "url_helper",   "adaptation",    "cache_dirs", "failed_tries",
                                     "reply_wait",   "slow_clients", "access_checks", NULL};

/* A reason of misses is nobody.  Where its requests have most of the waiting of such a finding, that is said there.  Returns
 * whether there is one. */
static int
culprit_join(const struct compare *c, const struct culprit *x, double excess, struct sqt_tolds *tolds)
{
    const char *const name = c->texts[x->kind][x->name], *const words = culprit_reason(name);
    char its[SQT_HUMAN_ROOM], others[SQT_HUMAN_ROOM];
    sqt_human_time(its, x->mean, " ", "us");
    sqt_human_time(others, x->others > 0 ? x->others : 0, " ", "us");
    for (unsigned i = 0; of_all[i] && x->kind == REASON; ++i) {
        struct sqt_told *const told = sqt_tolds_find(tolds, of_all[i], NULL, 0);
        if (!told || excess * 100 < (double)told->waiting * EXPLAINS || excess > (double)told->waiting)
            continue;
        const size_t used = strlen(told->sentence);
        snprintf(
            told->sentence + used, sizeof(told->sentence) - used,
            " What sets the slow ones apart: they are %s%s. These %.0f requests take %s, others that are alike %s.",
            words ? "" : "misses of the reason ", words ? words : name, x->requests * (double)c->stride, its, others);
        if (i == 0)
            sqt_told_print(told->advice,
                           "Ask for one of those by hand, past Squid: if that takes as long, the server itself is "
                           "slow.%s",
                           strcmp(name, "uncacheable") == 0
                               ? " No cache helps where a page is made for one client, as for who is logged in."
                               : "");
        culprit_command(c, x, told);
        return 1;
    }
    return 0;
}

void
sqt_culprit_tell(const struct compare *c, const struct culprit *x, const struct sqt_look_totals *totals,
                 struct sqt_tolds *tolds)
{
    static const char *const servers[] = {"slow_servers", NULL}, *const only[] = {"only_server", NULL};
    const char *const name = c->texts[x->kind][x->name];
    uint32_t *const bad = sqt_zeroed(2 * c->count + 1, sizeof(*bad)), *const active = bad + c->count;
    double *const sizes = sqt_zeroed(c->count + 1, sizeof(*sizes));
    const unsigned bads = culprit_seconds(c, x, bad, sizes), actives = compare_seconds(c, active);
    const double excess = x->excess * (double)c->stride;
    if (bads >= LEAST_SECONDS && !sqt_tolds_find(tolds, NULL, name, sqt_told_ns(excess * EXPLAINS / 100)) &&
        !culprit_join(c, x, excess, tolds)) {
        struct sqt_told *const told = sqt_tolds_add(tolds, x->kind == SERVER ? "slow_at_server" : "set_apart",
                                                    SQT_HARM_WAITING, sqt_told_ns(excess));
        if (told) {
            snprintf(told->culprit, sizeof(told->culprit), "%s", name);
            told->requests = (uint64_t)x->requests * c->stride;
            told->waiting = sqt_told_ns(excess);
            told->share = sqt_percent(excess, (double)totals->total_ns);
            sqt_when_pattern(told, bad, sizes, bads, active, actives, active[actives - 1], INT64_C(1000000000));
            told->not_by_way = !culprit_is_by_way(c, x);
            culprit_sentence(c, x, told, excess / (double)totals->total_ns);
            culprit_advice(c, x, told);
            culprit_command(c, x, told);
            if (x->kind == SERVER)
                sqt_instead(tolds, servers, told->waiting, EXPLAINS);
            if (x->kind >= NOTE)
                sqt_instead(tolds, only, told->waiting, EXPLAINS);
            sqt_tolds_supersede(tolds, told);
            culprit_spare(c, x, told, tolds);
        }
    }
    sqt_freed(bad);
    sqt_freed(sizes);
}
