/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_found.h - table `findings` of hand-made records, with its texts, for the tests of rules and looks.
 */
#ifndef MODEL_FOUND_H
#define MODEL_FOUND_H

#include "model_kept.h"

#include "figure/finding/findings.h"

#define MS INT64_C(1000000)

/* ---- a job whose rows are kept, with their texts ---- */

static struct {
    union sqt_cell cells[SQT_CELLS(findings)];
    char texts[SQT_CELLS(findings)][1024];
} found[8];
static unsigned found_count, number;

static inline int
take_row(void *context, const union sqt_cell *row)
{
    (void)context;
    assert_true(found_count < 8);
    memcpy(found[found_count].cells, row, sizeof(found[0].cells));
    for (unsigned i = 0; i < SQT_CELLS(findings); ++i)
        if (sqt_tables[SQT_TABLE_findings].columns[i].type == SQT_TYPE_TEXT)
            snprintf(found[found_count].texts[i], sizeof(found[0].texts[i]), "%s", row[i].text ? row[i].text : "-");
    ++found_count;
    return 1;
}

static char percentiles[128];

static inline void
note(void *context, const char *key, const char *text)
{
    (void)context;
    if (strcmp(key, "percentiles") == 0)
        snprintf(percentiles, sizeof(percentiles), "%s", text);
}

#define NUMBER(row, name) (found[row].cells[SQT_CELL(findings, name)].number)
#define TEXT(row, name) (found[row].texts[SQT_CELL(findings, name)])

/* Makes the table of the records so far. */
static inline void
find(void)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_row, .note = note};
    for (unsigned i = 0; i < script.count; ++i)
        job.length = (int64_t)script.records[i].time > job.length ? (int64_t)script.records[i].time : job.length;
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    found_count = 0;
    consumer.context = &job;
    kept_begin();
    sqt_family_findings.start(&job);
    play_to(&consumer);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
    for (unsigned i = 0; i < found_count; ++i) {
        assert_in_range(NUMBER(i, until_s), NUMBER(i, time_s), job.length);
        assert_in_range(NUMBER(i, share_pct) == SQT_CELL_MISSING ? 0 : NUMBER(i, share_pct), 0, 100000);
    }
    script.count = number = 0;
}

#endif
