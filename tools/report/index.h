/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * index.h - the parts of index.html.
 */
#ifndef SQT_REPORT_INDEX_H
#define SQT_REPORT_INDEX_H

#include "page.h"
#include "report.h"

/* The section with all figures (figures.c). */
void index_figures(const struct report *report, struct page *page);

#endif
