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
/* What clients send that is not valid (400), from the first request of the trace on: a few always do. */
#define SHARE_NOT_VALID 5
/* A server that has so many requests of all, in %, fails that part of them, and so many at least. */
#define IN_USE 5
#define OF_ITS_OWN 10
#define LEAST_OF_ITS_OWN 10
/* So many new connections within a minute, and hardly a kept one, may have taken all local ports. */
#define PORTS 100
#define KEPT_SHARE 10
/* Denials that began after so many requests without one are so many, and that part of all since then, in %. */
#define BEFORE 100
/* Of rare ones, so many would be expected before the first of them. */
#define EXPECTED 5
#define DENIED 20
#define SHARE_DENIED 10
/* A header of so many bytes is too large, or none. */
#define HEADER 32768
/* Errors of a server in a row. */
#define IN_A_ROW 20
/* All but one in so many of them are no ordinary answers. */
#define ODD 10
/* Who leaves a handshake sooner, in s, does not leave because it takes too long. */
#define SOON_LEFT 2
/* No time-out of Squid is shorter, in s, but for what its clock is off. */
#define LEAST_TIMEOUT 0.9
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
    [SQT_FAILED_ANSWER] = {"failed_answer", "%s gave no answer that Squid could use", "%s did not answer in time",
                           "a server",
                           "Ask that server by hand for the same. read_timeout: how long Squid waits. Its log, and "
                           "%err_code of access.log, say more.",
                           "sqtrace-dump --where='outcome == error' TRACE"},
    [SQT_FAILED_PEER] =
        {"dead_peers", "%s", "%s", "",
         "Start these cache_peers, or correct their addresses and ports: while requests could use a dead one, Squid "
         "connects to it once a second at most, and uses it as soon as that succeeds. never_direct and "
         "always_direct: who may go without them meanwhile.",
         "sqtrace-dump --table=incidents --where='incident == peer_probed' TRACE"},
    [SQT_FAILED_NO_SERVER] =
        {"no_server", "no server was asked", "no server was asked", "",
         "%err_code of access.log says why. ERR_CANNOT_FORWARD: cache_peer_access, never_direct and "
         "always_direct leave nobody to ask, or all parents are dead, or have as many connections as max-conn= of "
         "cache_peer allows.",
         "sqtrace-dump --where='status >= 500 and tries == 0' TRACE"},
    [SQT_FAILED_OWN_NAME] = {"no_server",
                             "no server was asked. Squid had looked up a host that squid.conf names, as that of a "
                             "cache_peer, and %s answered with an error or not at all: that cache_peer has no address",
                             "", "the name server",
                             "squid -k reconfigure looks the host of a cache_peer up again; by itself Squid does so "
                             "after an hour. cache_peer: an address, or a line in hosts_file, needs no name server. "
                             "Start Squid when names resolve.",
                             "sqtrace-dump --table=waits --where='kind == name_server and outcome != ok' TRACE"},
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
    [SQT_FAILED_HALF] =
        {"half_answers", "adaptation %s ended in the middle of its answer",
         "adaptation %s ended in the middle of its answer", "service",
         "Look at that service: it closes the connection to Squid before its answer is complete. Its own "
         "log may say why; a crash and a limit of size are the usual reasons.",
         "sqtrace-dump --table=waits --where='kind == adaptation and outcome == cut' TRACE"},
    [SQT_FAILED_CUT_HIT] =
        {"cut_hits", "the file of their object in %s ends too soon", "the file of their object in %s ends too soon",
         "a cache_dir",
         "Something cuts files of that cache_dir, or they were not written to their end: a crash of the machine, a "
         "file "
         "system that was full, a disk that fails (dmesg), or a program that does not belong there. Squid does not see "
         "it. Empty that cache_dir, and make it anew with squid -z.",
         "sqtrace-dump --where='class == disk_hit and status == 200 and sent_bytes < size_bytes' TRACE"},
    [SQT_FAILED_TUNNEL] =
        {"tunnel_timeouts", "", "", "",
         "read_timeout: for how long nothing may come through a tunnel in either direction. The default "
         "is 15 minutes.",
         "sqtrace-dump --where='class == tunnel and outcome == timeout' TRACE"},
    [SQT_FAILED_BY_SQUID] = {"refused_requests", "", "", "", "%err_code of access.log says why Squid refuses them.",
                             "sqtrace-dump --where='status >= 400 and status < 500 and tries == 0' TRACE"},
    [SQT_FAILED_HANDSHAKE] =
        {"failed_client_tls", "their TLS handshake with %s failed", "their TLS handshake with %s timed out", "Squid",
         "cache.log says why: clients that know no version or cipher that tls-min-version=, options= and "
         "cipher= of that port allow, or that do not trust its certificate (of a tunnel that is bumped: the authority "
         "that "
         "signs it, which these clients must know).",
         "sqtrace-dump --where='client_tls_ns >= 0 and outcome != complete' TRACE"},
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
    [SQT_FAILED_REPLY] = {"denied_replies", "", "", "",
                          "If that is not meant: reply_body_max_size denies replies by their size, http_reply_access "
                          "by all else. Their server was asked for each, and its bytes were for nobody.",
                          "sqtrace-dump --where='tag == TCP_DENIED_REPLY' TRACE"},
    [SQT_FAILED_BY_SERVER] =
        {"server_errors", "%s", "%s", "servers",
         "Squid only hands on what that server answers: look at the server. cache_peer: a second one, "
         "if it is a parent. retry_on_error, forward_max_tries: ask another one.",
         "sqtrace-dump --where='status >= 500 and outcome == complete' TRACE"},
};

