/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * log-internal.h - a log, between the files that choose its format and read its lines.
 */
#ifndef SQT_LOG_INTERNAL_H
#define SQT_LOG_INTERNAL_H

#include "files.h"
#include "line.h"
#include "log.h"

/* A host name has no more letters. */
#define HOST_MOST 256
/* Files that are open at a time: those of several kids, or of one that is rotated. */
#define OPEN_MOST 64

/* A file that is open, and its next line. */
struct log_reader {
    const struct sqt_log_file *file;
    struct sqt_log_bytes bytes;
    struct sqt_log_slice slices[SQT_LOG_FIELDS];
    struct sqt_logged next;
    int64_t near;   /* ns: when the line before it was written; 0: not known */
    int64_t far;    /* ns: the time of the last line that seemed damaged because of it */
    int has;        /* there is a next line */
    int used;       /* lines of it are in the batch, so their texts stay */
    int ended;      /* there are no more */
    int64_t looked; /* when it was looked last whether another file has its name, ns of CLOCK_MONOTONIC */
};

struct sqt_log {
    struct sqt_diagnostics *diagnostics;
    struct sqt_log_files files;
    size_t next_file;
    struct sqt_log_format format;
    struct sqt_log_names names;
    struct log_reader *readers[OPEN_MOST];
    size_t reader_count;
    struct sqt_logged batch[SQT_LOG_BATCH];
    char hosts[SQT_LOG_BATCH][HOST_MOST];
    struct sqt_log_account account;
    uint64_t shown;
    int follow; /* Squid still writes it */
};

/* followed.c: of a file that Squid still writes, from where on lines are read. */
void sqt_log_followed_begin(struct log_reader *reader);
/* From a new batch on: bytes that are read of it for the batch, of which one line at least comes, unless there is none. */
void sqt_log_followed_allow(struct log_reader *reader, size_t readers);
/* Where they did not contain a line: goes on near the end of the file, if that is far.  Returns how many bytes it skipped. */
uint64_t sqt_log_followed_skip(struct log_reader *reader);
/* At its end: opens the file anew if another one has its name, or it was cut off.  Returns whether it did. */
int sqt_log_followed_again(struct log_reader *reader);

/* choose.c: finds its format, by a name, a logformat, a squid.conf, or from its lines; NULL: from them.  Returns 0, or -1 after
 * reporting why not. */
int sqt_log_choose(struct sqt_log *log, const char *wanted);

/* Whether lines are of that format, which says what is known of them.  Returns 0, or -1 after reporting. */
int sqt_log_check(struct sqt_log *log);

#endif
