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
/* Adds the rows, and frees it. */
void sqt_sizes_finish(struct sqt_sizes *sizes);

#endif
