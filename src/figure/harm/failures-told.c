/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-told.c - requests that failed, as findings: which of them matter, their sentences and their advice.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "failures.h"
#include "figure/finding/spell.h"

/* Fewer are no finding. */
#define LEAST 5
/* Of all requests in that time, in %. */
#define SHARE 2
/* Of all requests of the trace where names cannot be looked up, or else of those in that time. */
#define SHARE_LOOK_UP 5
#define SHARE_LOOK_UP_THEN 50
/* The same where a server itself answers with an error. */
#define SHARE_OF_SERVER 10
/* So many new connections within a minute, and hardly a kept one, may have taken all local ports. */
#define PORTS 100
#define KEPT_SHARE 10
/* Denials that began after so many requests without one are so many, and that part of all since then, in %. */
#define BEFORE 100
#define DENIED 20
#define SHARE_DENIED 10
/* A header of so many bytes is too large, or none. */
#define HEADER 32768
/* Errors of a server in a row. */
#define IN_A_ROW 20
/* A reconfiguration so long before the first of them is named, ns. */
#define SOON INT64_C(5000000000)
#define SECOND INT64_C(1000000000)
/* Servers whose connections all fail at once. */
#define LOCAL_LEAST 2

/* Each in the words after "because". */
static const struct failures_words {
    const char *cause, *because, *slow, *nobody, *advice, *command;
} failures_words[SQT_FAILED_ATS] = {
    [SQT_FAILED_SERVICE] =
        {"failed_service", "adaptation %s failed or was suspended", "adaptation %s did not answer in time", "service",
         "Look at that service. icap_service_failure_limit and icap_service_revival_delay: after how many "
         "failures Squid suspends it, and for how long. icap_service: bypass=1 goes on without it. "
         "adaptation_service_set: a second one.",
         "sqtrace-dump --table=waits --where='kind == adaptation and outcome != ok' TRACE"},
    [SQT_FAILED_CONNECT] =
        {"failed_connect", "connections to %s failed", "connections to %s timed out", "servers",
         "Look at that server, and at the way to it. connect_timeout, connect_retries: how long Squid tries. "
         "cache_peer: a second one, if it is a parent.",
         "sqtrace-dump --table=connections --where='outcome == error or outcome == timeout' TRACE"},
    [SQT_FAILED_TLS] =
        {"failed_tls", "TLS handshakes with %s failed", "TLS handshakes with %s timed out", "servers",
         "cache.log says why: a certificate that Squid does not trust, or no common version or cipher. "
         "tls_outgoing_options: cafile=, min-version=, options=. sslproxy_cert_error: which faults are allowed.",
         "sqtrace-dump --table=connections --where='outcome == error and tls_ns > 0' TRACE"},
    [SQT_FAILED_LOOK_UP] = {"failed_look_up", "%s answered with an error", "%s did not answer in time",
                            "the name server",
                            "dns_nameservers: name another one first, or look why it does not answer. "
                            "negative_dns_ttl: for how long Squid takes a failure for the answer.",
                            "sqtrace-dump --table=waits --where='kind == name_server and outcome != ok' TRACE"},
    [SQT_FAILED_HELPER] = {"failed_helper", "helper %s is broken or died", "helper %s did not answer in time",
                           "of access checks",
                           "cache.log has what that helper wrote to its standard error. external_acl_type, auth_param: "
                           "on-timeout= and ttl= where the kind of helper has them.",
                           "sqtrace-dump --table=waits --where='outcome == broken or outcome == died' TRACE"},
    [SQT_FAILED_ANSWER] =
        {"failed_answer", "%s gave no answer that Squid could use", "%s did not answer in time", "a server",
         "The error page and %err_code of access.log say why: the server closed the connection, its answer "
         "could not be parsed, or it took longer than read_timeout.",
         "sqtrace-dump --where='outcome == error' TRACE"},
    [SQT_FAILED_PEER] =
        {"dead_peers", "%s", "%s", "",
         "Start these cache_peers, or correct their addresses and ports: Squid connects to a dead one again "
         "every connect_timeout, and uses it as soon as that succeeds. never_direct and always_direct: who may "
         "go without them meanwhile.",
         "sqtrace-dump --table=incidents --where='incident == peer_probed' TRACE"},
    [SQT_FAILED_NO_SERVER] =
        {"no_server", "no server was asked", "no server was asked", "",
         "%err_code of access.log says why. ERR_CANNOT_FORWARD: cache_peer_access, never_direct and "
         "always_direct leave nobody to ask, or all parents are dead, or have as many connections as max-conn= of "
         "cache_peer allows.",
         "sqtrace-dump --where='status >= 500 and tries == 0' TRACE"},
    [SQT_FAILED_CUT] = {"cut_replies", "%s closed the connection before the end",
                        "%s closed the connection before the end", "a server",
                        "Look at that server, and at what stands before it: a reply has fewer bytes than its "
                        "Content-Length says. Squid "
                        "hands on what came.",
                        "sqtrace-dump --where='outcome == aborted and server_until_ns >= 0' TRACE"},
    [SQT_FAILED_TIMED_OUT] = {"timed_out", "client_lifetime ran out", "%s paused in the middle of it", "a server",
                              "client_lifetime: for how long a client may stay. It is shorter than these replies take.",
                              "sqtrace-dump --where='outcome == timeout' TRACE"},
    [SQT_FAILED_KEPT] =
        {"kept_errors", "the cache keeps an error", "the cache keeps an error", "",
         "negative_ttl: for how long Squid answers with the error that a server gave. 0 asks the server each time; the "
         "server may be well again for long.",
         "sqtrace-dump --where='class == negative_hit and status >= 500' TRACE"},
    [SQT_FAILED_REFUSED] =
        {"server_refuses", "%s", "%s", "servers",
         "Ask that server by hand, without Squid. If it is a parent: it may not let this Squid in, may need "
         "a login (cache_peer login=), or sends requests back to this Squid.",
         "sqtrace-dump --where='status >= 400 and status < 500 and tries > 0' TRACE"},
    [SQT_FAILED_NO_ADDRESS] = {"no_address", "%s knows no address for the names that they ask for",
                               "%s knows no address for the names that they ask for", "the name server",
                               "Ask that name server for such a name by hand (dig). If it has one elsewhere: "
                               "dns_nameservers, or the search list of append_domain. Squid keeps the failure for "
                               "negative_dns_ttl.",
                               "sqtrace-dump --where='status >= 500 and tries == 0 and dns_ns >= 0' TRACE"},
    [SQT_FAILED_ADAPTED] = {"adapted", "", "", "",
                            "If that is not meant: ask the service what it answers, and look at "
                            "adaptation_access.",
                            "sqtrace-dump --where='class == internal and adapt_ns >= 0' TRACE"},
    [SQT_FAILED_REDIRECTED] = {"redirected", "", "", "",
                               "If that is not meant: ask the rewriter by hand what it says to such a URL, and look at "
                               "deny_info with a URL, and at redirects of http_access.",
                               "sqtrace-dump --where='status >= 301 and status <= 307 and tries == 0' TRACE"},
    [SQT_FAILED_BY_SQUID] = {"refused_requests", "", "", "", "%err_code of access.log says why Squid refuses them.",
                             "sqtrace-dump --where='status >= 400 and status < 500 and tries == 0' TRACE"},
    [SQT_FAILED_HANDSHAKE] =
        {"failed_client_tls", "their TLS handshake with %s failed", "their TLS handshake with %s timed out", "Squid",
         "cache.log says why: clients that know no version or cipher that tls-min-version=, options= and "
         "cipher= of https_port allow, or that do not trust its certificate.",
         "sqtrace-dump --where='status == 0 and client_tls_ns >= 0' TRACE"},
    [SQT_FAILED_NO_REQUEST] =
        {"no_request", "", "", "Squid",
         "What do these clients speak? TLS on an http_port, or a PROXY protocol header that http_port does not expect "
         "(require-proxy-header), are the usual reasons: https_port, or other settings of the clients.",
         "sqtrace-dump --where='status == 0 and class == error' TRACE"},
    [SQT_FAILED_DENIED] = {"denied", "access rules denied them", "access rules denied them", "",
                           "If that is not meant: which http_access line denies a request is in cache.log with "
                           "debug_options 28,3; the last "
                           "change of squid.conf, or of a list that an acl reads from a file, is the first to look at.",
                           "sqtrace-dump --where='class == denied' TRACE"},
    [SQT_FAILED_BY_SERVER] =
        {"server_errors", "%s", "%s", "servers",
         "Squid only hands on what that server answers: look at the server. cache_peer: a second one, "
         "if it is a parent. retry_on_error, forward_max_tries: ask another one.",
         "sqtrace-dump --where='status >= 500 and outcome == complete' TRACE"},
};

