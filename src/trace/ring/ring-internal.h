/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ring-internal.h - the ring's file in shared memory, and the pointer file that names it in the trace directory.
 */
#ifndef SQT_RING_INTERNAL_H
#define SQT_RING_INTERNAL_H

#include "trace/file/error-internal.h"
#include "trace/file/file-internal.h"
#include "trace/sqtrace.h"

#define SQT_RING_PATH_MAX 512

struct sqt_ring {
    struct sqt_ring_header *header; /* NULL: none */
    size_t size;                    /* bytes of the file */
    int fd;                         /* holds the lock */
    int pointer_fd;                 /* holds a lock too: nobody else may judge the ring */
    int ringdir;                    /* descriptor of the directory that it is in */
    char path[SQT_RING_PATH_MAX];
    char pointer[SQT_NAME_MAX]; /* within the trace directory */
};

/* Where a ring belongs. */
struct sqt_place {
    int directory; /* the trace directory */
    const char *directory_path;
    const char *base;    /* of the names */
    const char *ringdir; /* path; nobody but owner and root may remove or rename what is theirs in it */
    uid_t owner;
    int recorder; /* the ring is a flight recorder's */
};

/* Makes a ring for `bytes` of records (a power of two): its pointer file, then the file itself, allocated, touched and
 * locked.  Returns 0, or -1 after filling in error and removing what was made. */
int sqt_ring_create(struct sqt_ring *ring, const struct sqt_place *place, const struct sqt_identity *identity,
                    uint64_t bytes, struct sqt_error *error);

/* The name of a ring's file within its directory.  id: hexadecimal. */
#define SQT_RING_NAME_MAX 64
void sqt_ring_name(char name[SQT_RING_NAME_MAX], const char *id);

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

/* A ring whose process is dead.  Header and text are copied once; records are read from the file when they are needed.
 * Nothing is mapped, so that a file that gets shorter makes a read fail and does no more harm. */
struct sqt_dead_ring {
    struct sqt_ring_header *header; /* the copy, with the text behind it: sqt_ring_text_area() is of use, and
                                     * sqt_ring_records() is not */
    int fd;                         /* the caller's to close */
};

/* Copies the header and the text, and checks that they make sense.  Returns 0; 1 if the ring was never finished, which
 * means that it holds no record; -1 after filling in error, with errno ENOMEM if there is no memory. */
int sqt_dead_ring_read(struct sqt_dead_ring *ring, int fd, struct sqt_error *error);

/* Reads the records from number `first`.  Returns 0, or -1 with errno: ENODATA if the file has become too short. */
int sqt_dead_ring_records(const struct sqt_dead_ring *ring, uint64_t first, size_t count, struct sqt_record *to);

void sqt_dead_ring_free(struct sqt_dead_ring *ring);

#endif
