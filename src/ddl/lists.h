/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lists.h - lists within statements that are made of sqtrace's own tables: columns, durations, classes.
 */
#ifndef SQT_DDL_LISTS_H
#define SQT_DDL_LISTS_H

#include <stdio.h>

#include "engine.h"
#include "row/table.h"

/* Columns of a table, each as the text says.  Words: name, type. */
void sqt_ddl_put_schema(FILE *to, const struct sqt_ddl_engine *engine, const struct sqt_table *table,
                        const char *column);

/* Columns of a table to select; a host without a name is '-'. */
void sqt_ddl_put_columns(FILE *to, const struct sqt_ddl_engine *engine, const struct sqt_table *table);

/* A list of what a row is split into, each as the text says.  Words: name, value. */
void sqt_ddl_put_durations(FILE *to, const struct sqt_ddl_engine *engine, const struct sqt_table *table,
                           const char *item);

/* The condition that the durations of a row are known: outcome NOT IN ('lost', 'clock', 'unfinished'). */
void sqt_ddl_put_known(FILE *to);

/* Classes that are hits, as 'mem_hit', 'disk_hit'. */
void sqt_ddl_put_hits(FILE *to);

/* Durations of a request that add up to its total, as 'dns', 'connect'. */
void sqt_ddl_put_stages(FILE *to);

/* The sum of the stages in which a request waits for its server; 0 without any. */
void sqt_ddl_put_server_time(FILE *to, const struct sqt_ddl_engine *engine);

#endif