/* NULL: of nobody in particular, as of those that share the name "other". */
static const char *
failures_name(const struct sqt_failure *x)
{
    const char *const space = strchr(x->named.name, ' ');
    return space && space[1] && strcmp(space + 1, "other") != 0 ? space + 1 : NULL;
}

/* With the share in the words that fit it: 100 %, 12 %, 3.4 %. */
static void
failures_sentence(struct sqt_told *told, uint64_t count, const struct sqt_spell *spell, const char *end)
{
    char when[128];
    const double share = sqt_spell_percent(spell->met, spell->all);
    sqt_told_print(told->sentence, "%s, %llu of %llu requests (%.*f %%) %s", sqt_told_when(when, sizeof(when), told),
                   (unsigned long long)(spell->met < count ? spell->met : count), (unsigned long long)spell->all,
                   share < 9.95, share, end);
}

static int
is_mostly_at_once(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_CONNECT && 2 * x->at_once > x->count;
}

/* Connections to one server fail at once: who refuses them is not known. */
static void
failures_at_once(const struct sqt_failure *x, char *text, size_t size)
{
    const char *const name = failures_name(x) ? failures_name(x) : "servers";
    const int used = snprintf(text, size, "got an error page, because connections to %s failed at once: ", name);
    if (x->made >= PORTS && KEPT_SHARE * x->kept < x->made)
        snprintf(
            text + used, size - (size_t)used,
            "no local port is free for them, or it refuses them. In the minute before, %llu connections to it were "
            "made, and kept ones were used %llu times.",
            (unsigned long long)x->made, (unsigned long long)x->kept);
    else
        snprintf(text + used, size - (size_t)used, "it refuses them.");
}

