/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * known.h - bounds the label sets that come and go: at most EXPORT_KNOWN different ones in a day.
 *
 * Prometheus keeps each label set that it has ever scraped, although the exporter drops those of findings that are over.
 */
#ifndef SQT_EXPORTER_KNOWN_H
#define SQT_EXPORTER_KNOWN_H

#include <stdint.h>

#define EXPORT_KNOWN 256
/* A label set that was not asked for in a day gives its place away; ns. */
#define EXPORT_KNOWN_FOR (INT64_C(24) * 3600 * 1000000000)

struct export_known {
    struct {
        uint64_t hash; /* of the labels; 0: none */
        int64_t last;  /* when it was asked for last, ns by the monotonic clock */
    } all[EXPORT_KNOWN];
};

/* Whether these labels may have a label set of their own now.  The caller's structure starts as zeros. */
int export_is_known(struct export_known *known, const char *const *labels, unsigned count, int64_t now);

#endif
