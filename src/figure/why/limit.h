/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * limit.h - whether requests are denied by a limit: whoever comes while many are under way is denied, and hardly anybody else.
 */
#ifndef SQT_LIMIT_H
#define SQT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct sqt_limit_span {
    int64_t begin, end;
    int denied;
};

/* The first requests, up to 65,536 of them; zeroed at first. */
struct sqt_limit {
    struct sqt_limit_span *spans; /* the owner frees them */
    size_t count, room;
};

void sqt_limit_add(struct sqt_limit *all, int64_t begin, int64_t end, int denied);

/* From how many others under way on requests are denied; 0: it is no limit.  May change the order of the spans. */
unsigned sqt_limit_of(const struct sqt_limit *all);

#endif
