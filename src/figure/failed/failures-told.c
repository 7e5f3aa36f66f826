/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-told.c - requests that failed, as findings: which of them matter.  failures-words.c says it.
 */
#include <stdio.h>
#include <string.h>

#include "failures-words.h"
#include "figure/finding/spell.h"

/* Of all requests in that time, in %. */
#define SHARE 2
/* Of all requests of the trace where names cannot be looked up, or else of those in that time. */
#define SHARE_LOOK_UP 5
#define SHARE_LOOK_UP_THEN 50
/* The same where a server itself answers with an error. */
#define SHARE_OF_SERVER 10
/* What clients send that is not valid (400), from the first request of the trace on: a few always do. */
#define SHARE_NOT_VALID 5
/* A server that has so many requests of all, in %, fails that part of them, and so many at least. */
#define IN_USE 5
#define OF_ITS_OWN 10
#define LEAST_OF_ITS_OWN 10
/* Denials that began after so many requests without one are so many, and that part of all since then, in %. */
#define BEFORE 100
/* Of rare ones, so many would be expected before the first of them. */
#define EXPECTED 5
#define DENIED 20
#define SHARE_DENIED 10
/* Errors of a server in a row. */
#define IN_A_ROW 20
/* All but one in so many of them are no ordinary answers. */
#define ODD 10
/* A reconfiguration so long before the first of them is named, ns. */
#define SOON INT64_C(5000000000)
#define SECOND INT64_C(1000000000)
/* Servers whose connections all fail at once. */
#define LOCAL_LEAST 2

/* Of those that it met, so many at most are of the finding: a series may have others. */
static uint64_t
failures_met(const struct sqt_spell *spell, uint64_t count)
{
    return spell->met < count ? spell->met : count;
}

/* With the share in the words that fit it: 100 %, 12 %, 3.4 %. */
static void
failures_sentence(struct sqt_told *told, uint64_t count, const struct sqt_spell *spell, const char *end)
{
    char when[128];
    const uint64_t met = failures_met(spell, count);
    const double share = sqt_spell_percent(met, spell->all);
    sqt_told_print(told->sentence, "%s, %llu of %llu requests (%.*f %%) %s", sqt_told_when(when, sizeof(when), told),
                   (unsigned long long)met, (unsigned long long)spell->all, share < 9.95, share, end);
}

/* Whether squid.conf may mean it. */
static int
is_configured(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_DENIED || x->at == SQT_FAILED_REDIRECTED || x->at == SQT_FAILED_ADAPTED ||
           x->at == SQT_FAILED_REPLY;
}

/* What is always so is meant.  Told is what began in the trace, and what takes a good part of all; of replies that were
 * fetched to be thrown away, a smaller one. */
static int
is_meant(const struct sqt_failed_requests *all, const struct sqt_failure *x, const struct sqt_spell *spell)
{
    const int always = x->before < BEFORE && x->at != SQT_FAILED_REPLY;
    if (x->at == SQT_FAILED_DENIED && all->limit)
        return 0;
    return is_configured(x) && 4 * x->count < all->requests &&
           (always || x->count < DENIED || sqt_spell_percent(spell->met, spell->all) < SHARE_DENIED);
}

/* What is no finding because it is meant, and is not little either, is said where all else is healthy. */
static void
failures_note(struct sqt_tolds *tolds, const struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    char because[SQT_TOLD_TEXT];
    if (x->count < DENIED || sqt_spell_percent(x->count, all->requests) < SHARE_DENIED)
        return;
    sqt_failed_because(x, because, sizeof(because));
    because[strlen(because) - 1] = '\0';
    snprintf(
        tolds->meant, sizeof(tolds->meant), " All the time, %llu of %llu %.200s: that is taken as meant.%s",
        (unsigned long long)x->count, (unsigned long long)all->requests, because,
        x->at == SQT_FAILED_DENIED
            ? " If it is not: access.log has what they ask for (TCP_DENIED), and cache.log which rule denies it, with "
              "debug_options 28,3."
            : "");
}

