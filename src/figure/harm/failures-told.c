/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-told.c - requests that failed, as findings: which of them matter, their sentences and their advice.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
    [SQT_FAILED_NO_SERVER] =
        {"no_server", "no server was asked", "no server was asked", "",
         "%err_code of access.log says why. ERR_CANNOT_FORWARD: cache_peer_access, never_direct and "
         "always_direct leave nobody to ask, or all parents are dead.",
         "sqtrace-dump --where='status >= 500 and tries == 0' TRACE"},
    [SQT_FAILED_BY_SERVER] =
        {"server_errors", "%s", "%s", "servers",
         "Squid only hands on what that server answers: look at the server. cache_peer: a second one, "
         "if it is a parent. retry_on_error, forward_max_tries: ask another one.",
         "sqtrace-dump --where='status >= 500 and outcome == complete' TRACE"},
};

static const char *
failures_name(const struct sqt_failure *x)
{
    const char *const space = strchr(x->named.name, ' ');
    return space && space[1] ? space + 1 : NULL;
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

static void
failures_because(const struct sqt_failure *x, char *text, size_t size)
{
    const struct failures_words *const w = &failures_words[x->at];
    const char *const name = failures_name(x);
    char because[2 * SQT_TOLD_NAME];
    const char *const words = 2 * x->timed_out > x->count ? w->slow : w->because;
    const char *const hole = strstr(words, "%s");
    snprintf(because, sizeof(because), "%.*s%s%s", hole ? (int)(hole - words) : (int)strlen(words), words,
             !hole  ? ""
             : name ? name
                    : w->nobody,
             hole ? hole + 2 : "");
    if (is_mostly_at_once(x))
        failures_at_once(x, text, size);
    else if (x->at == SQT_FAILED_BY_SERVER)
        snprintf(text, size, "were answered by %s with a status of 500 or more.", because);
    else
        snprintf(text, size, "got an error page, because %s.", because);
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
    if (then < (x->at == SQT_FAILED_BY_SERVER ? SHARE_OF_SERVER : SHARE) ||
        (x->at == SQT_FAILED_LOOK_UP && sqt_spell_percent(x->count, all->requests) < SHARE_LOOK_UP &&
         then < SHARE_LOOK_UP_THEN))
        return NULL;
    struct sqt_told *const told = sqt_tolds_add(tolds, cause, SQT_HARM_FAILURE, x->count * SQT_FAILURE_NS + x->felt);
    if (!told)
        return NULL;
    told->since = probe.since;
    told->until = probe.until;
    told->pattern = probe.pattern;
    told->requests = told->failures = x->count;
    told->waiting = x->felt;
    return told;
}

static void
failures_tell_one(struct sqt_failed_requests *all, struct sqt_tolds *tolds, const struct sqt_failure *x)
{
    const struct failures_words *const w = &failures_words[x->at];
    struct sqt_spell spell;
    char because[SQT_TOLD_TEXT];
    struct sqt_told *const told = failures_told(tolds, all, w->cause, x, x->series, &spell);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", failures_name(x) ? failures_name(x) : "");
    failures_because(x, because, sizeof(because));
    failures_sentence(told, x->count, &spell, because);
    sqt_told_print(told->advice, "%s%s", w->advice,
                   is_mostly_at_once(x) && x->made >= PORTS && KEPT_SHARE * x->kept < x->made
                       ? " If no local port is free (ss -s): server_persistent_connections keeps connections, and "
                         "net.ipv4.ip_local_port_range has more ports."
                       : "");
    sqt_told_print(told->command, "%s", w->command);
    if (*told->culprit)
        sqt_tolds_supersede(tolds, told);
}

/* Whether its connections fail at once, and none succeeds since they do. */
static int
is_at_once(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_CONNECT && x->count && 10 * x->at_once >= 9 * x->count && 20 * x->connected <= x->count;
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
    snprintf(told->culprit, sizeof(told->culprit), "local ports");
    failures_sentence(told, all->at_once.count, &spell,
                      "got an error page, because connections to all servers failed at once: no local port is free for "
                      "them, or there is no route.");
    sqt_told_print(
        told->advice,
        "server_persistent_connections, server_idle_pconn_timeout: keep connections, so that fewer local ports "
        "are in TIME_WAIT (ss -s). net.ipv4.ip_local_port_range: more ports. tcp_outgoing_address: a second address.");
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_CONNECT].command);
}

void
sqt_failures_tell(struct sqt_failed_requests *all, struct sqt_tolds *tolds)
{
    sqt_when_sort(&all->when);
    const int local = is_local(all);
    if (local)
        failures_tell_local(all, tolds);
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (x->count && !(local && is_at_once(x)))
            failures_tell_one(all, tolds, x);
    }
}
