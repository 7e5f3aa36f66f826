/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * index.c - index.html: what comes after what.  Its HTML is in tools/report/page.html.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/memory.h"
#include "index.h"

/* Parts of a bar with a smaller share have no entry in its legend. */
#define LEGEND_SHARE 0.005
/* A class with less of all time has a sentence only. */
#define BAR_SHARE 0.01

/* The classes that are always spoken of, then the others. */
static const enum sqt_class first_classes[] = {SQT_CLASS_DISK_HIT, SQT_CLASS_MEM_HIT, SQT_CLASS_MISS};
#define FIRST_CLASSES (sizeof(first_classes) / sizeof(*first_classes))

static const char *
part_class(unsigned part)
{
    return part < SQT_STAGES ? sqt_stages[part].name : "unaccounted";
}

/* Puts text that was made for this. */
static void
put_made(struct page *page, const struct report_trace *t, const char *alone, const char *of, char *text)
{
    if (*t->label)
        page_put(page, of, "label", t->label, "text", text, NULL);
    else
        page_put(page, alone, "text", text, NULL);
    free(text);
}

/* ---- the head ---- */

static char *
default_title(const struct report *r)
{
    char *text = NULL;
    size_t size;
    FILE *const to = sqt_text_stream(&text, &size);
    fputs("Where the time goes", to);
    for (size_t i = 0; r->trace_count > 1 && i < r->trace_count; ++i)
        fprintf(to, "%s%s", !i ? ": " : i + 1 < r->trace_count ? ", " : " and ", r->traces[i].label);
    fclose(to);
    return text;
}

/* What is wrong comes before where the time goes: a wait for blocks need not be the disk's. */
static void
put_lead(struct page *page, const struct report_trace *t)
{
    if (t->first)
        page_put(page, "lead-first", "label", t->label, "text", t->first, NULL);
    put_made(page, t, "lead", "lead-of", words_lead(t));
    if (t->of_log)
        page_put(page, "log-note", NULL);
}

static void
put_head(const struct report *r, struct page *page)
{
    char kicker[200], date[32], length[WORDS_ROOM];
    char *const title = r->given[REPORT_title] ? sqt_copied(r->given[REPORT_title]) : default_title(r);
    const struct report_trace *const t = &r->traces[0];
    account_date(t->start_ns, date);
    date[10] = ' ';
    if (r->trace_count == 1)
        snprintf(kicker, sizeof(kicker), "sqtrace \xc2\xb7 %s UTC \xc2\xb7 %s of %s", date,
                 words_time((double)t->length, length),
                 t->of_log         ? "access.log"
                 : t->squids.count ? "Squid"
                                   : "nothing");
    else
        snprintf(kicker, sizeof(kicker), "sqtrace \xc2\xb7 %zu traces, the first of %s UTC", r->trace_count, date);
    page_put(page, "head", "version", PACKAGE_VERSION, "title", title, NULL);
    index_data(r, page, "head-data");
    page_put(page, "head-end", NULL);
    page_put(page, "body", "title", title, "kicker", kicker, NULL);
    free(title);
    for (size_t i = 0; i < r->trace_count; ++i)
        put_lead(page, &r->traces[i]);
    page_put(page, "nav-begin", NULL);
    page_put(page, "nav-item", "id", "findings", "title", "Findings", NULL);
    page_put(page, "nav-item", "id", "time", "title", "By kind of request", NULL);
    page_put(page, "nav-item", "id", "requests", "title", "Requests", NULL);
    if (r->trace_count > 1)
        page_put(page, "nav-item", "id", "differences", "title", "Differences", NULL);
    page_put(page, "nav-item", "id", "checks", "title", "Can it be trusted?", NULL);
    page_put(page, "nav-item", "id", "figures", "title", "Figures", NULL);
    page_put(page, "nav-item", "id", "configured", "title", "What was traced", NULL);
    page_put(page, "nav-end", NULL);
}

/* ---- findings ---- */

static void
put_findings(const struct report *r, struct page *page)
{
    page_put(page, "section", "id", "findings", "title", "Findings", NULL);
    page_put(page, "list-begin", NULL);
    for (size_t i = 0; i < r->trace_count; ++i)
        for (size_t k = 0; k < r->traces[i].findings.count; ++k)
            page_put(page, "finding", "label", r->traces[i].label, "text", r->traces[i].findings.text[k], "filter",
                     r->traces[i].behind.text[k], "words", "Requests behind it", NULL);
    page_put(page, "list-end", NULL);
    page_put(page, "section-end", NULL);
}

/* ---- where the time goes ---- */