/* NULL: of nobody in particular, as of those that share the name "other", and of several together. */
static const char *
failures_name(const struct sqt_failure *x)
{
    const char *const space = x->named.name ? strchr(x->named.name, ' ') : NULL;
    return space && space[1] && strcmp(space + 1, "other") != 0 ? space + 1 : NULL;
}

/* Whether the server answered, with something that Squid cannot use. */
static int
failures_is_invalid(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_ANSWER && 2 * x->timed_out <= x->count && x->fetched >= x->count;
}

/* Whether a server refuses some connections, and takes others meanwhile: it is there, and has no room for all. */
static int
failures_is_limited(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_CONNECT && sqt_failed_mostly(x) == SQT_WHY_REFUSED && x->between >= LEAST &&
           4 * x->between >= x->count;
}

static const char cut_short_advice[] =
    "request_timeout: for how long the header of a request may take. Look at these clients and at the network to them, "
    "if it is long enough. Very many of them at once may be an attack, which request_timeout is meant for.";

static const char turned_away_advice[] =
    "Is a load balancer to say who the client is (require-proxy-header of that port)? Then it must do so on each "
    "connection (send-proxy of HAProxy, proxy_protocol of nginx), for its health checks, too, and clients that do not "
    "come through it need another port. Else leave that option out. cache.log has the reason.";

static const char mute_advice[] =
    "In such a tunnel the server speaks first, as with mail, FTP and SSH, or the client speaks no TLS. ssl_bump splice "
    "at "
    "step SslBump1, with an acl port or dstdomain before the line that peeks: Squid does not wait for a hello there. "
    "on_unsupported_protocol tunnel, with a request_start_timeout of some seconds: Squid connects when the client has "
    "said "
    "nothing for so long.";

static const char limited_advice[] =
    "That server, or a firewall before it, allows only so many connections, perhaps of one address, or its backlog is "
    "full. "
    "server_persistent_connections: keep connections, so that fewer are needed. cache_peer max-conn=, if it is a "
    "parent: no more than it takes. tcp_outgoing_address: a second address.";

static const char dead_kept_advice[] =
    "Connections that were open lead nowhere any more: a firewall, a NAT or a load balancer has forgotten them, or the "
    "way "
    "to the servers has changed, as after a failover or a new address of this machine. server_idle_pconn_timeout: "
    "shorter "
    "than such a device remembers a connection in which nothing is said. read_timeout: give up earlier. "
    "server_persistent_connections off, for a trial, shows whether that is it.";

static const char invalid_advice[] =
    "Ask that server by hand for the same. Two lengths that differ, lines without a colon, and a Transfer-Encoding "
    "that "
    "Squid does not know are the usual reasons; debug_options 11,2 writes the header to cache.log.";

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
    if (sqt_failed_is_dead_kept(x))
        return "nothing came back on kept connections to %s";
    if (x->at == SQT_FAILED_ANSWER && 10 * x->reused >= 9 * x->count && 2 * x->timed_out <= x->count)
        return "%s closed the kept connections on which they were sent, and Squid does not send such a request (POST) "
               "twice";
    if (x->at == SQT_FAILED_ANSWER && x->fetched >= x->count * HEADER)
        return "Squid found no end of a header in what %s sent (reply_header_max_size)";
    if (x->at == SQT_FAILED_ANSWER && 2 * x->timed_out <= x->count)
        return failures_is_invalid(x) ? "Squid could not use what %s answered, as with a header that is not valid HTTP"
                                      : "%s closed the connection without an answer";
    if (x->at == SQT_FAILED_HELPER && 2 * x->broken > x->count)
        return "helper %s answers that it is broken (BH)";
    return 2 * x->timed_out > x->count ? w->slow : w->because;
}

