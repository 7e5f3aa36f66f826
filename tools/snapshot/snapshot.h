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
    int64_t keep; /* snapshots; 0: any number */
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
    const char *name; /* of the folder */
    int folder;       /* descriptor, locked; -1: not open */
    int made;         /* descriptor of the folder SNAPSHOT_MAKING in it; -1: not open */
    unsigned files;
    uint64_t bytes;
};
#define SNAPSHOT_MAKING ".sqtrace-snapshot"

/* Opens the folder, locks it, and removes what a killed run left.  Returns 0, or -1 after saying why. */
int snapshot_out_open(struct snapshot_out *out);
/* How many snapshots the folder has. */
int64_t snapshot_out_count(const struct snapshot_out *out);
/* Makes the folder for a new one.  Returns 0, or -1 after saying why. */
int snapshot_out_begin(struct snapshot_out *out);
/* Gives it its name, which is by that time, ns since 1970, and is put into name.  Returns 0, or -1 after saying why. */
int snapshot_out_publish(struct snapshot_out *out, int64_t at, char name[64]);
/* Removes what was not published, and closes. */
void snapshot_out_close(struct snapshot_out *out);
/* A new file in the snapshot.  Returns its descriptor, or -1 with errno. */
int snapshot_out_create(struct snapshot_out *out, const char *name);
/* Writes all bytes at an offset.  Returns 0, or -1 with errno. */
int snapshot_out_write(int fd, const void *bytes, size_t size, uint64_t at);

/* ---- ring.c ---- */

/* Copies the rings that the directory names.  Returns 0, or -1 after saying why. */
int snapshot_rings(struct snapshot_out *out, const char *directory);

/* ---- take.c ---- */

/* Makes one snapshot.  Returns enum snapshot_status. */
enum snapshot_status snapshot_take(const struct snapshot_request *request);

#endif
