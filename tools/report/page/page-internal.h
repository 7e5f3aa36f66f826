/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * page-internal.h - what the files of page.h share.
 */
#ifndef SQT_REPORT_PAGE_INTERNAL_H
#define SQT_REPORT_PAGE_INTERNAL_H

#include <stdio.h>

/* How a file stands within a page: as it is, within <script>, or as an address ("data:..."). */
enum page_within { PAGE_WITHIN_TEXT, PAGE_WITHIN_SCRIPT, PAGE_WITHIN_ADDRESS };

/* Prints a file.  Returns 0, or -1 with errno if it cannot be read. */
int page_put_within(FILE *out, enum page_within how, const char *path);

#endif