/* Whether clients sent on until the connection closed, whoever closed it. */
static int
failures_is_cut_short(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_NO_REQUEST && 2 * x->coming > x->count;
}

/* Whether clients said nothing where Squid waited for their TLS hello. */
static int
failures_is_mute(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_HANDSHAKE && 2 * x->mute > x->count;
}

/* Whether their clients want no server asked. */
static int
is_only_cached(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_BY_SQUID && x->status == 504;
}

/* Whether Squid closed their connections as soon as it had read what they began with. */
static int
failures_is_turned_away(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_NO_REQUEST && 2 * x->turned_away > x->count;
}

/* How long each of them waited, in the mean. */
static const char *
failures_each(const struct sqt_failure *x, char text[SQT_HUMAN_ROOM])
{
    return sqt_human_time(text, x->late.sum / (double)x->late.count * 1e9, " ", "us");
}

static void
failures_no_request(const struct sqt_failure *x, const char *name, char *text, size_t size)
{
    char each[SQT_HUMAN_ROOM];
    if (failures_is_turned_away(x))
        snprintf(
            text, size,
            "never came: Squid closed connections to %s as soon as it had read the first bytes of the client, without "
            "an answer. A port with require-proxy-header does so if they are no header of the PROXY protocol.",
            name);
    else if (failures_is_cut_short(x))
        snprintf(text, size,
                 "never came whole: clients of %s sent them in pieces, and more was coming when the connection was "
                 "closed, %s after the first bytes in the mean%s.",
                 name, failures_each(x, each),
                 x->late.sum >= LEAST_TIMEOUT * (double)x->late.count && sqt_failed_is_alike(x)
                     ? ". Squid closes such a connection when request_timeout is up"
                     : ", by the client or by Squid (request_timeout)");
    else
        snprintf(
            text, size,
            "never came: clients of %s sent bytes, but no whole request, as with TLS on a port for plain HTTP. The "
            "connection was closed %s after that, without an answer.",
            name, failures_each(x, each));
}

static void
failures_handshake(const struct sqt_failure *x, const char *name, const char *because, char *text, size_t size)
{
    char each[SQT_HUMAN_ROOM];
    if (failures_is_mute(x))
        snprintf(text, size,
                 "were tunnels%s through %s of which clients got nothing: Squid looks into them (ssl_bump), and "
                 "waited for a TLS hello. The clients sent not one byte, for %s in the mean, and Squid asks no server "
                 "before they do.",
                 strncmp(name, "https_port", 10) == 0 ? "" : " (CONNECT)", name, failures_each(x, each));
    else if (2 * x->left > x->count)
        snprintf(
            text, size,
            "got nothing, because their TLS handshake with %s failed: their clients closed the connection in it, after "
            "%s in the mean%s.",
            name, failures_each(x, each),
            x->late.sum >= SOON_LEFT * (double)x->late.count ? ""
            : 2 * x->hello > x->count                        ? ", as those do that do not trust a certificate"
                                                             : ". Health checks that only connect look the same");
    else
        snprintf(
            text, size, "got nothing, because %s.%s", because,
            2 * x->timed_out > x->count || 2 * x->hello > x->count
                ? ""
                : " What these clients sent is no TLS, as a request in clear text (HTTP), or TLS of a version or with "
                  "ciphers that this port does not have.");
}

