/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * words.c - see words.h.
 */
#include "words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int
sqt_words_read(int fd, void *to, size_t size, uint64_t offset)
{
    for (char *p = to; size;) {
        const ssize_t n = pread(fd, p, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : ENODATA;
            return -1;
        }
        p += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the kernel's loads, too, come before those of the next call */
    return 0;
}

/* ---- one reading ---- */

struct reading {
    struct sqt_ring_writer writer;
    uint64_t tail;
};

static int
words_read_once(int fd, struct reading *r)
{
    struct {
        struct sqt_ring_writer writer;
        uint8_t between[offsetof(struct sqt_ring_header, flusher) - offsetof(struct sqt_ring_header, writer) -
                        sizeof(struct sqt_ring_writer)];
        uint64_t tail;
    } bytes;
    if (sqt_words_read(fd, &bytes, sizeof(bytes), offsetof(struct sqt_ring_header, writer)) != 0)
        return -1;
    r->writer = bytes.writer;
    r->tail = bytes.tail;
    return 0;
}

/* ---- what several readings prove ---- */

static int
words_are_equal(const struct reading *a, const struct reading *b)
{
    return memcmp(&a->writer, &b->writer, sizeof(a->writer)) == 0 && a->tail == b->tail;
}

static int
same_upper_half(uint64_t a, uint64_t b)
{
    return (a ^ b) >> 32 == 0;
}

/* Whether r[0] to r[4] prove what the picture in words.h says. */
static int
words_are_bracketed(const struct reading *r)
{
    return r[0].writer.episodes == r[4].writer.episodes && same_upper_half(r[0].tail, r[2].tail) &&
           same_upper_half(r[1].writer.head, r[3].writer.head) && same_upper_half(r[2].writer.lost, r[4].writer.lost) &&
           same_upper_half(r[2].writer.text_used, r[4].writer.text_used) && same_upper_half(r[2].tail, r[4].tail);
}

/* The account of a header that stands still. */
static void
words_account(struct sqt_words *words, const struct sqt_ring_writer *writer, uint64_t ticks_per_second)
{
    struct sqt_ring_header still;
    still.writer = *writer;
    still.identity.ticks_per_second = ticks_per_second;
    memset(&words->totals, 0, sizeof(words->totals));
    sqt_ring_totals(&still, &words->totals);
}

static void
words_take_equal(struct sqt_words *words, const struct reading *r, uint64_t ticks_per_second)
{
    words_account(words, &r->writer, ticks_per_second);
    words->tail = words->tail_now = r->tail;
    words->text_used = r->writer.text_used;
}

static void
words_take_bracketed(struct sqt_words *words, const struct reading *r, uint64_t ticks_per_second)
{
    struct sqt_ring_writer writer = r[2].writer;
    writer.episodes = r[0].writer.episodes;
    writer.lost = r[3].writer.lost;
    words_account(words, &writer, ticks_per_second);
    words->tail = r[1].tail;
    words->tail_now = r[3].tail;
    words->text_used = r[3].writer.text_used;
}

int
sqt_words_take(int fd, struct sqt_words *words, uint64_t ticks_per_second)
{
    struct reading r[SQT_WORDS_TRIES];
    for (unsigned n = 0; n < SQT_WORDS_TRIES; ++n) {
        if (words_read_once(fd, &r[n]) != 0)
            return -1;
        if (n >= 1 && words_are_equal(&r[n - 1], &r[n])) {
            words_take_equal(words, &r[n], ticks_per_second);
            return 0;
        }
        if (n >= 4 && words_are_bracketed(&r[n - 4])) {
            words_take_bracketed(words, &r[n - 4], ticks_per_second);
            return 0;
        }
    }
    errno = EAGAIN;
    return -1;
}

int
sqt_words_agree(int fd, void *to, size_t size, uint64_t offset)
{
    uint64_t again[8];
    if (sqt_words_read(fd, to, size, offset) != 0)
        return -1;
    for (unsigned n = 1; n < SQT_WORDS_TRIES; ++n) {
        if (sqt_words_read(fd, again, size, offset) != 0)
            return -1;
        if (memcmp(to, again, size) == 0)
            return 0;
        memcpy(to, again, size);
    }
    errno = EAGAIN;
    return -1;
}
