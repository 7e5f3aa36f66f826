/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * known.c - see known.h.
 */
#include "known.h"

#include "series.h"

int
export_is_known(struct export_known *known, const char *const *labels, unsigned count, int64_t now)
{
    const uint64_t hash = export_labels_hash(EXPORT_FAMILY_finding, labels, count) | 1;
    unsigned free = EXPORT_KNOWN;
    for (unsigned i = 0; i < EXPORT_KNOWN; ++i) {
        if (known->all[i].hash == hash) {
            known->all[i].last = now;
            return 1;
        }
        if (!known->all[i].hash || now - known->all[i].last > EXPORT_KNOWN_FOR)
            free = i;
    }
    if (free == EXPORT_KNOWN)
        return 0;
    known->all[free].hash = hash;
    known->all[free].last = now;
    return 1;
}