static void
failures_because(const struct sqt_failure *x, char *text, size_t size)
{
    const struct failures_words *const w = &failures_words[x->at];
    const char *const name = failures_name(x);
    char because[2 * SQT_TOLD_NAME], each[SQT_HUMAN_ROOM], with_status[SQT_FAILED_WITH];
    snprintf(with_status, sizeof(with_status), "%s", x->at == SQT_FAILED_BY_SQUID ? "4xx" : "500 or more");
    if (x->at == SQT_FAILED_DENIED || x->at == SQT_FAILED_REPLY)
        sqt_failed_denied_with(x, with_status);
    else if (10 * x->with_status >= 9 * x->count)
        snprintf(with_status, sizeof(with_status), "%u", x->status);
    const char *const known = failures_is_limited(x) ? "%s refuses some connections, and takes others between them"
                              : x->at == SQT_FAILED_CONNECT ? sqt_why_because(sqt_failed_mostly(x))
                                                            : NULL;
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
    else if (x->at == SQT_FAILED_CUT || x->at == SQT_FAILED_HALF || x->at == SQT_FAILED_CUT_HIT)
        snprintf(text, size, "got only a part of their body, because %s.", because);
    else if (x->at == SQT_FAILED_TUNNEL)
        snprintf(
            text, size,
            "were tunnels (CONNECT) that Squid closed, %s after they were opened in the mean, because nothing came "
            "through them any more (read_timeout).",
            sqt_human_time(each, x->late.sum / (double)x->late.count * 1e9, " ", "us"));
    else if (x->at == SQT_FAILED_TIMED_OUT && x->late.count)
        snprintf(text, size, "got only a part of their body, because %s, and Squid did not wait longer.", because);
    else if (x->at == SQT_FAILED_TIMED_OUT)
        snprintf(text, size, "were ended by Squid in the middle of their reply, after %s: client_lifetime ran out.",
                 sqt_human_time(each, (double)x->felt / (double)x->count, " ", "us"));
    else if (x->at == SQT_FAILED_NO_REQUEST)
        failures_no_request(x, name ? name : w->nobody, text, size);
    else if (x->at == SQT_FAILED_KEPT)
        snprintf(text, size, "got an error (5xx) from the cache, which keeps what a server answered.");
    else if (x->at == SQT_FAILED_DENIED)
        snprintf(text, size, "were denied (%s) by access rules.", with_status);
    else if (x->at == SQT_FAILED_REPLY)
        snprintf(text, size,
                 "got an error page (%s) in place of a reply that the server had sent: Squid denies such replies.",
                 with_status);
    else if (x->at == SQT_FAILED_ADAPTED)
        snprintf(text, size, "were answered by an adaptation service itself, in place of a server.");
    else if (x->at == SQT_FAILED_REDIRECTED)
        snprintf(text, size, "were sent to another URL by Squid (%u).", x->status);
    else if (is_only_cached(x))
        snprintf(
            text, size,
            "got a 504 of Squid's, because the cache does not have what they ask for, and their clients want no server "
            "asked (Cache-Control: only-if-cached).");
    else if (x->at == SQT_FAILED_BY_SQUID)
        snprintf(text, size, "were refused by Squid itself, with a status of %s.", with_status);
    else if (x->at == SQT_FAILED_HANDSHAKE)
        failures_handshake(x, name ? name : w->nobody, because, text, size);
    else if (x->at == SQT_FAILED_BY_SERVER)
        snprintf(text, size, "were answered by %s with a status of %s.", because, with_status);
    else
        snprintf(text, size, "got an error page, because %s.", because);
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
    failures_because(x, because, sizeof(because));
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
        x->at == SQT_FAILED_BY_SERVER ? sqt_failure_get(all, SQT_FAILED_REFUSED, failures_name(x)) : NULL;
    return server && server->errors.most >= least && server->errors.others >= LEAST ? server : NULL;
}

/* Whether a server that is in use fails a good part of its own requests, however few these are of all.  What an origin answers
 * is its own matter; what a cache_peer does is Squid's choice. */
