/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * long-waits.c - requests that take much longer than most: where nothing is a finding, it is said how many these are, what
 * they wait for, and which name most of them have.
 *
 * A large object takes long although nothing is wrong, so this is no finding.  But whoever reads that no cause stands out
 * has a right to know of the requests that took seconds.  The numbers are those of the rows that the sentence asks for,
 * and so without tunnels.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"
#include "row/facts.h"

/* So long, in ns; so many requests, and that part of all in thousandths, at least. */
#define LONG INT64_C(1000000000)
#define LEAST 5
#define LEAST_PART 5
/* What they wait for is said if that part of their time is it, in %. */
#define OF_TIME 30
/* A name is said if that part of them has it, in %, and that part of all requests at most. */
#define OF_THEM 80
#define OF_ALL 40
#define NAMES 1024

static const struct long_waits_kind {
    unsigned cell;
    const char *column;
} long_waits_kinds[] = {{SQT_CELL(requests, server), "server"},
                        {SQT_CELL(requests, method), "method"},
                        {SQT_CELL(requests, class), "class"},
                        {SQT_CELL(requests, miss_reason), "miss_reason"}};
#define KINDS (sizeof(long_waits_kinds) / sizeof(*long_waits_kinds))

/* What they wait for, in words. */
enum { BODIES };
static const struct long_waits_part {
    uint64_t stages;
    const char *words;
} long_waits_parts[] = {
    [BODIES] = {SQT_NS(server_reply), "bodies that come from servers"},
    {SQT_NS(request_send) | SQT_NS(server_wait) | SQT_NS(failed_tries), "waiting for servers' first bytes"},
    {SQT_NS(dns) | SQT_PROXY_CONNECT | SQT_NS(peer_select), "look-ups of names, and connecting"},
    {SQT_NS(collapsed_wait), "waiting for what another request fetches"},
    {SQT_NS(access) | SQT_NS(helper) | SQT_NS(redirect) | SQT_NS(adapt), "access checks, helpers and adaptation"},
    {SQT_SWAP_IN, "reading from cache_dirs"},
    {SQT_NS(held_back), "delay pools"},
    {SQT_NS(client_body), "bodies that clients send"},
    {SQT_NS(reply_wait) | SQT_NS(proxy_reply), "writing replies to clients"},
};
#define PARTS (sizeof(long_waits_parts) / sizeof(*long_waits_parts))

struct long_waits {
    uint64_t count, slow;
    double ns, fetched;  /* of the slow: what they took, and bytes from servers */
    double parts[PARTS]; /* ns */
    struct sqt_names names[KINDS];
};

struct long_waits_name {
    struct sqt_name_entry named;
    uint64_t count, slow;
};

static void
long_waits_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct long_waits *const l = state;
    const int64_t total = fact->row[SQT_CELL(requests, total_ns)].number;
    (void)felt; /* the numbers are those of column total_ns */
    if (total == SQT_CELL_MISSING || fact->class == SQT_CLASS_TUNNEL)
        return;
    const int slow = total >= LONG;
    ++l->count;
    l->slow += (uint64_t)slow;
    l->ns += slow ? (double)total : 0;
    l->fetched += slow ? (double)xact->fetched : 0;
    for (unsigned part = 0; slow && part < PARTS; ++part)
        l->parts[part] += (double)sqt_row_sum(fact->row, long_waits_parts[part].stages);
    for (unsigned kind = 0; kind < KINDS; ++kind) {
        const char *const text = fact->row[long_waits_kinds[kind].cell].text;
        l->names[kind].size = sizeof(struct long_waits_name);
        l->names[kind].most = NAMES;
        struct long_waits_name *const name = text ? sqt_names_get(&l->names[kind], text) : NULL;
        if (name) {
            ++name->count;
            name->slow += (uint64_t)slow;
        }
    }
}

/* The name that most of the slow have, and few of the others; NULL: there is none. */
static const struct long_waits_name *
long_waits_common(const struct long_waits *l, unsigned kind)
{
    for (const struct sqt_name_entry *named = l->names[kind].first; named; named = named->next) {
        const struct long_waits_name *const name = (const struct long_waits_name *)named;
        if (!sqt_names_is_others(named) && name->slow * 100 >= l->slow * OF_THEM &&
            name->count * 100 <= l->count * OF_ALL)
            return name;
    }
    return NULL;
}

static void
long_waits_who(const struct long_waits *l, char *text, size_t size)
{
    const struct long_waits_name *name = NULL;
    unsigned kind = 0;
    while (kind < KINDS && !(name = long_waits_common(l, kind)))
        ++kind;
    *text = '\0';
    if (name)
        snprintf(text, size, " %llu of them have %s %.80s, as %llu of all requests have.",
                 (unsigned long long)name->slow, long_waits_kinds[kind].column, name->named.name,
                 (unsigned long long)name->count);
}

static void
long_waits_what(const struct long_waits *l, char *text, size_t size)
{
    unsigned most = 0;
    char rate[SQT_HUMAN_ROOM];
    for (unsigned part = 0; part < PARTS; ++part)
        most = l->parts[part] > l->parts[most] ? part : most;
    *text = '\0';
    if (l->parts[most] * 100 < l->ns * OF_TIME)
        return;
    const int used =
        snprintf(text, size, ": %.0f %% of that is %s", 100 * l->parts[most] / l->ns, long_waits_parts[most].words);
    if (most == BODIES)
        snprintf(text + used, size - (size_t)used, ", at %s/s",
                 sqt_human_bytes(rate, 1e9 * l->fetched / l->parts[most]));
}

static void
long_waits_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct long_waits *const l = state;
    char each[SQT_HUMAN_ROOM], what[160], who[160], text[1024 + sizeof(tolds->meant)];
    (void)totals;
    if (l->slow < LEAST || l->slow * 1000 < l->count * LEAST_PART)
        return;
    long_waits_what(l, what, sizeof(what));
    long_waits_who(l, who, sizeof(who));
    snprintf(text, sizeof(text),
             " But %llu of %llu requests, %.1f %%, take 1 s or longer (total_ns >= 1s and class != tunnel), %s in the "
             "mean%s.%s%s",
             (unsigned long long)l->slow, (unsigned long long)l->count, 100 * (double)l->slow / (double)l->count,
             sqt_human_time(each, l->ns / (double)l->slow, " ", "us"), what, who, tolds->meant);
    snprintf(tolds->meant, sizeof(tolds->meant), "%.*s", (int)sizeof(tolds->meant) - 1, text);
}

static void
long_waits_end(void *state)
{
    struct long_waits *const l = state;
    for (unsigned kind = 0; kind < KINDS; ++kind)
        sqt_names_free(&l->names[kind]);
}

const struct sqt_look sqt_look_long_waits = {
    .size = sizeof(struct long_waits), .request = long_waits_request, .tell = long_waits_tell, .end = long_waits_end};
