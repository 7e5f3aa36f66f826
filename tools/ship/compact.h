/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compact.h - one run of sqtrace-ship --compact.
 *
 * Small files of a ring are copied into one, and removed later.  The name of the new file says from which second on it
 * counts.  Views take it, and leave out the others, from then on; they leave it out before.  It has its name well before
 * that second, and the others stay well after it.  So whatever a query sees of the folder, it counts each row once.
 */
#ifndef SQT_COMPACT_H
#define SQT_COMPACT_H

#include <sys/types.h>

#include "run.h"

/* The first number of a part that is a time. */
#define COMPACT_PART_TIME 1000000000u
/* Row groups of a merged file: their metadata stays in memory.  Each file that is merged has one or more, so no merged file is
 * made of more files. */
#define COMPACT_GROUPS 1024

/* A file of the output. */
struct compact_file {
    struct ship_name is;
    char name[SHIP_NAME_ROOM];
    uint64_t size;
    int64_t changed; /* seconds since 1970 */
    uid_t uid;
    gid_t gid;
    int regular; /* else it only bounds what is merged */
    int gone;
    int looked;    /* compact_rows() was called: 1: `rows` is known; -1: it is not, which was said */
    uint64_t rows; /* of its metadata */
};

struct compact {
    const struct ship_request *request;
    struct program_voice voice;
    struct ship_place place;
    int lock;
    uint64_t merged, made, removed, waiting; /* files */
    uint64_t bytes;                          /* of those that were merged */
    int failed, stop, blind; /* something went wrong; nothing more can be written; the time is not known */
};

/* Seconds since 1970, by the clock that files of the output get their times from; -1 after saying why it is not known. */
int64_t compact_now(struct compact *compact);

/* ---- merge.c ---- */

/* How many files, from the first one on, can be one file; files: `count` of one ring, in the order of their records.  path:
 * of their folder, for messages. */
size_t compact_fitting(struct compact *compact, int folder, const char *path, const struct compact_file *files,
                       size_t count);

/* Makes one file of them, and gives it its name.  Returns 0, or -1 after saying why. */
int compact_merge(struct compact *compact, int folder, const char *path, const struct compact_file *files,
                  size_t count);

/* The names of the files that a file was made of, one after another, each ended by a space, and in *rows its own rows; NULL
 * if it was not made of files, or, after saying so, if it has more names than a merge writes.  For the caller to free. */
char *compact_sources(struct compact *compact, int folder, const char *path, const struct compact_file *file,
                      uint64_t *rows);

/* Reads the rows of a file into file->rows, once.  Returns 0, or -1 if they are not known, after saying why once. */
int compact_rows(struct compact *compact, int folder, const char *path, struct compact_file *file);

#endif
