/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * writer.h - the trace of one process that another one watches: its records, as segments.
 *
 * The segments are those of libsqtrace, and so are their names.  There is no ring: records wait in memory until a block of them
 * is written.
 */
#ifndef SQT_ATTACH_WRITER_H
#define SQT_ATTACH_WRITER_H

#include "trace/file/error-internal.h"
#include "trace/segment/segment-internal.h"

struct sqt_attach_writer {
    struct sqt_segment_writer segments;
    struct sqt_ring_header *ring; /* with the text behind it; no records */
    struct sqt_record *records;   /* that no block has yet */
    size_t count;
    uint64_t first; /* number of the first of them */
    uint64_t last;  /* time of the newest record */
    struct sqt_anchor from;
    int failed; /* errno of a write that failed: later records are lost */
    int told;   /* the caller knows it */
};

/* Whose trace it is. */
struct sqt_attach_process {
    uint32_t pid;
    uint32_t kid, kid_kind;
    const char *service;
    const char *squid_version;
    const char *build_id;
    uint64_t since; /* ns of CLOCK_MONOTONIC: nothing in the trace is earlier */
};

/* Begins a trace in the directory, a descriptor that stays open, with files of this user.  Returns 0, or -1 after filling in
 * error. */
int sqt_attach_writer_open(struct sqt_attach_writer *writer, int directory, const struct sqt_attach_process *process,
                           struct sqt_error *error);

/* A definition, once. */
void sqt_attach_writer_define(struct sqt_attach_writer *writer, unsigned kind, uint32_t number, const char *text);

/* Takes a unit of records.  The next flush says whether writing failed. */
void sqt_attach_writer_add(struct sqt_attach_writer *writer, const struct sqt_record *records, unsigned count);

/* Notes that calls were lost between the newest record, or `from` if that is later, and `to`.  reason: enum sqt_loss. */
void sqt_attach_writer_lost(struct sqt_attach_writer *writer, uint64_t from, uint64_t to, uint64_t count,
                            uint32_t reason);

/* Writes what there is.  Returns 0, or -1 with errno: once, if a write failed, here or when records were added. */
int sqt_attach_writer_flush(struct sqt_attach_writer *writer);

/* Writes the rest and ends the segment.  goes_on: the process has not ended.  Returns as sqt_attach_writer_flush(). */
int sqt_attach_writer_close(struct sqt_attach_writer *writer, int goes_on);

#endif
