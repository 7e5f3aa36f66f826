/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * snapshot.h - what the files of sqtrace-snapshot share.
 */
#ifndef SQT_SNAPSHOT_H
#define SQT_SNAPSHOT_H

#include <stdio.h>

#include "../program/moment.h"
#include "../program/options.h"
#include "../program/voice.h"

enum snapshot_status { SNAPSHOT_DONE = 0, SNAPSHOT_FAILED = 1, SNAPSHOT_USAGE = 2 };

enum snapshot_option {
#define SNAPSHOT_OPTION(id, name, letter, value, doc) SNAPSHOT_##id,
#include "options.def"
    SNAPSHOT_OPTIONS
};

extern const struct option_info snapshot_option_infos[SNAPSHOT_OPTIONS];

/* What the command line says. */
struct snapshot_request {
    const char *given[SNAPSHOT_OPTIONS]; /* value of each option; "" if it stands alone, NULL if not given */
    const char **directories;            /* one; snapshot_request_free() frees the array */
    struct moment since, until;
    const char **when;            /* conditions; snapshot_request_free() frees the array */
    size_t when_count;            /* 0: one snapshot is made by hand */
    int64_t before, after, every; /* ns */
    int64_t keep;                 /* snapshots; 0: any number */
    int64_t total;                /* bytes; 0: any number */
};

/* Returns 0, or -1 with a line in error.  Call snapshot_request_free() in either case. */
int snapshot_parse(struct snapshot_request *request, int argc, char **argv, char *error, size_t error_size);
void snapshot_request_free(struct snapshot_request *request);
/* Prints a summary of the options. */
void snapshot_help(FILE *to);

/* ---- out.c: the folder of snapshots ---- */

/* The folder, and the snapshot that is being made in it. */
struct snapshot_out {
    struct program_voice voice;
    const char *name;     /* of the folder */
    int folder;           /* descriptor, locked; -1: not open */
    int made;             /* descriptor of the folder SNAPSHOT_MAKING in it; -1: not open */
    int64_t room;         /* bytes that may still be written */
    int full;             /* more was to be written than that */
    int64_t files, bytes; /* of what was published; room on the disk, also of links */
};
#define SNAPSHOT_MAKING ".sqtrace-snapshot"

/* Opens the folder, which must be of this user or of root, locks it, and removes what a killed run left.  Returns 0, or -1
 * after saying why. */
int snapshot_out_open(struct snapshot_out *out);
/* How many snapshots the folder has, and their bytes.  A file that is in several counts once in each.  Returns 0, or -1 after
 * saying why. */
int snapshot_out_count(struct snapshot_out *out, int64_t *count, int64_t *bytes);
/* Makes the folder for a new one.  Returns 0, or -1 after saying why. */
int snapshot_out_begin(struct snapshot_out *out);
/* Gives it its name, if it has files, which is by that time, ns since 1970, and is put into name.  Returns 0, or -1 after saying why. */
int snapshot_out_publish(struct snapshot_out *out, int64_t at, char name[64]);
/* Removes what was not published, and closes. */
void snapshot_out_close(struct snapshot_out *out);
/* A new file in the snapshot.  Those may read it who may read the file `like`, a descriptor.  Returns its descriptor, or -1
 * with errno. */
int snapshot_out_create(struct snapshot_out *out, const char *name, int like);
/* Closes such a file when its bytes are on the disk.  Returns 0, or -1 with errno. */
int snapshot_out_finish(int fd);
/* Writes all bytes at an offset.  Returns 0, or -1 with errno, EDQUOT if out->room is too little. */
int snapshot_out_write(struct snapshot_out *out, int fd, const void *bytes, size_t size, uint64_t at);
/* Says why a file of the snapshot could not be made.  Returns -1. */
int snapshot_out_fail(struct snapshot_out *out, const char *name, int error);

/* ---- ring.c ---- */

/* Copies the rings that the directory names.  Returns 0, or -1 after saying why. */
int snapshot_rings(struct snapshot_out *out, const char *directory);

/* ---- take.c ---- */

/* Why a snapshot is made: ends the line that tells of it. */
struct snapshot_reason {
    const char *why;  /* "" if a person asked for it */
    const char *hint; /* options of sqtrace-dump that show it */
};

/* Makes one snapshot, of since until until.  Returns enum snapshot_status. */
enum snapshot_status snapshot_take(const struct snapshot_request *request, const struct snapshot_reason *reason);

/* ---- condition.c ---- */

/* What --when asks for. */
enum snapshot_kind { SNAPSHOT_REQUEST, SNAPSHOT_STALL, SNAPSHOT_LOST };
struct sqt_where;
struct snapshot_condition {
    const char *text;
    enum snapshot_kind kind;
    int64_t longer;          /* of a stall: a pass that works longer than so many ns */
    struct sqt_where *where; /* of a request; snapshot_condition_free() frees it */
};

/* Reads a condition.  The text must last as long.  Returns 0, or -1 with a line in error. */
int snapshot_condition_parse(struct snapshot_condition *condition, const char *text, char *error, size_t error_size);
void snapshot_condition_free(struct snapshot_condition *condition);

/* ---- watch.c ---- */

/* Makes snapshots until SIGINT or SIGTERM.  Returns enum snapshot_status. */
enum snapshot_status snapshot_watch(const struct snapshot_request *request);

#endif
