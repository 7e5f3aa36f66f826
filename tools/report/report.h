/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report.h - what the files of sqtrace-report share.
 *
 *   sqtrace-report.c     main: the command line, signals
 *   make.c               the steps from there to a folder
 *   lines.c              lines of text
 *   options.c            the command line
 *   folder.c             the folder: made beside its place, moved there when it is whole
 *   read.c               one pass over each trace: series, sections of requests, what was configured
 *   draw.c               gnuplot
 *   overlay.c            a script for a figure with a curve for each trace
 *   words.c              numbers and sentences
 *   compare.c            differences between traces
 *   verdict.c            whether a change was good, over all requests
 *   page/                fragments of HTML with values and files put in
 *   index.c              index.html
 *   figures.c            its figures
 *   icicle.c             all time as a tree
 *   differences.c        the section that compares traces
 *   charts.c             the series of figures that the page draws itself
 *   links.c              from what the page says to the requests behind it
 */
#ifndef SQT_REPORT_H
#define SQT_REPORT_H

#include <signal.h>
#include <stdio.h>

#include "pass/pass.h"
#include "browse/browse.h"
#include "figure/stat/sections.h"
#include "model/class.h"
#include "../program/account.h"
#include "../program/moment.h"
#include "../program/options.h"
#include "../program/voice.h"
#include "../program/window.h"

enum report_status { REPORT_DONE = 0, REPORT_FAILED = 1, REPORT_USAGE = 2, REPORT_PARTLY = 3 };

enum report_option {
#define REPORT_OPTION(id, name, letter, value, doc) REPORT_##id,
#include "options.def"
    REPORT_OPTIONS
};
extern const struct option_info report_option_infos[REPORT_OPTIONS];

/* ---- lines of text ---- */

