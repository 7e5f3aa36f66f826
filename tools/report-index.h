/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report-index.h - the parts of index.html.
 */
#ifndef SQT_REPORT_INDEX_H
#define SQT_REPORT_INDEX_H

#include "report-page.h"
#include "report.h"

/* The section with all figures (report-figures.c). */
void index_figures(const struct report *report, struct page *page);

#endif