static const char *
failures_why(const struct sqt_failure *x)
{
    const struct failures_words *const w = &failures_words[x->at];
    if (x->at == SQT_FAILED_ANSWER && 10 * x->reused >= 9 * x->count)
        return "%s closed the kept connections on which they were sent, and Squid does not send such a request (POST) "
               "twice";
    if (x->at == SQT_FAILED_ANSWER && x->fetched >= x->count * HEADER)
        return "Squid found no end of a header in what %s sent (reply_header_max_size)";
    if (x->at == SQT_FAILED_HELPER && 2 * x->broken > x->count)
        return "helper %s answers that it is broken (BH)";
    return 2 * x->timed_out > x->count ? w->slow : w->because;
}

static void
failures_because(const struct sqt_failure *x, char *text, size_t size)
{
    const struct failures_words *const w = &failures_words[x->at];
    const char *const name = failures_name(x);
    char because[2 * SQT_TOLD_NAME], each[SQT_HUMAN_ROOM], with_status[32];
    snprintf(with_status, sizeof(with_status), "%s", x->at == SQT_FAILED_BY_SQUID ? "4xx" : "500 or more");
    if (10 * x->with_status >= 9 * x->count)
        snprintf(with_status, sizeof(with_status), "%u", x->status);
    const char *const known = x->at == SQT_FAILED_CONNECT ? sqt_why_because(sqt_failed_mostly(x)) : NULL;
    const char *const words = known ? known : failures_why(x);
    const char *const data = 2 * x->data > x->count ? " for data (FTP)" : "";
    const char *const hole = strstr(words, "%s");
    snprintf(because, sizeof(because), "%.*s%s%s%s", hole ? (int)(hole - words) : (int)strlen(words), words,
             !hole  ? ""
             : name ? name
                    : w->nobody,
             data, hole ? hole + 2 : "");
    if (is_mostly_at_once(x) && !known)
        failures_at_once(x, text, size);
    else if (x->at == SQT_FAILED_CUT)
        snprintf(text, size, "got only a part of their body, because %s.", because);
    else if (x->at == SQT_FAILED_TIMED_OUT && x->late.count)
        snprintf(text, size, "got only a part of their body, because %s, and Squid did not wait longer.", because);
    else if (x->at == SQT_FAILED_TIMED_OUT)
        snprintf(text, size, "were ended by Squid in the middle of their reply, after %s: client_lifetime ran out.",
                 sqt_human_time(each, (double)x->felt / (double)x->count, " ", "us"));
    else if (x->at == SQT_FAILED_NO_REQUEST)
        snprintf(text, size,
                 "never came: clients of %s sent bytes, but no whole request, as with TLS on a port for plain HTTP, "
                 "and left "
                 "after %s without an answer.",
                 name ? name : w->nobody, sqt_human_time(each, x->late.sum / (double)x->late.count * 1e9, " ", "us"));
    else if (x->at == SQT_FAILED_KEPT)
        snprintf(text, size, "got an error (5xx) from the cache, which keeps what a server answered.");
    else if (x->at == SQT_FAILED_DENIED)
        snprintf(text, size, "were denied (403) by access rules.");
    else if (x->at == SQT_FAILED_ADAPTED)
        snprintf(text, size, "were answered by an adaptation service itself, in place of a server.");
    else if (x->at == SQT_FAILED_REDIRECTED)
        snprintf(text, size, "were sent to another URL by Squid (%u).", x->status);
    else if (x->at == SQT_FAILED_BY_SQUID)
        snprintf(text, size, "were refused by Squid itself, with a status of %s.", with_status);
    else if (x->at == SQT_FAILED_HANDSHAKE)
        snprintf(text, size, "got nothing, because %s.", because);
    else if (x->at == SQT_FAILED_BY_SERVER)
        snprintf(text, size, "were answered by %s with a status of %s.", because, with_status);
    else
        snprintf(text, size, "got an error page, because %s.", because);
}

