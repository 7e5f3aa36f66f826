/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * curves.h - the curves of figures.def as data: what each is made of.
 */
#ifndef SQT_CURVES_H
#define SQT_CURVES_H

#include "pass/family.h"

#define SQT_CURVES_MOST 8

/* Ways of a swap, as bits. */
enum { SQT_IN = 1, SQT_OUT = 2 };

/* Requests or swaps, and a value of each. */
struct sqt_population {
    uint32_t classes; /* of requests, as bits */
    int64_t status;   /* of requests; 0: any */
    uint64_t needs;   /* columns, one of which must have a value; 0: no matter */
    unsigned ways;    /* of swaps */
    int64_t ios;      /* swaps of that many blocks; 0: any */
    uint64_t plus;    /* columns whose sum is the value; 0: each counts 1 */
    uint64_t minus;   /* less these */
    int first;        /* only the first access to each object */
    int never;        /* only of objects that no request before has swapped in */
};

struct sqt_curve {
    struct sqt_population part, whole;
};

/* The curves of a figure, in the order of their columns. */
const struct sqt_curve *sqt_curves_of(const struct sqt_table *figure, unsigned *count);

/* Whether one of the columns has a value, or there are none. */
static inline int
sqt_row_has(const union sqt_cell *row, uint64_t columns)
{
    uint64_t left = columns;
    while (left && row[__builtin_ctzll(left)].number == SQT_CELL_MISSING)
        left &= left - 1;
    return !columns || left;
}

/* Whether the request or swap belongs to it; `first` and `never` are the caller's to look at. */
static inline int
sqt_population_has_request(const struct sqt_population *p, const struct sqt_request_fact *r)
{
    return (p->classes >> r->class & 1) && (!p->status || p->status == r->row[SQT_CELL(requests, status)].number) &&
           sqt_row_has(r->row, p->needs);
}

static inline int
sqt_population_has_swap(const struct sqt_population *p, const struct sqt_swap_fact *s)
{
    return (p->ways >> s->out & 1) && (!p->ios || p->ios == s->row[SQT_CELL(swaps, ios)].number) &&
           sqt_row_has(s->row, p->needs);
}

/* The value of a row of either table.  1 if the value is that it is there. */
static inline int64_t
sqt_population_value(const struct sqt_population *p, const union sqt_cell *row)
{
    return p->plus ? sqt_row_sum(row, p->plus) - sqt_row_sum(row, p->minus) : 1;
}

#endif
