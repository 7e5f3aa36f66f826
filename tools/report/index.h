/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * index.h - the parts of index.html.
 */
#ifndef SQT_REPORT_INDEX_H
#define SQT_REPORT_INDEX_H

#include "page/page.h"
#include "report.h"

/* The section with all figures (figures.c). */
void index_figures(const struct report *report, struct page *page);

/* ---- links.c: from what the page says to the requests behind it: filters of list.js, as in "class=miss&stage=dns" ---- */

#define LINK_ROOM 600

/* Requests of a class that spent time in a part; SQT_PARTS: all of the class. */
const char *link_of_part(char link[LINK_ROOM], const struct report_trace *trace, enum sqt_class class, unsigned part);

/* Requests of a class that spent time in any of some parts: a bit for each. */
const char *link_of_parts(char link[LINK_ROOM], const struct report_trace *trace, enum sqt_class class, uint64_t parts);

/* Requests that a row of `findings` is about. */
const char *link_of_finding(char link[LINK_ROOM], const struct report_trace *trace, const union sqt_cell *row);

/* Requests that a figure is made of.  Returns the words for the link; NULL: there is none. */
const char *link_of_figure(char link[LINK_ROOM], const struct report_trace *trace, const struct sqt_table *figure);

/* The scripts that hold the requests, and the place of their list. */
void index_data(const struct report *report, struct page *page, const char *fragment);
void index_requests(struct page *page);

/* All time of a trace as a tree (icicle.c). */
void index_icicle(struct page *page, const struct report_trace *trace);

/* The section with the differences between traces (differences.c). */
void index_differences(const struct report *report, struct page *page);

/* The name of a class as a heading. */
const char *index_class_title(enum sqt_class class, char text[80]);

/* Writes the series that the page draws itself (charts.c).  Returns 0, or -1 after a line on the standard error. */
int index_charts(struct report *report);

/* Copies what the page loads besides. */
int index_files(struct report *report);

#endif