/* width: percent of the page's; the longest mean of the class has 100. */
static void
put_bar(struct page *page, const struct report_trace *t, enum sqt_class class, const unsigned order[SQT_PARTS],
        double width, char *text)
{
    const struct sqt_sections *const s = &t->classes[class];
    const double whole = (double)s->all.totals.sum, count = (double)s->all.count;
    char number[32], share[WORDS_ROOM], time[WORDS_ROOM], filter[LINK_ROOM];
    snprintf(number, sizeof(number), "%.3f", width);
    page_put(page, "bar-begin", "text", text, "width", number, NULL);
    for (unsigned i = 0; i < SQT_PARTS; ++i) {
        const double part = (double)s->all.parts[order[i]];
        if (part <= 0)
            continue;
        snprintf(number, sizeof(number), "%.5f", part / whole);
        page_put(page, "bar-part", "part", part_class(order[i]), "grow", number, "name", words_part_name(order[i]),
                 "share", words_share(part / whole, share), "filter", link_of_part(filter, t, class, order[i]), NULL);
    }
    page_put(page, "bar-end", NULL);
    for (unsigned i = 0; i < SQT_PARTS; ++i) {
        const double part = (double)s->all.parts[order[i]];
        if (part < LEGEND_SHARE * whole)
            continue;
        page_put(page, "legend-part", "part", part_class(order[i]), "name", words_part_name(order[i]), "share",
                 words_share(part / whole, share), "time", words_time(part / count, time), "filter",
                 link_of_part(filter, t, class, order[i]), NULL);
    }
    page_put(page, "legend-end", NULL);
    free(text);
}

static double
whole_time(const struct report_trace *t)
{
    double sum = 0;
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        sum += (double)t->classes[c].all.totals.sum;
    return sum;
}

static uint64_t
requests_of(const struct report *r, enum sqt_class class)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->trace_count; ++i)
        sum += r->traces[i].classes[class].all.count;
    return sum;
}

const char *
index_class_title(enum sqt_class class, char text[80])
{
    snprintf(text, 80, "%s", words_class(class));
    text[0] = (char)(text[0] - 'a' + 'A');
    return text;
}

/* A sentence and a bar for each trace. */
static void
put_class(const struct report *r, struct page *page, enum sqt_class class)
{
    char name[80], count[160] = "", number[32], share[WORDS_ROOM], filter[LINK_ROOM];
    double longest = 0;
    uint64_t sums[SQT_PARTS] = {0};
    unsigned order[SQT_PARTS];
    for (size_t i = 0; i < r->trace_count; ++i) {
        const struct sqt_sections *const s = &r->traces[i].classes[class];
        for (unsigned p = 0; p < SQT_PARTS; ++p)
            sums[p] += s->all.parts[p];
        longest = s->mean.value > longest ? s->mean.value : longest;
    }
    words_order(sums, order);
    const struct sqt_section *const first = &r->traces[0].classes[class].all;
    if (r->trace_count == 1 && first->count)
        snprintf(count, sizeof(count), "%s %s, %s of all time", sqt_grouped(first->count, number),
                 first->count == 1 ? "request" : "requests",
                 words_share((double)first->totals.sum / whole_time(&r->traces[0]), share));
    page_put(page, "class-begin", "name", index_class_title(class, name), "count", count, "filter",
             link_of_part(filter, &r->traces[0], class, SQT_PARTS), NULL);
    for (size_t i = 0; i < r->trace_count; ++i) {
        const struct report_trace *const t = &r->traces[i];
        put_made(page, t, "class-text", "class-text-of", words_of_class(t, class));
        if (t->classes[class].all.totals.sum && !t->of_log)
            put_bar(page, t, class, order, 100 * t->classes[class].mean.value / longest, words_of_class(t, class));
    }
    page_put(page, "class-end", NULL);
}

/* Whether a class gets a bar: the three that are always spoken of, and what takes much of the time. */
static int
is_large(const struct report *r, unsigned class)
{
    for (size_t i = 0; i < FIRST_CLASSES; ++i)
        if (first_classes[i] == class)
            return 1;
    for (size_t i = 0; i < r->trace_count; ++i)
        if ((double)r->traces[i].classes[class].all.totals.sum > BAR_SHARE * whole_time(&r->traces[i]))
            return 1;
    return 0;
}

/* One sentence for each other class. */
static void
put_small_classes(const struct report *r, struct page *page)
{
    int begun = 0;
    for (unsigned class = 0; class < SQT_CLASSES; ++class) {
        if (is_large(r, class) || !requests_of(r, class))
            continue;
        if (!begun++) {
            page_put(page, "heading", "text", "Other kinds, which take little of the time", NULL);
            page_put(page, "list-begin", NULL);
        }
        for (size_t i = 0; i < r->trace_count; ++i)
            if (r->traces[i].classes[class].all.count)
                put_made(page, &r->traces[i], "list-item", "list-item-of", words_of_class(&r->traces[i], class));
    }
    if (begun)
        page_put(page, "list-end", NULL);
}

