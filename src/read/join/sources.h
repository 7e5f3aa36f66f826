/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sources.h - from what the user names to origins.
 */
#ifndef SQT_SOURCES_H
#define SQT_SOURCES_H

#include "origin.h"

/* Most segments, and most rings that they and others belong to. */
#define SQT_SEGMENTS_MOST 65536u
#define SQT_ORIGINS_MOST 2048u
/* Rings that are open at a time.  Each takes a descriptor, of which a process has 1,024 as a rule. */
#define SQT_RINGS_MOST 512u
/* Segments of followed origins that stay open although there is nothing more to read in them now. */
#define SQT_SEGMENTS_OPEN 48u
/* Names that are looked through again for segments that are missing: in a reading, and in each SQT_RESCANNED_NS of one that
 * follows. */
#define SQT_RESCANNED_MOST 65536u
#define SQT_RESCANNED_FOLLOW_MOST 4096u
#define SQT_RESCANNED_NS INT64_C(250000000)
/* A look takes as long as so many names, however few there are. */
#define SQT_RESCANNED_LEAST 16u
/* A look that finds something counts as a part of that: who makes files for it has to make one for each. */
#define SQT_RESCANNED_FRUITFUL 8u
/* Bytes of the definitions of all origins. */
#define SQT_DEFINITION_BYTES (24u << 20)

/* The monotonic clock of each boot, against the time of day. */
struct sqt_boot {
    uint8_t id[16];
    int64_t offset_ns;
};

/* A file of a trace directory that names a ring which is gone. */
struct sqt_pointer {
    char *name;
    uint8_t ring_id[16];
};

/* Directories whose times are kept; with more, all are listed at each look. */
#define SQT_SEEN_DIRECTORIES 16

/* Files of followed directories that need not be looked at again. */
struct sqt_seen {
    char **names; /* sorted */
    size_t count;
    int64_t changed[SQT_SEEN_DIRECTORIES]; /* when each directory did last, ns since 1970 */
};

struct sqt_source_list {
    struct sqt_diagnostics *diagnostics;
    struct sqt_unpacker *unpacker;
    struct sqt_ahead *ahead;
    size_t definition_bytes; /* left */
    size_t segment_count;
    size_t segments_open; /* by origins: each takes a descriptor */
    size_t kept;          /* bytes of records and windows that followed origins have */
    int told_segments, told_origins, told_rings, told_names; /* that there are too many; said once */
    struct sqt_origin_reader **origins;
    size_t origin_count, origin_room;
    struct sqt_boot *boots;
    size_t boot_count, boot_room;
    struct sqt_pointer *gone;
    size_t gone_count;
    char **directories;
    size_t directory_count;
    struct sqt_seen seen;
    int rescanning;
    size_t rescanned[2];     /* names that were looked through again for what is missing: of origins without a ring that
                              * is open, and with one; */
    int64_t rescanned_since; /* since then, ns of CLOCK_MONOTONIC, without the time of looks */
    size_t listed;           /* names of all listings so far */
    int followed;            /* new origins are, too */
    int look_again;          /* a file was not ready yet, or a directory has changed just now */
    int *spools;
    size_t spool_count;
};

/* Adds what a path names; what is wrong is reported. */
void sqt_sources_add(struct sqt_source_list *sources, const char *path);

/* Call when all paths were added. */
void sqt_sources_complete(struct sqt_source_list *sources);

/* Looks into the directories again for segments that are new, if the directories have changed and there were not too many such
 * looks.  live: for an origin whose ring is open; no number of traces whose rings are gone uses up its looks.  Returns how many
 * segments there were. */
size_t sqt_sources_rescan(struct sqt_source_list *sources, int live);

/* ---- following ---- */

/* Whether a directory has changed since this was asked last, or a file was not ready then. */
int sqt_sources_changed(struct sqt_source_list *sources);

/* Looks for rings and segments that are new, and adds them; as quick as a stat() for each directory if nothing is. */
void sqt_sources_look(struct sqt_source_list *sources);

/* That number of segments was read and forgotten. */
static inline void
sqt_sources_forget_segments(struct sqt_source_list *sources, size_t count)
{
    sources->segment_count -= count < sources->segment_count ? count : sources->segment_count;
}

/* Frees an origin, which is not to come again. */
void sqt_sources_forget(struct sqt_source_list *sources, struct sqt_origin_reader *reader);

void sqt_sources_free(struct sqt_source_list *sources);

#endif
