/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * troff.h - pieces of manual pages, on the standard output.
 */
#ifndef SQT_TROFF_H
#define SQT_TROFF_H

#include "options.h"

/* Text as it is, whatever is in it. */
void troff_text(const char *text);
/* A name, and what is said about it. */
void troff_item(const char *name, const char *doc);
void troff_options(const struct option_info *infos, unsigned count);

#endif