static void
put_disks(const struct report *r, struct page *page)
{
    int begun = 0;
    for (size_t i = 0; i < r->trace_count; ++i)
        for (size_t k = 0; k < r->traces[i].disks.count; ++k) {
            if (!begun++) {
                page_put(page, "heading", "text", "The disks", NULL);
                page_put(page, "list-begin", NULL);
            }
            put_made(page, &r->traces[i], "list-item", "list-item-of", sqt_copied(r->traces[i].disks.text[k]));
        }
    if (begun)
        page_put(page, "list-end", NULL);
}

/* Of how many values the page tells percentiles. */
static void
put_least(struct page *page)
{
    char p50[32], p90[32], p99[32], p999[32];
    page_put(page, "time-note", "p50", sqt_grouped(LEAST_P50, p50), "p90", sqt_grouped(LEAST_P90, p90), "p99",
             sqt_grouped(LEAST_P99, p99), "p999", sqt_grouped(LEAST_P999, p999), NULL);
}

static void
put_time(const struct report *r, struct page *page)
{
    page_put(page, "section", "id", "time", "title", "By kind of request", NULL);
    for (size_t i = 0; i < r->trace_count; ++i)
        index_icicle(page, &r->traces[i]);
    for (size_t i = 0; i < FIRST_CLASSES; ++i)
        put_class(r, page, first_classes[i]);
    for (unsigned class = 0; class < SQT_CLASSES; ++class) {
        size_t i = 0;
        while (i < FIRST_CLASSES && first_classes[i] != class)
            ++i;
        if (i == FIRST_CLASSES && is_large(r, class))
            put_class(r, page, class);
    }
    put_small_classes(r, page);
    put_disks(r, page);
    if (!r->of_log)
        put_least(page);
    page_put(page, "section-end", NULL);
}

/* ---- what does not hold ---- */

/* What is wrong with one trace.  Returns how many lines were printed. */
static unsigned
put_wrong(struct page *page, const struct report_trace *t)
{
    char number[32], text[300];
    unsigned count = 0;
    for (size_t k = 0; k < t->broken.count; ++k, ++count)
        page_put(page, "broken", "label", t->label, "text", t->broken.text[k], NULL);
    for (size_t k = 0; k < t->account.losses && k < TOLD_LOSSES; ++k, ++count) {
        snprintf(text, sizeof(text), "Lost: %s.", t->account.told[k]);
        page_put(page, "broken", "label", t->label, "text", text, NULL);
    }
    if (*t->account.more) {
        snprintf(text, sizeof(text), "Lost in all: %s.", t->account.more);
        page_put(page, "broken", "label", t->label, "text", text, NULL);
        ++count;
    }
    for (size_t k = 0; k < t->account.steps && k < TOLD_STEPS; ++k, ++count) {
        snprintf(text, sizeof(text), "A clock stepped: %s.", t->account.stepped[k]);
        page_put(page, "broken", "label", t->label, "text", text, NULL);
    }
    if (t->account.ring_full)
        page_put(page, "list-item-of", "label", t->label, "text",
                 "Give sqtrace_log a larger ring= to lose fewer records.", NULL);
    for (size_t k = 0; k < t->damage.count; ++k, ++count)
        page_put(page, "broken", "label", t->label, "text", t->damage.text[k], NULL);
    if (t->left_out) {
        snprintf(text, sizeof(text),
                 "%s %s not counted: records are missing, a clock stepped, or the trace ended first.",
                 sqt_grouped(t->left_out, number), t->left_out == 1 ? "request is" : "requests are");
        page_put(page, "list-item-of", "label", t->label, "text", text, NULL);
    }
    return count;
}

static void
put_unusual(struct page *page, const struct report_trace *t)
{
    for (size_t k = 0; k < t->unusual.count; ++k) {
        char text[500];
        snprintf(text, sizeof(text), "Worth a look: %.450s.", t->unusual.text[k]);
        page_put(page, "list-item-of", "label", t->label, "text", text, NULL);
    }
}

/* What was done to learn that nothing is wrong. */
static const char *
checked_words(char text[200], const struct report_trace *t)
{
    char number[32];
    if (!t->of_log)
        return "No record was lost, and every check passed.";
    snprintf(text, 200, "All %s lines are of the format %.60s.", sqt_grouped(t->log_lines, number), t->log_format);
    return text;
}

