/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page.h - a page made of fragments.
 *
 * A template is a file of fragments, each after a line "<!-- fragment: NAME -->".  A fragment is printed with values in
 * the places of its {{name}}s; what HTML means something else by is written so that it stays text.
 */
#ifndef SQT_REPORT_PAGE_H
#define SQT_REPORT_PAGE_H

#include <stdio.h>

struct page;

/* Reads a template, for printing on `out`.  NULL: errno says why. */
struct page *page_open(const char *path, FILE *out);

/* Prints a fragment; names and values follow in turn, and NULL. */
void page_put(struct page *page, const char *fragment, ...) __attribute__((sentinel));

/* The first thing that went wrong, as "there is no fragment 'card'"; NULL: nothing. */
const char *page_error(const struct page *page);

void page_free(struct page *page);

#endif
