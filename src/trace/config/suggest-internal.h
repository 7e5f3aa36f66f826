/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * suggest-internal.h - what a mistyped word was meant to be.
 */
#ifndef SQT_SUGGEST_INTERNAL_H
#define SQT_SUGGEST_INTERNAL_H

#include <stddef.h>

/* Returns hint, filled with " (did you mean <name>?)" if one of the names is at most two letters away from the first
 * `size` bytes of word, else empty. */
const char *sqt_suggest(char *hint, size_t hint_size, const char *word, size_t size, const char *const *names,
                        size_t count);

#endif
