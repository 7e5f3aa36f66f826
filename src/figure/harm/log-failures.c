/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * log-failures.c - requests that got a status of 500 or more, of an access.log without a trace.
 *
 * A log does not say what failed.  It says which status clients got, when, and whose requests they were: of a server, or of a
 * host that is in their URLs.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

#define NAMES 1024
/* Fewer are no finding, and fewer of all in that time, in %: where most are pages of Squid's own, and else. */
#define LEAST 5
#define SHARE 2
#define SHARE_OF_SERVERS 10
/* A name is told if that many of the failures are of it, in %, and its requests fail that much more often than others. */
#define MOST 80
#define TIMES 2

enum { SERIES_ALL = 1, SERIES_FAILED };

struct log_failed_name {
    struct sqt_name_entry named;
    uint64_t all, failed;
};

struct log_failures {
    struct sqt_names servers, hosts; /* of struct log_failed_name */
    struct sqt_when when;
    uint64_t all, failed, made, felt; /* made: by Squid itself */
    uint64_t no_server;               /* failed without one */
    uint64_t statuses[100];           /* 500 to 599 */
};

static void
log_failures_count(struct sqt_names *names, const char *name, int failed)
{
    if (!name)
        return;
    names->size = sizeof(struct log_failed_name);
    names->most = NAMES;
    struct log_failed_name *const n = sqt_names_get(names, name);
    ++n->all;
    n->failed += (unsigned)failed;
}

static void
log_failures_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct log_failures *const f = state;
    if (!xact->of_log)
        return;
    const int failed = sqt_xact_got_error(xact) && xact->status < 600;
    const char *const server = fact->row[SQT_CELL(requests, server)].text;
    ++f->all;
    sqt_when_add(&f->when, SERIES_ALL, xact->begin, (uint64_t)felt, 1);
    log_failures_count(&f->servers, server, failed);
    log_failures_count(&f->hosts, fact->row[SQT_CELL(requests, url_host)].text, failed);
    if (!failed)
        return;
    ++f->failed;
    ++f->statuses[xact->status - 500];
    f->made += (xact->flags & SQT_XACT_ERROR_PAGE) != 0;
    f->felt += (uint64_t)felt;
    f->no_server += !server && xact->logged->hierarchy;
    sqt_when_add(&f->when, SERIES_FAILED, xact->begin, (uint64_t)felt, 1);
}

/* The name that nearly all failures are of, and whose requests fail more often than the others; NULL: there is none. */
static const struct log_failed_name *
log_failures_culprit(const struct log_failures *f, const struct sqt_names *names)
{
    for (const struct sqt_name_entry *named = names->first; named; named = named->next) {
        const struct log_failed_name *const n = (const struct log_failed_name *)named;
        if (!sqt_names_is_others(named) && n->failed * 100 >= f->failed * MOST && n->all < f->all &&
            (double)n->failed * (double)(f->all - n->all) >= TIMES * (double)(f->failed - n->failed) * (double)n->all)
            return n;
    }
    return NULL;
}

static unsigned
log_failures_status(const struct log_failures *f)
{
    unsigned most = 0;
    for (unsigned i = 1; i < 100; ++i)
        if (f->statuses[i] > f->statuses[most])
            most = i;
    return 500 + most;
}

static void
log_failures_sentence(const struct log_failures *f, struct sqt_told *told, const struct sqt_spell *spell)
{
    char when[128], whose[2 * SQT_TOLD_NAME] = "";
    const double share = sqt_spell_percent(spell->met, spell->all);
    const struct log_failed_name *const server = log_failures_culprit(f, &f->servers),
                                        *const host = log_failures_culprit(f, &f->hosts),
                                        *const culprit = server ? server : host;
    if (culprit) {
        snprintf(told->culprit, sizeof(told->culprit), "%s", culprit->named.name);
        snprintf(whose, sizeof(whose), " %.0f %% of them are of %s %s, and %.0f %% of its requests fail.",
                 sqt_spell_percent(culprit->failed, f->failed), server ? "server" : "host", culprit->named.name,
                 sqt_spell_percent(culprit->failed, culprit->all));
    }
    sqt_told_print(told->sentence, "%s, %llu of %llu requests (%.*f %%) got a status of 500 or more, mostly %u.%s%s",
                   sqt_told_when(when, sizeof(when), told), (unsigned long long)spell->met,
                   (unsigned long long)spell->all, share < 9.95, share, log_failures_status(f), whose,
                   f->no_server * 100 >= f->failed * MOST ? " No server is logged for them, so Squid made the replies."
                   : f->made * 100 >= f->failed * MOST    ? " By their result codes, most are pages of Squid's own."
                                                          : "");
}

static void
log_failures_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct log_failures *const f = state;
    struct sqt_told probe = {.since = 0};
    (void)totals;
    if (f->failed < LEAST)
        return;
    sqt_when_sort(&f->when);
    const struct sqt_spell spell = sqt_spell_tell(&probe, &f->when, SERIES_FAILED, SERIES_ALL);
    if (sqt_spell_percent(spell.met, spell.all) < (2 * f->made > f->failed ? SHARE : SHARE_OF_SERVERS))
        return;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "failed_requests", SQT_HARM_FAILURE, f->failed * SQT_FAILURE_NS + f->felt);
    if (!told)
        return;
    told->since = probe.since;
    told->until = probe.until;
    told->pattern = probe.pattern;
    told->requests = told->failures = f->failed;
    told->waiting = f->felt;
    log_failures_sentence(f, told, &spell);
    sqt_told_print(told->advice, "A log does not say what failed. %%err_code and %%err_detail in a logformat say why "
                                 "Squid made a page of its own; a "
                                 "trace names the server, name server, helper or service that failed.");
    sqt_told_print(told->command, "sqtrace-dump --where='status >= 500' --access-log=FILE");
}

static void
log_failures_end(void *state)
{
    struct log_failures *const f = state;
    sqt_names_free(&f->servers);
    sqt_names_free(&f->hosts);
    sqt_when_free(&f->when);
}

const struct sqt_look sqt_look_log_failures = {.size = sizeof(struct log_failures),
                                               .of_log = 1,
                                               .request = log_failures_request,
                                               .tell = log_failures_tell,
                                               .end = log_failures_end};
