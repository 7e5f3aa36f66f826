/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * segment.h - a segment's header and its frames, one after the other.
 */
#ifndef SQT_SEGMENT_H
#define SQT_SEGMENT_H

#include "input.h"
#include "diagnose.h"
#include "sums.h"

struct sqt_segment {
    struct sqt_input input;
    struct sqt_diagnostics *diagnostics;
    const char *name; /* of the file, for messages; not owned */
    struct sqt_segment_header header;
    uint64_t at;            /* offset of the next frame */
    uint64_t frame_at;      /* offset of the frame that was taken last */
    int cut;                /* the file ends in the middle of the frame at `at` */
    struct sqt_frame frame; /* the frame that was taken last, or that was looked at */
    const uint8_t *payload; /* its */
    int peeked;             /* it was only looked at */
    uint64_t hollow;        /* bytes of large frames that lie in holes */
    unsigned looks;         /* again at what was damaged */
    uint64_t wasted;        /* bytes of frames whose checksums were wrong */
    struct sqt_sums sums;   /* for frames, once many are wrong */
};

enum sqt_header_state {
    SQT_HEADER_GOOD,
    SQT_HEADER_DAMAGED, /* reported as a WARNING; what it says is used */
    SQT_HEADER_REFUSED  /* reported as an ERROR */
};

/* Checks the header at the start of `got` bytes and copies it. */
enum sqt_header_state sqt_segment_header_check(const uint8_t *bytes, size_t got, const char *name, uint64_t offset,
                                               struct sqt_diagnostics *diagnostics, struct sqt_segment_header *header);

/* Takes over the input, which stands at a header that was checked. */
void sqt_segment_begin(struct sqt_segment *segment, struct sqt_input input, uint64_t begin, const char *name,
                       const struct sqt_segment_header *header, struct sqt_diagnostics *diagnostics);

/* Closes the input and gives up what was kept. */
void sqt_segment_leave(struct sqt_segment *segment);

/* Takes the next whole frame: 1, or 0 when there is none (yet).  Damage is reported and skipped; *damaged is then set.
 * The payload is valid until the next call. */
int sqt_segment_next(struct sqt_segment *segment, int *damaged);

/* Passes over the blocks that are next, as long as all their records come before that number, without reading them.  What
 * is damaged stays next. */
void sqt_segment_skip(struct sqt_segment *segment, uint64_t number);

/* Looks whether a whole frame is next.  Reports and skips nothing. */
int sqt_segment_peek(struct sqt_segment *segment);

/* Says so if the file ended in the middle of a frame: nothing else has what was in it. */
void sqt_segment_report_cut(const struct sqt_segment *segment);

#endif
