/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * silent.c - who does not answer: a helper, adaptation service, name server or server that was asked again and again, and
 * answered nobody in that time.  Requests that still wait when the trace ends are what tells most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/findings.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"
#include "figure/stat/sparse.h"

/* Somebody is told who left that many questions in a row without an answer, and who was waited for for so long in all
 * (ns), and that long by each in the mean. */
#define LEAST 5
#define LEAST_ALL INT64_C(1000000000)
#define LEAST_EACH INT64_C(100000000)

#define NAMES 1024
#define ENTRIES 65536 /* questions without an answer that are kept */
#define LEFT 8192     /* requests that ended while they waited: one takes the place of another */

struct asked {
    struct sqt_name_entry named; /* kind and name, or the server's name */
    uint32_t series;             /* of its answers */
    char culprit[SQT_TOLD_NAME]; /* without the type of the query */
    const char *query;           /* type of queries to a name server; NULL: none, or not told */
    char acl[SQT_TOLD_NAME];     /* whose check asked last; "": none */
    uint64_t by_acl;             /* questions that checks of ACLs asked */
    struct asked *whole;         /* who stands for all types of queries; NULL: it is told by itself */
    int server;                  /* 1: a server, 0: a helper, service or name server */
    uint64_t questions, answers;
    double answered_ns;         /* of the answers */
    uint64_t kept, answers_new; /* of a server: questions on kept connections without an answer, answers on new ones */
};

struct unanswered {
    struct asked *who;
    const struct sqt_origin *origin; /* only compared */
    uint64_t xact;                   /* that waited; 0: none */
    int64_t begin, ns;
    int open; /* when the trace ended */
};

/* A request that ended while it waited: what came after that, nobody waited. */
struct left {
    const struct sqt_origin *origin;
    uint64_t xact;
    int64_t end;
};

struct silent {
    struct sqt_sparse left; /* LEFT of struct left */
    struct sqt_names names;
    struct sqt_when answers;
    struct unanswered *entries;
    uint64_t added;
    size_t count;
};

static struct asked *
silent_who(struct silent *s, const char *name, int server)
{
    if (!s->names.size)
        s->names = (struct sqt_names){.size = sizeof(struct asked), .most = NAMES};
    struct asked *const who = sqt_names_get(&s->names, name);
    who->series = who->series ? who->series : s->names.count;
    who->server = server;
    return who;
}

static void
silent_add(struct silent *s, const struct unanswered *question, int answered)
{
    struct asked *const who = question->who;
    ++who->questions;
    if (answered) {
        ++who->answers;
        who->answered_ns += (double)question->ns;
        sqt_when_add(&s->answers, who->series, question->begin, 0, 1);
        return;
    }
    if (!s->entries)
        s->entries = sqt_zeroed(ENTRIES, sizeof(*s->entries));
    /* Where there are more, the newest are kept. */
    s->entries[s->added++ % ENTRIES] = *question;
    s->count = s->added < ENTRIES ? (size_t)s->added : ENTRIES;
}

static struct left *
silent_left(struct silent *s, const struct sqt_origin *origin, uint64_t xact)
{
    const uint64_t hash = xact * UINT64_C(0x9e3779b97f4a7c15) >> 20 ^ (uintptr_t)origin >> 4;
    return sqt_sparse_at(&s->left, LEFT, sizeof(struct left), hash % LEFT);
}

/* When nobody waited for it any more. */
static int64_t
silent_until(struct silent *s, const struct sqt_wait *wait)
{
    const struct left *const left = silent_left(s, wait->origin, wait->xact);
    return left->origin == wait->origin && left->xact == wait->xact && left->end >= wait->begin && left->end < wait->end
               ? left->end
               : wait->end;
}