/* Whether squid.conf may mean it. */
static int
is_configured(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_DENIED || x->at == SQT_FAILED_REDIRECTED || x->at == SQT_FAILED_ADAPTED;
}

/* What is always so is meant.  Told is what began in the trace, and what takes a good part of all. */
static int
is_meant(const struct sqt_failed_requests *all, const struct sqt_failure *x, const struct sqt_spell *spell)
{
    return is_configured(x) && 4 * x->count < all->requests &&
           (x->before < BEFORE || x->count < DENIED || sqt_spell_percent(spell->met, spell->all) < SHARE_DENIED);
}

/* A finding of so many failures; NULL: they do not matter. */
static struct sqt_told *
failures_told(struct sqt_tolds *tolds, const struct sqt_failed_requests *all, const char *cause,
              const struct sqt_failure *x, uint32_t series, struct sqt_spell *spell)
{
    struct sqt_told probe = {.since = 0};
    if (x->count < LEAST)
        return NULL;
    *spell = sqt_spell_tell(&probe, &all->when, series, SQT_FAILURES_ALL);
    const double then = sqt_spell_percent(spell->met, spell->all);
    if (then < (x->at == SQT_FAILED_BY_SERVER || x->at == SQT_FAILED_NO_REQUEST ? SHARE_OF_SERVER : SHARE) ||
        is_meant(all, x, spell) ||
        (x->at == SQT_FAILED_LOOK_UP && sqt_spell_percent(x->count, all->requests) < SHARE_LOOK_UP &&
         then < SHARE_LOOK_UP_THEN))
        return NULL;
    /* What may be meant ranks behind all that is not. */
    const int meant = is_configured(x) && x->before < BEFORE;
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
failures_configured(const struct sqt_failure *x, struct sqt_told *told)
{
    const int begins = x->before >= BEFORE, reconfigured = begins && x->reconfigured &&
                                                           told->since + SECOND >= x->reconfigured &&
                                                           told->since - x->reconfigured < SOON;
    const size_t used = strlen(told->sentence);
    if (!*told->culprit)
        snprintf(told->culprit, sizeof(told->culprit), "%s%s",
                 x->at == SQT_FAILED_DENIED ? "http_access" : "url_rewrite",
                 reconfigured ? ", after squid -k reconfigure" : "");
    if (begins)
        snprintf(told->sentence + used, sizeof(told->sentence) - used, " Of the %llu before, none was.%s",
                 (unsigned long long)x->before, reconfigured ? " Squid was reconfigured just then." : "");
}

/* Which directive of squid.conf is behind a status that Squid gives by itself. */
static void
failures_by_squid(const struct sqt_failure *x, struct sqt_told *told)
{
    static const struct {
        uint32_t status;
        const char *culprit, *advice;
    } words[] = {
        {413, "request_body_max_size", "request_body_max_size: larger, if such uploads are meant."},
        {431, "request_header_max_size", "request_header_max_size: larger, or look which header grows (Cookie)."},
        {414, "request_header_max_size", "request_header_max_size bounds the URL, too."},
        {400, "requests that are not valid",
         "What clients send is no HTTP that Squid takes: TLS on a port for HTTP, "
         "or http_port without accel or intercept, are the usual reasons."},
        {408, "request_timeout", "request_timeout, read_timeout: clients take longer to send their request."},
        {417, "Expect", "Clients ask with an Expect that Squid does not know."}};
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); ++i)
        if (words[i].status == x->status) {
            snprintf(told->culprit, sizeof(told->culprit), "%s", words[i].culprit);
            sqt_told_print(told->advice, "%s", words[i].advice);
        }
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

