/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * segment.c - see segment.h.
 */
#define _GNU_SOURCE
#include "segment.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "format/compress.h"
#include "clock.h"

/* Larger headers are not expected even of later versions. */
#define HEADER_MAX 4096u

/* Once frames of so many bytes were wrong, sums are kept.  Before that a frame's bytes are just read. */
#define WASTE_MAX SQT_FRAME_MAX

/* Zeros that a copy has as a hole may be part of a frame.  But large frames of a file that are mostly holes would take long to
 * read and no room on the disk, so after so many of their bytes they are none. */
#define LARGE (64u << 10)
#define HOLLOW_MAX (32u << 20)

static uint32_t
header_crc(const uint8_t *bytes, const struct sqt_segment_header *h)
{
    struct sqt_segment_header copy = *h;
    copy.crc = 0;
    uLong crc = crc32(0, (const Bytef *)&copy, sizeof(copy));
    return (uint32_t)crc32(crc, bytes + sizeof(copy), (uInt)(h->header_size - sizeof(copy)));
}

enum sqt_header_state
sqt_segment_header_check(const uint8_t *bytes, size_t got, const char *name, uint64_t offset,
                         struct sqt_diagnostics *diagnostics, struct sqt_segment_header *h)
{
    if (got < sizeof(*h)) {
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: offset %" PRIu64 ": ends in the middle of the header", name, offset);
        return SQT_HEADER_REFUSED;
    }
    memcpy(h, bytes, sizeof(*h));

    const int whole = h->header_size >= sizeof(*h) && h->header_size <= HEADER_MAX && h->header_size <= got;
    int good = whole && header_crc(bytes, h) == h->crc;
    if (!good) {
        /* The words that decide whether it is read at all may be what is damaged. */
        struct sqt_segment_header guess = *h;
        memcpy(guess.magic, SQT_SEGMENT_MAGIC, sizeof(guess.magic));
        guess.version = SQT_VERSION;
        guess.header_size = sizeof(guess);
        if (header_crc(bytes, &guess) == h->crc) {
            *h = guess;
            good = -1;
        }
    }
    if (h->version > SQT_VERSION) {
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: written by a newer sqtrace (format %" PRIu32 ", this reads %d)", name,
                     h->version, SQT_VERSION);
        return SQT_HEADER_REFUSED;
    }
    if (good && (h->incompatible & ~SQT_NEEDS_KNOWN)) {
        sqt_diagnose(diagnostics, SQT_ERROR,
                     "%s: written by a newer sqtrace (it needs features 0x%" PRIx32 " that this does not know)", name,
                     h->incompatible & ~SQT_NEEDS_KNOWN);
        return SQT_HEADER_REFUSED;
    }
    if (good && (h->incompatible & SQT_NEEDS_ZSTD) && !sqt_compression_is_known(SQT_COMPRESSION_ZSTD)) {
        sqt_diagnose(diagnostics, SQT_ERROR,
                     "%s: compressed with zstd, and this program was built without it; install "
                     "libzstd-dev and build sqtrace again",
                     name);
        return SQT_HEADER_REFUSED;
    }
    if (good == 1) {
        if (sqt_clock_makes_sense(&h->identity))
            return SQT_HEADER_GOOD;
        sqt_diagnose(diagnostics, SQT_ERROR, "%s: offset %" PRIu64 ": the header's clock is impossible", name, offset);
        return SQT_HEADER_REFUSED;
    }
    h->header_size = sizeof(*h);
    if (!sqt_clock_makes_sense(&h->identity)) {
        /* The first block knows better. */
        h->identity.ticks_per_second = UINT64_C(1000000000);
        h->identity.start.monotonic_ns %= SQT_MONOTONIC_MAX;
        h->identity.start.realtime_ns %= SQT_REALTIME_MAX;
    }
    sqt_diagnose(diagnostics, SQT_WARNING,
                 "%s: offset %" PRIu64 ": the header is damaged; its kid, clock and ring may be "
                 "wrong",
                 name, offset);
    return SQT_HEADER_DAMAGED;
}