/* An answer to another one's question, and a question that nobody waits for any more, say nothing. */
static void
silent_wait(void *state, const struct sqt_wait *wait)
{
    const char *const text = sqt_origin_text(wait->origin, wait->def, wait->who), *const query =
                                                                                      sqt_query_name(wait->query);
    char culprit[SQT_TOLD_NAME], name[SQT_TOLD_NAME + 16];
    if (!text || sqt_wait_unknown(wait) || wait->outcome == SQT_WAIT_SHARED || wait->outcome == SQT_WAIT_ABANDONED)
        return;
    snprintf(culprit, sizeof(culprit), "%s%s", wait->def == SQT_DEF_SERVICE ? "adaptation " : "", text);
    snprintf(name, sizeof(name), "%s%s%s", culprit, query ? " " : "", query ? query : "");
    struct asked *const who = silent_who(state, name, 0);
    snprintf(who->culprit, sizeof(who->culprit), "%s", culprit);
    who->query = query;
    if (wait->acl) {
        ++who->by_acl;
        const char *const acl = sqt_origin_text(wait->origin, SQT_DEF_ACL, wait->acl);
        snprintf(who->acl, sizeof(who->acl), "%s", acl ? acl : "");
    }
    const int open = wait->outcome == SQT_WAIT_UNFINISHED;
    const int answered = wait->outcome == SQT_WAIT_OK || wait->outcome == SQT_WAIT_ERR ||
                         wait->outcome == SQT_WAIT_BROKEN || wait->outcome == SQT_WAIT_FAILED;
    const int64_t until = silent_until(state, wait);
    silent_add(state,
               &(struct unanswered){who, wait->origin, wait->xact, wait->begin, until - wait->begin,
                                    open && until == wait->end},
               answered);
}

/* A server was asked if the request was sent, or was about to be. */
static void
silent_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    const char *const server = fact->row[SQT_CELL(requests, server)].text;
    const int64_t wait = sqt_row_sum(fact->row, SQT_NS(server_wait) | SQT_NS(request_send));
    (void)felt;
    *silent_left(state, xact->origin, xact->id) = (struct left){xact->origin, xact->id, xact->end};
    if (!server || fact->row[SQT_CELL(requests, server_wait_ns)].number == SQT_CELL_MISSING)
        return;
    const int answered = fact->row[SQT_CELL(requests, server_reply_ns)].number != SQT_CELL_MISSING ||
                         (xact->status && xact->status < 500);
    struct asked *const who = silent_who(state, server, 1);
    snprintf(who->culprit, sizeof(who->culprit), "%s", server);
    who->kept += !answered && xact->reused == 1;
    who->answers_new += answered && xact->reused == 0;
    silent_add(
        state,
        &(struct unanswered){who, xact->origin, xact->id, xact->begin, wait, xact->outcome == SQT_OUTCOME_UNFINISHED},
        answered);
}

/* ---- what is told ---- */

/* Questions in a row without an answer; or several such rows of the same one. */
struct run {
    const struct asked *who;
    size_t from, until; /* entries, of the last row */
    unsigned rows, open;
    uint64_t count;
    double ns;
    int64_t longest, since, end;
    int all_types;     /* of a name server: it leaves queries of the other type without an answer, too */
    uint64_t requests; /* that waited, and for how long: who waits for two answers at once waits once */
    double waited;
};

static int
compare_entries(const void *a, const void *b)
{
    const struct unanswered *const x = a, *const y = b;
    if (x->who != y->who)
        return strcmp(x->who->named.name, y->who->named.name);
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Whether it answered a question that was asked in between, in a window of its own. */
static int
is_answered_between(const struct silent *s, const struct unanswered *x, const struct unanswered *y)
{
    size_t count;
    const struct sqt_when_sum *const sums = sqt_when_of(&s->answers, x->who->series, &count);
    const int64_t from = x->begin / s->answers.width, until = y->begin / s->answers.width;
    size_t low = 0, high = count; /* the first behind it */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sums[middle].window > from)
            high = middle;
        else
            low = middle + 1;
    }
    return low < count && sums[low].window < until;
}

static int
goes_on(const struct silent *s, const struct unanswered *x, const struct unanswered *y)
{
    return x->who == y->who && (!s->answers.sums || !is_answered_between(s, x, y));
}