static void
put_checks(const struct report *r, struct page *page)
{
    char text[200];
    page_put(page, "section", "id", "checks", "title", "Can it be trusted?", NULL);
    page_put(page, "list-begin", NULL);
    for (size_t i = 0; i < r->trace_count; ++i)
        if (!put_wrong(page, &r->traces[i]))
            page_put(page, "list-item-of", "label", r->traces[i].label, "text", checked_words(text, &r->traces[i]),
                     NULL);
    for (size_t i = 0; i < r->trace_count; ++i)
        put_unusual(page, &r->traces[i]);
    page_put(page, "list-end", NULL);
    if (r->of_log) {
        page_put(page, "section-end", NULL);
        return;
    }
    page_put(page, "checked-begin", NULL);
    for (size_t i = 0; i < r->trace_count; ++i)
        for (size_t k = 0; k < r->traces[i].held.count; ++k)
            page_put(page, "list-item-of", "label", r->traces[i].label, "text", r->traces[i].held.text[k], NULL);
    page_put(page, "checked-end", NULL);
    page_put(page, "section-end", NULL);
}

/* ---- what was traced ---- */

static void
put_lines(struct page *page, const char *one, const char *many, const struct lines *lines)
{
    for (size_t i = 0; i < lines->count; ++i)
        page_put(page, "fact", "name", i ? "" : lines->count == 1 ? one : many, "text", lines->text[i], NULL);
}

static void
put_configured(const struct report *r, struct page *page)
{
    page_put(page, "section", "id", "configured", "title", "What was traced", NULL);
    for (size_t i = 0; i < r->trace_count; ++i) {
        const struct report_trace *const t = &r->traces[i];
        char text[200], number[32], lost[32], length[WORDS_ROOM];
        if (*t->label)
            page_put(page, "heading", "text", t->label, NULL);
        page_put(page, "facts-begin", NULL);
        for (size_t k = 0; k < t->path_count; ++k)
            page_put(page, "fact", "name", k ? "" : t->of_log ? "log" : "trace", "text", t->paths[k], NULL);
        if (t->of_log)
            page_put(page, "fact", "name", "format", "text", t->log_format, NULL);
        for (size_t k = 0; k < t->log_count; ++k)
            page_put(page, "fact", "name", k ? "" : "access.log", "text", t->logs[k], NULL);
        account_date(t->start_ns, text);
        text[10] = ' ';
        strcat(text, " UTC, for ");
        strcat(text, words_time((double)t->length, length));
        page_put(page, "fact", "name", "begun", "text", text, NULL);
        if (t->of_log)
            snprintf(text, sizeof(text), "%s", sqt_grouped(t->log_lines, number));
        else
            snprintf(text, sizeof(text), "%s, and %s lost", sqt_grouped(t->records, number),
                     sqt_grouped(t->account.lost, lost));
        page_put(page, "fact", "name", t->of_log ? "lines" : "records", "text", text, NULL);
        put_lines(page, "Squid", "Squids", &t->squids);
        put_lines(page, "process", "processes", &t->processes);
        put_lines(page, "cache_dir", "cache_dirs", &t->dirs);
        put_lines(page, "groups of events", "groups of events", &t->groups);
        put_lines(page, "ring", "rings", &t->rings);
        page_put(page, "facts-end", NULL);
    }
    page_put(page, "section-end", NULL);
}

/* ---- the whole ---- */

int
report_index(struct report *r)
{
    char *const path = folder_path(r, "index.html");
    char *const template = sqt_zeroed(strlen(r->pages) + 16, 1);
    sprintf(template, "%s/page.html", r->pages);
    FILE *const out = sqt_fopen(path, "w");
    struct page *const page = out ? page_open(template, out, report_is_single(r) ? r->making : NULL) : NULL;
    int failed = index_files(r) != 0 || index_charts(r) != 0; /* a page of one file has them in it */
    if (failed) {
        /* said */
    } else if (!out) {
        failed = report_fail(r, "%s: cannot write: %s", path, strerror(errno));
    } else if (!page) {
        failed = report_fail(r, "%s: %s", template, strerror(errno));
    } else {
        put_head(r, page);
        put_findings(r, page);
        put_time(r, page);
        page_put(page, "band", NULL);
        index_requests(page);
        if (r->trace_count > 1)
            index_differences(r, page);
        put_checks(r, page);
        index_figures(r, page);
        put_configured(r, page);
        page_put(page, "foot", NULL);
        index_data(r, page, "foot-data");
        page_put(page, "foot-scripts", NULL);
        page_put(page, "foot-end", NULL);
        if (page_error(page))
            failed = report_fail(r, "%s: %s", template, page_error(page));
    }
    page_free(page);
    if (out) {
        const int bad = ferror(out);
        if ((fclose(out) != 0 || bad) && !failed)
            failed = report_fail(r, "%s: cannot write: %s", path, strerror(errno));
    }
    free(path);
    free(template);
    return failed ? -1 : 0;
}