static int
may_lack_ports(const struct sqt_failure *x)
{
    return is_mostly_at_once(x) && sqt_failed_mostly(x) == SQT_WHY_UNKNOWN && x->made >= PORTS &&
           KEPT_SHARE * x->kept < x->made;
}

static void
failures_tell_one(struct sqt_failed_requests *all, int64_t end, struct sqt_tolds *tolds, const struct sqt_failure *x)
{
    const struct failures_words *const w = &failures_words[x->at];
    const enum sqt_why why = x->at == SQT_FAILED_CONNECT ? sqt_failed_mostly(x) : SQT_WHY_UNKNOWN;
    const char *const advice = sqt_why_advice(why) ? sqt_why_advice(why) : w->advice;
    struct sqt_spell spell;
    char because[SQT_TOLD_TEXT];
    struct sqt_told *const told =
        failures_told(tolds, all, why == SQT_WHY_NO_PORT ? "no_local_port" : w->cause, x, x->series, &spell);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", failures_name(x) ? failures_name(x) : "");
    if (x->at == SQT_FAILED_PEER)
        sqt_failed_dead(all, told->culprit, because);
    else
        failures_because(x, because, sizeof(because));
    failures_sentence(told, x->count, &spell, because);
    if (x->at == SQT_FAILED_SERVICE)
        sqt_failed_suspended(x, end, told);
    if (x->at == SQT_FAILED_CUT)
        sqt_failed_cut(x, told);
    sqt_failed_timeout(x, told);
    sqt_failed_kept(x, told);
    if (why == SQT_WHY_NO_PORT)
        failures_taken(x, told);
    if (x->at == SQT_FAILED_NO_SERVER)
        failures_parents(all, told);
    if (is_configured(x))
        failures_configured(x, told);
    sqt_told_print(told->advice, "%s%s", advice,
                   may_lack_ports(x)
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
        failures_by_squid(x, told);
    if (*told->culprit)
        sqt_tolds_supersede(tolds, told);
    if (x->at == SQT_FAILED_BY_SERVER) /* a try that got such an answer, and was given up, was not closed */
        sqt_tolds_drop(tolds, "closed_connections", told->culprit);
}

static int
is_a_peer(const struct sqt_failed_requests *all, const char *name)
{
    for (const struct sqt_name_entry *named = all->peers.first; named && name; named = named->next)
        if (strcmp(named->name, name) == 0)
            return 1;
    return 0;
}

/* A server that says nothing but 4xx for some time.  One that never said anything else may mean it, if it is no cache_peer:
 * dead links, and pages behind a login. */
static void
failures_tell_refused(const struct sqt_failed_requests *all, struct sqt_tolds *tolds, const struct sqt_failure *x)
{
    const struct sqt_failed_run *const run = &x->longest;
    const int begins = run->after >= (run->status < 400 ? IN_A_ROW : LEAST) ||
                       (run->status >= 400 && is_a_peer(all, failures_name(x)));
    struct sqt_told *const told =
        run->count < IN_A_ROW || !begins
            ? NULL
            : sqt_tolds_add(tolds, failures_words[x->at].cause, SQT_HARM_FAILURE, run->count * SQT_FAILURE_NS);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", failures_name(x) ? failures_name(x) : "");
    told->since = run->since;
    told->until = run->until;
    told->pattern = SQT_PATTERN_ONCE;
    told->requests = told->failures = run->count;
    sqt_told_print(told->sentence,
                   "From %.1f s to %.1f s of the trace, %s answered %llu requests in a row with %s, at last %u, and "
                   "none in another way.",
                   (double)run->since / 1e9, (double)run->until / 1e9, *told->culprit ? told->culprit : "a server",
                   (unsigned long long)run->count, run->status < 400 ? "a redirect" : "an error", run->status);
    sqt_told_print(told->advice, "%s", failures_words[x->at].advice);
    sqt_told_print(told->command, "%s", failures_words[x->at].command);
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
    snprintf(told->culprit, sizeof(told->culprit), "%s",
             sqt_failed_mostly(&all->at_once) == SQT_WHY_UNREACHABLE ? "routes" : "local ports");
    switch (sqt_failed_mostly(&all->at_once)) {
    case SQT_WHY_NO_PORT:
        because = "got an error page, because no local port is free for connections to any server.";
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
    sqt_told_print(told->advice, "%s", advice ? advice : sqt_why_advice(SQT_WHY_NO_PORT));
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_CONNECT].command);
}

