/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * print.c - the results, as text and as TSV.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/digits.h"
#include "base/memory.h"
#include "load.h"

static double
ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static double
share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double
seconds(const struct phase_stats *s)
{
    return s->end > s->begin ? (double)(s->end - s->begin) / 1e9 : 0;
}

static double
print_mean(const struct sqt_distribution *d)
{
    return d->count ? (double)d->sum / (double)d->count / 1e6 : 0;
}

/* ---- text ---- */

static void
text_latency(FILE *to, const char *name, struct sqt_distribution *d)
{
    char count[32];
    fprintf(to, "  %-16s %11s %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f\n", name, sqt_grouped(d->count, count),
            print_mean(d), ms(sqt_distribution_quantile(d, 500)), ms(sqt_distribution_quantile(d, 900)),
            ms(sqt_distribution_quantile(d, 990)), ms(sqt_distribution_quantile(d, 999)), ms(d->max));
}

static void
text_phase(const struct load *load, unsigned i, FILE *to)
{
    struct phase_stats *const s = (struct phase_stats *)(uintptr_t)&load->stats[i];
    char a[32], b[32];
    fprintf(to, "\n%s: %s requests in %.3f s (%.1f/s), %s bytes of bodies\n", load->phases[i].name,
            sqt_grouped(s->sent, a), seconds(s), seconds(s) > 0 ? (double)s->sent / seconds(s) : 0,
            sqt_grouped(s->body_bytes, b));
    fprintf(to, "  ms               %11s %10s %10s %10s %10s %10s %10s\n", "responses", "mean", "p50", "p90", "p99",
            "p99.9", "max");
    for (unsigned k = 0; k < LOAD_CLASSES; ++k)
        if (s->classes[k].total.count) {
            char name[24];
            text_latency(to, load_class_names[k], &s->classes[k].total);
            snprintf(name, sizeof(name), "%s, first byte", load_class_names[k]);
            text_latency(to, name, &s->classes[k].first_byte);
        }
    if (s->told)
        fprintf(to, "  hits: %s of %s responses (%.2f %%), %.2f %% of the bytes\n", sqt_grouped(s->hits, a),
                sqt_grouped(s->heads, b), share(s->hits, s->heads),
                share(s->classes[LOAD_HIT].bytes, s->classes[LOAD_ALL].bytes));
    if (phase_is_open(&load->phases[i]))
        fprintf(to, "  not sent: %s of %s; sent more than %g ms late: %s; the latest %.3f ms\n",
                sqt_grouped(s->due > s->sent ? s->due - s->sent : 0, a), sqt_grouped(s->due, b),
                ms(load->number[LOAD_late]), sqt_grouped(s->late, (char[32]){0}), ms(s->lag));
    fprintf(to, "  bodies compared: %s", sqt_grouped(s->verified, a));
    if (s->retries)
        fprintf(to, "; second tries on a new connection: %s", sqt_grouped(s->retries, a));
    fputs("\n  errors:", to);
    for (unsigned e = 0; e < LOAD_ERRORS; ++e)
        if (s->errors[e])
            fprintf(to, " %s %s;", sqt_grouped(s->errors[e], a), load_errors[e].words);
    fputs(stats_errors(s) ? "\n" : " none\n", to);
}

static void
text(const struct load *load, FILE *to)
{
    fprintf(to, "%s, seed %lld, %lld clients, %s%s\n", load->workload->name, (long long)load->number[LOAD_seed],
            (long long)load->number[LOAD_clients], load->proxy.count ? "proxy " : "no proxy",
            load->proxy.count ? load->proxy.place->authority : "");
    for (unsigned i = 0; i < load->phase_count; ++i)
        text_phase(load, i, to);
    if (load->counts)
        fprintf(to, "\norigin: %llu requests, %llu bytes of bodies\n", (unsigned long long)load->counts->requests,
                (unsigned long long)load->counts->bytes);
    if (*load->first_error)
        fprintf(to, "the first error: %s\n", load->first_error);
}

/* ---- TSV ---- */

