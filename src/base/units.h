/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * units.h - numbers with units, as people type them: 100ms, 2s, 4KB.
 */
#ifndef SQT_UNITS_H
#define SQT_UNITS_H

#include <stddef.h>
#include <stdint.h>

enum sqt_units { SQT_UNITS_NONE, SQT_UNITS_TIME, SQT_UNITS_BYTES };

/* Reads "[-]DIGITS[.DIGITS][UNIT]", all length characters of it.  plain: what a number without unit is multiplied
 * with, to give nanoseconds or bytes.  Returns 0 and sets *value, or -1 and sets *error to what is wrong. */
int sqt_units_parse(const char *text, size_t length, enum sqt_units units, int64_t plain, int64_t *value,
                    const char **error);

#endif
