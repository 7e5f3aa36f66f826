/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * origin.h - all that is left of one process's life as a writer: its segments and its ring, joined.
 */
#ifndef SQT_ORIGIN_H
#define SQT_ORIGIN_H

#include <sys/types.h>

#include "ahead.h"
#include "index.h"
#include "read/file/block.h"
#include "read/file/clock.h"
#include "read/file/ring.h"
#include "read/file/segment.h"

/* A segment that waits to be read. */
struct sqt_part {
    char *name;
    int fd;              /* of a file without a name, owned by the stream; -1: open it by name */
    uint64_t begin, end; /* offsets within the file */
    uint64_t size;       /* of the file when it was found; of one with a name */
    dev_t device;
    ino_t inode;
    uint64_t resume; /* offset of the frame to read on from; 0: after the header */
    struct sqt_segment_header header;

    /* from the first header of a block that makes sense, as far as headers were read: extent.c */
    int begun;
    uint64_t first; /* number of its first record */
    int whole;      /* headers were read up to the end of the file */
};

struct sqt_source_list; /* finds parts that appeared since */
struct sqt_accepted_search;

struct sqt_origin_reader {
    struct sqt_origin public; /* first */
    struct sqt_dictionary dictionary;
    const struct sqt_dictionary *log_dictionary; /* of a kid of a log: that of the log; else NULL */
    struct sqt_diagnostics *diagnostics;
    struct sqt_unpacker *unpacker;
    struct sqt_source_list *sources;
    int64_t offset_ns; /* from the boot's monotonic clock to the stream's time */
    int timed;         /* the stream's start is known, and in it */

    struct sqt_part **parts; /* in the order of their sequence */
    size_t part_count, part_room;
    size_t part_next; /* the first that was not opened yet */
    int unsorted;     /* those from part_next on are not in order */
    int earlier;      /* one was added that comes before the one that is open */
    struct sqt_segment segment;
    int segment_open;
    struct sqt_ahead_block ahead;
    struct sqt_ring ring; /* if it is open */
    char *ring_name;
    const char *pointer;  /* the file that names its ring, which is gone; NULL if it is not */
    char *named_by;       /* the pointer, or the ring itself if that was given; NULL: neither was there */
    int followed;         /* more may come: it has not ended where there is nothing more to read now */
    int writer_gone;      /* its pointer has been removed, which the writer, or who adopts its ring, does last */
    int ended;            /* its writer has ended, so what can be read is all */
    int64_t taken_at;     /* CLOCK_MONOTONIC, ns, when what is handed out now was read; of one that is followed */
    int identity_damaged; /* it comes from a damaged header */
    uint64_t late_from;   /* reading begins with this record: late.c; 0: with the first */
    int unwanted;         /* all of it lies before that */
    struct sqt_index_block resumed; /* reading begins behind this block, as if all before it had been read: window.c;
                                     * next = 0: it begins with the first record */
    int walked;                     /* what follows is known */
    struct sqt_extent extent;
    uint64_t extent_from, extent_to; /* number of its first record, and of the one behind its last */
    struct sqt_index index;
    struct sqt_accepted_search *accepted;                      /* accepted.c; NULL: not used yet */
    void (*accepted_free)(struct sqt_accepted_search *search); /* of that */

    /* where it is */
    int started;         /* a record was seen */
    uint64_t next;       /* number of the record that is expected */
    uint64_t gap_seen;   /* the directory was looked at again for this record */
    int damaged;         /* something was skipped since the last block */
    uint64_t last_ticks; /* time of the last record */
    int64_t last_ns;
    int64_t wall_ns;  /* from the boot's monotonic clock to the time of day, at its first record */
    int64_t first_ns; /* of its first record, by which the merge opens it; INT64_MIN before that is known */
    struct sqt_line last_line;
    struct sqt_totals totals; /* of the last END */
    int totals_valid;         /* no block came after it */
    int told_suspect, told_table, told_open, told_gone, told_refused, told_ring, told_hosts; /* said once */
    int finished; /* only what the reader adds is left */
    int waits;    /* it may have more, and is not read on while others take all room; of one that is followed */

