/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * histogram.c - see histogram.h.
 */
#include "histogram.h"

#include <stdio.h>
#include <string.h>

#include "pass/family.h"

#define BAR_MOST 200

enum histogram_cell {
    HISTOGRAM_LOWER,
    HISTOGRAM_UPPER,
    HISTOGRAM_COUNT,
    HISTOGRAM_SHARE,
    HISTOGRAM_BAR,
    HISTOGRAM_CELLS
};

static void
histogram_bounds(struct sqt_histogram *h)
{
    static const unsigned char decimal[] = {1, 2, 5};
    const unsigned steps = h->type == SQT_TYPE_BYTES ? 1 : 3, factor = steps == 1 ? 2 : 10;
    h->bounds[h->bound_count++] = 0;
    for (int64_t one = 1;; one *= factor) {
        for (unsigned i = 0; i < steps && one <= INT64_MAX / decimal[i]; ++i)
            h->bounds[h->bound_count++] = one * decimal[i];
        if (one > INT64_MAX / factor)
            break;
    }
}

void
sqt_histogram_init(struct sqt_histogram *h, const struct sqt_table *table, unsigned column)
{
    const struct sqt_column *const of = &table->columns[column];
    memset(h, 0, sizeof(*h));
    h->column = column;
    h->type = of->type == SQT_TYPE_FLAG ? SQT_TYPE_COUNT : of->type;
    h->form.table = (struct sqt_table){.name = h->form.title, .doc = "how often values lie between two bounds"};
    snprintf(h->form.title, sizeof(h->form.title), "%s by %s", table->name, of->name);
    sqt_tally_column(&h->form, "lower", of, h->type, "values from here on");
    sqt_tally_column(&h->form, "upper", of, h->type, "and below this");
    sqt_tally_column(&h->form, "count", NULL, SQT_TYPE_COUNT, "number of values");
    sqt_tally_column(&h->form, "share_pct", NULL, SQT_TYPE_PCT, "share in all values");
    sqt_tally_column(&h->form, "bar", NULL, SQT_TYPE_TEXT, "count, drawn");
    histogram_bounds(h);
}

/* How many bounds are not above the value. */
static unsigned
histogram_bucket(const struct sqt_histogram *h, int64_t value)
{
    unsigned low = 0, high = h->bound_count;
    while (low < high) {
        const unsigned at = (low + high) / 2;
        if (h->bounds[at] <= value)
            low = at + 1;
        else
            high = at;
    }
    return low;
}

int
sqt_histogram_row(void *context, const union sqt_cell *row)
{
    struct sqt_histogram *const h = context;
    const int64_t value = row[h->column].number;
    if (value == SQT_CELL_MISSING) {
        ++h->missing;
        return 1;
    }
    ++h->values;
    ++h->counts[histogram_bucket(h, value)];
    return 1;
}

void
sqt_histogram_emit(struct sqt_histogram *h, unsigned width, sqt_row_function *row, void *context)
{
    unsigned first = 0, last = h->bound_count, longest = 0;
    if (!h->values)
        return;
    while (!h->counts[first])
        ++first;
    while (!h->counts[last])
        --last;
    for (unsigned i = first; i <= last; ++i)
        longest = h->counts[i] > h->counts[longest] ? i : longest;
    width = width > BAR_MOST ? BAR_MOST : width;
    for (unsigned i = first; i <= last; ++i) {
        const unsigned length = (unsigned)((double)h->counts[i] / (double)h->counts[longest] * width + 0.5);
        char bar[BAR_MOST + 2] = "";
        memset(bar, '#', length || !h->counts[i] ? length : 1);
        union sqt_cell cells[HISTOGRAM_CELLS];
        cells[HISTOGRAM_LOWER].number = i ? h->bounds[i - 1] : SQT_CELL_MISSING;
        cells[HISTOGRAM_UPPER].number = i < h->bound_count ? h->bounds[i] : SQT_CELL_MISSING;
        cells[HISTOGRAM_COUNT].number = (int64_t)h->counts[i];
        cells[HISTOGRAM_SHARE].number = sqt_percent((double)h->counts[i], (double)h->values);
        cells[HISTOGRAM_BAR].text = bar;
        if (!row(context, cells))
            return;
    }
}
