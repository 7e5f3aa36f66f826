/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spark.c - the SQL of Spark.  Its views are of one session: they need no catalog.
 */
#include "engine.h"

#define SQL_MEDIAN(x) "percentile(" x ", 0.5)"
#define SQL_RANK(level, x) "percentile_disc(" level ") WITHIN GROUP (ORDER BY " x ")"
#define SQL_LAST(x, by) "max_by(" x ", " by ")"
#define SQL_MINUTE(ns) "timestamp_seconds(" ns " div 60000000000 * 60)"
#define SQL_HOUR(ns) "timestamp_seconds(" ns " div 3600000000000 * 3600)"
#define SQL_DAY(ns) "date_from_unix_date(CAST(" ns " div 86400000000000 AS INT))"
#define SQL_DATE_OF(file) "regexp_extract(" file ", 'date=[^/]*', 0)"
#define SQL_MERGED_AT(file) \
    "coalesce(TRY_CAST(regexp_extract(" file \
    ", '/[0-9a-f]+-[0-9]+-[0-9]+-([0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9])[.]parquet$', 1) AS BIGINT), 0)"
#define SQL_NOW "unix_timestamp()"
#define SQL_NO_TEXT "CAST(NULL AS STRING)"

static const struct sqt_ddl_view spark_views[] = {
#include "views.def"
};

const struct sqt_ddl_engine sqt_ddl_spark = {
    .name = "spark",
    .title = "Spark",
    .create = "CREATE OR REPLACE TEMPORARY VIEW ",
    .quote = "`",
    .number = "BIGINT",
    .text = "STRING",
    .decimal_begin = "DECIMAL(18, ",
    .decimal_end = ")",
    .find = "instr",
    .column = "{name} {type}",
    .no_column = "CAST(NULL AS {type}) AS {name}",
    .files = "CREATE OR REPLACE TEMPORARY VIEW {table}_parquet ({schema}) USING parquet OPTIONS (path '{pattern}');\n"
             "CREATE OR REPLACE TEMPORARY VIEW {table}_files AS\n"
             "SELECT *, input_file_name() AS file FROM {table}_parquet;\n",
    .no_files =
        "CREATE OR REPLACE TEMPORARY VIEW {table}_files AS\nSELECT {schema}, CAST(NULL AS STRING) AS file WHERE "
        "false;\n",
    .parts =
        "SELECT t.*, inline(arrays_zip(array({names}), array({values}))) AS (part, ns) FROM {source} t WHERE {known}",
    .sites = "CREATE OR REPLACE TEMPORARY VIEW sites AS SELECT CAST(NULL AS STRING) AS host, CAST(NULL AS STRING) AS "
             "site WHERE false;\n",
    .views = spark_views,
    .view_count = sizeof(spark_views) / sizeof(*spark_views),
};
