/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * alarm.c - see alarm.h.
 */
#include "alarm-internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/human.h"
#include "base/memory.h"
#include "tally.h"

static const char *const alarm_names[] = {
#define ALARM_FUNCTION(id, name, column, doc) name,
#include "functions.def"
};

struct sqt_alarms *
sqt_alarms_new(const struct sqt_table *table)
{
    struct sqt_alarms *const s = sqt_zeroed(1, sizeof(*s));
    s->table = table;
    s->set.budget = SQT_TALLY_VALUES;
    return s;
}

int
sqt_alarms_add(struct sqt_alarms *s, const char *text, char *error, size_t error_size)
{
    if (s->count == SQT_ALARMS) {
        snprintf(error, error_size, "more than %d conditions", SQT_ALARMS);
        return -1;
    }
    if (alarm_parse(&s->list[s->count], s->table, text, error, error_size) != 0)
        return -1;
    ++s->count;
    return 0;
}

/* ---- rows ---- */

static void
alarm_value(struct sqt_alarms *s, struct alarm *a, int64_t value)
{
    a->min = a->values && a->min < value ? a->min : value;
    a->max = a->values && a->max > value ? a->max : value;
    a->sum += (double)value;
    ++a->values;
    if (a->function == ALARM_percentile)
        sqt_distribution_add(&s->set, &a->distribution, value);
}

int
sqt_alarms_row(void *context, const union sqt_cell *row)
{
    struct sqt_alarms *const s = context;
    ++s->rows;
    for (unsigned i = 0; i < s->count; ++i) {
        struct alarm *const a = &s->list[i];
        const int bare = a->column == s->table->column_count;
        const enum sqt_type type = bare ? SQT_TYPE_COUNT : s->table->columns[a->column].type;
        const union sqt_cell cell = bare ? (union sqt_cell){.number = 1} : row[a->column];
        const int missing = !bare && sqt_cell_missing(type, cell), matches = sqt_where_match(a->where, &row);
        const int64_t value = type == SQT_TYPE_TEXT || type == SQT_TYPE_RAW || missing ? 1 : cell.number;
        if (!missing)
            a->whole += (double)value;
        a->matched += (uint64_t)matches;
        if (matches && !missing)
            alarm_value(s, a, value);
    }
    return 1;
}

unsigned
sqt_alarms_count(const struct sqt_alarms *s)
{
    return s->count;
}

uint64_t
sqt_alarms_rows(const struct sqt_alarms *s)
{
    return s->rows;
}

/* ---- verdicts ---- */

static double
alarm_compute(struct alarm *a)
{
    const double one = a->type == SQT_TYPE_MILLI ? 1000 : 1; /* of a mean of counts */
    switch (a->function) {
    case ALARM_count:
        return (double)a->values;
    case ALARM_sum:
        return a->sum;
    case ALARM_mean:
        return a->sum / (double)a->values * one;
    case ALARM_min:
        return (double)a->min;
    case ALARM_max:
        return (double)a->max;
    case ALARM_share:
        return a->sum / a->whole * 100000;
    case ALARM_percentile:
        break;
    }
    return (double)(a->per_mille == 500 ? sqt_distribution_median(&a->distribution)
                                        : sqt_distribution_quantile(&a->distribution, a->per_mille));
}

/* No rows are a count, and a share of something. */
static int
alarm_known(const struct alarm *a)
{
    return a->function == ALARM_count || (a->function == ALARM_share ? a->whole > 0 : a->values > 0);
}

static void
alarm_label(const struct sqt_alarms *s, const struct alarm *a, char label[80])
{
    char percentile[16];
    const char *name = percentile;
    const char *const column = a->column < s->table->column_count ? s->table->columns[a->column].name : "";
    if (a->function != ALARM_percentile)
        name = alarm_names[a->function];
    else if (a->per_mille % 10)
        snprintf(percentile, sizeof(percentile), "p%u.%u", a->per_mille / 10, a->per_mille % 10);
    else
        snprintf(percentile, sizeof(percentile), "p%u", a->per_mille / 10);
    snprintf(label, 80, "%s(%.60s)", name, column);
}

void
sqt_alarms_judge(struct sqt_alarms *s, unsigned i, struct sqt_alarm_verdict *v)
{
    struct alarm *const a = &s->list[i];
    memset(v, 0, sizeof(*v));
    v->text = a->text;
    v->rows = a->values;
    v->type = a->type;
    v->bound = (double)a->bound;
    v->above = a->operator->greater;
    v->below = a->operator->less;
    v->known = alarm_known(a);
    alarm_label(s, a, v->label);
    if (!v->known)
        return;
    v->value = alarm_compute(a);
    v->holds = v->value < v->bound ? a->operator->less : v->value> v->bound ? a->operator->greater : a->operator->equal;
}

/* A value for people; a negative one has its sign. */
static const char *
alarm_put(char text[SQT_HUMAN_ROOM + 1], enum sqt_type type, double value)
{
    char *const p = text + (value < 0);
    const double size = value < 0 ? -value : value;
    char grouped[32];
    *text = '-';
    if (type == SQT_TYPE_NS || type == SQT_TYPE_MS || type == SQT_TYPE_TIME)
        sqt_human_time(p, size, " ", "us");
    else if (type == SQT_TYPE_BYTES)
        sqt_human_bytes(p, size);
    else if (type == SQT_TYPE_PCT)
        snprintf(p, SQT_HUMAN_ROOM, "%.3f %%", size / 1000);
    else if (type == SQT_TYPE_MILLI)
        snprintf(p, SQT_HUMAN_ROOM, "%.3f", size / 1000);
    else
        snprintf(p, SQT_HUMAN_ROOM, "%s", sqt_grouped(size < 1.8e19 ? (uint64_t)size : UINT64_MAX, grouped));
    return text;
}

void
sqt_alarm_words(const struct sqt_alarm_verdict *v, char text[SQT_ALARM_WORDS])
{
    char value[SQT_HUMAN_ROOM + 1], by[SQT_HUMAN_ROOM + 1], bound[SQT_HUMAN_ROOM + 1], rows[32], share[48] = "";
    const double off = v->value - v->bound;
    if (!v->known) {
        snprintf(text, SQT_ALARM_WORDS, "no rows");
        return;
    }
    if (v->bound > 0 && off != 0)
        snprintf(share, sizeof(share), " (%.1f %%)", (off < 0 ? -off : off) / v->bound * 100);
    alarm_put(value, v->type, v->value);
    alarm_put(by, v->type, off < 0 ? -off : off);
    alarm_put(bound, v->type, v->bound);
    sqt_grouped(v->rows, rows);
    if (off == 0)
        snprintf(text, SQT_ALARM_WORDS, "%s of %s row%s, just as much", value, sqt_grouped(v->rows, rows),
                 v->rows == 1 ? "" : "s");
    else
        snprintf(text, SQT_ALARM_WORDS, "%s of %s row%s, %s%s %s %s", value, sqt_grouped(v->rows, rows),
                 v->rows == 1 ? "" : "s", by, share, off > 0 ? "above" : "below", bound);
}

void
sqt_alarms_free(struct sqt_alarms *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < s->count; ++i) {
        sqt_distribution_drop(&s->set, &s->list[i].distribution);
        sqt_where_free(s->list[i].where);
    }
    free(s);
}
