/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-exporter.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <event2/util.h>

#include "base/memory.h"
#include "exporter.h"

#define DEFAULT_LISTEN "127.0.0.1:9746"
#define DEFAULT_BUCKETS "1ms,5ms,20ms,100ms,250ms,500ms,1s,2.5s,10s,60s"
#define DEFAULT_TOP 20
#define DEFAULT_SERIES 2000
/* Fewer series leave no room beside those of "other". */
#define LEAST_SERIES 300
#define MOST_SERIES 1000000

const struct option_info exporter_option_infos[EXPORTER_OPTIONS] = {
#define EXPORTER_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

void
exporter_help(FILE *to)
{
    fputs("usage: sqtrace-exporter [OPTION]... TRACE\n"
          "Follows the trace of a running Squid, and serves metrics for Prometheus.\n\noptions:\n",
          to);
    options_help(to, exporter_option_infos, EXPORTER_OPTIONS);
    fputs("\nexit status: 0 a signal ended it; 1 it could not listen; 2 usage\n", to);
}

/* "127.0.0.1:9746", "[::1]:9746".  Names are not looked up: it listens nowhere but where it is told. */
static int
take_listen(struct exporter_request *r, const struct options *o)
{
    const char *const text = r->given[EXPORTER_listen] ? r->given[EXPORTER_listen] : DEFAULT_LISTEN;
    const char *const colon = strrchr(text, ':');
    char *end = NULL;
    r->address_length = sizeof(r->address);
    const long port = colon ? strtol(colon + 1, &end, 10) : -1;
    if (!colon || end == colon + 1 || *end || port < 0 || port > 65535)
        return options_fail(o, "--listen: '%s': expected ADDRESS:PORT, as in 127.0.0.1:9746", text);
    char whole[128]; /* the library takes no port 0 */
    snprintf(whole, sizeof(whole), "%.*s:1", (int)(colon - text), text);
    if (colon == text || evutil_parse_sockaddr_port(whole, (struct sockaddr *)&r->address, &r->address_length) != 0)
        return options_fail(o, "--listen: '%s': expected an IP address and a port, as in 127.0.0.1:9746 or [::1]:9746",
                            text);
    if (r->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&r->address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)&r->address)->sin_port = htons((uint16_t)port);
    return 0;
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
        exporter_option_infos, EXPORTER_OPTIONS, r->given, r->words, 0, error, error_size, 0, NULL, 0};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    if (r->given[EXPORTER_help] || r->given[EXPORTER_version])
        return 0;
    if (take_listen(r, &taken) != 0 || take_buckets(r, &taken) != 0 || take_numbers(r, &taken) != 0)
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
