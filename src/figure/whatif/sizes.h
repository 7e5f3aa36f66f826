/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sizes.h - settings that are sizes of a cache, or of the largest object in it.
 */
#ifndef SQT_WHATIF_SIZES_H
#define SQT_WHATIF_SIZES_H

#include "access.h"
#include "whatif.h"

/* Settings, in the order of their rows. */
enum sqt_sizes_setting { SQT_SIZES_MEMORY, SQT_SIZES_MEMORY_OBJECT, SQT_SIZES_DISK, SQT_SIZES_DISK_OBJECT, SQT_SIZES };

struct sqt_sizes;

/* Its caches join the replay when the first request comes. */
struct sqt_sizes *sqt_sizes_new(struct sqt_job *job, enum sqt_sizes_setting setting, struct sqt_replay *replay);
const char *sqt_sizes_name(enum sqt_sizes_setting setting);
/* Takes a request, which then goes to the replay.  access and class: what it means to a cache. */
void sqt_sizes_request(struct sqt_sizes *sizes, const struct sqt_access *access, enum sqt_class class,
                       const struct sqt_xact *xact);
void sqt_sizes_sample(struct sqt_sizes *sizes, const struct sqt_sample_row *sample);
/* The requests of one place, as a cache of a size has them. */
struct sqt_sizes_part {
    const char *setting;
    int64_t value, now;       /* bytes: its size, and today's */
    const char *refusal;      /* why there is no forecast, hits are then 0; NULL if there is one */
    uint64_t requests, bytes; /* that look into the cache */
    uint64_t hits, hit_bytes;
    uint64_t seen_hits, seen_hit_bytes; /* those that there were */
};
/* In place of rows of all requests: no more come, and the replay is drained.  Then gives the parts of a place, from 1, or none
 * where today's size is not known.  Sums of hits over all places are those of the whole. */
void sqt_sizes_divide(struct sqt_sizes *sizes);
void sqt_sizes_parts(const struct sqt_sizes *sizes, uint32_t place,
                     void (*part)(void *context, const struct sqt_sizes_part *part), void *context);
/* Frees it without rows. */
void sqt_sizes_free(struct sqt_sizes *sizes);
/* Adds the rows, and frees it. */
void sqt_sizes_finish(struct sqt_sizes *sizes);

#endif
