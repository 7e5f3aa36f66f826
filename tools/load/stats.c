/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stats.c - counts and latencies by phase, and the row of each request.
 */
#include <errno.h>
#include <string.h>

#include "load.h"

const struct load_error_info load_errors[LOAD_ERRORS] = {
#define LOAD_ERROR(id, words, doc) {#id, words, doc},
#include "errors.def"
};

const char *const load_class_names[LOAD_CLASSES] = {[LOAD_ALL] = "all", [LOAD_HIT] = "hit", [LOAD_MISS] = "miss"};

static void
stats_print_row(struct load *load, const struct outcome *o)
{
    static const char *const caches[] = {[SQT_CACHE_UNTOLD] = "-", [SQT_CACHE_MISS] = "miss", [SQT_CACHE_HIT] = "hit"};
    static const char *const kinds[] = {[REQUEST_PLAIN] = "plain",
                                        [REQUEST_SINCE_SAME] = "since_same",
                                        [REQUEST_SINCE_OLDER] = "since_older",
                                        [REQUEST_RELOAD] = "reload"};
    const struct request *const r = o->request;
    char sent[32] = "-", first[32] = "-", status[12] = "-";
    if (o->sent)
        snprintf(sent, sizeof(sent), "%lld", (long long)(o->sent - r->due));
    if (o->first)
        snprintf(first, sizeof(first), "%lld", (long long)(o->first - r->due));
    if (o->status)
        snprintf(status, sizeof(status), "%u", o->status);
    const int64_t due = r->due - load->start;
    if (fprintf(load->rows, "%lld.%09lld\t%s\t%u\t%s\t%s\t%s\t%llu\t%s\t%s\t%lld\t%s\thttp%s://%s%s\n",
                (long long)(due / LOAD_SECOND), (long long)(due % LOAD_SECOND), load->phases[r->phase].name, r->client,
                kinds[r->kind], status, caches[o->cache], (unsigned long long)o->bytes, sent, first,
                (long long)(o->end - r->due), o->error == LOAD_FINE ? "-" : load_errors[o->error].name,
                r->place->tls ? "s" : "", r->place->authority, r->path) < 0 &&
        !load->rows_failed)
        load->rows_failed = errno;
}

static void
stats_add(struct load *load, struct class_stats *stats, const struct outcome *o)
{
    stats->bytes += o->bytes;
    sqt_distribution_add(&load->distributions, &stats->total, o->end - o->request->due);
    sqt_distribution_add(&load->distributions, &stats->first_byte, o->first - o->request->due);
}

void
stats_take(struct load *load, const struct outcome *o)
{
    struct phase_stats *const s = &load->stats[o->request->phase];
    const struct phase *const phase = &load->phases[o->request->phase];
    if (o->sent) {
        const int64_t lag = o->sent - o->request->due;
        ++s->sent;
        if (lag > s->lag)
            s->lag = lag;
        s->late += phase_is_open(phase) && lag > load->number[LOAD_late];
    }
    s->retries += (uint64_t)o->retries;
    s->body_bytes += o->bytes;
    if (o->status) {
        ++s->heads;
        s->told += o->cache != SQT_CACHE_UNTOLD;
        s->hits += o->cache == SQT_CACHE_HIT;
    }
    if (o->error == LOAD_FINE) {
        s->verified += (uint64_t)o->verified;
        stats_add(load, &s->classes[LOAD_ALL], o);
        if (o->cache != SQT_CACHE_UNTOLD)
            stats_add(load, &s->classes[o->cache == SQT_CACHE_HIT ? LOAD_HIT : LOAD_MISS], o);
    } else {
        ++s->errors[o->error];
    }
    if (load->rows)
        stats_print_row(load, o);
}

uint64_t
stats_unsent(const struct phase_stats *s)
{
    return (s->due > s->sent ? s->due - s->sent : 0) + s->late;
}

uint64_t
stats_errors(const struct phase_stats *s)
{
    uint64_t sum = 0;
    for (unsigned e = 0; e < LOAD_ERRORS; ++e)
        sum += s->errors[e];
    return sum;
}

int
stats_invalid(const struct load *load)
{
    uint64_t due = 0, unsent = 0, heads = 0;
    for (unsigned i = 0; i < load->phase_count; ++i) {
        const struct phase_stats *const s = &load->stats[i];
        if (phase_is_open(&load->phases[i])) {
            due += s->due;
            unsent += stats_unsent(s);
        }
        heads += s->heads;
    }
    return unsent * 100 > due || !heads || load->origin_pid < 0;
}

int
stats_all_refused(const struct load *load)
{
    uint64_t heads = 0, refused = 0;
    for (unsigned i = 0; i < load->phase_count; ++i) {
        heads += load->stats[i].heads;
        refused += load->stats[i].errors[LOAD_ERROR_status];
    }
    return heads && heads == refused;
}

void
stats_free(struct load *load)
{
    for (unsigned i = 0; i < load->phase_count; ++i)
        for (unsigned k = 0; k < LOAD_CLASSES; ++k) {
            sqt_distribution_drop(&load->distributions, &load->stats[i].classes[k].total);
            sqt_distribution_drop(&load->distributions, &load->stats[i].classes[k].first_byte);
        }
}
