/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * again-told.c - work that is done more than once, as findings.
 */
#include <stdio.h>
#include <string.h>

#include "again.h"
#include "figure/finding/spell.h"
#include "figure/why/misses.h"

/* Fewer are no finding. */
#define LEAST 20
/* Each costs that many ns of the mean request, at least. */
#define MEAN INT64_C(2000000)
/* Of the time of all requests, in %. */
#define SHARE_UNCHANGED 50
#define SHARE_CONNECTED 30
#define SHARE_CLOSED 20
/* Of a finding that a server is far away, what new connections take, in %: the rest is the server's distance, which stays. */
#define CONNECTED_INSTEAD 30
#define SHARE_MISSED 10
/* Of revalidations, those that change nothing, in %. */
#define UNCHANGED 90
/* Of requests that get a server connection, those that get a kept one, in %: no more. */
#define REUSED 5
/* Of all requests, challenges, in %; and for each hundred connections. */
#define ASKED 30
#define ASKED_TIMES 120
/* Of requests in that time, misses of what was a hit, in %. */
#define MISSED 20
/* Lost hits are those that clients removed, if these are that part of them, in %. */
#define PURGED 50

/* The name of the server that has most of it; else the words for several. */
static const char *
again_culprit(const struct sqt_again *a, enum sqt_again_kind kind, const char *several)
{
    const struct sqt_again_server *most = NULL;
    for (const struct sqt_name_entry *named = a->servers.first; named; named = named->next) {
        const struct sqt_again_server *const server = (const struct sqt_again_server *)named;
        if (!most || server->sums[kind].ns > most->sums[kind].ns)
            most = server;
    }
    return most && !sqt_names_is_others(&most->named) && most->sums[kind].ns * 10 > a->sums[kind].ns * 9
               ? most->named.name
               : several;
}

static double
again_share(const struct sqt_again *a, enum sqt_again_kind kind, const struct sqt_look_totals *totals)
{
    return sqt_spell_percent(a->sums[kind].ns, totals->total_ns);
}

static double
again_each(const struct sqt_again *a, enum sqt_again_kind kind)
{
    return a->sums[kind].count ? (double)a->sums[kind].ns / (double)a->sums[kind].count / 1e6 : 0;
}

static int
is_felt(const struct sqt_again *a, enum sqt_again_kind kind, const struct sqt_look_totals *totals, int share)
{
    return a->sums[kind].count >= LEAST && again_share(a, kind, totals) >= share &&
           a->sums[kind].ns >= (uint64_t)MEAN * a->requests;
}

/* causes: of rules whose place it takes. */
static struct sqt_told *
again_told(struct sqt_again *a, enum sqt_again_kind kind, const struct sqt_look_totals *totals, struct sqt_tolds *tolds,
           const char *cause, const char *culprit, const char *const *causes)
{
    const struct sqt_again_sum *const sum = &a->sums[kind];
    sqt_instead(tolds, causes, sum->ns, kind == SQT_AGAIN_CONNECTED ? CONNECTED_INSTEAD : SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, cause, SQT_HARM_WAITING, sum->ns);
    if (!told)
        return NULL;
    sqt_spell_tell(told, &a->when, 2 + kind, 1);
    snprintf(told->culprit, sizeof(told->culprit), "%s", culprit);
    told->share = sqt_percent((double)sum->ns, (double)totals->total_ns);
    told->requests = sum->count;
    told->waiting = sum->ns;
    return told;
}

static void
again_unchanged(struct sqt_again *a, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"slow_servers", "slow_server", "only_server",
                                        "far_server",   "far_servers", NULL};
    const uint64_t count = a->sums[SQT_AGAIN_UNCHANGED].count;
    const double unchanged = sqt_spell_percent(count, count + a->changed);
    if (!is_felt(a, SQT_AGAIN_UNCHANGED, totals, SHARE_UNCHANGED) || unchanged < UNCHANGED)
        return;
    const char *const culprit = again_culprit(a, SQT_AGAIN_UNCHANGED, "servers");
    struct sqt_told *const told = again_told(a, SQT_AGAIN_UNCHANGED, totals, tolds, "revalidations", culprit, rules);
    if (!told)
        return;
    sqt_told_print(
        told->sentence,
        "%.0f %% of the time of requests is asking %s about objects in the cache that had expired: %.0f ms for each of "
        "%llu requests, and %.0f %% came back unchanged.",
        again_share(a, SQT_AGAIN_UNCHANGED, totals), culprit, again_each(a, SQT_AGAIN_UNCHANGED),
        (unsigned long long)count, unchanged);
    sqt_told_print(told->advice,
                   "Servers: a longer max-age for what hardly changes. refresh_pattern: a longer min, with "
                   "override-expire, if the servers cannot be changed.");
    sqt_told_print(told->command, "sqtrace-dump --where='class == refresh_hit' TRACE");
}

