/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * duckdb.c - the SQL of DuckDB.
 */
#include "engine.h"

#define SQL_MEDIAN(x) "median(" x ")"
#define SQL_RANK(level, x) "quantile_disc(" x ", " level ")"
#define SQL_LAST(x, by) "arg_max(" x ", " by ")"
#define SQL_MINUTE(ns) "make_timestamp(" ns " // 60000000000 * 60000000)"
#define SQL_HOUR(ns) "make_timestamp(" ns " // 3600000000000 * 3600000000)"
#define SQL_DAY(ns) "DATE '1970-01-01' + CAST(" ns " // 86400000000000 AS INTEGER)"
#define SQL_DATE_OF(file) "regexp_extract(" file ", 'date=[^/]*')"
#define SQL_MERGED_AT(file) \
    "coalesce(TRY_CAST(regexp_extract(" file \
    ", '/[0-9a-f]+-[0-9]+-[0-9]+-([0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9])[.]parquet$', 1) AS BIGINT), 0)"
#define SQL_NOW "epoch(now())"
#define SQL_NO_TEXT "CAST(NULL AS VARCHAR)"

static const struct sqt_ddl_view duckdb_views[] = {
#include "views.def"
};

/* The empty rows give each column a type, and a column to files of a version that did not have it. */
#define NO_FILES "SELECT {schema}, CAST(NULL AS VARCHAR) AS file WHERE false"

const struct sqt_ddl_engine sqt_ddl_duckdb = {
    .name = "duckdb",
    .title = "DuckDB",
    .create = "CREATE OR REPLACE VIEW ",
    .quote = "\"",
    .number = "BIGINT",
    .text = "VARCHAR",
    .decimal_begin = "DECIMAL(18, ",
    .decimal_end = ")",
    .find = "strpos",
    .column = "CAST(NULL AS {type}) AS {name}",
    .no_column = "CAST(NULL AS {type}) AS {name}",
    .files = "CREATE OR REPLACE VIEW {table}_files AS\n" NO_FILES "\nUNION ALL BY NAME\n"
             "SELECT * FROM read_parquet('{pattern}', union_by_name = true, hive_partitioning = false, "
             "filename = 'file');\n",
    .no_files = "CREATE OR REPLACE VIEW {table}_files AS\n" NO_FILES ";\n",
    .parts = "SELECT t.*, unnest([{names}]) AS part, unnest([{values}]) AS ns FROM {source} t WHERE {known}",
    .sites = "CREATE VIEW IF NOT EXISTS sites AS SELECT CAST(NULL AS VARCHAR) AS host, CAST(NULL AS VARCHAR) AS site "
             "WHERE false;\n",
    .views = duckdb_views,
    .view_count = sizeof(duckdb_views) / sizeof(*duckdb_views),
};
