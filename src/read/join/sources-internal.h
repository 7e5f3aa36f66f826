/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sources-internal.h - what looks for sources: once (sources.c), and again and again (look.c).  Both hand what they find to
 * origins.c.
 */
#ifndef SQT_SOURCES_INTERNAL_H
#define SQT_SOURCES_INTERNAL_H

#include <string.h>

#include "sources.h"

/* The first origin with that ring id; NULL: there is none. */
struct sqt_origin_reader *sqt_sources_find(const struct sqt_source_list *sources, const uint8_t *ring_id);

/* Adds the segment at begin..end of a file.  keep_fd: the file has no name to open it by.  Returns how many. */
size_t sqt_sources_add_segment(struct sqt_source_list *sources, int fd, int keep_fd, const char *name, uint64_t begin,
                               uint64_t end, const uint8_t *bytes, size_t got);

/* Adds a ring; named_by: the file whose removal says that its writer has ended.  fd stays the caller's. */
void sqt_sources_add_ring(struct sqt_source_list *sources, int fd, const char *name, const char *named_by);

/* Whether the name ends so, and has more than that. */
static inline int
sqt_sources_ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Frees the list of names. */
void sqt_sources_forget_names(struct sqt_seen *seen);

#endif