static int
is_much_of_its_own(struct sqt_failed_requests *all, const struct sqt_failure *x)
{
    static const unsigned of_servers =
        1u << SQT_FAILED_CONNECT | 1u << SQT_FAILED_TLS | 1u << SQT_FAILED_ANSWER | 1u << SQT_FAILED_CUT;
    const int of_peer = x->at == SQT_FAILED_BY_SERVER && sqt_failed_is_peer(all, failures_name(x));
    if ((!(of_servers >> x->at & 1) && !of_peer) || !failures_name(x) || x->count < LEAST_OF_ITS_OWN)
        return 0;
    const uint64_t asked = sqt_failure_get(all, SQT_FAILED_CONNECT, failures_name(x))->asked;
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
    if (x->count < LEAST)
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
    const int meant = (is_configured(x) && x->before < BEFORE && !limited) || is_only_cached(x);
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

/* Which directive of squid.conf is behind a status that Squid gives by itself. */
static void
failures_by_squid(const struct sqt_failure *x, struct sqt_told *told)
{
    static const struct {
        uint32_t status;
        const char *culprit, *advice;
    } words[] = {
        {409, "host_verify_strict",
         "The host that a request names has not the address that its client connected to, or not the one of its URL: "
         "Squid "
         "takes it for forged. Let clients and Squid ask the same name servers (dns_nameservers). host_verify_strict: "
         "off "
         "lets most of them pass."},
        {411, "requests without a length",
         "Clients send POST or PUT, and say neither the length of the body nor that it is chunked. A client of "
         "HTTP/1.0 "
         "must say so of an empty one, too."},
        {405, "methods", "Clients use a method that Squid does not serve there."},
        {413, "request_body_max_size", "request_body_max_size: larger, if such uploads are meant."},
        {431, "request_header_max_size", "request_header_max_size: larger, or look which header grows (Cookie)."},
        {414, "request_header_max_size", "request_header_max_size bounds the URL, too."},
        {400, "requests or URLs that are not valid",
         "%err_code of access.log says which: ERR_INVALID_URL is a URL that Squid does not take, as with an "
         "underscore or another odd character in its host (allow_underscore, check_hostnames, uri_whitespace), or a "
         "path alone on an http_port without accel or intercept. ERR_INVALID_REQ is no HTTP."},
        {504, "only-if-cached",
         "These clients get what they ask for. A proxy that takes this Squid for its sibling asks so, as may a "
         "program that fills a cache: cache_peer there (parent instead of sibling), or its ICP answers and digest. "
         "request_header_access Cache-Control deny lets Squid ask servers for them."},
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
    const struct failures_words *const w = &failures_words[x->at];
    const enum sqt_why why = x->at == SQT_FAILED_CONNECT ? sqt_failed_mostly(x) : SQT_WHY_UNKNOWN;
    const char *const advice = failures_is_limited(x)       ? limited_advice
                               : sqt_why_advice(why)        ? sqt_why_advice(why)
                               : sqt_failed_is_dead_kept(x) ? dead_kept_advice
                               : failures_is_invalid(x)     ? invalid_advice
                               : failures_is_turned_away(x) ? turned_away_advice
                               : failures_is_cut_short(x)   ? cut_short_advice
                               : failures_is_mute(x)        ? mute_advice
                                                            : w->advice;
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
    failures_one_method(all, x, told);
    if (!failures_of_method(all, x, x->count))
        sqt_failed_apart_tell(all, x, told);
    if (x->at == SQT_FAILED_BY_SERVER) /* a try that got such an answer, and was given up, was not closed */
        sqt_tolds_drop(tolds, "closed_connections", told->culprit);
}

/* What such a status of a server asks of Squid. */
static const char *
failures_refused_advice(uint32_t status)
{
    return status == 426
               ? "The server wants another protocol (WebSocket), which clients may have offered (Upgrade): Squid "
                 "passes no such offer on, unless http_upgrade_request_protocols allows it. In a tunnel (CONNECT) "
                 "it needs no permission."
           : status == 429
               ? "The server gets more requests than it allows from one address: ask it less often "
                 "(refresh_pattern, cache), from several addresses (tcp_outgoing_address), or have its limit "
                 "raised."
           : status == 407 ? "The server is a proxy that wants a login: cache_peer login=."
           : status == 413
               ? "Bodies are larger than that server takes: client_max_body_size of nginx, LimitRequestBody "
                 "of Apache. Squid only hands on what it answers."
           : status == 411 ? "The server wants to know the length of a body before it comes, and clients send it in "
                             "chunks (Transfer-Encoding)."
                           : failures_words[SQT_FAILED_REFUSED].advice;
}

/* Of one method, *method; the name of its server is left. */
static void
failures_split(char name[SQT_TOLD_NAME], const struct sqt_failure *x, const char **method)
{
    snprintf(name, SQT_TOLD_NAME, "%s", failures_name(x) ? failures_name(x) : "");
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
           (run->after >= (run->status < 400 ? IN_A_ROW : LEAST) ||
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
    const struct failures_words *const w = &failures_words[SQT_FAILED_REFUSED];
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
    sqt_told_print(told->advice, "%s", failures_refused_advice(run->status));
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
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_CONNECT].command);
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
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_CONNECT].command);
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
        failures_told(tolds, all, failures_words[SQT_FAILED_ANSWER].cause, sum, SQT_FAILURES_ANSWER, &spell);
    if (!told)
        return 0;
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    snprintf(end, sizeof(end),
             "got an error page, because nothing came back on kept connections. These lead to %u servers (%s%s).",
             servers, names, servers > SQT_FAILED_NAMED ? " and others" : "");
    failures_sentence(told, sum->count, &spell, end);
    sqt_failed_timeout(sum, told);
    sqt_told_print(told->advice, "%s", dead_kept_advice);
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_ANSWER].command);
    sqt_tolds_supersede(tolds, told);
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        if (sqt_failed_is_one_of_several(x, SQT_FAILED_ANSWER))
            sqt_tolds_drop(tolds, "no_answer", failures_name(x));
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
        failures_told(tolds, all, failures_words[SQT_FAILED_CUT].cause, &all->cut, SQT_FAILURES_CUT, &spell);
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
    sqt_told_print(told->command, "%s", failures_words[SQT_FAILED_CUT].command);
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
            !sqt_failed_is_peer(all, failures_name(x)))
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
