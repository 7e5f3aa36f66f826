/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * salvage.c - see salvage-internal.h.
 */
#include "salvage-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/whole.h"
#include "trace/clock/clock-internal.h"
#include "trace/ring/emit-internal.h"
#include "trace/segment/run-internal.h"
#include "trace/segment/segment-internal.h"
#include "trace/file/trust-internal.h"

/* How the dead process's last segment ends. */
struct last_segment {
    uint64_t end;         /* record after its last whole block; 0 without one */
    struct sqt_anchor to; /* of that block */
    uint64_t whole;       /* bytes up to the end of the last whole frame; 0: it is not a segment of this ring */
    uint64_t size;        /* bytes of the file */
    unsigned frames;      /* whole ones */
};

/* Whether the frame at `offset` holds what its CRC says; -1 without memory. */
static int
frame_is_intact(int fd, uint64_t offset, const struct sqt_frame *frame)
{
    struct sqt_frame header = *frame;
    uint8_t *const body = malloc(frame->size ? frame->size : 1);
    if (!body)
        return -1;
    header.crc = 0;
    const int intact = pread(fd, body, frame->size, (off_t)(offset + sizeof(header))) == (ssize_t)frame->size &&
                       crc32_z(crc32_z(0, (const uint8_t *)&header, sizeof(header)), body, frame->size) == frame->crc;
    free(body);
    return intact;
}

/* Goes through the frames of a segment of this ring.  Returns 0, or -1 with errno if it takes memory that is not there: a
 * last block that is taken for torn would come twice. */
static int
walk(int fd, const struct sqt_ring_header *ring, struct last_segment *last)
{
    struct sqt_segment_header header;
    struct stat st;
    if (fstat(fd, &st) != 0)
        return 0;
    last->size = (uint64_t)st.st_size;
    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.magic, SQT_SEGMENT_MAGIC, sizeof(header.magic)) != 0 ||
        memcmp(header.identity.ring_id, ring->identity.ring_id, sizeof(header.identity.ring_id)) != 0)
        return 0;
    last->whole = header.header_size;
    struct sqt_frame frame;
    while (last->whole + sizeof(frame) <= last->size &&
           pread(fd, &frame, sizeof(frame), (off_t)last->whole) == sizeof(frame) && frame.magic == SQT_FRAME_MAGIC &&
           frame.size <= SQT_FRAME_MAX && frame.size <= last->size - last->whole - sizeof(frame)) {
        struct sqt_block block;
        const uint64_t end = last->whole + sizeof(frame) + frame.size;
        /* The tail covers every block but perhaps the last, so only that one is worth its CRC. */
        const int is_block = frame.type == SQT_FRAME_BLOCK && frame.size >= sizeof(block);
        const int intact = !is_block || end < last->size ? 1 : frame_is_intact(fd, last->whole, &frame);
        if (intact < 0) {
            errno = ENOMEM;
            return -1;
        }
        if (is_block && intact &&
            pread(fd, &block, sizeof(block), (off_t)(last->whole + sizeof(frame))) == sizeof(block)) {
            last->end = block.first + block.count;
            last->to = block.to.monotonic_ns < block.from.monotonic_ns ? block.from : block.to;
        }
        last->whole = end;
        ++last->frames;
    }
    return 0;
}

/* Opens a segment that Squid's user made.  Returns a descriptor, or -1 with errno: ENOENT if there is nothing. */
static int
open_own(int directory, const char *name, uid_t owner)
{
    struct sqt_error ignored;
    const int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || sqt_trust_file(fd, owner, S_IWGRP | S_IWOTH, &ignored) == 0)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* Looks at the segment that was being written.  Returns whether there is something at its name, or -1 with errno. */
static int
read_last_segment(const struct sqt_ring_header *ring, const struct sqt_trace_place *to, struct last_segment *last)
{
    char name[SQT_NAME_MAX];
    memset(last, 0, sizeof(*last));
    sqt_segment_name(name, to->base, ring->flusher.sequence);
    const int fd = open_own(to->directory, name, to->owner);
    if (fd < 0)
        return errno != ENOENT;
    if (walk(fd, ring, last) != 0) {
        close(fd);
        errno = ENOMEM;
        return -1;
    }
    /* Killed while it began the segment: there is nothing in it. */
    const int empty = last->whole ? !last->frames : last->size < sizeof(struct sqt_segment_header);
    if (empty)
        unlinkat(to->directory, name, 0);
    else if (last->whole && last->whole < last->size && ftruncate(fd, (off_t)last->whole) != 0)
        last->whole = last->size; /* readers skip a torn end */
    close(fd);
    return !empty;
}

