/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ddl.h - SQL that makes tables and views of files of Parquet, for the engines that people have.
 *
 *     const struct sqt_ddl_engine *engine = sqt_ddl_engine_find("duckdb");
 *     struct sqt_ddl_place place;
 *     if (sqt_ddl_place_find(&place, "/srv/traces", error, sizeof(error)) == 0)
 *         sqt_ddl_print(stdout, engine, &place);
 *
 * One thread.
 */
#ifndef SQT_DDL_H
#define SQT_DDL_H

#include <stdio.h>

#include "place.h"

struct sqt_ddl_engine;

/* The engine of that name; NULL if there is none. */
const struct sqt_ddl_engine *sqt_ddl_engine_find(const char *name);

/* The name of an engine by its number, from 0; NULL behind the last. */
const char *sqt_ddl_engine_name(unsigned number);

/* Calls the function for each view that sums up, with its name and a line that says what it shows. */
void sqt_ddl_figures(void (*view)(const char *name, const char *doc));

/* Prints the statements: a table for each table whose rows are things, and the views of views.def.  The caller looks
 * whether writing failed. */
void sqt_ddl_print(FILE *to, const struct sqt_ddl_engine *engine, const struct sqt_ddl_place *place);

#endif
