/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare.c - how two traces differ, class by class: the median, the 99th percentile and the mean of the total,
 * and the mean of each stage.
 *
 * All intervals of a pair of traces hold together with 95 %: each of n has 1 - 0.05 / n (Bonferroni), so that two equal
 * traces seldom differ anywhere in the table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "base/memory.h"
#include "base/whole.h"

#define TOGETHER 0.95
/* A 99th percentile that goes the other way by such a factor is told even if its interval has zero in it, or there is none. */
#define TAIL_TOLD 2

static struct compared *
compare_add(struct comparison *c, enum sqt_class class, const char *name, int stage, const struct sqt_estimate *a,
            const struct sqt_estimate *b)
{
    c->rows = sqt_resized(c->rows, (c->count + 1) * sizeof(*c->rows));
    c->rows[c->count] = (struct compared){.class = class, .name = name, .stage = stage, .a = a, .b = b};
    return &c->rows[c->count++];
}

static void
compare_class(struct comparison *c, const struct report_trace *a, const struct report_trace *b, enum sqt_class class)
{
    const struct sqt_sections *const x = &a->classes[class], *const y = &b->classes[class];
    uint64_t sums[SQT_PARTS];
    unsigned order[SQT_PARTS];
    if (!x->all.count || !y->all.count)
        return;
    compare_add(c, class, "median", -1, &x->median, &y->median);
    compare_add(c, class, "99th percentile", -1, &x->p99, &y->p99);
    compare_add(c, class, "mean", -1, &x->mean, &y->mean);
    for (unsigned p = 0; p < SQT_PARTS; ++p)
        sums[p] = (uint64_t)sqt_whole(x->parts[p].value + y->parts[p].value);
    words_order(sums, order);
    for (unsigned p = 0; p < SQT_PARTS && sums[order[p]]; ++p)
        compare_add(c, class, words_part_name(order[p]), (int)order[p], &x->parts[order[p]], &y->parts[order[p]]);
}

void
compare(struct comparison *c, const struct report_trace *a, const struct report_trace *b)
{
    size_t told = 0;
    memset(c, 0, sizeof(*c));
    c->a = a;
    c->b = b;
    for (unsigned class = 0; class < SQT_CLASSES; ++class)
        compare_class(c, a, b, class);
    for (size_t i = 0; i < c->count; ++i)
        told += c->rows[i].a->freedom > 0 && c->rows[i].b->freedom > 0;
    c->confidence = 1 - (1 - TOGETHER) / (told ? (double)told : 1);
    for (size_t i = 0; i < c->count; ++i)
        c->rows[i].difference = sqt_sections_difference(c->rows[i].a, c->rows[i].b, c->confidence);
}

void
compare_free(struct comparison *c)
{
    free(c->rows);
}

/* ---- words ---- */

const char *
compared_verdict(const struct compared *row)
{
    const struct sqt_difference *const d = &row->difference;
    return d->verdict == SQT_VERDICT_DIFFERENT ? d->value > 0 ? "slower" : "faster" : "same";
}

char *
compared_words(const struct compared *row)
{
    char share[WORDS_ROOM];
    const double base = row->a->value;
    const int slower = row->difference.value > 0;
    switch (row->difference.verdict) {
    case SQT_VERDICT_UNKNOWN:
        return sqt_copied("too few requests to tell");
    case SQT_VERDICT_SAME:
        return sqt_copied("no difference");
    case SQT_VERDICT_DIFFERENT:
        break;
    }
    const char *const word = row->stage < 0 ? (slower ? "slower" : "faster") : slower ? "more" : "less";
    if (base < 1)
        return sqt_copied(word);
    return sqt_printed("%s %s", words_share(fabs(row->difference.value) / base, share), word);
}

/* The stage whose mean differs most in the direction of the class's mean; NULL: none is sure to. */
static const struct compared *
main_stage(const struct comparison *c, enum sqt_class class, int slower)
{
    const struct compared *found = NULL;
    for (size_t i = 0; i < c->count; ++i) {
        const struct compared *const row = &c->rows[i];
        if (row->class != class || row->stage < 0 || row->difference.verdict != SQT_VERDICT_DIFFERENT ||
            (row->difference.value > 0) != slower)
            continue;
        if (!found || fabs(row->difference.value) > fabs(found->difference.value))
            found = row;
    }
    return found;
}

/* What the 99th percentile does while the statistic that was told goes the other way. */
static void
compare_put_tail(FILE *out, const struct compared *told, const struct compared *p99)
{
    char from[WORDS_ROOM], to[WORDS_ROOM];
    const double a = p99->a->value, b = p99->b->value;
    const int slower = b > a, sure = p99->difference.verdict == SQT_VERDICT_DIFFERENT;
    if (told == p99 || slower == (told->difference.value > 0))
        return;
    if (!sure && (slower ? b < TAIL_TOLD * a : a < TAIL_TOLD * b))
        return;
    fprintf(out, " But the slowest are %s: the 99th percentile went from %s to %s%s.", slower ? "slower" : "faster",
            words_time(a, from), words_time(b, to),
            sure ? "" : ", though these traces are too short to be sure of that");
}

char *
compared_sentence(const struct comparison *c, size_t first)
{
    char *text = NULL, from[WORDS_ROOM], to[WORDS_ROOM], by[WORDS_ROOM], share[WORDS_ROOM];
    size_t size;
    const struct compared *const rows = &c->rows[first]; /* median, 99th percentile, mean */
    FILE *const out = sqt_text_stream(&text, &size);
    const char *const class = words_class(rows->class);
    fprintf(out, "%c%s: ", class[0] - 'a' + 'A', class + 1);
    const struct compared *chosen = NULL;
    for (unsigned i = 0; i < 3 && !chosen; ++i)
        if (rows[i].difference.verdict == SQT_VERDICT_DIFFERENT)
            chosen = &rows[i];
    if (!chosen) {
        fputs("no difference.", out);
    } else {
        const int slower = chosen->difference.value > 0;
        fprintf(out, "%s. The %s went from %s to %s", slower ? "slower" : "faster", chosen->name,
                words_time(chosen->a->value, from), words_time(chosen->b->value, to));
        if (chosen->a->value >= 1)
            fprintf(out, " (%s%s)", slower ? "+" : "\xe2\x88\x92",
                    words_share(fabs(chosen->difference.value) / chosen->a->value, share));
        const struct compared *const stage = main_stage(c, rows->class, slower);
        if (stage)
            fprintf(out, "; most of it is %s, %s for a request on average", words_part((unsigned)stage->stage),
                    words_difference(stage->difference.value, by));
        fputs(".", out);
        compare_put_tail(out, chosen, &rows[1]);
    }
    fclose(out);
    return text;
}