void
sqt_segment_begin(struct sqt_segment *s, struct sqt_input input, uint64_t begin, const char *name,
                  const struct sqt_segment_header *header, struct sqt_diagnostics *diagnostics)
{
    memset(s, 0, sizeof(*s));
    s->input = input;
    s->diagnostics = diagnostics;
    s->name = name;
    s->header = *header;
    s->at = begin + header->header_size;
}

void
sqt_segment_leave(struct sqt_segment *s)
{
    sqt_input_close(&s->input);
    sqt_sums_free(&s->sums);
}

static uint32_t
frame_crc(struct sqt_segment *s, const struct sqt_frame *frame, uint64_t offset, const uint8_t *payload)
{
    struct sqt_frame copy = *frame;
    copy.crc = 0;
    const uint32_t crc = (uint32_t)crc32(0, (const Bytef *)&copy, sizeof(copy));
    return s->wasted < WASTE_MAX ? (uint32_t)crc32(crc, payload, frame->size)
                                 : sqt_sums_crc(&s->sums, crc, offset + sizeof(copy), payload, frame->size);
}

enum frame_state { FRAME_GOOD, FRAME_BAD, FRAME_WRONG_CRC, FRAME_SHORT, FRAME_NONE };

/* What stands at an offset: a frame, nothing, the beginning of a frame, or something else. */
static enum frame_state
frame_at(struct sqt_segment *s, uint64_t offset, struct sqt_frame *frame, const uint8_t **payload)
{
    size_t got;
    const uint8_t *bytes = sqt_input_at(&s->input, offset, sizeof(*frame), &got);
    if (!bytes)
        return FRAME_NONE;
    if (got < sizeof(*frame)) {
        const uint32_t magic = SQT_FRAME_MAGIC;
        return memcmp(bytes, &magic, got < sizeof(magic) ? got : sizeof(magic)) == 0 ? FRAME_SHORT : FRAME_BAD;
    }
    memcpy(frame, bytes, sizeof(*frame));
    if (frame->magic != SQT_FRAME_MAGIC || frame->size > SQT_FRAME_MAX)
        return FRAME_BAD;
    const size_t whole = sizeof(*frame) + frame->size;
    if (frame->size >= LARGE && (s->hollow >= HOLLOW_MAX || sqt_input_has_hole(&s->input, offset, whole))) {
        s->hollow += frame->size;
        if (s->hollow >= HOLLOW_MAX)
            return FRAME_BAD;
    }
    bytes = sqt_input_at(&s->input, offset, whole, &got);
    if (!bytes || got < whole)
        return FRAME_SHORT;
    *payload = bytes + sizeof(*frame);
    if (frame_crc(s, frame, offset, *payload) == frame->crc)
        return FRAME_GOOD;
    s->wasted += frame->size;
    return FRAME_WRONG_CRC;
}

/* So often a file that changes is looked at again where it is damaged: what somebody writes to all the time may be damaged
 * everywhere. */
#define LOOKS_MOST 256

/* The file may have been cut back and written anew while it was read: if so, forgets what was read of it.  Returns
 * whether to look again. */
static int
look_again(struct sqt_segment *s)
{
    if (s->looks == LOOKS_MOST || !sqt_input_changed(&s->input))
        return 0;
    ++s->looks;
    sqt_input_refresh(&s->input);
    sqt_sums_forget(&s->sums);
    return 1;
}

/* Finds the next good frame after `from`.  Returns its offset, or the offset of the end of the file. */
static uint64_t
resync(struct sqt_segment *s, uint64_t from, int *found)
{
    const uint32_t magic = SQT_FRAME_MAGIC;
    struct sqt_frame frame;
    const uint8_t *payload;
    uint64_t offset = from;

    *found = 0;
    offset = sqt_input_data(&s->input, offset);
    for (;;) {
        size_t got;
        const uint8_t *const bytes = sqt_input_at(&s->input, offset, SQT_FRAME_MAX / 64, &got);
        if (!bytes)
            return offset;
        const uint8_t *const hit = memmem(bytes, got, &magic, sizeof(magic));
        if (!hit) {
            /* The magic may begin in the last bytes of what was looked at. */
            const size_t step = got > sizeof(magic) - 1 ? got - (sizeof(magic) - 1) : got;
            offset = sqt_input_data(&s->input, offset + step);
            continue;
        }
        offset += (uint64_t)(hit - bytes);
        if (frame_at(s, offset, &frame, &payload) == FRAME_GOOD) {
            *found = 1;
            return offset;
        }
        ++offset;
    }
}