/* Whether they began in the trace: so many would have been among the requests before, at their rate since then, that it is no
 * chance that none was. */
static int
is_new(const struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    const double since = (double)(all->requests - x->before);
    return x->before >= BEFORE && (double)x->before * (double)x->count >= EXPECTED * since;
}

/* Requests that are not valid, as some of clients that are broken, or of probes, are at any time. */
static int
is_not_valid(const struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_BY_SQUID && x->status == 400 && 10 * x->with_status >= 9 * x->count && !is_new(all, x);
}

/* They are no finding if they are few, and are said where all else is healthy. */
static void
failures_note_not_valid(struct sqt_tolds *tolds, const struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    const double share = sqt_spell_percent(x->count, all->requests);
    if (is_not_valid(all, x) && !*tolds->meant && share >= SHARE && share < SHARE_NOT_VALID)
        snprintf(
            tolds->meant, sizeof(tolds->meant),
            " Squid refused %llu of the requests (%.1f %%) because they are not valid (400). As few always are, that "
            "is taken for mistakes of their clients; %%err_code of access.log says more.",
            (unsigned long long)x->count, share);
}

/* A server that gives one error after the other to a method, at least so many, and answers other methods well meanwhile;
 * NULL: it does not. */
static const struct sqt_failure *
failures_of_method(struct sqt_failed_requests *all, const struct sqt_failure *x, uint64_t least)
{
    const struct sqt_failure *const server =
        x->at == SQT_FAILED_BY_SERVER ? sqt_failure_get(all, SQT_FAILED_REFUSED, sqt_failed_name(x)) : NULL;
    return server && server->errors.most >= least && server->errors.others >= SQT_FAILED_LEAST ? server : NULL;
}

/* Whether a server that is in use fails a good part of its own requests, however few these are of all.  What an origin answers
 * is its own matter; what a cache_peer does is Squid's choice. */
static int
is_much_of_its_own(struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    static const unsigned of_servers =
        1u << SQT_FAILED_CONNECT | 1u << SQT_FAILED_TLS | 1u << SQT_FAILED_ANSWER | 1u << SQT_FAILED_CUT;
    const int of_peer = x->at == SQT_FAILED_BY_SERVER && sqt_failed_is_peer(all, sqt_failed_name(x));
    if ((!(of_servers >> x->at & 1) && !of_peer) || !sqt_failed_name(x) || x->count < LEAST_OF_ITS_OWN)
        return 0;
    const uint64_t asked = sqt_failure_get(all, SQT_FAILED_CONNECT, sqt_failed_name(x))->asked;
    return 100 * asked >= IN_USE * all->requests && 100 * x->count >= OF_ITS_OWN * asked &&
           (x->count < asked || of_peer);
}

/* The least share of failures of all requests in that time, in %.  A server that fails one method needs no more than others:
 * its errors are few because it is seldom asked. */
static int
failures_share(struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    if (is_much_of_its_own(all, x))
        return 0;
    if (is_not_valid(all, x))
        return SHARE_NOT_VALID;
    return x->at == SQT_FAILED_NO_REQUEST || (x->at == SQT_FAILED_BY_SERVER && !failures_of_method(all, x, IN_A_ROW))
               ? SHARE_OF_SERVER
               : SHARE;
}

