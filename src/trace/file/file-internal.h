/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * file-internal.h - files that are made with care: new, no link followed, of the right owner.
 */
#ifndef SQT_FILE_INTERNAL_H
#define SQT_FILE_INTERNAL_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Creates a file in directory that belongs to owner, and opens it with flags (O_WRONLY or O_RDWR).  Squid becomes
 * root for moments, in all threads at once, so a file may come out with the wrong owner: it is removed and made
 * again, for 0.2 s at most.  Returns a descriptor, or -1 with errno: EPERM if each came out so. */
int sqt_create_owned(int directory, const char *name, int flags, mode_t mode, uid_t owner);

/* What to say of the errno that sqt_create_owned() left, before the calling thread calls it again: as strerror(), but with
 * the owner that the file got and the one that it should have got. */
const char *sqt_create_error(int cause);

/* Writes it all.  Returns 0, or -1 with errno after an error or a short write (ENOSPC then). */
int sqt_write_all(int fd, const void *data, size_t size);

/* A write lock on the whole file, held until its last descriptor is closed, whoever dies.  Returns 0, or -1 with
 * errno: EAGAIN if another holds it, anything else if there are no locks here. */
int sqt_lock(int fd);

/* The same with a read lock, which other read locks do not prevent. */
int sqt_lock_shared(int fd);

/* The same with a write lock on one byte, which the file need not have. */
int sqt_lock_byte(int fd, off_t at);

/* Whether another descriptor holds a write lock: 1 or 0, or -1 if there are no locks here.  Takes none itself.  Whoever
 * may read a file may hold a read lock on it, which says nothing. */
int sqt_is_locked(int fd);

/* Whether the name in directory leads to the file that is open as fd, and not through a link. */
int sqt_same_file(int directory, const char *name, int fd);

/* Opens the list of the names in a directory; the caller closes it with closedir().  NULL, with errno, if it cannot. */
DIR *sqt_open_list(int directory);

/* ---- names in a trace directory: <service>.<kid>.<yyyymmddThhmmssZ>.<8 hex>.<sequence>.sqt ---- */

#define SQT_BASE_MAX 96  /* all before the sequence */
#define SQT_NAME_MAX 128 /* all */
#define SQT_POINTER_SUFFIX ".ring"
#define SQT_SEGMENT_SUFFIX ".sqt"
#define SQT_KEY_FILE "sqtrace.key" /* of mode 0600: nobody but Squid's user and root can open it */

struct sqt_name {
    char base[SQT_BASE_MAX];
    char service[32];
    uint32_t kid;
    uint64_t sequence; /* of a segment */
    enum { SQT_NAME_FOREIGN, SQT_NAME_POINTER, SQT_NAME_SEGMENT, SQT_NAME_DRAFT } kind;
};

/* Makes the base for a ring id and a start time (nanoseconds since the epoch). */
void sqt_base_name(char base[SQT_BASE_MAX], const char *service, uint32_t kid, uint64_t start_ns,
                   const uint8_t ring_id[16]);
void sqt_segment_name(char name[SQT_NAME_MAX], const char *base, uint64_t sequence);
void sqt_pointer_name(char name[SQT_NAME_MAX], const char *base);

/* What a name says; kind SQT_NAME_FOREIGN if it is none of these. */
void sqt_name_parse(struct sqt_name *parsed, const char *name);

/* Names a file that is not whole yet; the final name comes by rename. */
#define SQT_DRAFT_SUFFIX ".new"

void sqt_hex(char *out, const uint8_t *bytes, size_t count);

#endif
