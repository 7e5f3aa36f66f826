/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * files.h - which files a log has: names, patterns and folders, and a look at the first lines of each.
 */
#ifndef SQT_LOG_FILES_H
#define SQT_LOG_FILES_H

#include "bytes.h"
#include "format.h"
#include "read/file/diagnose.h"
#include "read/logged.h"

/* Files that are read.  All of them are opened to look at their first lines. */
#define SQT_LOG_FILES_MOST ((size_t)4096)
/* Lines at the begin of a file that are looked at. */
#define SQT_LOG_LOOKED_AT 4096
/* Bytes, decompressed, in which they are looked for: the lines of most logs are shorter than 1 KiB. */
#define SQT_LOG_LOOKED_BYTES ((uint64_t)4 << 20)
/* A line that is farther from those beside it is damaged, ns. */
#define SQT_LOG_FAR (INT64_C(366) * 86400 * 1000000000)

struct sqt_log_file {
    char *name;
    uint64_t size;
    int64_t kid;      /* that stands in its name; SQT_LOG_UNKNOWN: none does */
    int64_t first_at; /* when its first line was written that is not damaged; INT64_MAX: no line is of the format */
    int64_t begin;    /* the earliest begin of those that were looked at */
    uint64_t looked_at, understood, bytes; /* lines, lines of the format, and their bytes */
    /* Lines whose transaction, and that of the line before, are in the order of begins, and those that are not. */
    uint64_t in_order, disordered;
    /* Lines whose kid and transaction can be that, and those of which one cannot be. */
    uint64_t joins, no_join;
};

struct sqt_log_files {
    struct sqt_log_file *files;
    size_t count;
    int told;                      /* that there are too many; said once */
    int kids;                      /* some have one */
    struct sqt_log_bytes standard; /* the standard input, which is read once only */
    int standard_open;
};

/* Finds the files.  Those that cannot be opened are reported and left out.  Returns 0, or -1 if there is none. */
int sqt_log_files_find(struct sqt_log_files *files, const struct sqt_log_request *request,
                       struct sqt_diagnostics *diagnostics);

/* Opens one.  Returns 0, or -1 after a report. */
int sqt_log_files_open(struct sqt_log_files *files, struct sqt_log_file *file, struct sqt_log_bytes *bytes,
                       struct sqt_diagnostics *diagnostics);

/* Looks at the first lines of each, and puts the files in the order of their first lines. */
void sqt_log_files_order(struct sqt_log_files *files, const struct sqt_log_format *format,
                         struct sqt_diagnostics *diagnostics);

/* Whether a line may be a neighbour of one of that time.  A damaged line may have any time. */
static inline int
sqt_log_is_near(int64_t at, int64_t other)
{
    return at >= other - SQT_LOG_FAR && at <= other + SQT_LOG_FAR;
}
/* The first of some times that the one behind it is near to; 0: none is. */
size_t sqt_log_first_near(const int64_t *times, size_t count);

/* How many of the first lines of a file are of a format. */
uint64_t sqt_log_files_try(struct sqt_log_files *files, struct sqt_log_file *file, const struct sqt_log_format *format,
                           struct sqt_diagnostics *diagnostics);

/* Whether what stands for kids and transactions in a file that was tried can be that: Squid counts transactions, so those that
 * begin later have larger numbers. */
int sqt_log_file_may_join(const struct sqt_log_file *file);

void sqt_log_files_free(struct sqt_log_files *files);

#endif
