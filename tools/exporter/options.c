/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-exporter.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>
#include <event2/util.h>

#include "base/memory.h"
#include "../program/sampling.h"
#include "exporter.h"

#define DEFAULT_LISTEN "127.0.0.1:9746"
#define DEFAULT_PATH "/metrics"
#define DEFAULT_BUCKETS "1ms,5ms,20ms,100ms,250ms,500ms,1s,2.5s,10s,60s"
#define DEFAULT_TOP 20
#define DEFAULT_QUEUE (INT64_C(16) << 20)
#define DEFAULT_TIMEOUT (10 * EXPORTER_SECOND)
#define DEFAULT_RETRY (300 * EXPORTER_SECOND)
#define LEAST_QUEUE (1 << 16)
#define MOST_QUEUE (INT64_C(1) << 40)
#define OTLP_PORT 4318
#define OTLP_PATH "/v1/traces"
#define DEFAULT_SERIES 2000
/* Fewer series leave no room beside those of "other". */
#define LEAST_SERIES 300
#define MOST_SERIES 1000000

/* Paths that have another use; those of the page come after the first. */
static const char *const options_taken[] = {"/healthz", "/", "/live.css", "/live.js", "/live.json"};

const struct option_info exporter_option_infos[EXPORTER_OPTIONS] = {
#define EXPORTER_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

void
exporter_help(FILE *to)
{
    fputs("usage: sqtrace-exporter [OPTION]... TRACE\n"
          "Follows the trace of a running Squid, and serves metrics for Prometheus; may send spans, too.\n\noptions:\n",
          to);
    options_help(to, exporter_option_infos, EXPORTER_OPTIONS);
    fputs("\nexit status: 0 a signal ended it; 1 it could not listen; 2 usage\n", to);
}

/* "127.0.0.1:9746", "[::1]:9746".  Names are not looked up: it listens nowhere but where it is told. */
static int
options_address(struct exporter_request *r, const struct options *o, enum exporter_option option, const char *text)
{
    const char *const name = exporter_option_infos[option].name, *const colon = strrchr(text, ':');
    char *end = NULL;
    r->address_length = sizeof(r->address);
    const long port = colon ? strtol(colon + 1, &end, 10) : -1;
    if (!colon || end == colon + 1 || *end || port < 0 || port > 65535)
        return options_fail(o, "--%s: '%s': expected ADDRESS:PORT, as in 127.0.0.1:9746", name, text);
    char whole[128]; /* the library takes no port 0 */
    snprintf(whole, sizeof(whole), "%.*s:1", (int)(colon - text), text);
    if (colon == text || evutil_parse_sockaddr_port(whole, (struct sockaddr *)&r->address, &r->address_length) != 0)
        return options_fail(o, "--%s: '%s': expected an IP address and a port, as in 127.0.0.1:9746 or [::1]:9746",
                            name, text);
    if (r->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&r->address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)&r->address)->sin_port = htons((uint16_t)port);
    return 0;
}

/* Options of other exporters, which their users expect. */
static int
take_web(struct exporter_request *r, const struct options *o)
{
    const char *const path = r->given[EXPORTER_web_path];
    if (r->given[EXPORTER_web_config])
        return options_fail(o, "--web.config.file: there is neither TLS nor a password; listen on 127.0.0.1, and put a "
                               "proxy that has both before it");
    if (r->given[EXPORTER_listen] && r->given[EXPORTER_web_listen])
        return options_fail(o, "--listen and --web.listen-address are the same: give one of them");
    r->path = path ? path : DEFAULT_PATH;
    if (*r->path != '/' || r->path[strcspn(r->path, " ?#")] || strncmp(r->path, "//", 2) == 0)
        return options_fail(o, "--web.telemetry-path: '%s': expected a path, as in /metrics", r->path);
    for (size_t i = 0; i < sizeof(options_taken) / sizeof(*options_taken); ++i)
        if (strcmp(r->path, options_taken[i]) == 0 && (i == 0 || !r->given[EXPORTER_no_page]))
            return options_fail(o, "--web.telemetry-path: '%s' is taken%s", r->path,
                                i ? " by the live page; --no-page turns that off" : "");
    return 0;
}

