/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clickhouse.c - the SQL of ClickHouse.
 */
#include "engine.h"

/* quantileExact(0.9) of 100 values is the 91st, where all others take the 90th: the number of values times the level is
 * rounded down, and counts from 0.  A little less than the level gives the 90th, up to 10^10 values. */
#define SQL_RANK(level, x) "quantileExact(" level " - 1e-13)(" x ")"
#define SQL_MEDIAN(x) "quantileExactInclusive(0.5)(" x ")"
#define SQL_LAST(x, by) "argMax(" x ", " by ")"
#define SQL_MINUTE(ns) "toDateTime(intDiv(" ns ", 60000000000) * 60, 'UTC')"
#define SQL_HOUR(ns) "toDateTime(intDiv(" ns ", 3600000000000) * 3600, 'UTC')"
#define SQL_DAY(ns) "toDate(intDiv(" ns ", 86400000000000))"
#define SQL_DATE_OF(file) "extract(" file ", 'date=[^/]*')"
#define SQL_MERGED_AT(file) \
    "toUInt64OrZero(extract(" file \
    ", '/[0-9a-f]+-[0-9]+-[0-9]+-([0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9])[.]parquet$'))"
#define SQL_NOW "toUnixTimestamp(now())"
#define SQL_NO_TEXT "CAST(NULL, 'Nullable(String)')"

static const struct sqt_ddl_view clickhouse_views[] = {
#include "views.def"
};

const struct sqt_ddl_engine sqt_ddl_clickhouse = {
    .name = "clickhouse",
    .title = "ClickHouse",
    .create = "CREATE OR REPLACE VIEW ",
    .quote = "\"",
    .number = "Int64",
    .text = "String",
    .decimal_begin = "Decimal(18, ",
    .decimal_end = ")",
    .find = "position",
    .column = "{name} Nullable({type})",
    .no_column = "{name} Nullable({type})",
    /* It takes the name of a partition for a value, also that of a missing one. */
    .files = "CREATE OR REPLACE VIEW {table}_files AS\n"
             "SELECT * REPLACE (nullIf(host, '__HIVE_DEFAULT_PARTITION__') AS host), _path AS file\n"
             "FROM file('{pattern}', Parquet, '{schema}');\n",
    .no_files = "CREATE OR REPLACE VIEW {table}_files AS\nSELECT *, '' AS file FROM null('{schema}');\n",
    .parts = "SELECT t.*, part, ns FROM {source} t ARRAY JOIN [{names}] AS part, [{values}] AS ns WHERE {known}",
    .sites = "CREATE VIEW IF NOT EXISTS sites AS SELECT '' AS host, '' AS site WHERE 0;\n",
    .views = clickhouse_views,
    .view_count = sizeof(clickhouse_views) / sizeof(*clickhouse_views),
};