/* A finding of so many failures; NULL: they do not matter. */
static struct sqt_told *
failures_told(struct sqt_tolds *tolds, struct sqt_failed_requests *all, const char *cause, const struct sqt_failure *x,
              uint32_t series, struct sqt_spell *spell)
{
    struct sqt_told probe = {.since = 0};
    if (x->count < SQT_FAILED_LEAST)
        return NULL;
    *spell = sqt_spell_tell(&probe, &all->when, series, SQT_FAILURES_ALL);
    const double then = sqt_spell_percent(failures_met(spell, x->count), spell->all);
    if (is_meant(all, x, spell))
        failures_note(tolds, all, x);
    failures_note_not_valid(tolds, all, x);
    if (then < failures_share(all, x) || is_meant(all, x, spell) ||
        (x->at == SQT_FAILED_LOOK_UP && sqt_spell_percent(x->count, all->requests) < SHARE_LOOK_UP &&
         then < SHARE_LOOK_UP_THEN))
        return NULL;
    /* What may be meant ranks behind all that is not. */
    const int limited = x->at == SQT_FAILED_DENIED && all->limit;
    const int meant = (is_configured(x) && x->before < BEFORE && !limited) || sqt_failed_is_only_cached(x);
    struct sqt_told *const told =
        sqt_tolds_add(tolds, cause, SQT_HARM_FAILURE, x->felt + (meant ? 0 : x->count * SQT_FAILURE_NS));
    if (!told)
        return NULL;
    told->since = probe.since;
    told->until = probe.until;
    told->pattern = probe.pattern;
    told->requests = told->failures = x->count;
    told->waiting = x->felt;
    return told;
}

/* Whom Squid may ask, where it asked nobody. */
static void
failures_parents(const struct sqt_failed_requests *all, struct sqt_told *told)
{
    size_t used = 0;
    if (all->direct || !all->peers.count)
        return;
    for (const struct sqt_name_entry *named = all->peers.first; named && used < sizeof(told->culprit) - 1;
         named = named->next)
        used += (size_t)snprintf(told->culprit + used, sizeof(told->culprit) - used, "%s%s",
                                 used                   ? ", "
                                 : all->peers.count > 1 ? "parents "
                                                        : "parent ",
                                 named->name);
    const size_t length = strlen(told->sentence);
    snprintf(told->sentence + length - 1, sizeof(told->sentence) - length + 1,
             ": Squid may ask %s only, %s dead, or %s as many connections as max-conn= allows.", told->culprit,
             all->peers.count > 1 ? "who are" : "who is", all->peers.count > 1 ? "have" : "has");
}

/* What squid.conf may mean, and when it began. */
static void
failures_configured(const struct sqt_failed_requests *all, const struct sqt_failure *x, struct sqt_told *told)
{
    const int begins = x->before >= BEFORE, reconfigured = begins && x->reconfigured &&
                                                           told->since + SECOND >= x->reconfigured &&
                                                           told->since - x->reconfigured < SOON;
    const size_t used = strlen(told->sentence);
    if (!*told->culprit)
        snprintf(told->culprit, sizeof(told->culprit), "%s%s",
                 x->at == SQT_FAILED_DENIED  ? all->limit ? "acl maxconn" : "http_access"
                 : x->at == SQT_FAILED_REPLY ? "http_reply_access or reply_body_max_size"
                                             : "url_rewrite",
                 reconfigured ? ", after squid -k reconfigure" : "");
    if (x->at == SQT_FAILED_DENIED && all->limit)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " That was so while %u other requests or more were under way, and hardly ever with fewer: a limit of "
                 "connections "
                 "denies them (acl maxconn), and no list.",
                 all->limit);
    else if (begins)
        snprintf(told->sentence + used, sizeof(told->sentence) - used, " Of the %llu before, none was.%s",
                 (unsigned long long)x->before, reconfigured ? " Squid was reconfigured just then." : "");
}

/* In the minute before, ports were taken by so many connections. */
static void
failures_taken(const struct sqt_failure *x, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " In the minute before, %llu connections to it were made, and kept ones were used %llu times.",
             (unsigned long long)x->made, (unsigned long long)x->kept);
}

/* It fails with one method only, which others to it do not have. */
static void
failures_one_method(struct sqt_failed_requests *all, const struct sqt_failure *x, struct sqt_told *told)
{
    const struct sqt_failure *const server = failures_of_method(all, x, x->count);
    const size_t used = strlen(told->sentence);
    if (server)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " All of them were %s, one after the other; it answers other methods well.", server->errors.method);
}

