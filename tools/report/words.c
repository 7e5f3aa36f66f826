/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * words.c - numbers as people write them, and sentences on where the time goes.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/human.h"
#include "base/memory.h"
#include "report.h"

/* A space that does not break. */
#define NBSP "\xc2\xa0"
/* Parts that a sentence names at most, and the smallest share that is worth naming. */
#define NAMED_PARTS 3
#define NAMED_SHARE 0.05

/* ---- numbers ---- */

static const char *
time_words(double ns, const char *sign, char text[WORDS_ROOM])
{
    char unsigned_text[SQT_HUMAN_ROOM];
    snprintf(text, WORDS_ROOM, "%s%s", sign, sqt_human_time(unsigned_text, ns, NBSP, "\xc2\xb5s"));
    return text;
}

const char *
words_time(double ns, char text[WORDS_ROOM])
{
    return ns < 0.5 ? strcpy(text, "0") : time_words(ns, "", text);
}

const char *
words_difference(double ns, char text[WORDS_ROOM])
{
    /* U+2212 is a minus as wide as the plus. */
    return fabs(ns) < 0.5 ? strcpy(text, "0") : time_words(fabs(ns), ns < 0 ? "\xe2\x88\x92" : "+", text);
}

const char *
words_share(double share, char text[WORDS_ROOM])
{
    const double percent = 100 * share;
    if (percent > 0 && percent < 0.05)
        return strcpy(text, "under 0.1" NBSP "%");
    snprintf(text, WORDS_ROOM, "%.*f" NBSP "%%", percent < 9.95 && percent > 0 ? 1 : 0, percent);
    return text;
}

uint64_t
words_least(const char *column)
{
    static const struct {
        const char *name;
        size_t length;
        uint64_t values;
    } least[] = {
#define REPORT_LEAST(id, percentile, name, values) {percentile "_ms", sizeof(percentile "_ms") - 1, values},
#include "least.def"
    };
    const size_t length = strlen(column);
    for (size_t i = 0; i < sizeof(least) / sizeof(*least); ++i)
        if (length >= least[i].length && strcmp(column + length - least[i].length, least[i].name) == 0 &&
            (length == least[i].length || column[length - least[i].length - 1] == '_'))
            return least[i].values;
    return 0;
}

/* ---- names ---- */

static const struct {
    const char *name, *phrase;
} parts[SQT_PARTS] = {
#define REPORT_PART(STAGE, GROUP, label, text) [SQT_STAGE_##STAGE] = {label, text},
#include "parts.def"
    [SQT_STAGES] = {"unaccounted", "unaccounted for"},
};

#define REPORT_PART(STAGE, GROUP, label, text) +1
enum {
    NAMED = 0
#include "parts.def"
};
SQT_ASSERT((int)NAMED == (int)SQT_STAGES, "each stage has a row in parts.def");

static const char *const classes[SQT_CLASSES] = {
    [SQT_CLASS_MEM_HIT] = "hits from memory",
    [SQT_CLASS_DISK_HIT] = "hits from disk",
    [SQT_CLASS_IMS_HIT] = "conditional hits (304)",
    [SQT_CLASS_NEGATIVE_HIT] = "hits on cached errors",
    [SQT_CLASS_REFRESH_HIT] = "hits after revalidation",
    [SQT_CLASS_REFRESH_MISS] = "misses after revalidation",
    [SQT_CLASS_MISS] = "misses",
    [SQT_CLASS_TUNNEL] = "tunnels",
    [SQT_CLASS_DENIED] = "denied requests",
    [SQT_CLASS_INTERNAL] = "requests that Squid answered itself",
    [SQT_CLASS_QUERY] = "queries of neighbours",
    [SQT_CLASS_ERROR] = "requests that could not be parsed or got no result",
};

const char *words_class(enum sqt_class class)
{
    return classes[class];
}

const char *
words_part(unsigned part)
{
    return parts[part].phrase;
}

const char *
words_part_name(unsigned part)
{
    return parts[part].name;
}

/* ---- sentences ---- */

