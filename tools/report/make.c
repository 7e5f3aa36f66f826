/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make.c - the steps from a command line to a report.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/visible.h"
#include "compare.h"
#include "report.h"

volatile sig_atomic_t report_stop;

/* ---- what the page says first, as text ---- */

/* A line of any length, safe to show. */
static void
say_line(const char *before, const char *text)
{
    const size_t size = SQT_VISIBLE_MOST * (strlen(before) + strlen(text)) + 1;
    char *const whole = sqt_printed("%s%s", before, text), *const seen = sqt_allocated(size);
    sqt_visible_text(seen, size, whole);
    puts(seen);
    free(seen);
    free(whole);
}

static void
say_trace(const struct report_trace *t)
{
    char *const lead = words_lead(t), *const before = *t->label ? sqt_printed("%s: ", t->label) : sqt_copied("");
    if (t->first)
        say_line(before, t->first);
    say_line(before, lead);
    free(before);
    free(lead);
}

static void
say_change(const struct report_trace *a, const struct report_trace *b, int named)
{
    struct lines lines = {0};
    char *const before = named ? sqt_printed("From %s to %s: ", a->label, b->label) : sqt_copied("");
    compare_whole(&lines, a, b);
    for (size_t i = 0; i < lines.count; ++i)
        say_line(i ? "" : before, lines.text[i]);
    free(before);
    lines_free(&lines);
}

/* Of one trace where its time went, of several whether a change was good. */
static enum report_status
make_verdict(struct report *r)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < r->trace_count; ++i)
        failed = report_read(r, &r->traces[i]) != 0;
    program_clear(&r->voice);
    if (failed || report_stop)
        return REPORT_FAILED;
    if (r->trace_count == 1)
        say_trace(&r->traces[0]);
    for (size_t i = 1; i < r->trace_count; ++i)
        say_change(&r->traces[0], &r->traces[i], r->trace_count > 2);
    if (fflush(stdout) == 0 || errno == EPIPE)
        return REPORT_DONE;
    report_fail(r, "standard output: cannot write: %s", strerror(errno));
    return REPORT_FAILED;
}

/* ---- all of it ---- */

/* The page is whole, or there is none. */
enum report_status
report_make(struct report *r)
{
    if (r->given[REPORT_verdict])
        return make_verdict(r);
    int failed = report_find_data(r) != 0 || report_find_gnuplot(r) != 0 || folder_begin(r) != 0;
    for (size_t i = 0; !failed && i < r->trace_count; ++i)
        failed = report_read(r, &r->traces[i]) != 0;
    failed = failed || report_draw(r) != 0 || report_index(r) != 0 || report_stop || folder_commit(r) != 0;
    if (failed) {
        program_clear(&r->voice);
        folder_abandon(r);
        return REPORT_FAILED;
    }
    report_say(r, "made %s%s", r->folder, report_is_single(r) ? "" : "/index.html");
    return r->undrawn ? REPORT_PARTLY : REPORT_DONE;
}

static void
make_free_trace(struct report *r, struct report_trace *t)
{
    struct lines *const lines[] = {&t->damage,   &t->squids, &t->processes, &t->dirs,   &t->groups,  &t->rings,
                                   &t->findings, &t->behind, &t->disks,     &t->broken, &t->unusual, &t->held};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); ++i)
        lines_free(lines[i]);
    for (size_t i = 0; t->series && i < r->figure_count; ++i) {
        lines_free(&t->series[i].notes);
        free(t->series[i].picture.trouble);
    }
    for (unsigned c = 0; t->series && c < SQT_CLASSES; ++c)
        sqt_sections_free(&t->classes[c]);
    whole_free(t->whole);
    browse_free(t->browse);
    free(t->first);
    free(t->log_format);
    free(t->series);
    free(t->paths);
    free(t->logs);
    free((char *)t->label);
}

void
report_free(struct report *r)
{
    for (size_t i = 0; i < r->trace_count; ++i)
        make_free_trace(r, &r->traces[i]);
    for (size_t i = 0; r->compared && i < r->figure_count; ++i) {
        free(r->compared[i].trouble);
    }
    free(r->compared);
    free(r->figures);
    free(r->words);
    free(r->logs);
    free(r->folder);
    free(r->making);
    free(r->plots);
    free(r->pages);
}