    /* what it holds */
    struct sqt_record *buffer;
    size_t room;            /* records: SQT_BLOCK_RECORDS, or less if it is followed and they are there */
    size_t kept;            /* its part of the sources' */
    struct sqt_record lost; /* made by the reader, comes before the buffer */
    int lost_pending;
    struct sqt_line lost_line;
    size_t skip, count; /* of the buffer: doubles at its start, and its end */
    uint64_t first;     /* number of buffer[0] */
    struct sqt_line line;
    int unsure;    /* the clock may have stepped in the midst of it */
    int from_ring; /* the records were read from the ring */
    /* Its place in the merge is that of a record which was in the ring of a living process, and its times do not go back
     * behind that place, also once that record is in a segment, with a better time. */
    int placed_by_ring;
    struct sqt_anchor recorded; /* of a flight recorder's ring: the one that times go by; recorder.h */
    int recorded_known;

    /* what is handed out now */
    const struct sqt_record *records;
    size_t left;
    uint64_t number; /* of records[0]; UINT64_MAX if made by the reader */
    struct sqt_line out_line;
    int64_t key; /* ns of records[0] */
};

/* Where a line's base may be pushed to by those before it. */
#define SQT_ORIGIN_BASE_MAX (SQT_LATER_MAX + (int64_t)SQT_MONOTONIC_MAX)

/* Moves the line behind `last_ns`, when the records before it ended.  Returns whether it began before that. */
static inline int
sqt_origin_push(struct sqt_line *line, uint64_t time_first, int64_t last_ns)
{
    const int64_t ns = sqt_line_ns(line, time_first);
    if (ns < last_ns)
        line->base_ns += last_ns - ns;
    return ns < last_ns;
}

/* Block after block may claim to be years long. */
static inline void
sqt_origin_bound(struct sqt_line *line)
{
    if (line->base_ns > SQT_ORIGIN_BASE_MAX)
        line->base_ns = SQT_ORIGIN_BASE_MAX;
}

/* Brings the parts that were not opened yet into order. */
void sqt_origin_reader_sort(struct sqt_origin_reader *reader);

/* Puts a part where its sequence belongs, unless the same file is there.  Takes the part over. */
int sqt_origin_reader_add(struct sqt_origin_reader *reader, struct sqt_part *part);
void sqt_part_free(struct sqt_part *part);

/* Forgets the first `count` parts, which cannot be gone back to then. */
void sqt_origin_reader_drop_parts(struct sqt_origin_reader *reader, size_t count);

/* A frame whose header was read, and the first bytes of its payload: all that heads of blocks and totals take. */
struct sqt_part_frame {
    struct sqt_frame frame;
    uint64_t at; /* offset of the payload in the file */
    const uint8_t *bytes;
    size_t got;
};

typedef int sqt_part_function(void *context, const struct sqt_part_frame *frame);

/* Calls `take` for each whole frame of the part from that offset on, 0: from the first, until it returns 0.  Damage ends it
 * without a word.  Returns the offset behind the last frame. */
uint64_t sqt_part_each_frame(const struct sqt_part *part, uint64_t at, sqt_part_function *take, void *context);
/* Copies the first bytes of such a frame's payload.  Returns 0, or -1 if there are not as many. */
int sqt_part_read(const struct sqt_part_frame *frame, void *to, size_t size);

/* Makes the next records current: 1, or 0 when there are no more. */
int sqt_origin_reader_load(struct sqt_origin_reader *reader);

/* Of a stream that is followed there may be thousands, and each has a block, a window and a descriptor while it reads.  Gives
 * up what the records that it has do not need. */
void sqt_origin_reader_save(struct sqt_origin_reader *reader);

/* Whether it has no records, so that the next load reads some. */
static inline int
sqt_origin_reader_is_empty(const struct sqt_origin_reader *reader)
{
    return !reader->left && !reader->lost_pending && reader->count == reader->skip;
}

/* Gives the buffer back. */
void sqt_origin_reader_drop_buffer(struct sqt_origin_reader *reader);

/* Leaves the open segment. */
void sqt_origin_reader_leave(struct sqt_origin_reader *reader);

/* Looks how far the writer is now, and whether it has ended; of an origin that is followed. */
void sqt_origin_reader_look(struct sqt_origin_reader *reader);

/* Goes back to the start and gives up files and buffers. */
void sqt_origin_reader_rewind(struct sqt_origin_reader *reader);

void sqt_origin_reader_free(struct sqt_origin_reader *reader);

/* How much it has, from the headers of its frames.  They are read once, unless it is followed. */
const struct sqt_extent *sqt_origin_reader_extent(struct sqt_origin_reader *reader);

#endif