/* Reports a damaged stretch from s->at and moves behind it.  Returns 0 if the rest of the file is a frame that is cut
 * off. */
static int
skip_damage(struct sqt_segment *s, enum frame_state state)
{
    size_t got;
    int found;
    const uint8_t *const bytes = sqt_input_at(&s->input, s->at, sizeof(SQT_SEGMENT_MAGIC) - 1, &got);
    if (bytes && got >= sizeof(SQT_SEGMENT_MAGIC) - 1 && memcmp(bytes, SQT_SEGMENT_MAGIC, 8) == 0) {
        sqt_diagnose(s->diagnostics, SQT_WARNING,
                     "%s: offset %" PRIu64 ": another segment begins here and is left out; "
                     "joined segments are read from the standard input",
                     s->name, s->at);
        s->input.end = s->at;
        return 1;
    }
    const uint64_t next = resync(s, s->at + 1, &found);
    if (!found && state == FRAME_SHORT)
        return 0;
    /* The file may have grown while the next frame was looked for. */
    struct sqt_frame frame;
    const uint8_t *payload;
    if (look_again(s) && frame_at(s, s->at, &frame, &payload) == FRAME_GOOD)
        return 1;
    sqt_diagnose(s->diagnostics, SQT_WARNING, "%s: offset %" PRIu64 ": %s, %" PRIu64 " bytes skipped%s", s->name, s->at,
                 state == FRAME_WRONG_CRC ? "damaged block (wrong checksum)"
                 : state == FRAME_SHORT   ? "damaged block (wrong size)"
                                          : "not a block",
                 next - s->at, found ? "" : " up to the end of the file");
    s->at = next;
    return 1;
}

void
sqt_segment_skip(struct sqt_segment *s, uint64_t number)
{
    struct {
        struct sqt_frame frame;
        struct sqt_block block;
    } head;
    while (!s->peeked && s->at + sizeof(head) <= s->input.end &&
           pread(s->input.fd, &head, sizeof(head), (off_t)s->at) == (ssize_t)sizeof(head) &&
           head.frame.magic == SQT_FRAME_MAGIC && head.frame.type == SQT_FRAME_BLOCK &&
           head.frame.size >= sizeof(head.block) && head.frame.size <= SQT_FRAME_MAX &&
           head.block.count <= SQT_BLOCK_RECORDS && head.block.first + head.block.count <= number)
        s->at += sizeof(head.frame) + head.frame.size;
}

int
sqt_segment_peek(struct sqt_segment *s)
{
    s->peeked = frame_at(s, s->at, &s->frame, &s->payload) == FRAME_GOOD;
    return s->peeked;
}

int
sqt_segment_next(struct sqt_segment *s, int *damaged)
{
    s->cut = 0;
    for (;;) {
        enum frame_state state = s->peeked ? FRAME_GOOD : frame_at(s, s->at, &s->frame, &s->payload);
        s->peeked = 0;
        if ((state == FRAME_BAD || state == FRAME_WRONG_CRC) && look_again(s))
            state = frame_at(s, s->at, &s->frame, &s->payload);
        if (state == FRAME_GOOD) {
            s->frame_at = s->at;
            s->at += sizeof(s->frame) + s->frame.size;
            return 1;
        }
        if (state == FRAME_NONE)
            return 0;
        const uint64_t before = s->at;
        if (!skip_damage(s, state)) {
            s->cut = 1;
            return 0;
        }
        *damaged |= s->at != before;
    }
}

void
sqt_segment_report_cut(const struct sqt_segment *s)
{
    if (s->input.error)
        sqt_diagnose(s->diagnostics, SQT_WARNING, "%s: offset %" PRIu64 ": cannot be read: %s", s->name,
                     s->input.offset + s->input.used, strerror(s->input.error));
    else if (s->cut)
        sqt_diagnose(s->diagnostics, SQT_WARNING,
                     "%s: ends in the middle of a block at offset %" PRIu64 " (still being written, or cut off)",
                     s->name, s->at);
}
