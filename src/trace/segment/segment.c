/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * segment.c - see segment-internal.h.
 */
#include "segment-internal.h"

#include "trace/file/apart-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "trace/ring/emit-internal.h"

int
sqt_segment_writer_init(struct sqt_segment_writer *w, int directory, uid_t owner, size_t block_records)
{
    memset(w, 0, sizeof(*w));
    w->segment.fd = -1;
    w->directory = directory;
    w->owner = owner;
    w->block_records = block_records;
    sqt_pack_table_init(&w->table);
    const size_t bound = sqt_pack_bound(block_records);
    w->frame_room = sizeof(struct sqt_frame) + sizeof(struct sqt_block) + sqt_compress_bound(bound);
    w->straight = malloc((block_records + 1) * sizeof(*w->straight));
    w->packed = malloc(bound);
    w->frame = malloc(w->frame_room);
    if (w->straight && w->packed && w->frame)
        return 0;
    sqt_segment_writer_free(w);
    return -1;
}

void
sqt_segment_writer_free(struct sqt_segment_writer *w)
{
    sqt_segment_close(w);
    sqt_compressor_free(&w->compressor);
    free(w->straight);
    free(w->packed);
    free(w->frame);
    w->straight = NULL;
    w->packed = w->frame = NULL;
}

static long
close_now(void *fd)
{
    return close(*(const int *)fd);
}

void
sqt_segment_close(struct sqt_segment_writer *w)
{
    if (w->segment.fd >= 0)
        sqt_apart_call(close_now, &w->segment.fd);
    w->segment.fd = -1;
}

struct appending {
    struct sqt_segment *segment;
    const void *data;
    size_t size;
};

static long
append_now(void *context)
{
    const struct appending *const a = context;
    struct sqt_segment *const s = a->segment;
    if (sqt_write_all(s->fd, a->data, a->size) == 0) {
        s->size += a->size;
        return 0;
    }
    const int cause = errno;
    if (ftruncate(s->fd, (off_t)s->size) != 0) { /* the file cannot be used any more; its torn end is skipped */
        close(s->fd);
        s->fd = -1;
    }
    errno = cause;
    return -1;
}

/* Appends all the bytes or none. */
static int
segment_file_append(struct sqt_segment *s, const void *data, size_t size)
{
    struct appending appending = {s, data, size};
    return (int)sqt_apart_call(append_now, &appending);
}

/* Appends the frame that lies in w->frame, `size` bytes with its header. */
static int
append_frame(struct sqt_segment_writer *w, unsigned type, unsigned flags, size_t size)
{
    struct sqt_frame header = {SQT_FRAME_MAGIC, (uint16_t)type, (uint16_t)flags, (uint32_t)(size - sizeof(header)), 0};
    const uint8_t *const body = w->frame + sizeof(header);
    header.crc = (uint32_t)crc32_z(crc32_z(0, (const uint8_t *)&header, sizeof(header)), body, header.size);
    memcpy(w->frame, &header, sizeof(header));
    return segment_file_append(&w->segment, w->frame, size);
}

static int
write_header(struct sqt_segment_writer *w, const struct sqt_ring_header *ring)
{
    struct sqt_segment_header header;
    memset(&header, 0, sizeof(header));
    memcpy(header.magic, SQT_SEGMENT_MAGIC, sizeof(header.magic));
    header.version = SQT_VERSION;
    header.header_size = sizeof(header);
    header.compatible = ring->compatible & (SQT_RECORDER | SQT_ATTACHED);
    header.incompatible = w->segment.zstd ? SQT_NEEDS_ZSTD : 0;
    header.sequence = w->segment.sequence;
    header.identity = ring->identity;
    header.crc = (uint32_t)crc32_z(0, (const uint8_t *)&header, sizeof(header));
    return segment_file_append(&w->segment, &header, sizeof(header));
}

int
sqt_segment_open(struct sqt_segment_writer *w, const struct sqt_ring_header *ring, const char *name, uint64_t sequence,
                 uint64_t text_used, enum sqt_compression compression)
{
    struct sqt_segment *const s = &w->segment;
    memset(s, 0, sizeof(*s));
    s->fd = sqt_create_owned(w->directory, name, O_WRONLY | O_APPEND, 0640, w->owner);
    if (s->fd < 0)
        return -1;
    strcpy(s->name, name);
    s->sequence = sequence;
    s->zstd = compression == SQT_COMPRESSION_ZSTD;
    if (write_header(w, ring) == 0 && sqt_segment_text(w, ring, text_used) == 0)
        return 0;
    const int cause = errno;
    unlinkat(w->directory, name, 0); /* a segment without its text is of no use */
    sqt_segment_close(w);
    errno = cause;
    return -1;
}