/* Handshakes take that many times as long as connecting, which is a round trip or two, and so many ns each: it is them. */
#define HANDSHAKE_TIMES 8
#define HANDSHAKE INT64_C(40000000)

/* Where servers have no names, each may be asked once, and then nothing can be used twice: it is said of the finding about the way
 * to servers, if there is one.  Returns whether servers have no names. */
static int
again_unnamed(const struct sqt_again *a, const char *culprit, const struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"far_servers", "connect", "tls", NULL};
    if (strcmp(culprit, SQT_AGAIN_UNNAMED) != 0)
        return 0;
    for (const char *const *cause = causes; *cause; ++cause) {
        struct sqt_told *const told = sqt_tolds_find(tolds, *cause, NULL, 0);
        if (!told)
            continue;
        const size_t said = strlen(told->sentence), advised = strlen(told->advice);
        snprintf(told->sentence + said, sizeof(told->sentence) - said,
                 " Connections are %s used twice, of %llu; which servers these are is not in the trace.",
                 a->reused ? "hardly ever" : "never", (unsigned long long)a->asked_server);
        snprintf(told->advice + advised, sizeof(told->advice) - advised,
                 " If the same servers are asked again: server_persistent_connections: on, which is the default.");
        break;
    }
    return 1;
}

/* Slow handshakes are told already: that no connection is used twice belongs to them.  Returns 0 if they are not. */
static int
again_handshakes(const struct sqt_again *a, const struct sqt_tolds *tolds)
{
    const uint64_t count = a->sums[SQT_AGAIN_CONNECTED].count;
    struct sqt_told *told = sqt_tolds_find(tolds, "tls_server", NULL, 0);
    told = told ? told : sqt_tolds_find(tolds, "tls", NULL, 0);
    if (!told || a->handshake_ns < HANDSHAKE_TIMES * a->connect_ns || a->handshake_ns < (uint64_t)HANDSHAKE * count)
        return 0;
    const size_t said = strlen(told->sentence), advised = strlen(told->advice);
    snprintf(told->sentence + said, sizeof(told->sentence) - said,
             " Connections are %s used twice: %llu handshakes were made where one was free shortly before.",
             a->reused ? "hardly ever" : "never", (unsigned long long)count);
    snprintf(told->advice + advised, sizeof(told->advice) - advised,
             " server_persistent_connections: on, which is the default.");
    return 1;
}

static void
again_connected(struct sqt_again *a, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"far_server", "far_servers", "connect", "connect_server",
                                        "tls",        "tls_server",  NULL};
    const struct sqt_again_sum *const sum = &a->sums[SQT_AGAIN_CONNECTED];
    const int clients_too = a->accepted * 10 >= a->requests * 9;
    if (!is_felt(a, SQT_AGAIN_CONNECTED, totals, SHARE_CONNECTED) ||
        sqt_spell_percent(a->reused, a->asked_server) > REUSED || again_handshakes(a, tolds))
        return;
    const char *const culprit = again_culprit(a, SQT_AGAIN_CONNECTED, SQT_AGAIN_UNNAMED);
    if (again_unnamed(a, culprit, tolds))
        return;
    struct sqt_told *const told = again_told(a, SQT_AGAIN_CONNECTED, totals, tolds, "new_connections", culprit, rules);
    if (!told)
        return;
    sqt_told_print(
        told->sentence,
        "Connections to %s are %s used twice: new connections and their TLS handshakes take %.0f %% of the time of "
        "requests, %.1f ms for each of %llu.%s",
        culprit, a->reused ? "hardly ever" : "never", again_share(a, SQT_AGAIN_CONNECTED, totals),
        again_each(a, SQT_AGAIN_CONNECTED), (unsigned long long)sum->count,
        clients_too ? " Clients' connections are not used twice, either." : "");
    sqt_told_print(told->advice,
                   "server_persistent_connections: on, which is the default.%s Servers that answer Connection: close "
                   "spoil it, too. "
                   "server_idle_pconn_timeout: how long a free one is kept.",
                   clients_too ? " client_persistent_connections: the same." : "");
    sqt_told_print(told->command, "sqtrace-dump --table=connections --where='reused == 0' TRACE");
}

