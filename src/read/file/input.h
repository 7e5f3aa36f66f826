/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * input.h - a window that moves over a file.
 *
 * Files are read, not mapped: a flusher that runs out of disk cuts its file back to the last whole block, and a
 * reader that had mapped it would die of SIGBUS.  It also keeps memory bounded whatever the file's size.
 */
#ifndef SQT_INPUT_H
#define SQT_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct sqt_input {
    int fd;          /* -1: not open */
    int own_fd;      /* close it at the end */
    uint8_t *window; /* bytes at `offset` of the file */
    size_t used, room;
    uint64_t offset;
    uint64_t end;  /* nothing is read from here on */
    int error;     /* errno of a failed read; it counts as the end of the file */
    uint64_t size; /* where the file ended when that was found out; UINT64_MAX: not yet */
    struct {
        int64_t size, seconds, ns;
    } seen; /* the file's, when it was read first after all was forgotten */
};

void sqt_input_init(struct sqt_input *input, int fd, int own_fd, uint64_t end);
void sqt_input_close(struct sqt_input *input);

/* Bytes at offset: at least `want` of them unless the file ends before; *got says how many there are.  NULL if there
 * are none.  Valid until the next call. */
const uint8_t *sqt_input_at(struct sqt_input *input, uint64_t offset, size_t want, size_t *got);

/* Where bytes of the file itself begin, at or after offset: behind a hole, or where nothing is read from here on. */
uint64_t sqt_input_data(const struct sqt_input *input, uint64_t offset);

/* Whether a hole of the file lies in those bytes. */
int sqt_input_has_hole(const struct sqt_input *input, uint64_t offset, uint64_t size);

/* Whether the file may be another one than what was read of it: it was written to since, or a moment ago. */
int sqt_input_changed(const struct sqt_input *input);

/* The same as sqt_input_refresh(), and gives the window back. */
void sqt_input_rest(struct sqt_input *input);

/* Forgets what was read, so that a file that grew or changed is seen as it is now. */
void sqt_input_refresh(struct sqt_input *input);

#endif
