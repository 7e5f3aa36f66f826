/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * print.c - the exposition: Prometheus' text format, and OpenMetrics, which has exemplars.
 */
#include <inttypes.h>
#include <string.h>

#include "series.h"

#define NS_OF_US 1000
#define NS_OF_MS 1000000

/* What is printed, and how. */
struct print {
    FILE *to;
    int open; /* as OpenMetrics */
    const struct export_rules *rules;
    const struct export_metric_info *metric;
    const struct export_family_info *family;
};

/* ---- pieces ---- */

/* Quotes as well, in a label. */
static void
print_escaped(const struct print *p, const char *text, int quoted)
{
    for (; *text; ++text)
        if (*text == '\\' || (*text == '"' && (quoted || p->open)))
            fprintf(p->to, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", p->to);
        else
            fputc(*text, p->to);
}

static void
print_seconds(const struct print *p, int64_t ns)
{
    fprintf(p->to, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
}

/* A bound in seconds, as both formats write it: 0.1, 1.0, 2.5. */
static void
print_bound(const struct print *p, int64_t ns)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    while (text[length - 1] == '0' && text[length - 2] != '.')
        text[--length] = '\0';
    fputs(text, p->to);
}

static void
print_value(const struct print *p, int64_t value)
{
    switch (p->metric->unit) {
    case EXPORT_BYTES:
    case EXPORT_COUNT:
    case EXPORT_ROWS:
        fprintf(p->to, "%" PRId64, value);
        return;
    case EXPORT_US:
        print_seconds(p, value < INT64_MAX / NS_OF_US ? value * NS_OF_US : INT64_MAX);
        return;
    case EXPORT_MS:
        print_seconds(p, value < INT64_MAX / NS_OF_MS ? value * NS_OF_MS : INT64_MAX);
        return;
    case EXPORT_NS:
    case EXPORT_TIME:
        print_seconds(p, value);
    }
}

/* Name, suffix and labels; bound: NULL, or a pointer to the last one, which is of a bucket; negative: +Inf. */
static void
print_series(const struct print *p, const struct export_child *child, const char *suffix, const int64_t *bound)
{
    const char *before = "{";
    fprintf(p->to, "%s%s", p->metric->name, suffix);
    for (unsigned i = 0; i < p->family->label_count; ++i)
        if (*child->labels[i]) {
            fprintf(p->to, "%s%s=\"", before, p->family->labels[i].name);
            print_escaped(p, child->labels[i], 1);
            fputc('"', p->to);
            before = ",";
        }
    if (bound) {
        fprintf(p->to, "%sle=\"", before);
        if (*bound < 0)
            fputs("+Inf", p->to);
        else
            print_bound(p, *bound);
        fputc('"', p->to);
        before = ",";
    }
    fputs(*before == ',' ? "} " : " ", p->to);
}

/* ---- values ---- */

static void
print_exemplar(const struct print *p, const struct export_exemplar *e)
{
    if (!p->open || !e->wall_ns)
        return;
    fputs(" # {ring=\"", p->to);
    for (unsigned i = 0; i < sizeof(e->ring); ++i)
        fprintf(p->to, "%02x", e->ring[i]);
    fprintf(p->to, "\",kid=\"%" PRIu32 "\",transaction=\"%" PRIu64 "\"} ", e->kid, e->xid);
    print_seconds(p, e->value);
    fputc(' ', p->to);
    print_seconds(p, e->wall_ns);
}

static void
print_histogram(const struct print *p, const struct export_child *child)
{
    const struct export_histogram *const h = child->histogram;
    uint64_t count = 0;
    for (unsigned i = 0; i <= p->rules->bound_count; ++i) {
        const int64_t bound = i < p->rules->bound_count ? p->rules->bounds[i] : -1;
        count += h->buckets[i].count;
        print_series(p, child, "_bucket", &bound);
        fprintf(p->to, "%" PRIu64, count);
        print_exemplar(p, &h->buckets[i].exemplar);
        fputc('\n', p->to);
    }
    print_series(p, child, "_sum", NULL);
    print_seconds(p, h->sum);
    fputc('\n', p->to);
    print_series(p, child, "_count", NULL);
    fprintf(p->to, "%" PRIu64 "\n", h->count);
}

/* A gauge that nobody has told, or whose process has ended, is left out. */
static int
print_has(const struct print *p, const struct export_child *child)
{
    const unsigned slot = p->metric - export_metrics - p->family->first;
    return p->metric->kind != EXPORT_GAUGE || (child->seen >> slot & 1);
}

static void
print_child(const struct print *p, const struct export_child *child)
{
    const unsigned slot = p->metric - export_metrics - p->family->first;
    if (!print_has(p, child))
        return;
    if (p->metric->kind == EXPORT_HISTOGRAM) {
        print_histogram(p, child);
        return;
    }
    print_series(p, child, "", NULL);
    print_value(p, child->values[slot]);
    fputc('\n', p->to);
}

/* ---- metrics ---- */

/* In OpenMetrics a counter is called as its series without "_total". */
static void
print_head(const struct print *p)
{
    size_t length = strlen(p->metric->name);
    if (p->open && p->metric->kind == EXPORT_COUNTER)
        length -= strlen("_total");
    fprintf(p->to, "# HELP %.*s ", (int)length, p->metric->name);
    print_escaped(p, p->metric->doc, 0);
    fprintf(p->to, "\n# TYPE %.*s %s\n", (int)length, p->metric->name, export_kind_names[p->metric->kind]);
}

static void
print_metric(const struct print *p, const struct export_child *first, const struct export_child *other)
{
    int any = 0;
    for (const struct export_child *child = first; child && !any; child = child->next)
        any = print_has(p, child);
    if (!any && !other)
        return;
    print_head(p);
    for (const struct export_child *child = first; child; child = child->next)
        print_child(p, child);
    if (other)
        print_child(p, other);
}

void
export_print(const struct export_series *series, int open, FILE *to)
{
    for (unsigned i = 0; i < EXPORT_METRICS; ++i) {
        const enum export_family family = export_metrics[i].family;
        const struct print p = {to, open, export_series_rules(series), &export_metrics[i], &export_families()[family]};
        print_metric(&p, export_series_first(series, family), export_series_other(series, family));
    }
    if (open)
        fputs("# EOF\n", to);
}