int
sqt_segment_text(struct sqt_segment_writer *w, const struct sqt_ring_header *ring, uint64_t text_used)
{
    struct sqt_segment *const s = &w->segment;
    while (s->text < text_used) {
        size_t size = text_used - s->text;
        const char *const text = sqt_ring_text_area(ring) + s->text;
        const size_t room = w->frame_room - sizeof(struct sqt_frame);
        if (size > room) { /* whole lines only */
            for (size = room; size && text[size - 1] != '\n'; --size)
                ;
            if (!size) {
                errno = EMSGSIZE;
                return -1;
            }
        }
        memcpy(w->frame + sizeof(struct sqt_frame), text, size);
        if (append_frame(w, SQT_FRAME_TEXT, 0, sizeof(struct sqt_frame) + size) != 0)
            return -1;
        s->text += size;
    }
    return 0;
}

size_t
sqt_block_count(const struct sqt_ring_header *ring, uint64_t first, uint64_t head, size_t most)
{
    if (head - first <= most)
        return head - first;
    const struct sqt_record *const records = sqt_ring_records(ring);
    size_t count = most;
    while (count > 1 && (records[(first + count) & (ring->capacity - 1)].flags & SQT_FLAG_PART))
        --count;
    return count;
}

/* The records as one piece. */
static const struct sqt_record *
straighten(struct sqt_segment_writer *w, const struct sqt_ring_header *ring, uint64_t first, size_t count)
{
    const struct sqt_record *const records = sqt_ring_records(ring);
    const size_t at = first & (ring->capacity - 1);
    if (at + count <= ring->capacity)
        return records + at;
    const size_t before = ring->capacity - at;
    memcpy(w->straight, records + at, before * sizeof(*records));
    memcpy(w->straight + before, records, (count - before) * sizeof(*records));
    return w->straight;
}

int
sqt_segment_block(struct sqt_segment_writer *w, const struct sqt_ring_header *ring, uint64_t first, size_t count,
                  const struct sqt_anchor *from, const struct sqt_anchor *to, unsigned flags,
                  enum sqt_compression compression)
{
    return sqt_segment_records(w, ring, straighten(w, ring, first, count), first, count, from, to, flags, compression);
}

int
sqt_segment_records(struct sqt_segment_writer *w, const struct sqt_ring_header *ring, const struct sqt_record *records,
                    uint64_t first, size_t count, const struct sqt_anchor *from, const struct sqt_anchor *to,
                    unsigned flags, enum sqt_compression compression)
{
    const size_t packed = sqt_pack(&w->table, records, count, w->packed);
    struct sqt_block block;
    memset(&block, 0, sizeof(block));
    memcpy(block.ring_id, ring->identity.ring_id, sizeof(block.ring_id));
    block.first = first;
    block.count = (uint32_t)count;
    block.packed_size = (uint32_t)packed;
    block.time_first = records[0].time;
    block.time_last = records[count - 1].time;
    block.from = *from;
    block.to = *to;
    memcpy(w->frame + sizeof(struct sqt_frame), &block, sizeof(block));

    uint8_t *const data = w->frame + sizeof(struct sqt_frame) + sizeof(block);
    if (compression == SQT_COMPRESSION_ZSTD && !w->segment.zstd)
        compression = SQT_COMPRESSION_ZLIB;
    size_t size =
        sqt_compress(&w->compressor, compression, w->packed, packed, data, w->frame_room - (size_t)(data - w->frame));
    if (size) {
        flags |= compression == SQT_COMPRESSION_ZSTD ? SQT_FRAME_ZSTD : SQT_FRAME_ZLIB;
    } else {
        size = packed;
        memcpy(data, w->packed, size);
    }
    if (append_frame(w, SQT_FRAME_BLOCK, flags, sizeof(struct sqt_frame) + sizeof(block) + size) != 0)
        return -1;
    ++w->segment.blocks;
    return 0;
}

int
sqt_segment_end(struct sqt_segment_writer *w, const struct sqt_ring_header *ring, int clean)
{
    struct sqt_totals totals;
    memset(&totals, 0, sizeof(totals));
    memcpy(totals.ring_id, ring->identity.ring_id, sizeof(totals.ring_id));
    sqt_ring_totals(ring, &totals);
    totals.clean = (uint32_t)clean;
    memcpy(w->frame + sizeof(struct sqt_frame), &totals, sizeof(totals));
    const int result = append_frame(w, SQT_FRAME_END, 0, sizeof(struct sqt_frame) + sizeof(totals));
    sqt_segment_close(w);
    return result;
}
