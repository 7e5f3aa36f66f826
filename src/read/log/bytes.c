/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * bytes.c - see bytes.h.
 */
#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/open.h"

/* Two lines of the greatest length.  64 files may be open beside a trace, so it is not more. */
#define ROOM (2 * SQT_LOG_LINE_MOST)
/* The first lines of the standard input stay in its buffer while it is looked at. */
#define STANDARD_ROOM ((size_t)1 << 20)
#define PACKED_ROOM ((size_t)64 << 10)

static ssize_t
bytes_read(struct sqt_log_bytes *b, void *to, size_t room)
{
    ssize_t n;
    do
        n = read(b->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        b->error = strerror(errno);
    b->read += n > 0 ? (uint64_t)n : 0;
    return n;
}

static void
bytes_spend(struct sqt_log_bytes *b, size_t n)
{
    b->left = b->left > n ? b->left - n : 0;
}

/* Whether more may be read.  If not, it seems to end. */
static int
bytes_may_read(struct sqt_log_bytes *b)
{
    if (b->left)
        return 1;
    b->spent = b->ended = 1;
    return 0;
}

void
sqt_log_bytes_allow(struct sqt_log_bytes *b, uint64_t left)
{
    b->left = left;
    b->ended &= !b->spent;
    b->spent = 0;
}

/* ---- compressed files ---- */

/* zlib takes memory for its window only here. */
static int
bytes_inflate_some(z_stream *z)
{
    const int result = inflate(z, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
        sqt_no_memory();
    return result;
}

/* A log may begin with the letter x, too, as zlib does: so its first bytes are tried. */
static int
bytes_inflate_well(uint8_t *at, size_t size)
{
    uint8_t room[256];
    z_stream z;
    memset(&z, 0, sizeof(z));
    if (inflateInit(&z) != Z_OK)
        sqt_no_memory();
    z.next_in = at;
    z.avail_in = (uInt)size;
    z.next_out = room;
    z.avail_out = sizeof(room);
    const int result = bytes_inflate_some(&z);
    inflateEnd(&z);
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

/* A log begins with letters and digits, and gzip with other bytes. */
static int
is_compressed(uint8_t *at, size_t size)
{
    return size >= 2 && ((at[0] == 0x1f && at[1] == 0x8b) ||
                         (at[0] == 0x78 && ((at[0] << 8) + at[1]) % 31 == 0 && bytes_inflate_well(at, size)));
}

static void
bytes_inflate_begin(struct sqt_log_bytes *b)
{
    z_stream *const z = sqt_zeroed(1, sizeof(*z));
    if (inflateInit2(z, 15 + 32) != Z_OK)
        sqt_no_memory();
    b->inflater = z;
}

/* More compressed bytes; 0: there are none. */
static int
bytes_refill(struct sqt_log_bytes *b)
{
    if (b->packed_begin < b->packed_end)
        return 1;
    if (!bytes_may_read(b))
        return 0;
    const ssize_t n = bytes_read(b, b->packed, PACKED_ROOM);
    b->packed_begin = 0;
    b->packed_end = n > 0 ? (size_t)n : 0;
    bytes_spend(b, b->packed_end); /* they may be nothing when they are decompressed */
    return n > 0;
}

/* Whether another member of a file of gzip follows, as where files were put together. */
static int
bytes_next_member(struct sqt_log_bytes *b)
{
    return bytes_refill(b) && inflateReset2(b->inflater, 15 + 32) == Z_OK && b->packed[b->packed_begin] == 0x1f;
}

static size_t
bytes_inflate(struct sqt_log_bytes *b, char *to, size_t room)
{
    z_stream *const z = b->inflater;
    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)room;
    while (z->avail_out == room && bytes_refill(b)) {
        z->next_in = b->packed + b->packed_begin;
        z->avail_in = (uInt)(b->packed_end - b->packed_begin);
        const int result = bytes_inflate_some(z);
        b->packed_begin = b->packed_end - z->avail_in;
        if (result == Z_STREAM_END) {
            if (!bytes_next_member(b)) {
                b->ended = 1;
                break;
            }
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            b->error = "its compressed bytes are damaged";
            b->ended = 1;
            break;
        }
    }
    if (z->avail_out == room && !b->ended) {
        b->ended = 1;
        if (!b->error)
            b->error = "its compressed bytes end before their end";
    }
    return room - z->avail_out;
}

/* ---- the buffer ---- */

/* More bytes, until the buffer has `room` of them. */
static void
bytes_fill(struct sqt_log_bytes *b, size_t room)
{
    if (!bytes_may_read(b))
        return;
    const ssize_t n = b->inflater ? (ssize_t)bytes_inflate(b, b->buffer + b->end, room - b->end)
                                  : bytes_read(b, b->buffer + b->end, room - b->end);
    if (n > 0) {
        b->end += (size_t)n;
        bytes_spend(b, (size_t)n);
    } else if (!b->inflater)
        b->ended = 1;
}

/* Looks at the first bytes. */
static void
bytes_begin(struct sqt_log_bytes *b)
{
    while (b->end < 2 && !b->ended)
        bytes_fill(b, PACKED_ROOM); /* if it is compressed, they go there */
    if (!is_compressed((uint8_t *)b->buffer, b->end))
        return;
    b->packed = sqt_allocated(PACKED_ROOM);
    memcpy(b->packed, b->buffer, b->end);
    b->packed_end = b->end;
    b->end = 0;
    b->ended = 0;
    bytes_inflate_begin(b);
}

int
sqt_log_bytes_open(struct sqt_log_bytes *b, const char *name, uint64_t *size)
{
    struct stat st;
    memset(b, 0, sizeof(*b));
    *size = 0;
    const int standard = strcmp(name, "-") == 0;
    if (standard)
        b->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    else {
        b->fd = sqt_open_regular(AT_FDCWD, name, O_RDONLY, &st);
        *size = b->fd >= 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    }
    if (b->fd < 0)
        return -1;
    b->room = standard ? STANDARD_ROOM : ROOM;
    b->left = SQT_LOG_GAP_MOST;
    b->buffer = sqt_allocated(b->room + 1);
    bytes_begin(b);
    return 0;
}

/* Room behind what is not handed out yet. */
static void
bytes_move(struct sqt_log_bytes *b)
{
    memmove(b->buffer, b->buffer + b->begin, b->end - b->begin);
    b->end -= b->begin;
    b->begin = 0;
}

/* A line that does not fit is passed over to its end, or as far as it is there. */
static void
bytes_pass_over(struct sqt_log_bytes *b)
{
    const char *newline = NULL;
    b->too_long += !b->cut;
    b->gone += !b->cut;
    do {
        b->begin = b->end = 0;
        bytes_fill(b, b->room);
        newline = memchr(b->buffer, '\n', b->end);
    } while (!newline && !b->ended);
    b->begin = newline ? (size_t)(newline - b->buffer) + 1 : b->end;
    b->cut = !newline;
}

/* Nothing but empty lines is passed over at once, so that it costs no more than other bytes. */
static void
bytes_pass_empty(struct sqt_log_bytes *b)
{
    if (b->cut) /* the first newline is that of the line within which it goes on */
        return;
    for (; b->begin < b->end && b->buffer[b->begin] == '\n'; ++b->begin)
        ++b->number;
}

void
sqt_log_bytes_follow(struct sqt_log_bytes *b, uint64_t size, uint64_t last)
{
    if (b->inflater)
        return;
    b->follow = 1;
    b->ended = 0;
    if (size <= last || lseek(b->fd, (off_t)(size - last), SEEK_SET) < 0)
        return;
    b->read = size - last;
    b->begin = b->end = 0;
    b->cut = 1;
}

int
sqt_log_bytes_line(struct sqt_log_bytes *b, int keep, char **line, size_t *length)
{
    size_t looked = 0;
    for (;;) {
        if (!looked)
            bytes_pass_empty(b);
        char *const from = b->buffer + b->begin;
        const size_t left = b->end - b->begin;
        char *const newline = memchr(from + looked, '\n', left - looked);
        if (newline && (size_t)(newline - from) > SQT_LOG_LINE_MOST) {
            b->too_long += !b->cut;
            b->cut = 0;
            b->begin += (size_t)(newline - from) + 1;
            looked = 0;
            continue;
        }
        if (newline || (b->ended && left && !b->follow && !b->spent)) {
            *line = from;
            *length = newline ? (size_t)(newline - from) : left;
            b->begin += *length + (newline != NULL);
            looked = 0;
            if (b->cut) {
                b->cut = 0;
                continue;
            }
            ++b->number;
            *length -= *length && from[*length - 1] == '\r';
            if (*length)
                return 1;
            continue;
        }
        if (b->ended) {
            b->ended = !b->follow;
            return 0;
        }
        looked = left;
        if (b->end < b->room) {
            bytes_fill(b, b->room);
            continue;
        }
        if (keep && b->begin) /* with nothing in front of it, there is nothing to keep */
            return -1;
        if (left > SQT_LOG_LINE_MOST) {
            bytes_pass_over(b);
            looked = 0;
        }
        bytes_move(b);
    }
}

void
sqt_log_bytes_rewind(struct sqt_log_bytes *b)
{
    b->begin = 0;
    b->number = 0;
    b->too_long = b->gone;
    sqt_log_bytes_allow(b, SQT_LOG_GAP_MOST);
}

void
sqt_log_bytes_close(struct sqt_log_bytes *b)
{
    if (b->inflater)
        inflateEnd(b->inflater);
    free(b->inflater);
    free(b->packed);
    free(b->buffer);
    if (b->fd >= 0)
        close(b->fd);
    memset(b, 0, sizeof(*b));
    b->fd = -1;
}