static void
tsv_head(const struct load *load, FILE *to)
{
    /* When the times of the results begin, in the form of sqtrace-dump. */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t start = now.tv_sec * INT64_C(1000000000) + now.tv_nsec - (load_now() - load->start);
    const time_t whole = (time_t)(start / 1000000000);
    const long part = (long)(start % 1000000000);
    char date[32];
    struct tm parts;
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", gmtime_r(&whole, &parts));
    fprintf(to, "# program: sqtrace-load " PACKAGE_VERSION "\n# workload: %s\n", load->workload->name);
    fprintf(to, "# start: %s.%09ldZ (%lld.%09ld)\n", date, part, (long long)whole, part);
    fprintf(to, "# proxy: %s\n", load->proxy.count ? load->proxy.place->authority : "-");
    for (unsigned i = 0; i < LOAD_OPTIONS; ++i)
        if (load->given[i] && i != LOAD_workload && i != LOAD_proxy)
            fprintf(to, "# option: --%s%s%s\n", load_option_infos[i].name, *load_option_infos[i].value ? "=" : "",
                    load->given[i]);
    fprintf(to, "# seed: %lld\n# clients: %lld\n", (long long)load->number[LOAD_seed],
            (long long)load->number[LOAD_clients]);
    if (load->counts)
        fprintf(to, "# origin_requests: %llu\n# origin_bytes: %llu\n", (unsigned long long)load->counts->requests,
                (unsigned long long)load->counts->bytes);
    if (*load->first_error)
        fprintf(to, "# first_error: %s\n", load->first_error);
    fprintf(to, "# valid: %s\n", stats_invalid(load) ? "no" : "yes");
    fputs("phase\tclass\tresponses\tbytes\tmean_ms\tp50_ms\tp90_ms\tp99_ms\tp999_ms\tmax_ms\tfirst_mean_ms\t"
          "first_p50_ms\tfirst_p90_ms\tfirst_p99_ms\tfirst_p999_ms\tfirst_max_ms\tbegin_s\tduration_s\tdue\tsent\t"
          "late\tlag_ms\theads\thits\thit_pct\tbyte_hit_pct\tverified\tretries\terrors",
          to);
    for (unsigned e = 0; e < LOAD_ERRORS; ++e)
        fprintf(to, "\t%s", load_errors[e].name);
    fputc('\n', to);
}

static void
tsv_latency(FILE *to, struct sqt_distribution *d)
{
    static const unsigned per_mille[] = {500, 900, 990, 999};
    if (!d->count) {
        fputs("\t-\t-\t-\t-\t-\t-", to);
        return;
    }
    fprintf(to, "\t%.6f", print_mean(d));
    for (unsigned i = 0; i < 4; ++i)
        fprintf(to, "\t%.6f", ms(sqt_distribution_quantile(d, per_mille[i])));
    fprintf(to, "\t%.6f", ms(d->max));
}

static void
tsv_row(const struct load *load, unsigned i, unsigned k, FILE *to)
{
    struct phase_stats *const s = (struct phase_stats *)(uintptr_t)&load->stats[i];
    struct class_stats *const c = &s->classes[k];
    fprintf(to, "%s\t%s\t%llu\t%llu", load->phases[i].name, load_class_names[k], (unsigned long long)c->total.count,
            (unsigned long long)c->bytes);
    tsv_latency(to, &c->total);
    tsv_latency(to, &c->first_byte);
    fprintf(to, "\t%.6f\t%.6f", s->begin ? (double)(s->begin - load->start) / 1e9 : 0, seconds(s));
    if (k != LOAD_ALL) {
        for (unsigned n = 0; n < 11 + LOAD_ERRORS; ++n)
            fputs("\t-", to);
        fputc('\n', to);
        return;
    }
    fprintf(to, "\t%llu\t%llu\t%llu\t%.6f\t%llu\t%llu", (unsigned long long)s->due, (unsigned long long)s->sent,
            (unsigned long long)s->late, ms(s->lag), (unsigned long long)s->heads, (unsigned long long)s->hits);
    if (s->told)
        fprintf(to, "\t%.4f\t%.4f", share(s->hits, s->heads),
                share(s->classes[LOAD_HIT].bytes, s->classes[LOAD_ALL].bytes));
    else
        fputs("\t-\t-", to);
    fprintf(to, "\t%llu\t%llu\t%llu", (unsigned long long)s->verified, (unsigned long long)s->retries,
            (unsigned long long)stats_errors(s));
    for (unsigned e = 0; e < LOAD_ERRORS; ++e)
        fprintf(to, "\t%llu", (unsigned long long)s->errors[e]);
    fputc('\n', to);
}

static void
tsv(const struct load *load, FILE *to)
{
    tsv_head(load, to);
    for (unsigned i = 0; i < load->phase_count; ++i)
        for (unsigned k = 0; k < LOAD_CLASSES; ++k)
            tsv_row(load, i, k, to);
}

/* ---- both ---- */

int
print_results(struct load *load)
{
    const char *const name = load->given[LOAD_output];
    const int to_stdout = name && strcmp(name, "-") == 0;
    (to_stdout ? tsv : text)(load, stdout);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        return load_fail(load, "standard output: cannot write: %s", strerror(errno));
    if (!name || to_stdout)
        return 0;
    FILE *const file = sqt_fopen(name, "we");
    if (!file)
        return load_fail(load, "%s: cannot write: %s", name, strerror(errno));
    tsv(load, file);
    const int failed = fflush(file) != 0 || ferror(file) ? errno : 0;
    if (fclose(file) != 0 || failed)
        return load_fail(load, "%s: cannot write: %s", name, strerror(failed ? failed : errno));
    return 0;
}