/* Several servers cut replies alike: they share what does it. */
static void
failures_tell_cut(struct sqt_failed_requests *all, unsigned servers, struct sqt_tolds *tolds)
{
    char because[128];
    struct sqt_spell spell;
    struct sqt_told *const told =
        failures_told(tolds, all, failures_words[SQT_FAILED_CUT].cause, &all->cut, SQT_FAILURES_CUT, &spell);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    snprintf(because, sizeof(because),
             "got only a part of their body, because %u servers closed the connection before the end.", servers);
    failures_sentence(told, all->cut.count, &spell, because);
    sqt_failed_cut(&all->cut, told);
    sqt_told_print(told->advice,
                   "Look at what stands between Squid and all of them: a firewall, a scanner or another proxy "
                   "that ends connections, perhaps at a limit of bytes.");
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_CUT].command);
}

void
sqt_failures_tell(struct sqt_failed_requests *all, int64_t end, struct sqt_tolds *tolds)
{
    sqt_when_sort(&all->when);
    const int local = is_local(all);
    const unsigned cutters = sqt_failed_cutters(all);
    if (local)
        failures_tell_local(all, tolds);
    if (cutters)
        failures_tell_cut(all, cutters, tolds);
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (x->at == SQT_FAILED_REFUSED)
            failures_tell_refused(all, tolds, x);
        else if (x->count && !(local && is_at_once(x)) && !(cutters && x->at == SQT_FAILED_CUT))
            failures_tell_one(all, end, tolds, x);
    }
}
