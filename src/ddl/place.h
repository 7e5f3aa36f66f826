/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * place.h - where the files of Parquet lie, and how.
 */
#ifndef SQT_DDL_PLACE_H
#define SQT_DDL_PLACE_H

#include <limits.h>
#include <stddef.h>

#include "row/table.h"

/* Ways in which the files lie in a folder: see place.c. */
enum sqt_ddl_layout { SQT_DDL_ONE_OUTPUT, SQT_DDL_OUTPUTS, SQT_DDL_PARTITIONS, SQT_DDL_LAYOUTS };

struct sqt_ddl_place {
    char folder[PATH_MAX]; /* absolute */
    enum sqt_ddl_layout layout;
    unsigned char has[SQT_TABLES]; /* whether there are files of that table */
};

#define SQT_DDL_PATTERN (PATH_MAX + 256)

/* Looks into the folder.  Returns 0, or -1 with a line in error: the folder cannot be read, has no files of Parquet of
 * sqtrace, has them in two ways, or its name has characters that mean something in patterns or in SQL. */
int sqt_ddl_place_find(struct sqt_ddl_place *place, const char *folder, char *error, size_t error_size);

/* The pattern of a table's files: engines and the shell read it alike.  Returns `pattern`. */
const char *sqt_ddl_place_pattern(const struct sqt_ddl_place *place, enum sqt_table_number table,
                                  char pattern[SQT_DDL_PATTERN]);

#endif
