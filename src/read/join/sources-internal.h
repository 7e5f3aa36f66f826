/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sources-internal.h - what looks for sources: once (sources.c), and again and again (look.c).  Both hand what they find to
 * origins.c.
 */
#ifndef SQT_SOURCES_INTERNAL_H
#define SQT_SOURCES_INTERNAL_H

#include "read/file/listing.h"
#include "sources.h"

/* The first origin with that ring id; NULL: there is none. */
struct sqt_origin_reader *sqt_sources_find(const struct sqt_source_list *sources, const uint8_t *ring_id);

/* Adds the segment at begin..end of a file.  keep_fd: the file has no name to open it by.  Returns how many. */
size_t sqt_sources_add_segment(struct sqt_source_list *sources, int fd, int keep_fd, const char *name, uint64_t begin,
                               uint64_t end, const uint8_t *bytes, size_t got);

/* Adds a ring; named_by: the file whose removal says that its writer has ended.  fd stays the caller's. */
void sqt_sources_add_ring(struct sqt_source_list *sources, int fd, const char *name, const char *named_by);

/* The names in a directory that end in `suffix`.  Reports once that there are more than SQT_LISTING_MOST.  Returns 0, or -1
 * with errno. */
int sqt_sources_list(struct sqt_source_list *sources, const char *path, const char *suffix, struct sqt_listing *names);

/* Frees the list of names. */
void sqt_sources_forget_names(struct sqt_seen *seen);

#endif