static int64_t
silent_end_of(const struct unanswered *x)
{
    int64_t end;
    return __builtin_add_overflow(x->begin, x->ns, &end) ? INT64_MAX : end;
}

static struct run
silent_run(const struct silent *s, size_t from)
{
    struct run run = {
        .who = s->entries[from].who, .from = from, .until = from, .rows = 1, .since = s->entries[from].begin};
    do {
        const struct unanswered *const x = &s->entries[run.until];
        run.ns += (double)x->ns;
        run.longest = x->ns > run.longest ? x->ns : run.longest;
        run.end = silent_end_of(x) > run.end ? silent_end_of(x) : run.end;
        run.open += x->open != 0;
        ++run.count;
    } while (++run.until < s->count && goes_on(s, &s->entries[run.until - 1], &s->entries[run.until]));
    return run;
}

static int
compare_requests(const void *a, const void *b)
{
    const struct unanswered *const x = a, *const y = b;
    if (x->xact != y->xact)
        return x->xact < y->xact ? -1 : 1;
    if (x->origin != y->origin)
        return (uintptr_t)x->origin < (uintptr_t)y->origin ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* What clients waited for the answers. */
static void
silent_clients(const struct silent *s, struct run *run)
{
    const size_t count = run->until - run->from;
    struct unanswered *const its = sqt_zeroed(count, sizeof(*its));
    int64_t last = INT64_MIN; /* of the request, up to where it is counted */
    memcpy(its, s->entries + run->from, count * sizeof(*its));
    qsort(its, count, sizeof(*its), compare_requests);
    for (size_t i = 0; i < count; ++i) {
        const struct unanswered *const x = &its[i];
        const int same = i && x->xact == its[i - 1].xact && x->origin == its[i - 1].origin;
        const int64_t from = same && last > x->begin ? last : x->begin, until = silent_end_of(x);
        if (!x->xact)
            continue;
        run->requests += !same;
        run->waited += until > from ? (double)until - (double)from : 0;
        last = same && last > until ? last : until;
    }
    sqt_freed(its);
}

/* What it answers as a rule takes far less. */
static int
is_silent(const struct run *run)
{
    const double count = (double)run->count;
    const double usual = run->who->answers ? run->who->answered_ns / (double)run->who->answers : 0;
    return count >= LEAST && run->waited >= (double)LEAST_ALL && run->ns / count >= (double)LEAST_EACH &&
           run->ns / count >= 3 * usual;
}

/* What it does answer: other queries, and this kind of question before or after. */
static void
silent_others(const struct silent *s, const struct asked *who, char *text, size_t size)
{
    uint64_t others = 0;
    *text = '\0';
    for (const struct sqt_name_entry *named = s->names.first; named && who->query; named = named->next)
        if (named != &who->named && strcmp(((const struct asked *)named)->culprit, who->culprit) == 0)
            others += ((const struct asked *)named)->answers;
    if (others)
        snprintf(text, size, " It answers other queries: %llu.", (unsigned long long)others);
    else if (who->answers)
        snprintf(text, size, " It answered %llu others.", (unsigned long long)who->answers);
}

static void
silent_sentence(const struct silent *s, const struct run *run, struct sqt_told *told)
{
    const struct asked *const who = run->who;
    const uint64_t count = run->count;
    const int typed = who->query && !run->all_types;
    const char *const space = typed ? " " : "", *const query = typed ? who->query : "";
    const char *const questions = who->query ? "queries" : "questions";
    char longest[SQT_HUMAN_ROOM], each[SQT_HUMAN_ROOM], when[128], others[128], acl[SQT_TOLD_NAME + 64] = "";
    sqt_human_time(longest, (double)run->longest, " ", "us");
    sqt_human_time(each, run->ns / (double)count, " ", "us");
    *others = '\0';
    if (!run->all_types)
        silent_others(s, who, others, sizeof(others));
    if (who->by_acl * 2 > who->questions && *who->acl)
        snprintf(acl, sizeof(acl), " Access checks of acl %s ask them.", who->acl);
    if (run->open >= LEAST)
        sqt_told_print(told->sentence,
                       "%u requests have been waiting for %s for up to %s: it has answered none of its last %llu%s%s "
                       "%s.%s%s",
                       run->open, who->culprit, longest, (unsigned long long)count, space, query, questions, others,
                       acl);
    else
        sqt_told_print(told->sentence, "%s, %s answers none of %llu%s%s %s: %s is waited for each in vain.%s%s",
                       sqt_told_when(when, sizeof(when), told), who->culprit, (unsigned long long)count, space, query,
                       questions, each, others, acl);
}

static void
silent_advice(const struct run *run, struct sqt_told *told)
{
    const char *const name = run->who->culprit;
    if (run->who->server) {
        sqt_told_print(told->advice, "Ask that server by hand: it takes requests and answers nothing. read_timeout: "
                                     "give up earlier.");
        sqt_finding_text(told->command, SQT_TOLD_TEXT, "sqtrace-dump --where='{server}' TRACE",
                         &(struct sqt_finding_values){.culprit = name});
        return;
    }
    sqt_told_print(
        told->advice,
        strncmp(name, "name_server ", 12) == 0
            ? "Is that name server up, and reachable? dns_nameservers: leave it out, or name it last. "
              "dns_retransmit_interval: ask the next one earlier."
        : strncmp(name, "adaptation ", 11) == 0
            ? "Is that service up? icap_service: bypass=1 goes on without it. icap_io_timeout: give up earlier."
            : "Does it write a line for each question, and flush its output after each? Ask it by hand, with "
              "the lines of debug_options 84,9. url_rewrite_timeout, and on-timeout=bypass: give up earlier.");
    sqt_told_print(told->command, "sqtrace-dump --table=waits --where='outcome != ok' TRACE");
}

/* A finding of the same culprit with more than twice its waiting has this one in it: it says so, and why. */
static int
silent_within(struct sqt_tolds *tolds, const struct sqt_told *told)
{
    struct sqt_told *const larger = sqt_tolds_larger(tolds, told->culprit, 2 * told->waiting);
    if (!larger)
        return 0;
    const size_t length = strlen(larger->sentence);
    if (strstr(larger->sentence, told->sentence))
        return 1; /* said of queries of another type */
    snprintf(larger->sentence + length, SQT_TOLD_TEXT - length, " %s", told->sentence);
    sqt_told_print(larger->advice, "%s", told->advice);
    return 1;
}

/* A server that answers on new connections, and not on those that were kept. */
static void
silent_kept(const struct run *run, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    if (!run->who->server || run->who->kept * 10 < run->count * 9 || run->who->answers_new * 2 < run->who->answers)
        return;
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " They were sent on kept connections; on new ones it answers: the way there forgets connections that are "
             "idle.");
    sqt_told_print(
        told->advice,
        "A firewall or a NAT between Squid and that server drops connections that were idle for some time, and says "
        "nothing. server_idle_pconn_timeout: shorter than that; tcpkeepalive of http_port and cache_peer keeps them "
        "alive.");
}

