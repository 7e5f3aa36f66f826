/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * segment-internal.h - appending frames to a segment file.
 */
#ifndef SQT_SEGMENT_INTERNAL_H
#define SQT_SEGMENT_INTERNAL_H

#include "format/compress.h"
#include "format/pack.h"
#include "trace/file/file-internal.h"

struct sqt_segment {
    int fd; /* -1: none is open */
    char name[SQT_NAME_MAX];
    uint64_t sequence;
    uint64_t size;   /* bytes of whole frames */
    uint64_t text;   /* bytes of the ring's text area that are in it */
    uint64_t blocks; /* in it */
    int zstd;        /* whether its header says that blocks may be compressed with zstd */
};

/* What is needed to write segments; the buffers are big enough for the largest block of the ring. */
struct sqt_segment_writer {
    struct sqt_segment segment;
    int directory;
    uid_t owner;
    struct sqt_pack_table table;
    size_t block_records;        /* most in a block */
    struct sqt_record *straight; /* room for a block that wraps around the ring's end, and one record more */
    uint8_t *packed, *frame;
    size_t frame_room;
    struct sqt_compressor compressor;
};

/* block_records: at most SQT_BLOCK_RECORDS.  Returns 0, or -1 without memory. */
int sqt_segment_writer_init(struct sqt_segment_writer *writer, int directory, uid_t owner, size_t block_records);
void sqt_segment_writer_free(struct sqt_segment_writer *writer);

/* These return 0, or -1 with errno; then the file is as long as before, or its segment is closed.  All write whole
 * frames. */

/* Begins a segment under that name, with its header and the first text_used bytes of the ring's text.  compression: of
 * the blocks to come; only where it is zstd here may a block of this segment have it. */
int sqt_segment_open(struct sqt_segment_writer *writer, const struct sqt_ring_header *ring, const char *name,
                     uint64_t sequence, uint64_t text_used, enum sqt_compression compression);

/* Brings the segment's text up to text_used. */
int sqt_segment_text(struct sqt_segment_writer *writer, const struct sqt_ring_header *ring, uint64_t text_used);

/* Appends `count` records from number `first`.  flags: SQT_FRAME_SUSPECT.  A block for which zstd is asked in
 * a segment that was begun without is deflated. */
int sqt_segment_block(struct sqt_segment_writer *writer, const struct sqt_ring_header *ring, uint64_t first,
                      size_t count, const struct sqt_anchor *from, const struct sqt_anchor *to, unsigned flags,
                      enum sqt_compression compression);

/* The same for records that the caller has as one piece, whatever the ring's file holds. */
int sqt_segment_records(struct sqt_segment_writer *writer, const struct sqt_ring_header *ring,
                        const struct sqt_record *records, uint64_t first, size_t count, const struct sqt_anchor *from,
                        const struct sqt_anchor *to, unsigned flags, enum sqt_compression compression);

/* Ends the segment with the ring's totals, and closes it, whatever comes of the write. */
int sqt_segment_end(struct sqt_segment_writer *writer, const struct sqt_ring_header *ring, int clean);

/* Closes it as it is. */
void sqt_segment_close(struct sqt_segment_writer *writer);

/* How many records from `first`, at most `most`, and none of head or later, make a block that splits no unit. */
size_t sqt_block_count(const struct sqt_ring_header *ring, uint64_t first, uint64_t head, size_t most);

#endif
