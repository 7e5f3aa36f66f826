/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * differences.c - the section of index.html that compares traces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "compare.h"
#include "index.h"

static void
differences_rows(struct page *page, const struct comparison *c)
{
    int few = 0;
    page_put(page, "differences-begin", "first", c->a->label, "second", c->b->label, NULL);
    for (size_t i = 0; i < c->count; ++i) {
        const struct compared *const row = &c->rows[i];
        char first[WORDS_ROOM], second[WORDS_ROOM], by[WORDS_ROOM], low[WORDS_ROOM], high[WORDS_ROOM];
        char interval[3 * WORDS_ROOM] = "";
        if (!i || row[-1].class != row->class) {
            char name[80];
            page_put(page, "differences-class", "class", index_class_title(row->class, name), "first",
                     sqt_grouped(c->a->classes[row->class].all.count, first), "second",
                     sqt_grouped(c->b->classes[row->class].all.count, second), NULL);
            few = row->difference.verdict == SQT_VERDICT_UNKNOWN;
            if (few)
                page_put(page, "differences-few", NULL);
        }
        if (few)
            continue;
        if (row->difference.verdict != SQT_VERDICT_UNKNOWN)
            snprintf(interval, sizeof(interval), "%s to %s", words_difference(row->difference.low, low),
                     words_difference(row->difference.high, high));
        char *const words = compared_words(row);
        page_put(page, "difference", "kind", row->stage < 0 ? "total" : "stage", "name", row->name, "first",
                 words_time(row->a->value, first), "second", words_time(row->b->value, second), "difference",
                 words_difference(row->difference.value, by), "interval", interval, "verdict", compared_verdict(row),
                 "words", words, NULL);
        free(words);
    }
    page_put(page, "differences-end", NULL);
}

/* A sentence for each class, and one for those that have too few requests. */
static void
differences_sentences(struct page *page, const struct comparison *c)
{
    char few[600] = "";
    for (size_t k = 0; k < c->count; ++k) {
        if (k && c->rows[k - 1].class == c->rows[k].class)
            continue;
        if (c->rows[k].difference.verdict == SQT_VERDICT_UNKNOWN) {
            const size_t at = strlen(few);
            snprintf(few + at, sizeof(few) - at, "%s %s",
                     at ? "," : "Too few requests to tell:", words_class(c->rows[k].class));
            continue;
        }
        char *const sentence = compared_sentence(c, k);
        page_put(page, "list-item", "text", sentence, NULL);
        free(sentence);
    }
    if (*few) {
        strcat(few, ".");
        page_put(page, "list-item", "text", few, NULL);
    }
}

/* All requests: whether the change was good, and what differs. */
static void
differences_whole(struct page *page, const struct comparison *c)
{
    struct lines lines = {0};
    compare_whole(&lines, c->a, c->b);
    page_put(page, "verdict", "text", lines.text[0], NULL);
    page_put(page, "list-begin", NULL);
    for (size_t i = 1; i < lines.count; ++i)
        page_put(page, "list-item", "text", lines.text[i], NULL);
    page_put(page, "list-end", NULL);
    lines_free(&lines);
    page_put(page, "note", "text", "By class:", NULL);
}

void
index_differences(const struct report *r, struct page *page)
{
    char least[16], most[16], confidence[16] = "";
    page_put(page, "section", "id", "differences", "title", "Differences", NULL);
    for (size_t i = 1; i < r->trace_count; ++i) {
        struct comparison c;
        char title[128];
        compare(&c, &r->traces[0], &r->traces[i]);
        snprintf(title, sizeof(title), "From %s to %s", c.a->label, c.b->label);
        page_put(page, "heading", "text", title, NULL);
        differences_whole(page, &c);
        page_put(page, "list-begin", NULL);
        differences_sentences(page, &c);
        page_put(page, "list-end", NULL);
        differences_rows(page, &c);
        snprintf(confidence, sizeof(confidence), "%.4g", 100 * c.confidence);
        compare_free(&c);
    }
    snprintf(least, sizeof(least), "%d", SQT_SECTIONS_LEAST);
    snprintf(most, sizeof(most), "%d", SQT_SECTIONS_MOST);
    page_put(page, "differences-note", "least", least, "most", most, "confidence", confidence, NULL);
    page_put(page, "section-end", NULL);
}