/* Whether queries of other types have no answer in that time, too: more of them than have one. */
static int
is_for_all_types(const struct silent *s, const struct run *run)
{
    uint64_t without = 0, with = 0;
    for (size_t i = 0; i < s->count && run->who->query; ++i)
        without += s->entries[i].who != run->who && s->entries[i].begin >= run->since &&
                   s->entries[i].begin <= run->end && strcmp(s->entries[i].who->culprit, run->who->culprit) == 0;
    for (const struct sqt_name_entry *named = s->names.first; named && without; named = named->next) {
        const struct asked *const other = (const struct asked *)named;
        size_t count;
        const struct sqt_when_sum *const sums = sqt_when_of(&s->answers, other->series, &count);
        for (size_t i = 0; i < count && other != run->who && strcmp(other->culprit, run->who->culprit) == 0; ++i)
            with += (int64_t)sums[i].window * s->answers.width >= run->since &&
                            (int64_t)sums[i].window * s->answers.width <= run->end
                        ? sums[i].count
                        : 0;
    }
    return without > with;
}

static void
silent_tell_run(const struct silent *s, struct run *run, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"slow_servers", NULL};
    struct sqt_told made = {.since = run->since, .until = run->end, .p50 = SQT_CELL_MISSING, .p99 = SQT_CELL_MISSING};
    snprintf(made.culprit, sizeof(made.culprit), "%s", run->who->culprit);
    made.pattern = !run->who->answers                       ? SQT_PATTERN_THROUGHOUT
                   : run->rows > 1                          ? SQT_PATTERN_RECURRING
                   : made.until >= totals->end || run->open ? SQT_PATTERN_SINCE
                                                            : SQT_PATTERN_ONCE;
    made.requests = run->requests;
    made.waiting = sqt_told_ns(run->waited);
    made.share = sqt_percent(run->waited, (double)totals->total_ns);
    run->all_types = is_for_all_types(s, run);
    silent_sentence(s, run, &made);
    silent_advice(run, &made);
    silent_kept(run, &made);
    if (run->who->server)
        sqt_instead(tolds, rules, made.waiting, SQT_INSTEAD);
    if (silent_within(tolds, &made))
        return;
    struct sqt_told *const told = sqt_tolds_add(tolds, "no_answer", SQT_HARM_WAITING, made.waiting);
    if (told) {
        sqt_told_fill(told, &made);
        sqt_tolds_supersede(tolds, told);
    }
}

