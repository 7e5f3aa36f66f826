/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * bytes.h - the bytes of a log file, decompressed if it is compressed by gzip or zlib, line by line.
 */
#ifndef SQT_LOG_BYTES_H
#define SQT_LOG_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* A longer line is passed over. */
#define SQT_LOG_LINE_MOST ((size_t)256 << 10)
/* Bytes that may come without a line, or in empty lines, until sqt_log_bytes_allow() says otherwise. */
#define SQT_LOG_GAP_MOST ((uint64_t)64 << 20)

struct sqt_log_bytes {
    int fd;            /* -1: not open */
    char *buffer;      /* lines */
    size_t room;       /* for them */
    size_t begin, end; /* of what is not handed out yet */
    int ended;
    uint64_t left;   /* bytes that may be read or decompressed */
    int spent;       /* more were needed: it seems to end here */
    uint64_t number; /* of the line that was handed out last, from 1; lines that are too long do not count */
    void *inflater;  /* NULL: it is not compressed */
    uint8_t *packed; /* compressed bytes */
    size_t packed_begin, packed_end;
    uint64_t read;     /* bytes of the file so far */
    uint64_t too_long; /* lines that were passed over */
    int follow;        /* more may come: the end is no end, and what has no newline is no line yet */
    int cut;           /* it goes on within a line */
    uint64_t gone;     /* those of them that were longer than the buffer: they are not there after a rewind */
    const char *error; /* why it ended before its end; a constant, or what strerror() says; NULL: it did not */
};

/* Opens a file, or "-".  Returns 0, or -1 with errno for sqt_open_refusal(). */
int sqt_log_bytes_open(struct sqt_log_bytes *bytes, const char *name, uint64_t *size);

/* Of a file that Squid still writes: from now on only its last bytes come, from the begin of a line, and then what is added.
 * Call it before the first line is asked for; a compressed file is not written any more, and stays as it is. */
void sqt_log_bytes_follow(struct sqt_log_bytes *bytes, uint64_t size, uint64_t last);

/* From now on it reads and decompresses about that number of bytes, and then seems to end, with `spent` 1.  It goes on where it
 * was when more are allowed.  No file, however long, sparse or compressed, takes longer than these bytes. */
void sqt_log_bytes_allow(struct sqt_log_bytes *bytes, uint64_t left);

/* The next line that is not empty, without its newline: 1, or 0 at the end.  It may be written to, also where its newline was, until the next
 * call that has `keep` 0.  With `keep` 1 the lines before stay where they are; -1: there is no room for that, so ask again
 * with 0. */
int sqt_log_bytes_line(struct sqt_log_bytes *bytes, int keep, char **line, size_t *length);

/* The lines that were asked for with `keep` 1 come again, if none was asked for with 0. */
void sqt_log_bytes_rewind(struct sqt_log_bytes *bytes);

void sqt_log_bytes_close(struct sqt_log_bytes *bytes);

#endif
