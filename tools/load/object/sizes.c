/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sizes.c - see sizes.h.
 */
#include "sizes.h"

#include <string.h>

#define KB 1024

uint64_t
sizes_uniform(struct sqt_random *random)
{
    return sqt_random_unit(random) < 0.01 ? KB * KB : sqt_random_below(random, 40 * KB + 1);
}

uint64_t
sizes_pareto(struct sqt_random *random)
{
    const double size = sqt_random_pareto(random, 1.1, 3 * KB);
    return size < (double)SIZES_MOST ? (uint64_t)size : SIZES_MOST;
}

sizes_fn *
sizes_named(const char *name)
{
    static const struct {
        const char *name;
        sizes_fn *draw;
    } known[] = {{"uniform", sizes_uniform}, {"pareto", sizes_pareto}};
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); ++i)
        if (strcmp(known[i].name, name) == 0)
            return known[i].draw;
    return NULL;
}