/* Where it listens.  "[::]" in place of an address that is left out means all addresses, of IPv4, too. */
static int
take_listen(struct exporter_request *r, const struct options *o)
{
    const char *const web = r->given[EXPORTER_web_listen], *const own = r->given[EXPORTER_listen];
    char all[32];
    if (take_web(r, o) != 0)
        return -1;
    r->place = web ? web : own ? own : DEFAULT_LISTEN;
    r->everywhere = web && *web == ':' && strlen(web) < 8;
    snprintf(all, sizeof(all), "[::]%.8s", r->place);
    return options_address(r, o, web ? EXPORTER_web_listen : EXPORTER_listen, r->everywhere ? all : r->place);
}

static int
take_buckets(struct exporter_request *r, const struct options *o)
{
    const char *text = r->given[EXPORTER_buckets] ? r->given[EXPORTER_buckets] : DEFAULT_BUCKETS;
    struct export_rules *const rules = &r->rules;
    for (;;) {
        const size_t length = strcspn(text, ",");
        const char *error;
        int64_t bound;
        if (rules->bound_count == EXPORT_BOUNDS_MOST)
            return options_fail(o, "--buckets: more than %d", EXPORT_BOUNDS_MOST);
        if (sqt_units_parse(text, length, SQT_UNITS_TIME, EXPORTER_SECOND, &bound, &error) != 0)
            return options_fail(o, "--buckets: '%.*s': %s", (int)length, text, error);
        if (bound <= (rules->bound_count ? rules->bounds[rules->bound_count - 1] : 0))
            return options_fail(o, "--buckets: '%.*s': expected more than %s", (int)length, text,
                                rules->bound_count ? "the one before" : "0");
        rules->bounds[rules->bound_count++] = bound;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

/* The parts of a URL.  Names are not looked up, because that could take long. */
static int
options_url(struct export_receiver *receiver, const struct evhttp_uri *uri)
{
    const char *const scheme = uri ? evhttp_uri_get_scheme(uri) : NULL, *host = uri ? evhttp_uri_get_host(uri) : NULL;
    const char *const path = uri ? evhttp_uri_get_path(uri) : NULL;
    struct in6_addr address;
    char bare[sizeof(receiver->address)];
    if (!scheme || strcmp(scheme, "http") != 0 || !host || evhttp_uri_get_query(uri) || evhttp_uri_get_fragment(uri) ||
        evhttp_uri_get_userinfo(uri) || strlen(host) >= sizeof(bare))
        return -1;
    const int six = *host == '[';
    snprintf(bare, sizeof(bare), "%s", strcmp(host, "localhost") == 0 ? "127.0.0.1" : host + six);
    bare[strcspn(bare, "]")] = '\0';
    const int port = evhttp_uri_get_port(uri);
    if (evutil_inet_pton(six ? AF_INET6 : AF_INET, bare, &address) != 1 || !port ||
        (path && strlen(path) >= sizeof(receiver->path)))
        return -1;
    receiver->port = (uint16_t)(port < 0 ? OTLP_PORT : port);
    memcpy(receiver->address, bare, sizeof(bare));
    snprintf(receiver->path, sizeof(receiver->path), "%s", path && *path && strcmp(path, "/") != 0 ? path : OTLP_PATH);
    snprintf(receiver->place, sizeof(receiver->place), "%s:%u", host, receiver->port);
    return 0;
}

/* Options of --otlp, which make no sense without it. */
static int
take_otlp(struct exporter_request *r, const struct options *o)
{
    static const unsigned sampling[SAMPLING_OPTIONS] = {
        [SAMPLING_SAMPLE] = EXPORTER_otlp_sample, [SAMPLING_SLOW] = EXPORTER_otlp_slow,
        [SAMPLING_FAILED] = EXPORTER_otlp_failed, [SAMPLING_REST] = EXPORTER_otlp_rest,
        [SAMPLING_STAGES] = EXPORTER_otlp_stages,
    };
    static const enum exporter_option others[] = {EXPORTER_otlp_queue, EXPORTER_otlp_timeout, EXPORTER_otlp_retry};
    const char *const url = r->given[EXPORTER_otlp];
    struct export_receiver *const receiver = &r->receiver;
    if (sampling_take(o, sampling, url ? NULL : "--otlp", &r->sampling) != 0)
        return -1;
    for (unsigned i = 0; i < sizeof(others) / sizeof(*others) && !url; ++i)
        if (r->given[others[i]])
            return options_fail(o, "--%s goes with --otlp", exporter_option_infos[others[i]].name);
    receiver->queue = DEFAULT_QUEUE;
    receiver->timeout = DEFAULT_TIMEOUT;
    receiver->retry = DEFAULT_RETRY;
    if (!url)
        return 0;
    if (strncmp(url, "https:", 6) == 0)
        return options_fail(
            o, "--otlp: '%s': there is no TLS; name a Collector on this machine, as http://127.0.0.1:4318", url);
    struct evhttp_uri *const uri = evhttp_uri_parse(url);
    const int bad = options_url(receiver, uri) != 0;
    if (uri)
        evhttp_uri_free(uri);
    if (bad)
        return options_fail(o, "--otlp: '%s': expected http://ADDRESS:PORT, as in http://127.0.0.1:4318", url);
    if (options_number(o, EXPORTER_otlp_queue, SQT_UNITS_BYTES, 1, LEAST_QUEUE, &receiver->queue) != 0 ||
        options_number(o, EXPORTER_otlp_timeout, SQT_UNITS_TIME, EXPORTER_SECOND, 1, &receiver->timeout) != 0 ||
        options_number(o, EXPORTER_otlp_retry, SQT_UNITS_TIME, EXPORTER_SECOND, 1, &receiver->retry) != 0)
        return -1;
    return receiver->queue > MOST_QUEUE ? options_fail(o, "--otlp-queue: expected at most 1TB") : 0;
}

static int
take_numbers(struct exporter_request *r, const struct options *o)
{
    int64_t top = DEFAULT_TOP, series = DEFAULT_SERIES;
    if (options_number(o, EXPORTER_top, SQT_UNITS_NONE, 1, 1, &top) != 0 ||
        options_number(o, EXPORTER_series, SQT_UNITS_NONE, 1, LEAST_SERIES, &series) != 0)
        return -1;
    if (series > MOST_SERIES || top > MOST_SERIES)
        return options_fail(o, "--%s: expected at most %d", series > MOST_SERIES ? "series" : "top", MOST_SERIES);
    r->rules.top = (unsigned)top;
    r->rules.series = (unsigned)series;
    return 0;
}

int
exporter_parse(struct exporter_request *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->words = sqt_zeroed((size_t)argc + 1, sizeof(*r->words));
    struct options taken = {
        exporter_option_infos,       EXPORTER_OPTIONS,           r->given, r->words, 0, error, error_size, 0, NULL, 0,
        {EXPORTER_OPTIONS, NULL, 0}, {EXPORTER_OPTIONS, NULL, 0}};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    if (r->given[EXPORTER_help] || r->given[EXPORTER_version])
        return 0;
    if (take_listen(r, &taken) != 0 || take_buckets(r, &taken) != 0 || take_numbers(r, &taken) != 0 ||
        take_otlp(r, &taken) != 0)
        return -1;
    r->detail = r->given[EXPORTER_detail] != NULL;
    if (!taken.word_count)
        return options_fail(&taken, "no trace given: name a trace directory");
    if (taken.word_count > 1)
        return options_fail(&taken, "'%s': expected one trace directory", r->words[1]);
    r->trace = r->words[0];
    if (strcmp(r->trace, "-") == 0)
        return options_fail(&taken, "the standard input cannot be followed; name a trace directory");
    return 0;
}

void
exporter_request_free(struct exporter_request *r)
{
    free(r->words);
}
