/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * engine.h - what differs between SQL engines.  Each engine is one file, and nothing of it stands elsewhere.
 *
 * An engine defines the SQL_ macros below, and includes views.def for its array of views:
 *
 *     SQL_MEDIAN(x)        the middle value, or the mean of the two in the middle
 *     SQL_RANK(level, x)   the smallest value that at least this share of all values does not exceed
 *     SQL_LAST(x, by)      x of the row with the largest `by`
 *     SQL_MINUTE(ns)       the minute of a time in nanoseconds since 1970
 *     SQL_HOUR(ns)         its hour
 *     SQL_DAY(ns)          its day
 *     SQL_DATE_OF(file)    the part date=... of a path; the same text for all paths without one
 *     SQL_MERGED_AT(file)  the second since 1970 from which a file of sqtrace-ship --compact counts; small for other files
 *     SQL_NOW              the second when the query began
 *     SQL_NO_TEXT          a missing text
 */
#ifndef SQT_DDL_ENGINE_H
#define SQT_DDL_ENGINE_H

/* How often a view is printed. */
enum sqt_ddl_often {
    SQT_DDL_EACH,   /* for each table: its name is TABLE and this suffix */
    SQT_DDL_UNION,  /* once: the rows of all tables */
    SQT_DDL_ONCE,   /* once */
    SQT_DDL_PARTS,  /* once: a row for each duration of a row of the table that the view's text names */
    SQT_DDL_SCOPES, /* for all hosts, by host, by site; with the number of lost records */
    SQT_DDL_LOST    /* the same, without that number */
};

struct sqt_ddl_view {
    const char *name;
    enum sqt_ddl_often often;
    const char *doc, *sql;
};

struct sqt_ddl_engine {
    const char *name, *title;
    const char *create; /* begins the statement of a view */
    const char *quote;  /* of names */
    const char *number, *text, *decimal_begin, *decimal_end;
    const char *find; /* the function that says where a text has another one */
    /* A column of {schema} below, for a table with and without files.  Words: name, type. */
    const char *column, *no_column;
    /* The view TABLE_files, with and without files.  Words: table, schema, pattern. */
    const char *files, *no_files;
    /* A row becomes as many as there are values.  Words: source, known, names, values. */
    const char *parts;
    const char *sites; /* the view of sites, where nobody made one */
    const struct sqt_ddl_view *views;
    unsigned view_count;
};

extern const struct sqt_ddl_engine sqt_ddl_duckdb, sqt_ddl_clickhouse, sqt_ddl_spark;

#endif