static void
failures_tell_one(struct sqt_failed_requests *all, int64_t end, struct sqt_tolds *tolds, const struct sqt_failure *x)
{
    const struct sqt_failed_words *const w = &sqt_failed_words[x->at];
    const enum sqt_why why = x->at == SQT_FAILED_CONNECT ? sqt_failed_mostly(x) : SQT_WHY_UNKNOWN;
    const char *const advice = sqt_failed_advice(x);
    struct sqt_spell spell;
    char because[SQT_TOLD_TEXT];
    struct sqt_told *const told =
        failures_told(tolds, all, why == SQT_WHY_NO_PORT ? "no_local_port" : w->cause, x, x->series, &spell);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", sqt_failed_name(x) ? sqt_failed_name(x) : "");
    if (x->at == SQT_FAILED_PEER)
        sqt_failed_dead(all, told->culprit, because);
    else
        sqt_failed_because(x, because, sizeof(because));
    failures_sentence(told, x->count, &spell, because);
    if (x->at == SQT_FAILED_SERVICE)
        sqt_failed_suspended(x, end, told);
    if (x->at == SQT_FAILED_CUT_HIT)
        sqt_failed_cut(x, told);
    if (x->at == SQT_FAILED_CUT) {
        sqt_failed_cut(x, told);
        sqt_failed_writing(x, told, tolds);
    }
    sqt_failed_timeout(x, told);
    sqt_failed_kept(x, told);
    if (why == SQT_WHY_NO_PORT)
        failures_taken(x, told);
    if (x->at == SQT_FAILED_NO_SERVER)
        failures_parents(all, told);
    if (is_configured(x))
        failures_configured(all, x, told);
    sqt_told_print(told->advice, "%s%s", advice,
                   sqt_failed_may_lack_ports(x)
                       ? " If no local port is free (ss -s): server_persistent_connections keeps connections, and "
                         "net.ipv4.ip_local_port_range has more ports."
                       : "");
    sqt_told_print(told->command, "%s", w->command);
    sqt_failed_unasked(x, told);
    if (x->at == SQT_FAILED_TIMED_OUT && x->late.count)
        sqt_told_print(told->advice,
                       "Ask that server by hand for the same: its replies begin, and then pause. read_timeout: "
                       "for how long Squid waits for the next byte.");
    if (x->at == SQT_FAILED_BY_SQUID && 10 * x->with_status >= 9 * x->count)
        sqt_failed_by_squid(x, told);
    if (*told->culprit)
        sqt_tolds_supersede(tolds, told);
    failures_one_method(all, x, told);
    if (!failures_of_method(all, x, x->count))
        sqt_failed_apart_tell(all, x, told);
    if (x->at == SQT_FAILED_BY_SERVER) /* a try that got such an answer, and was given up, was not closed */
        sqt_tolds_drop(tolds, "closed_connections", told->culprit);
}

/* Of one method, *method; the name of its server is left. */
static void
failures_split(char name[SQT_TOLD_NAME], const struct sqt_failure *x, const char **method)
{
    snprintf(name, SQT_TOLD_NAME, "%s", sqt_failed_name(x) ? sqt_failed_name(x) : "");
    char *const space = x->at == SQT_FAILED_ONE_METHOD ? strrchr(name, ' ') : NULL;
    *method = space ? space + 1 : NULL;
    if (space)
        *space = '\0';
}

/* A server that says nothing but 4xx for some time.  One that never said anything else may mean it, if it is no cache_peer:
 * dead links, pages behind a login, and an interface for programs.  Nobody means a status that is no ordinary answer. */
static int
is_row_of_refusals(struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    const struct sqt_failed_run *const run = &x->longest;
    char server[SQT_TOLD_NAME];
    const char *method;
    failures_split(server, x, &method);
    return run->count >= IN_A_ROW &&
           (run->after >= (run->status < 400 ? IN_A_ROW : SQT_FAILED_LEAST) ||
            (run->status >= 400 && (sqt_failed_is_peer(all, server) || ODD * run->odd >= (ODD - 1) * run->count)));
}