/* The last of those of the same culprit, if none of them answered anything; else NULL. */
static struct asked *
silent_whole(const struct silent *s, const struct asked *who)
{
    struct asked *whole = NULL;
    for (struct sqt_name_entry *named = s->names.first; named; named = named->next) {
        struct asked *const other = (struct asked *)named;
        if (strcmp(other->culprit, who->culprit) != 0)
            continue;
        if (other->answers)
            return NULL;
        whole = other;
    }
    return whole;
}

/* A name server that answers no query of any type is told once. */
static void
silent_join(struct silent *s)
{
    for (struct sqt_name_entry *named = s->names.first; named; named = named->next) {
        struct asked *const who = (struct asked *)named;
        who->whole = who->query ? silent_whole(s, who) : NULL;
    }
    for (size_t i = 0; i < s->count; ++i) {
        struct asked *const whole = s->entries[i].who->whole;
        if (whole) {
            s->entries[i].who = whole;
            whole->query = NULL;
        }
    }
}

/* Rows of the same one are told together. */
static void
silent_join_rows(struct run *all, const struct run *row)
{
    if (!all->who) {
        *all = *row;
        return;
    }
    ++all->rows;
    all->open += row->open;
    all->count += row->count;
    all->ns += row->ns;
    all->longest = row->longest > all->longest ? row->longest : all->longest;
    all->end = row->end > all->end ? row->end : all->end;
    all->requests += row->requests;
    all->waited += row->waited;
}

static void
silent_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct silent *const s = state;
    silent_join(s);
    sqt_when_sort(&s->answers);
    if (s->count)
        qsort(s->entries, s->count, sizeof(*s->entries), compare_entries);
    struct run all = {.who = NULL};
    for (size_t i = 0; i < s->count;) {
        struct run run = silent_run(s, i);
        silent_clients(s, &run);
        if (all.who && all.who != run.who)
            silent_tell_run(s, &all, totals, tolds);
        all.who = all.who == run.who ? all.who : NULL;
        if (!sqt_names_is_others(&run.who->named) && is_silent(&run))
            silent_join_rows(&all, &run);
        i = run.until;
    }
    if (all.who)
        silent_tell_run(s, &all, totals, tolds);
}

static void
silent_end(void *state)
{
    struct silent *const s = state;
    sqt_names_free(&s->names);
    sqt_when_free(&s->answers);
    sqt_sparse_free(&s->left);
    sqt_freed(s->entries);
}

const struct sqt_look sqt_look_silent = {.size = sizeof(struct silent),
                                         .request = silent_request,
                                         .wait = silent_wait,
                                         .tell = silent_tell,
                                         .end = silent_end};
