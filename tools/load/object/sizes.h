/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sizes.h - sizes of objects.
 */
#ifndef SQT_LOAD_SIZES_H
#define SQT_LOAD_SIZES_H

#include <stdint.h>

#include "random.h"

#define SIZES_MOST (INT64_C(1) << 30) /* bytes; a Pareto distribution has no end */

typedef uint64_t sizes_fn(struct sqt_random *random);

/* Bytes: 99 % uniform from 0 to 40 KB, 1 % 1 MB. */
uint64_t sizes_uniform(struct sqt_random *random);
/* Bytes: alpha 1.1, at least 3 KB. */
uint64_t sizes_pareto(struct sqt_random *random);

/* The one of these with that name, NULL if none has. */
sizes_fn *sizes_named(const char *name);

#endif