/* Whether the server of that name answers other methods well.  Answers to CONNECT count for their method only. */
static int
failures_answers_others(struct sqt_failed_requests *all, const struct sqt_failure *x, const char *name,
                        const char *method)
{
    const struct sqt_failure *const server = sqt_failure_get(all, SQT_FAILED_REFUSED, name);
    return server->answered > (strcmp(method, "CONNECT") == 0 ? 0 : x->answered);
}

static void
failures_tell_refused(struct sqt_failed_requests *all, struct sqt_tolds *tolds, const struct sqt_failure *x)
{
    const struct sqt_failed_words *const w = &sqt_failed_words[SQT_FAILED_REFUSED];
    const struct sqt_failed_run *const run = &x->longest;
    char name[SQT_TOLD_NAME], with[64] = "";
    const char *method;
    failures_split(name, x, &method);
    if (!is_row_of_refusals(all, x) || (x->at == SQT_FAILED_ONE_METHOD && !method) ||
        (method && is_row_of_refusals(all, sqt_failure_get(all, SQT_FAILED_REFUSED, name))))
        return;
    struct sqt_told *const told = sqt_tolds_add(tolds, w->cause, SQT_HARM_FAILURE, run->count * SQT_FAILURE_NS);
    if (!told)
        return;
    if (method)
        snprintf(with, sizeof(with), " of method %s", method);
    snprintf(told->culprit, sizeof(told->culprit), "%s", name);
    told->since = run->since;
    told->until = run->until;
    told->pattern = SQT_PATTERN_ONCE;
    told->requests = told->failures = run->count;
    sqt_told_print(
        told->sentence,
        "From %.1f s to %.1f s of the trace, %s answered %llu requests%s in a row with %s, at last %u, and "
        "none in another way.%s",
        (double)run->since / 1e9, (double)run->until / 1e9, *told->culprit ? told->culprit : "a server",
        (unsigned long long)run->count, with, run->status < 400 ? "a redirect" : "an error", run->status,
        method && failures_answers_others(all, x, name, method) ? " It answers other requests well meanwhile." : "");
    sqt_told_print(told->advice, "%s", sqt_failed_refused_advice(run->status));
    sqt_told_print(told->command, "%s", w->command);
}

/* Whether its connections fail at once, and none succeeds since they do. */
static int
is_at_once(const struct sqt_failure *x)
{
    const enum sqt_why why = sqt_failed_mostly(x);
    return x->at == SQT_FAILED_CONNECT && x->count && why != SQT_WHY_REFUSED && why != SQT_WHY_TIMED_OUT &&
           10 * x->at_once >= 9 * x->count && 20 * x->connected <= x->count;
}

static int
is_local(const struct sqt_failed_requests *all)
{
    unsigned servers = 0, others = 0;
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        servers += (unsigned)is_at_once(x);
        others += x->at == SQT_FAILED_CONNECT && !is_at_once(x) && x->connected > 0;
    }
    return servers >= LOCAL_LEAST && !others;
}