void
words_order(const uint64_t sums[SQT_PARTS], unsigned order[SQT_PARTS])
{
    for (unsigned i = 0; i < SQT_PARTS; ++i) {
        unsigned at = i;
        for (; at && sums[order[at - 1]] < sums[i]; --at)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* "61 % is waiting for the server's first byte, 22 % ..., and 9 % ..." */
static void
name_parts(FILE *to, const uint64_t sums[SQT_PARTS], uint64_t whole, const char *of)
{
    unsigned order[SQT_PARTS], named = 1;
    char text[WORDS_ROOM];
    words_order(sums, order);
    while (named < NAMED_PARTS && (double)sums[order[named]] >= NAMED_SHARE * (double)whole)
        ++named;
    for (unsigned i = 0; i < named; ++i) {
        const char *const before = !i ? "" : i + 1 < named ? ", " : named > 2 ? ", and " : " and ";
        fprintf(to, "%s%s%s %s", before, words_share((double)sums[order[i]] / (double)whole, text), i ? "" : of,
                words_part(order[i]));
    }
}

/* A log has no parts. */
static char *
words_log_lead(const struct report_trace *trace)
{
    double whole = 0;
    char number[32], duration[WORDS_ROOM];
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        whole += (double)trace->classes[c].all.totals.sum;
    if (!trace->requests)
        return sqt_copied("No request is in this log.");
    if (whole <= 0)
        return sqt_printed("%s %s. The log does not say how long they took: its format has no %%tr.",
                           sqt_grouped(trace->requests, number), trace->requests == 1 ? "request" : "requests");
    return sqt_printed("%s %s spent %s in Squid. This page is made of an access.log, which does not say on what.",
                       sqt_grouped(trace->requests, number), trace->requests == 1 ? "request" : "requests",
                       words_time(whole, duration));
}

char *
words_lead(const struct report_trace *trace)
{
    if (trace->of_log)
        return words_log_lead(trace);
    uint64_t sums[SQT_PARTS] = {0}, whole = 0;
    for (unsigned c = 0; c < SQT_CLASSES; ++c)
        for (unsigned p = 0; p < SQT_PARTS; ++p) {
            sums[p] += trace->classes[c].all.parts[p];
            whole += trace->classes[c].all.parts[p];
        }
    char *text = NULL, number[32];
    size_t size;
    FILE *const to = sqt_text_stream(&text, &size);
    if (!whole) {
        fputs("No request ended in this trace.", to);
    } else {
        char duration[WORDS_ROOM];
        fprintf(to, "%s%s %s spent %s in Squid: ", trace->requests == 1 ? "" : "Together, ",
                sqt_grouped(trace->requests, number), trace->requests == 1 ? "request" : "requests",
                words_time((double)whole, duration));
        name_parts(to, sums, whole, " of it is");
        fputs(".", to);
    }
    fclose(to);
    return text;
}

char *
words_of_class(const struct report_trace *trace, enum sqt_class class)
{
    const struct sqt_sections *const s = &trace->classes[class];
    const uint64_t whole = s->all.totals.sum;
    char *text = NULL, number[32], median[WORDS_ROOM], p99[WORDS_ROOM];
    size_t size;
    FILE *const to = sqt_text_stream(&text, &size);
    if (!s->all.count) {
        fprintf(to, "There are no %s in this %s.", words_class(class), trace->of_log ? "log" : "trace");
    } else if (s->all.count == 1) {
        fprintf(to, "One request is among the %s; it took %s", words_class(class), words_time(s->median.value, median));
    } else if (s->all.count < LEAST_P50) {
        fprintf(to, "There are %s %s, too few for a median; their mean is %s", sqt_grouped(s->all.count, number),
                words_class(class), words_time(s->mean.value, median));
    } else {
        fprintf(to, "Half of %s %s took at most %s", sqt_grouped(s->all.count, number), words_class(class),
                words_time(s->median.value, median));
        if (s->all.count >= LEAST_P99)
            fprintf(to, ", 99" NBSP "%% at most %s", words_time(s->p99.value, p99));
    }
    if (whole && !trace->of_log) {
        fputs(s->all.count == 1 ? ": " : ". ", to);
        name_parts(to, s->all.parts, whole, s->all.count == 1 ? " of it is" : " of their time is");
    }
    if (s->all.count)
        fputs(".", to);
    fclose(to);
    return text;
}

/* ---- cache_dirs ---- */

/* "diskd:0" -> "diskd /var/spool/squid"; it stays if kids have different ones of that number. */
static const char *
dir_words(const struct report_trace *trace, const char *class)
{
    const char *const colon = strchr(class, ':'), *found = NULL;
    for (size_t i = 0; colon && i < trace->dirs.count; ++i) {
        const char *const text = trace->dirs.text[i], *const space = strchr(text, ' ');
        if (strncmp(text, colon + 1, strlen(colon + 1)) != 0 || text[strlen(colon + 1)] != ':' || !space)
            continue;
        if (found)
            return class;
        found = space + 1;
    }
    return found ? found : class;
}

void
words_of_disk(struct report_trace *trace, const union sqt_cell *row)
{
#define CELL(name) row[SQT_CELL(summary, name)]
    static const struct {
        const char *name, *verb;
    } directions[] = {{"disk_in_block_", "read"}, {"disk_out_block_", "wrote"}};
    static const char *const phases[] = {"queue", "service", "notice", "total"};
    for (unsigned d = 0; d < 2; ++d) {
        const size_t length = strlen(directions[d].name);
        if (strncmp(CELL(stage).text, directions[d].name, length) != 0)
            continue;
        unsigned phase = 0;
        while (phase < 4 && strcmp(CELL(stage).text + length, phases[phase]) != 0)
            ++phase;
        if (phase < 3)
            trace->disk_shares[phase] = CELL(share_pct).number;
        if (phase != 3)
            return;
        char number[32], time[WORDS_ROOM], median[WORDS_ROOM + 16] = "", shares[3][WORDS_ROOM], *text = NULL;
        const int elsewhere = trace->disk_shares[0] || trace->disk_shares[2];
        for (unsigned i = 0; i < 3; ++i) {
            words_share((double)trace->disk_shares[i] / 1e5, shares[i]);
            trace->disk_shares[i] = 0;
        }
        if (elsewhere)
            text = sqt_printed(". %s of their time is the I/O itself, %s waiting for it to begin, and %s "
                               "waiting for Squid to notice that it is done",
                               shares[1], shares[0], shares[2]);
        if (CELL(count).number >= LEAST_P50)
            snprintf(median, sizeof(median), ", median %s", words_time((double)CELL(p50_ms).number, time));
        lines_add(&trace->disks, "%s %s %s blocks%s%s.", dir_words(trace, CELL(class).text), directions[d].verb,
                  sqt_grouped((uint64_t)CELL(count).number, number), median,
                  text ? text : ", in Squid\xe2\x80\x99s main thread: nothing else ran meanwhile");
        free(text);
        return;
    }
#undef CELL
}
