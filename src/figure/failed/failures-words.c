/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-words.c - see failures-words.h.
 */
#include "failures-words.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"

/* So many new connections within a minute, and hardly a kept one, may have taken all local ports. */
#define PORTS 100
#define KEPT_SHARE 10
/* A header of so many bytes is too large, or none. */
#define HEADER 32768
/* Who leaves a handshake sooner, in s, does not leave because it takes too long. */
#define SOON_LEFT 2
/* No time-out of Squid is shorter, in s, but for what its clock is off. */
#define LEAST_TIMEOUT 0.9

const struct sqt_failed_words sqt_failed_words[SQT_FAILED_ATS] = {
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

const char *
sqt_failed_name(const struct sqt_failure *x)
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
    return x->at == SQT_FAILED_CONNECT && sqt_failed_mostly(x) == SQT_WHY_REFUSED && x->between >= SQT_FAILED_LEAST &&
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

const char sqt_failed_dead_kept_advice[] =
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

static int
is_mostly_at_once(const struct sqt_failure *x)
{
    return x->at == SQT_FAILED_CONNECT && 2 * x->at_once > x->count;
}

/* Connections to one server fail at once: who refuses them is not known. */
static void
failures_at_once(const struct sqt_failure *x, char *text, size_t size)
{
    const char *const name = sqt_failed_name(x) ? sqt_failed_name(x) : "servers";
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
    const struct sqt_failed_words *const w = &sqt_failed_words[x->at];
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

int
sqt_failed_is_only_cached(const struct sqt_failure *x)
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

void
sqt_failed_because(const struct sqt_failure *x, char *text, size_t size)
{
    const struct sqt_failed_words *const w = &sqt_failed_words[x->at];
    const char *const name = sqt_failed_name(x);
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
    else if (sqt_failed_is_only_cached(x))
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

void
sqt_failed_by_squid(const struct sqt_failure *x, struct sqt_told *told)
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
         "HTTP/1.0 must say so of an empty one, too."},
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

int
sqt_failed_may_lack_ports(const struct sqt_failure *x)
{
    return is_mostly_at_once(x) && sqt_failed_mostly(x) == SQT_WHY_UNKNOWN && x->made >= PORTS &&
           KEPT_SHARE * x->kept < x->made;
}

const char *
sqt_failed_refused_advice(uint32_t status)
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
                           : sqt_failed_words[SQT_FAILED_REFUSED].advice;
}

const char *
sqt_failed_advice(const struct sqt_failure *x)
{
    const enum sqt_why why = x->at == SQT_FAILED_CONNECT ? sqt_failed_mostly(x) : SQT_WHY_UNKNOWN;
    return failures_is_limited(x)       ? limited_advice
           : sqt_why_advice(why)        ? sqt_why_advice(why)
           : sqt_failed_is_dead_kept(x) ? sqt_failed_dead_kept_advice
           : failures_is_invalid(x)     ? invalid_advice
           : failures_is_turned_away(x) ? turned_away_advice
           : failures_is_cut_short(x)   ? cut_short_advice
           : failures_is_mute(x)        ? mute_advice
                                        : sqt_failed_words[x->at].advice;
}
