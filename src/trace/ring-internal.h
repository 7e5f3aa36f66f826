/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring-internal.h - the ring's file in shared memory, and the pointer file that names it in the trace directory.
 */
#ifndef SQT_RING_INTERNAL_H
#define SQT_RING_INTERNAL_H

#include "error-internal.h"
#include "file-internal.h"
#include "sqtrace.h"

#define SQT_RING_TEXT (64u << 10) /* bytes of the text area */
#define SQT_RING_PATH_MAX 512

struct sqt_ring {
    struct sqt_ring_header *header; /* NULL: none */
    size_t size;                    /* bytes of the file */
    int fd;                         /* holds the lock */
    int pointer_fd;                 /* holds a lock too: nobody else may judge the ring */
    char path[SQT_RING_PATH_MAX];
    char pointer[SQT_NAME_MAX];     /* within the trace directory */
};

/* Where a ring belongs. */
struct sqt_place {
    int directory;             /* the trace directory */
    const char *directory_path;
    const char *base;          /* of the names */
    const char *ringdir;
    uid_t owner;
};

/* Makes a ring for `bytes` of records (a power of two): its pointer file, then the file itself, allocated, touched and
 * locked.  Returns 0, or -1 after filling in error and removing what was made. */
int sqt_ring_create(struct sqt_ring *ring, const struct sqt_place *place, const struct sqt_identity *identity,
                    uint64_t bytes, struct sqt_error *error);

/* Writes the magic: everything else in the header is there, and readers may believe it. */
void sqt_ring_finish(struct sqt_ring_header *header);

/* Removes the ring's file, then the pointer. */
void sqt_ring_remove(struct sqt_ring *ring, int directory);

/* Lets go of the ring without removing anything. */
void sqt_ring_release(struct sqt_ring *ring);

/* What a pointer file says. */
struct sqt_pointer {
    char ring[SQT_RING_PATH_MAX];
    char id[33], boot[33]; /* hexadecimal */
};

/* Reads it from the start of fd.  Returns 0, or -1 if it is not a pointer file. */
int sqt_pointer_read(struct sqt_pointer *pointer, int fd);

/* Maps an existing ring's file, read and write, and checks that its header makes sense.  Returns 0 or -1. */
int sqt_ring_map(struct sqt_ring *ring, int fd);

#endif
