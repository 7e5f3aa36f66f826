/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * curves.c - see curves.h.
 */
#include "curves.h"

/* Where the curves of each figure stand. */
enum {
#define SQT_FIGURE(id, name, family, title, x, y, rule, caption) OF_##id,
#define SQT_CURVE(id, curve, FORM, part, whole) OF_##id##_##curve,
#define SQT_TABLE_END(id) OF_##id##_end_,
#define SQT_TABLE(id, name, kind, doc) OF_##id,
#include "row/tables.def"
    PLACES
};

#define SQT_ALL (UINT32_MAX & ~(1u << SQT_CLASS_QUERY)) /* HTTP's; a neighbour's query is none */
#define SQT_CONTACTED (SQT_PROXY_CONNECT | SQT_SERVER_REPLY)
#define SQT_BYTES(name) (UINT64_C(1) << SQT_CELL(requests, name##_bytes))
#define SQT_SWAP_BYTES(name) (UINT64_C(1) << SQT_CELL(swaps, name##_bytes))
#define SQT_SWAP_NS(name) (UINT64_C(1) << SQT_CELL(swaps, name##_ns))
#define REQUESTS(classes_, status_, needs_, value) \
    { \
        .classes = (classes_), .status = (status_), .needs = (needs_), .plus = (value) \
    }
#define FIRST_REQUESTS(classes_, value) \
    { \
        .classes = (classes_), .needs = (value), .plus = (value), .first = 1 \
    }
#define NEVER_SWAPPED_IN \
    { \
        .classes = 1u << SQT_CLASS_MEM_HIT, .never = 1 \
    }
#define SWAPS(ways_, ios_, value, less) \
    { \
        .ways = (ways_), .ios = (ios_), .needs = (value), .plus = (value), .minus = (less) \
    }
#define FIRST_SWAPS(ways_, value) \
    { \
        .ways = (ways_), .plus = (value), .first = 1 \
    }
#define NOTHING \
    { \
        .classes = 0 \
    }

static const struct sqt_curve curves[PLACES] = {
#define SQT_CURVE(id, curve, FORM, part, whole) [OF_##id##_##curve] = {part, whole},
#include "row/tables.def"
};

static const struct {
    unsigned first, end;
} places[SQT_TABLES] = {
#define SQT_TABLE(id, name, kind, doc) [SQT_TABLE_##id] = {OF_##id + 1, OF_##id##_end_},
#include "row/tables.def"
};

const struct sqt_curve *
sqt_curves_of(const struct sqt_table *figure, unsigned *count)
{
    const size_t i = (size_t)(figure - sqt_tables);
    *count = places[i].end - places[i].first;
    return &curves[places[i].first];
}
