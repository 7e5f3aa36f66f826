/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * heat.c - how many requests took how long, over time: of all, of each class, server and cache_dir.
 */
#include <string.h>

#include "base/octaves.h"
#include "browse-internal.h"

const char *const browse_by_names[BROWSE_BYS] = {"all", "class", "server", "dir"};

void
browse_heat_init(struct browse_heat *heat)
{
    heat->slice = BROWSE_FIRST_SLICE / 16;
    for (unsigned by = 0; by < BROWSE_BYS; ++by)
        heat->maps[by] = (struct sqt_names){.size = sizeof(struct browse_map), .most = BROWSE_MAPS};
}

static unsigned
heat_bin(int64_t total)
{
    unsigned bucket;
    const unsigned octave = sqt_octave_of(total > 0 ? (uint64_t)total : 0, BROWSE_BIN_BITS, &bucket);
    const unsigned bin = (octave << BROWSE_BIN_BITS) + bucket;
    return bin < BROWSE_FIRST_BIN ? 0 : bin < BROWSE_FIRST_BIN + BROWSE_BINS ? bin - BROWSE_FIRST_BIN : BROWSE_BINS - 1;
}

static void
heat_double_map(struct browse_map *map)
{
    for (unsigned s = 0; s < BROWSE_SLICES / 2; ++s)
        for (unsigned b = 0; b < BROWSE_BINS; ++b)
            map->counts[s][b] = map->counts[2 * s][b] + map->counts[2 * s + 1][b];
    memset(map->counts[BROWSE_SLICES / 2], 0, sizeof(map->counts) / 2);
}

static void
heat_double(struct browse_heat *heat)
{
    heat->slice *= 2;
    for (unsigned by = 0; by < BROWSE_BYS; ++by)
        for (struct sqt_name_entry *map = heat->maps[by].first; map; map = map->next)
            heat_double_map((struct browse_map *)map);
}

void
browse_heat_add(struct browse_heat *heat, int64_t at, int64_t total, const char *const names[BROWSE_BYS])
{
    if (at < 0)
        return;
    while (at / heat->slice >= BROWSE_SLICES)
        heat_double(heat);
    const unsigned slice = (unsigned)(at / heat->slice), bin = heat_bin(total);
    for (unsigned by = 0; by < BROWSE_BYS; ++by) {
        struct browse_map *const map = names[by] ? sqt_names_get(&heat->maps[by], names[by]) : NULL;
        if (!map)
            continue;
        ++map->requests;
        ++map->counts[slice][bin];
    }
}

void
browse_heat_free(struct browse_heat *heat)
{
    for (unsigned by = 0; by < BROWSE_BYS; ++by)
        sqt_names_free(&heat->maps[by]);
}
