/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * troff.h - pieces of manual pages, on the standard output.
 */
#ifndef SQT_TROFF_H
#define SQT_TROFF_H

/* Text as it is, whatever is in it. */
void troff_text(const char *text);
void troff_bold(const char *text);
/* A name, and what is said about it. */
void troff_item(const char *name, const char *doc);

#endif