/* One server that closes is a rule's. */
static void
again_closed(struct sqt_again *a, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const rules[] = {"failed_tries", "closed_connections", NULL};
    unsigned servers = 0;
    for (const struct sqt_name_entry *named = a->servers.first; named; named = named->next)
        servers += ((const struct sqt_again_server *)named)->sums[SQT_AGAIN_CLOSED].count > 0;
    if (servers < 2 || again_culprit(a, SQT_AGAIN_CLOSED, NULL) || !is_felt(a, SQT_AGAIN_CLOSED, totals, SHARE_CLOSED))
        return;
    struct sqt_told *const told = again_told(a, SQT_AGAIN_CLOSED, totals, tolds, "all_close", "all servers", rules);
    if (!told)
        return;
    sqt_told_print(told->sentence,
                   "%.0f %% of the time of requests is tries on kept connections that servers close without an answer, "
                   "at %u servers: "
                   "%.0f ms for each of %llu requests.",
                   again_share(a, SQT_AGAIN_CLOSED, totals), servers, again_each(a, SQT_AGAIN_CLOSED),
                   (unsigned long long)a->sums[SQT_AGAIN_CLOSED].count);
    sqt_told_print(
        told->advice,
        "server_idle_pconn_timeout: shorter than these servers keep a connection. What stands between, such as "
        "a firewall, may close them, too.");
    sqt_told_print(told->command, "sqtrace-dump --where='failed_tries_ns > 0' TRACE");
}

static void
again_missed(struct sqt_again *a, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const none[] = {NULL};
    struct sqt_told probe = {.since = 0};
    if (!is_felt(a, SQT_AGAIN_MISSED, totals, SHARE_MISSED))
        return;
    const struct sqt_spell spell = sqt_spell_tell(&probe, &a->when, 2 + SQT_AGAIN_MISSED, 1);
    if (sqt_spell_percent(spell.met, spell.all) < MISSED)
        return;
    const int purged = 100 * a->purged >= PURGED * a->sums[SQT_AGAIN_MISSED].count;
    struct sqt_told *const told =
        again_told(a, SQT_AGAIN_MISSED, totals, tolds, "lost_hits", purged ? "PURGE" : "", none);
    if (!told)
        return;
    char when[128];
    sqt_told_print(told->sentence,
                   "%s, %llu of %llu requests were misses of objects that had been hits before: the cache lost them. "
                   "They took %.0f ms each.",
                   sqt_told_when(when, sizeof(when), told), (unsigned long long)spell.met,
                   (unsigned long long)spell.all, again_each(a, SQT_AGAIN_MISSED));
    sqt_told_print(
        told->advice,
        "After a restart: objects in cache_mem are gone, and those of a cache_dir are hits again when its index is "
        "rebuilt. Else the cache is too small: cache_dir, cache_mem, cache_swap_low.");
    sqt_told_print(told->command, "sqtrace-dump --where='miss_reason == \"absent\"' TRACE");
    if (!purged)
        return;
    const size_t used = strlen(told->sentence);
    snprintf(told->sentence + used, sizeof(told->sentence) - used, " Clients removed %llu objects meanwhile (PURGE).",
             (unsigned long long)a->purged);
    sqt_told_print(told->advice, "%s", sqt_misses_purge_advice);
    sqt_told_print(told->command, "sqtrace-dump --where='method == PURGE' TRACE");
}

/* Whether it is told that nobody can be let in: then 407 is no more than that. */
static int
is_helper_broken(const struct sqt_tolds *tolds)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        if (strcmp(tolds->told[i]->cause, "failed_helper") == 0 && strncmp(tolds->told[i]->culprit, "auth ", 5) == 0)
            return 1;
    return 0;
}

static void
again_asked(struct sqt_again *a, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const none[] = {NULL};
    const uint64_t count = a->sums[SQT_AGAIN_ASKED].count;
    if (count < LEAST || sqt_spell_percent(count, a->requests) < ASKED || !a->accepted ||
        count * 100 < a->accepted * ASKED_TIMES || is_helper_broken(tolds))
        return;
    struct sqt_told *const told = again_told(a, SQT_AGAIN_ASKED, totals, tolds, "challenges", "clients", none);
    if (!told)
        return;
    told->harm = SQT_HARM_WASTE;
    sqt_told_print(told->sentence,
                   "%.0f %% of all requests are answered with 407, %.1f for each connection of a client: clients are "
                   "asked who they are "
                   "again and again, and send each such request twice or more.",
                   sqt_spell_percent(count, a->requests), (double)count / (double)a->accepted);
    sqt_told_print(told->advice,
                   "client_persistent_connections: on, because NTLM and Negotiate ask on each connection. auth_param "
                   "negotiate keep_alive. http_access: let what needs no user pass before the rules that ask.");
    sqt_told_print(told->command, "sqtrace-dump --where='status == 407' TRACE");
}

void
sqt_again_tell(struct sqt_again *a, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    sqt_when_sort(&a->when);
    again_unchanged(a, totals, tolds);
    again_connected(a, totals, tolds);
    again_closed(a, totals, tolds);
    again_missed(a, totals, tolds);
    again_asked(a, totals, tolds);
    sqt_when_free(&a->when);
}
