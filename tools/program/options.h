/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.h - command lines, from a table of options.
 *
 * An option is --NAME, --NAME=VALUE or --NAME VALUE; one letter may stand for it (-o VALUE).  "--" ends the options,
 * and "-" is no option.
 */
#ifndef SQT_OPTIONS_H
#define SQT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/units.h"

struct option_info {
    const char *name;
    const char *value; /* what follows "=", "" if the option stands alone */
    const char *doc;
    char letter; /* 0: none */
};

/* An option whose values are all kept. */
struct option_values {
    unsigned option;
    const char **values; /* room for all words; NULL: there is no such option */
    size_t count;
};

/* What the command line says. */
struct options {
    const struct option_info *infos;
    unsigned info_count;
    const char **given; /* value of each option; "" if it stands alone, NULL if not given */
    const char **words; /* the arguments that are no options; room for all of them */
    size_t word_count;
    char *error; /* takes one line without newline */
    size_t error_size;
    unsigned repeatable;  /* the option whose values are all kept, in repeats */
    const char **repeats; /* room for all words; NULL: of each option the last value counts */
    size_t repeat_count;
    struct option_values also;  /* another such option */
    struct option_values third; /* and another */
};

/* Each returns 0, or -1 with a line in error. */
int options_take(struct options *options, int argc, char **argv);
/* An option's value as a number; plain: what a number without a unit counts.  Not given: *value stays. */
int options_number(const struct options *options, unsigned option, enum sqt_units units, int64_t plain, int64_t least,
                   int64_t *value);
/* Puts that line into error, and returns -1. */
int options_fail(const struct options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After --help or --version: 0, or 1 if the standard output did not take it all; the exit status of every program. */
int options_told(void);

/* A line for each option. */
void options_help(FILE *to, const struct option_info *infos, unsigned count);

/* Prints what a program's --help says on the standard output, in lines of at most 79 columns. */
void options_print_help(void (*help)(FILE *to));

#endif