struct lines {
    char **text;
    size_t count;
};
void lines_add(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same unless the line is there. */
void lines_add_new(struct lines *lines, const char *text);
void lines_free(struct lines *lines);

/* ---- what is asked for ---- */

#define REPORT_TRACES 8

struct report;
struct report_trace;

/* What gnuplot draws: wide, and narrow for phones. */
struct picture {
    char file[128];   /* FILE.svg, FILE.narrow.svg, FILE.tsv; within the folder of figures */
    char script[128]; /* SCRIPT.gp */
    int wanted, drawn;
    char *trouble;                /* why there is none; NULL: there is one */
    unsigned width[2], height[2]; /* wide, narrow */
};

/* A figure, or a table that the report shows, of one trace. */
struct series {
    struct sqt_sink sink; /* first; the context of its job */
    const struct sqt_table *table;
    struct report_trace *trace;
    struct lines notes;      /* "key: text" */
    unsigned char seen[256]; /* columns that have a value other than 0 */
    struct picture picture;
};

/* Traces under one label. */
struct report_trace {
    struct report *report;
    const char *label; /* "" if it is the only one */
    const char **paths;
    size_t path_count;
    int of_log;        /* the paths are those of an access.log */
    const char **logs; /* beside them */
    size_t log_count;

    /* what report_read() finds */
    char *log_format;     /* of a log; else NULL */
    uint64_t log_lines;   /* that were understood */
    uint64_t start_ns;    /* wall time */
    int64_t since, until; /* ns, what the options mean in this trace */
    struct program_window window;
    int64_t length; /* ns */
    uint64_t records;
    unsigned problems;
    struct account account;
    struct lines damage; /* what the reader said */
    struct lines squids, processes, dirs, groups, rings;
    uint64_t requests, left_out;
    struct sqt_distributions set;
    struct sqt_sections classes[SQT_CLASSES];
    struct report_whole *whole; /* all requests: verdict.c */
    struct lines findings;      /* what takes more time than it should, and what to do: a line each */
    struct lines behind;        /* for each of them: the filter of its requests */
    char *first;                /* the first of them without what to do; NULL: nothing takes more than it should */
    struct lines disks;         /* sentences on cache_dirs */
    int64_t disk_shares[3];     /* queue, service, notice of the cache_dir that `summary` is at */
    struct lines broken, unusual, held; /* sentences on what does not hold, on what is worth a look, and on the rest */
    struct browse *browse;              /* while it is read */
    struct browse_counts browsed;       /* of the requests that the page has */
    struct series *series;              /* one for each figure, in the report's order */
};

struct report {
    const char *given[REPORT_OPTIONS];
    const char **words;
    const char **logs; /* values of --access-log */
    struct report_trace traces[REPORT_TRACES];
    size_t trace_count;
    const struct sqt_table **figures;
    size_t figure_count;
    struct moment since, until;
    struct program_window window; /* what --lookback says */
    int64_t group, peak;          /* ns */
    int64_t kid;                  /* -1: all */
    int of_log;                   /* there is no trace: all is from access.log */

    char *folder;        /* what it is to be called; with --single-file, the file */
    char *making;        /* the folder that is made meanwhile */
    char *plots, *pages; /* where scripts and templates are */
    struct program_voice voice;
    unsigned undrawn;         /* figures that gnuplot could not draw */
    int full;                 /* a picture could not be written */
    struct picture *compared; /* one for each figure, with a curve for each trace; NULL with one trace */
};

/* The program was asked to end. */
extern volatile sig_atomic_t report_stop;

/* What it says on the standard error: see voice.h. */
#define report_fail(report, ...) program_fail(&(report)->voice, __VA_ARGS__)
#define report_say(report, ...) program_say(&(report)->voice, __VA_ARGS__)
#define report_progress(report, ...) program_progress(&(report)->voice, __VA_ARGS__)

/* ---- the steps; each that returns an int returns 0, or -1 after a line on the standard error ---- */

/* report: zeroed.  Returns 0, or -1 with one line in error.  Call report_free() in either case. */
int report_parse(struct report *report, int argc, char **argv, char *error, size_t error_size);
/* All steps below, of a report that was parsed and has a voice.  Unless all succeed, nothing is left behind. */
enum report_status report_make(struct report *report);
void report_free(struct report *report);
void report_help(FILE *to);
int report_find_data(struct report *report);
int report_find_gnuplot(struct report *report);
int folder_begin(struct report *report);
int report_read(struct report *report, struct report_trace *trace);
int report_draw(struct report *report);
/* Writes the script that draws a figure with a curve for each trace; sets picture->wanted if there is something to
 * draw. */
int report_overlay(struct report *report, size_t figure, struct picture *picture);
int report_index(struct report *report);
int folder_commit(struct report *report);
/* Whether the page is one file, and not a folder. */
int report_is_single(const struct report *report);
/* Leaves nothing behind. */
void folder_abandon(struct report *report);

/* Titles of the tables that a report shows beside the figures; NULL: it does not. */
extern const char *const report_tables[SQT_TABLES];

/* The title of a figure, and what it shows. */
const char *figure_title(const struct sqt_table *figure);
const char *figure_caption(const struct sqt_table *figure);

/* making/NAME, to be freed. */
char *folder_path(const struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Copies a file into the new folder. */
int folder_copy(struct report *report, const char *from, const char *to);

/* ---- words ---- */

/* Of so many values a percentile is told. */
enum report_least {
#define REPORT_LEAST(id, percentile, name, values) LEAST_##id = (values),
#include "least.def"
};
/* Of how many values the percentile in a column's name, as in "swap_in_p90_ms", is told; 0: it names none. */
uint64_t words_least(const char *column);

#define WORDS_ROOM 32
/* Three significant digits and a unit: "23.1 ms"; "+1.20 s" with a sign. */
const char *words_time(double ns, char text[WORDS_ROOM]);
const char *words_difference(double ns, char text[WORDS_ROOM]);
/* "61 %"; below 10 one decimal; "under 0.1 %". */
const char *words_share(double share, char text[WORDS_ROOM]);
/* A class of requests: "Hits from disk"; in a sentence: "hits from disk". */
const char *words_class(enum sqt_class class);
/* What a part of a request's time is: "waiting for the server"; in a label: "server wait". */
const char *words_part(unsigned part);
const char *words_part_name(unsigned part);

/* Where the time goes: of all requests together, and of a class.  To be freed. */
char *words_lead(const struct report_trace *trace);
char *words_of_class(const struct report_trace *trace, enum sqt_class class);

/* Takes the rows of `summary` in turn, and adds a sentence for each cache_dir. */
void words_of_disk(struct report_trace *trace, const union sqt_cell *summary_row);

/* Parts by size, the largest first. */
void words_order(const uint64_t parts[SQT_PARTS], unsigned order[SQT_PARTS]);

#endif
