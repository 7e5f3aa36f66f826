/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make.c - the steps from a command line to a report.
 */
#include <stdlib.h>

#include "report.h"

volatile sig_atomic_t report_stop;

/* The page is whole, or there is none. */
enum report_status
report_make(struct report *r)
{
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
