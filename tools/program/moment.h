/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * moment.h - times of a trace, as people say them.
 *
 *     90s, 15min, 12.5       after the start of the trace; without a unit, seconds
 *     -10min                 before its end
 *     12:03, 12:03:10.5      time of day
 *     2026-11-25             a date: its first moment
 *     2026-11-25T12:03:10    a date and a time; also with a space; with Z, +01 or -05:30 behind it in that zone
 *     1795334198             seconds since 1970, from 1,000,000,000 on
 *
 * Without a zone, times are in the zone of the reader: TZ, or the system's.
 */
#ifndef SQT_MOMENT_H
#define SQT_MOMENT_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"

enum moment_form { MOMENT_NONE, MOMENT_AFTER_START, MOMENT_BEFORE_END, MOMENT_SINCE_1970, MOMENT_TIME_OF_DAY, MOMENT_LOCAL };

struct moment {
    enum moment_form form;
    int64_t ns;           /* after the start, before the end, since 1970, or of the day */
    int year, month, day; /* of MOMENT_LOCAL, whose ns is the time of that day */
};

/* What the trace says of itself. */
struct moment_trace {
    int64_t start_ns; /* since 1970 */
    int64_t last_ns;  /* since the start; negative: not known */
};

/* Reads a time.  Returns 0, or -1 with a line in error. */
int moment_parse(struct moment *moment, const char *text, char *error, size_t error_size);

/* The same of an option's value; without it, MOMENT_NONE.  Returns 0, or -1 with a line in the options' error. */
int moment_take(const struct options *options, unsigned option, struct moment *moment);

/* The time since the start of the trace, in ns.  Returns 0, or -1 with a line in error: the time happened twice or not
 * at all (summer time), or several days of the trace have it. */
int moment_resolve(const struct moment *moment, const struct moment_trace *trace, int64_t *ns, char *error,
                   size_t error_size);

/* What --since and --until ask for; those that are not given: all.  Returns 0, or -1 with a line in error. */
int moment_window(const struct moment *since, const struct moment *until, const struct moment_trace *trace,
                  int64_t *since_ns, int64_t *until_ns, char *error, size_t error_size);

/* Whether nothing of the trace lies between the two, with a line in text that says when the trace was. */
int moment_misses(const struct moment_trace *trace, int64_t since_ns, int64_t until_ns, char *text, size_t size);

#endif