static void
failures_tell_local(struct sqt_failed_requests *all, struct sqt_tolds *tolds)
{
    struct sqt_spell spell;
    struct sqt_told *const told =
        failures_told(tolds, all, "no_local_port", &all->at_once, SQT_FAILURES_AT_ONCE, &spell);
    if (!told)
        return;
    const char *because, *const advice = sqt_why_advice(sqt_failed_mostly(&all->at_once));
    const int worker = sqt_failed_worker(all, &all->at_once);
    if (worker >= 0)
        snprintf(told->culprit, sizeof(told->culprit), "worker %d", worker);
    else
        snprintf(told->culprit, sizeof(told->culprit), "%s",
                 sqt_failed_mostly(&all->at_once) == SQT_WHY_UNREACHABLE ? "routes" : "local ports");
    switch (sqt_failed_mostly(&all->at_once)) {
    case SQT_WHY_NO_PORT:
        because = "got an error page, because no local port is free for connections to any server.";
        break;
    case SQT_WHY_NO_SOCKET:
        because = "got an error page, because no connection to a server could be begun: the local address for them "
                  "(tcp_outgoing_address) is not one of this machine, or no local port is free.";
        break;
    case SQT_WHY_UNREACHABLE:
        because = "got an error page, because there is no route to any server.";
        break;
    case SQT_WHY_FORBIDDEN:
        because = "got an error page, because this machine does not let Squid connect to any server.";
        break;
    default:
        because = "got an error page, because connections to all servers failed at once: no local port is free for "
                  "them, or there is no route.";
    }
    failures_sentence(told, all->at_once.count, &spell, because);
    sqt_failed_apart_tell(all, &all->at_once, told);
    sqt_told_print(told->advice, "%s%s", advice ? advice : sqt_why_advice(SQT_WHY_NO_PORT),
                   worker >= 0 ? " What squid.conf says of that worker only (if ${process_number}), such as a "
                                 "tcp_outgoing_address that this machine does not have, is the first to look at."
                               : "");
    sqt_told_print(told->command, "%s", sqt_failed_words[SQT_FAILED_CONNECT].command);
}

/* Connections to several servers fail alike: they share what does it.  0: it is no finding. */
static int
failures_tell_several(struct sqt_failed_requests *all, const struct sqt_failure *sum, unsigned servers,
                      const char *names, struct sqt_tolds *tolds)
{
    static const char *const because[SQT_WHYS] = {
        [SQT_WHY_REFUSED] = "were refused",
        [SQT_WHY_UNREACHABLE] = "failed: there is no route to them",
        [SQT_WHY_NO_PORT] = "failed: no local address and port is free for them",
        [SQT_WHY_FORBIDDEN] = "failed: this machine does not let Squid connect",
        [SQT_WHY_TIMED_OUT] = "timed out: no answer came to the first packet"};
    const enum sqt_why why = sqt_failed_mostly(sum);
    const char *const words = because[why] ? because[why] : 2 * sum->timed_out > sum->count ? "timed out" : "failed";
    struct sqt_spell spell;
    char end[SQT_TOLD_TEXT];
    struct sqt_told *const told = failures_told(tolds, all, why == SQT_WHY_NO_PORT ? "no_local_port" : "failed_connect",
                                                sum, SQT_FAILURES_CONNECT, &spell);
    if (!told)
        return 0;
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    if (sqt_failed_worker(all, sum) >= 0 && sqt_why_is_local(why))
        snprintf(told->culprit, sizeof(told->culprit), "worker %d", sqt_failed_worker(all, sum));
    snprintf(end, sizeof(end), "got an error page, because connections to %u servers %s (%s%s).", servers, words, names,
             servers > SQT_FAILED_NAMED ? " and others" : "");
    failures_sentence(told, sum->count, &spell, end);
    sqt_failed_timeout(sum, told);
    sqt_failed_apart_tell(all, sum, told);
    sqt_told_print(
        told->advice, "%s",
        sqt_why_is_local(why) && sqt_why_advice(why)
            ? sqt_why_advice(why)
            : "Look at what stands between Squid and all of them: a firewall, a route, or the line. If they may "
              "be reached through a parent only: never_direct.");
    sqt_told_print(told->command, "%s", sqt_failed_words[SQT_FAILED_CONNECT].command);
    sqt_tolds_supersede(tolds, told);
    return 1;
}

