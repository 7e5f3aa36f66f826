/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * table.h - attach.def as data, and where its functions are in a program.
 */
#ifndef SQT_ATTACH_TABLE_H
#define SQT_ATTACH_TABLE_H

#include "elf.h"
#include "place.h"

enum sqt_attach_row {
#define SQT_ATTACH(NAME, stage, a, b, c, functions, doc) SQT_ATTACH_##NAME,
#include "attach.def"
    SQT_ATTACH_ROWS
};

struct sqt_attach_info {
    const char *name;      /* the row's */
    const char *stage;     /* what is missing without it */
    const char *functions; /* mangled names, with a space between */
    const char *doc;
    unsigned sources[3]; /* SQT_SOURCE_...: of the values */
};
extern const struct sqt_attach_info sqt_attach_infos[SQT_ATTACH_ROWS];

/* A function of a program that can be watched. */
struct sqt_attach_function {
    enum sqt_attach_row row;
    const char *name; /* mangled */
    uint64_t offset;  /* of the probe in the file */
    int emulated;     /* by the kernel; else the probe is single-stepped */
};

/* The functions of attach.def that a program has. */
struct sqt_attach_functions {
    struct sqt_attach_function *found; /* by row; names that lead to one place are there once */
    size_t count;
    unsigned char has[SQT_ATTACH_ROWS]; /* rows that have a function */
    uint64_t tags;                      /* address, as linked, of Squid's table of result codes; 0: not known */
    char *names;                        /* memory of the names */
};

void sqt_attach_find(struct sqt_attach_functions *functions, const struct sqt_elf *elf);
void sqt_attach_functions_free(struct sqt_attach_functions *functions);

#endif
