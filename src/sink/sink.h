/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sink.h - where rows end: formats of output.  A new format is a row in sink.c and a file.
 */
#ifndef SQT_SINK_H
#define SQT_SINK_H

#include "pass/family.h"
#include "../read/stream.h"
#include "otlp/ids.h"
#include "out.h"

struct sqt_sink {
    const struct sqt_sink_type *type;
    struct sqt_out out;
    const struct sqt_table *table;
    const unsigned char *columns; /* those to print, in this order */
    unsigned column_count;
    int no_header, no_comments;
    int headed;                      /* the header row is out */
    uint64_t rows;                   /* printed */
    uint64_t start_ns;               /* wall time of the trace's start */
    struct sqt_tsv_origin **origins; /* of tsv-events.c, by index */
    unsigned origin_count;
    unsigned comments;                        /* of chrome/chrome.c, since the header or before it */
    struct sqt_ctf *ctf;                      /* of ctf.c */
    const struct sqt_otlp_sampling *sampling; /* for otlp.c: which requests it tells of */
    const char *name;                         /* of the output file, for plot/plot.c; NULL: it has none */
    struct sqt_plot *plot;                    /* of plot/plot.c */
    int nothing;                              /* there is nothing to draw */
    /* of aligned.c */
    unsigned width;    /* characters of a line; 0: no bound */
    int columns_given; /* the columns were asked for, so all are shown */
    struct sqt_aligned *aligned;
};

/* Functions that are not needed may be NULL. */
struct sqt_sink_type {
    const char *name;
    const char *doc;
    const char *table;               /* it prints this table only; NULL: all, and figures */
    const struct sqt_family *family; /* takes the place of the table's; NULL: that */
    int directory;                   /* the output is a directory */
    int figures;                     /* it prints figures only */
    int follows;                     /* goes with --follow */
    int sourced;                     /* its family asks where things come from */
    int many;                        /* it takes several tables, by default all whose rows are things; no sink does */
    void (*comment)(struct sqt_sink *sink, const char *key, const char *text);
    void (*header)(struct sqt_sink *sink);
    void (*row)(struct sqt_sink *sink, const union sqt_cell *row);
    /* Prints all records of a run as the rows of `events` with all its columns; NULL: go by row().  Records outside
     * since <= time < until are left out. */
    void (*events)(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until);
    void (*finish)(struct sqt_sink *sink);
};

extern const struct sqt_sink_type sqt_sink_types[];
extern const unsigned sqt_sink_type_count;

/* The header is printed before the first row, and comments that come before that stand above it. */
void sqt_sink_comment(struct sqt_sink *sink, const char *key, const char *text);
int sqt_sink_row(void *sink, const union sqt_cell *row);
int sqt_sink_events(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until);
/* Prints the header if no row has come so far; call it when no more will. */
void sqt_sink_header(struct sqt_sink *sink);
/* Writes what is left. */
void sqt_sink_finish(struct sqt_sink *sink);
void sqt_sink_free(struct sqt_sink *sink);

/* aligned.c */
void sqt_aligned_comment(struct sqt_sink *sink, const char *key, const char *text);
void sqt_aligned_header(struct sqt_sink *sink);
void sqt_aligned_row(struct sqt_sink *sink, const union sqt_cell *row);
void sqt_aligned_finish(struct sqt_sink *sink);

/* chrome/chrome.c */
extern const struct sqt_family sqt_chrome_family;
void sqt_chrome_comment(struct sqt_sink *sink, const char *key, const char *text);
void sqt_chrome_header(struct sqt_sink *sink);
void sqt_chrome_finish(struct sqt_sink *sink);

/* ctf.c */
void sqt_ctf_events(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until);
void sqt_ctf_finish(struct sqt_sink *sink);

/* json-rows.c */
void sqt_json_comment(struct sqt_sink *sink, const char *key, const char *text);
void sqt_json_row(struct sqt_sink *sink, const union sqt_cell *row);

/* paragraphs.c */
/* Whether sqt_aligned_row() prints paragraphs in place of a table. */
int sqt_paragraphs_wanted(const struct sqt_sink *sink);
void sqt_paragraphs_row(struct sqt_sink *sink, const union sqt_cell *row);

/* otlp.c */
extern const struct sqt_family sqt_otlp_family;

/* plot/plot.c */
void sqt_plot_comment(struct sqt_sink *sink, const char *key, const char *text);
void sqt_plot_header(struct sqt_sink *sink);
void sqt_plot_row(struct sqt_sink *sink, const union sqt_cell *row);
void sqt_plot_finish(struct sqt_sink *sink);

/* tsv.c, tsv-events.c */
void sqt_tsv_comment(struct sqt_sink *sink, const char *key, const char *text);
void sqt_tsv_header(struct sqt_sink *sink);
void sqt_tsv_row(struct sqt_sink *sink, const union sqt_cell *row);
void sqt_tsv_events(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until);

#endif