/* Kept connections to several servers are dead: they share what does it.  0: it is no finding. */
static int
failures_tell_dead_kept(struct sqt_failed_requests *all, const struct sqt_failure *sum, unsigned servers,
                        const char *names, struct sqt_tolds *tolds)
{
    struct sqt_spell spell;
    char end[SQT_TOLD_TEXT];
    struct sqt_told *const told =
        failures_told(tolds, all, sqt_failed_words[SQT_FAILED_ANSWER].cause, sum, SQT_FAILURES_ANSWER, &spell);
    if (!told)
        return 0;
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    snprintf(end, sizeof(end),
             "got an error page, because nothing came back on kept connections. These lead to %u servers (%s%s).",
             servers, names, servers > SQT_FAILED_NAMED ? " and others" : "");
    failures_sentence(told, sum->count, &spell, end);
    sqt_failed_timeout(sum, told);
    sqt_told_print(told->advice, "%s", sqt_failed_dead_kept_advice);
    sqt_told_print(told->command, "%s", sqt_failed_words[SQT_FAILED_ANSWER].command);
    sqt_tolds_supersede(tolds, told);
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (sqt_failed_is_one_of_several(x, SQT_FAILED_ANSWER))
            sqt_tolds_drop(tolds, "no_answer", sqt_failed_name(x));
    }
    return 1;
}

/* Several servers cut replies alike: they share what does it. */
static void
failures_tell_cut(struct sqt_failed_requests *all, unsigned servers, struct sqt_tolds *tolds)
{
    char because[128];
    struct sqt_spell spell;
    struct sqt_told *const told =
        failures_told(tolds, all, sqt_failed_words[SQT_FAILED_CUT].cause, &all->cut, SQT_FAILURES_CUT, &spell);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    snprintf(because, sizeof(because),
             "got only a part of their body, because %u servers closed the connection before the end.", servers);
    failures_sentence(told, all->cut.count, &spell, because);
    sqt_failed_cut(&all->cut, told);
    sqt_failed_writing(&all->cut, told, tolds);
    sqt_told_print(told->advice,
                   "Look at what stands between Squid and all of them: a firewall, a scanner or another proxy "
                   "that ends connections, perhaps at a limit of bytes.");
    sqt_told_print(told->command, "%s", sqt_failed_words[SQT_FAILED_CUT].command);
}

void
sqt_failures_tell(struct sqt_failed_requests *all, int64_t end, struct sqt_tolds *tolds)
{
    sqt_when_sort(&all->when);
    sqt_failed_count_kept(all);
    all->limit = sqt_limit_of(&all->spans);
    const int local = is_local(all);
    const unsigned cutters = sqt_failed_cutters(all);
    char names[SQT_TOLD_NAME], kept_names[SQT_TOLD_NAME];
    struct sqt_failure sum, kept;
    unsigned servers = local ? 0 : sqt_failed_several(all, SQT_FAILED_CONNECT, &sum, names),
             dead_kept = sqt_failed_several(all, SQT_FAILED_ANSWER, &kept, kept_names);
    const uint32_t refused = sqt_failed_refused_alike(all, tolds);
    if (local)
        failures_tell_local(all, tolds);
    if (cutters)
        failures_tell_cut(all, cutters, tolds);
    if (servers && !failures_tell_several(all, &sum, servers, names, tolds))
        servers = 0;
    if (dead_kept && !failures_tell_dead_kept(all, &kept, dead_kept, kept_names, tolds))
        dead_kept = 0;
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (x->at == SQT_FAILED_REFUSED && refused && x->longest.status == refused &&
            !sqt_failed_is_peer(all, sqt_failed_name(x)))
            continue;
        if (x->at == SQT_FAILED_REFUSED || x->at == SQT_FAILED_ONE_METHOD)
            failures_tell_refused(all, tolds, x);
        else if (x->count && !(local && is_at_once(x)) && !(cutters && x->at == SQT_FAILED_CUT) &&
                 !(servers && sqt_failed_is_one_of_several(x, SQT_FAILED_CONNECT)) &&
                 !(dead_kept && sqt_failed_is_one_of_several(x, SQT_FAILED_ANSWER)))
            failures_tell_one(all, end, tolds, x);
    }
    sqt_when_free(&all->when);
}