/* Finds the first sequence from *sequence on whose name is free, or has the segment of this ring that another process
 * made before it was killed.  Returns 0 or -1. */
static int
find_sequence(const struct sqt_ring_header *ring, const struct sqt_trace_place *to, uint64_t *sequence)
{
    for (;; ++*sequence) {
        char name[SQT_NAME_MAX];
        struct last_segment found = {.whole = 0};
        struct stat st;
        sqt_segment_name(name, to->base, *sequence);
        if (fstatat(to->directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return errno == ENOENT ? 0 : -1;
        const int fd = open_own(to->directory, name, to->owner);
        if (fd >= 0) {
            const int unread = walk(fd, ring, &found);
            close(fd);
            if (unread) {
                errno = ENOMEM;
                return -1;
            }
        }
        if (found.whole)
            return 0;
    }
}

/* Whether an anchor fits the nominal rate since an earlier one. */
static int
fits(const struct sqt_anchor *a, const struct sqt_anchor *earlier, uint64_t ticks_per_second)
{
    const double expected_ns = (double)(int64_t)(a->ticks - earlier->ticks) * 1e9 / (double)ticks_per_second;
    const double off_ns = (double)(int64_t)(a->monotonic_ns - earlier->monotonic_ns) - expected_ns;
    return off_ns < 1e6 + expected_ns / 1000 && off_ns > -1e6 - expected_ns / 1000;
}

/* Finds the last record from number `first` on that tells a step which hides durations; *step: its number, UINT64_MAX if
 * there is none.  Returns 0, or -1 with errno. */
static int
salvage_find_step(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t first, uint64_t *step)
{
    const uint64_t head = ring->header->writer.head;
    *step = UINT64_MAX;
    for (size_t count; first < head; first += count) {
        count = head - first < w->block_records ? (size_t)(head - first) : w->block_records;
        if (sqt_dead_ring_records(ring, first, count, w->straight) != 0)
            return -1;
        for (size_t i = 0; i < count; ++i)
            if (w->straight[i].event == SQT_EV_CLOCK_STEP && sqt_step_hides_durations(w->straight[i].aux))
                *step = first + i;
    }
    return 0;
}

/* Where the block's first anchor is best taken from: the kill may have torn the one in the ring, which fits no other then,
 * unless a step of the clock, which is told in the rest, lies between. */
static struct sqt_anchor
first_anchor(const struct sqt_ring_header *ring, const struct last_segment *last, int stepped)
{
    const struct sqt_identity *const who = &ring->identity;
    const struct sqt_anchor *const a = &ring->flusher.last, *const before = last->to.ticks ? &last->to : &who->start;
    return stepped || fits(a, before, who->ticks_per_second) || fits(a, &who->start, who->ticks_per_second) ? *a
                                                                                                            : *before;
}

/* An anchor at `ticks`, from the rate between the start and `from`; nobody read the clocks then. */
static struct sqt_anchor
last_anchor(const struct sqt_ring_header *ring, const struct sqt_anchor *from, uint64_t ticks)
{
    const struct sqt_anchor *const start = &ring->identity.start;
    double ns_per_tick = 1e9 / (double)ring->identity.ticks_per_second;
    if (from->monotonic_ns - start->monotonic_ns > UINT64_C(1000000000) &&
        fits(from, start, ring->identity.ticks_per_second)) /* else the clock stepped since */
        ns_per_tick = (double)(from->monotonic_ns - start->monotonic_ns) / (double)(from->ticks - start->ticks);
    const int64_t ns = sqt_whole((double)(int64_t)(ticks - from->ticks) * ns_per_tick);
    return (struct sqt_anchor){ticks, from->monotonic_ns + (uint64_t)ns, from->realtime_ns + (uint64_t)ns};
}

/* Reads a block's records, of those first..end, into w->straight: as many as make one that splits no unit.  Returns how
 * many those are, or 0 with errno. */
static size_t
read_block(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t first, uint64_t end)
{
    const uint64_t left = end - first;
    size_t count = left < w->block_records ? (size_t)left : w->block_records;
    const size_t wanted = left > count ? count + 1 : count; /* with the next one, which says whether it goes on */
    if (sqt_dead_ring_records(ring, first, wanted, w->straight) != 0)
        return 0;
    while (wanted > count && count > 1 && (w->straight[count].flags & SQT_FLAG_PART))
        --count;
    return count;
}

int
sqt_salvage_end(const struct sqt_dead_ring *ring, const struct sqt_anchor *from, struct sqt_anchor *to)
{
    struct sqt_record last;
    if (sqt_dead_ring_records(ring, ring->header->writer.head - 1, 1, &last) != 0)
        return -1;
    const uint64_t ticks =
        last.time > from->ticks ? last.time : from->ticks + ring->header->identity.ticks_per_second / 1000;
    *to = last_anchor(ring->header, from, ticks);
    return 0;
}

int
sqt_salvage_blocks(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, uint64_t first, uint64_t end,
                   const struct sqt_anchor *from, const struct sqt_anchor *to, unsigned flags)
{
    while (first < end) {
        const size_t count = read_block(w, ring, first, end);
        if (!count || sqt_segment_records(w, ring->header, w->straight, first, count, from, to, flags,
                                          sqt_compression_default()) != 0)
            return -1;
        first += count;
    }
    return 0;
}

static int
salvage_write_recorded(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, const char *draft,
                       uint64_t sequence, uint64_t first)
{
    const struct sqt_ring_header *const header = ring->header;
    if (sqt_segment_open(w, header, draft, sequence, header->writer.text_used, sqt_compression_default()) != 0 ||
        sqt_salvage_recorded(w, ring, first) != 0)
        return -1;
    return sqt_segment_end(w, header, header->writer.closed == 1);
}

static int
write_rest(struct sqt_segment_writer *w, const struct sqt_dead_ring *ring, const char *draft, uint64_t sequence,
           uint64_t first, const struct last_segment *last)
{
    const struct sqt_ring_header *const header = ring->header;
    const struct sqt_anchor *const before = last->to.ticks ? &last->to : &header->identity.start;
    struct sqt_anchor to = *before;
    uint64_t step;
    if (header->compatible & SQT_RECORDER)
        return salvage_write_recorded(w, ring, draft, sequence, first);
    if (salvage_find_step(w, ring, first, &step) != 0)
        return -1;
    const struct sqt_anchor from = first_anchor(header, last, step != UINT64_MAX);
    if (sqt_segment_open(w, header, draft, sequence, header->writer.text_used, sqt_compression_default()) != 0 ||
        (first < header->writer.head && sqt_salvage_end(ring, &from, &to) != 0))
        return -1;
    /* The records before it may be from both sides of the step. */
    const uint64_t around = step != UINT64_MAX && before->monotonic_ns < from.monotonic_ns ? step : first;
    if (sqt_salvage_blocks(w, ring, first, around, &from, before, SQT_FRAME_SUSPECT) != 0 ||
        sqt_salvage_blocks(w, ring, around, header->writer.head, &from, &to, 0) != 0)
        return -1;
    return sqt_segment_end(w, header, header->writer.closed == 1);
}

int
sqt_salvage(const struct sqt_dead_ring *dead, const struct sqt_trace_place *to, uint64_t *records)
{
    struct sqt_ring_header *const ring = dead->header;
    struct last_segment last;
    struct sqt_segment_writer writer;
    char name[SQT_NAME_MAX], draft[SQT_NAME_MAX];
    uint64_t sequence = ring->flusher.sequence;
    const uint64_t head = ring->writer.head;

    const int there = read_last_segment(ring, to, &last);
    if (there < 0)
        return -1;
    sequence += (uint64_t)there;
    uint64_t first = ring->flusher.tail > last.end ? ring->flusher.tail : last.end;
    if (first > head)
        first = head;
    *records = head - first;
    if (!head)
        return 0;
    if (!ring->identity.run) /* its process died before it began a segment, and after all others of its kid began one */
        ring->identity.run = sqt_run_next(to->directory, to->owner, ring->identity.service, ring->identity.kid);

    /* If a process before us was killed between rename and unlink, the same comes out again and takes its place. */
    if (find_sequence(ring, to, &sequence) != 0)
        return -1;
    sqt_segment_name(name, to->base, sequence);
    strcpy(draft, name); /* names are well under SQT_NAME_MAX */
    strcat(draft, SQT_DRAFT_SUFFIX);
    unlinkat(to->directory, draft, 0);
    if (sqt_segment_writer_init(&writer, to->directory, to->owner,
                                ring->capacity < SQT_BLOCK_RECORDS ? ring->capacity : SQT_BLOCK_RECORDS) != 0) {
        errno = ENOMEM;
        return -1;
    }
    int result = write_rest(&writer, dead, draft, sequence, first, &last);
    if (result == 0)
        result = renameat(to->directory, draft, to->directory, name);
    const int cause = errno;
    if (result != 0)
        unlinkat(to->directory, draft, 0);
    sqt_segment_writer_free(&writer);
    errno = cause;
    return result;
}
