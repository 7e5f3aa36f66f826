/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page.h - a page made of fragments.
 *
 * A template is a file of fragments, each after a line "<!-- fragment: NAME -->".  A fragment is printed with values in
 * the places of its {{name}}s; what HTML means something else by is written so that it stays text.
 *
 * A page may be one file that loads nothing.  Then a fragment NAME.single takes the place of NAME, where there is one,
 * and these stand for files of the page's folder; a "*" in a PATH is the value of {{file}}:
 *
 *     {{text:PATH}}      the file as it is, for <style>
 *     {{script:PATH}}    the same for <script>
 *     {{address:PATH}}   the address of an image or a link that has the file in it
 */
#ifndef SQT_REPORT_PAGE_H
#define SQT_REPORT_PAGE_H

#include <stdio.h>

struct page;

/* Reads a template, for printing on `out`.  folder: of the files that are put into the page, and must stay; NULL: the
 * page loads them.  NULL: errno says why. */
struct page *page_open(const char *path, FILE *out, const char *folder);

/* Whether the page is one file that loads nothing. */
int page_is_single(const struct page *page);

/* Prints a fragment; names and values follow in turn, and NULL. */
void page_put(struct page *page, const char *fragment, ...) __attribute__((sentinel));

/* The first thing that went wrong, as "there is no fragment 'card'"; NULL: nothing. */
const char *page_error(const struct page *page);

void page_free(struct page *page);

#endif
