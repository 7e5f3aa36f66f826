/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * samples.c - the table of resource samples, and the same by time group (samples.h).
 */
#include "samples.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the text of a sample, or what it is of, says that it is of such a source. */
static int
is_of(const char *text, enum sqt_sample_source source)
{
    const char *const begin = sqt_sample_sources[source].name;
    const size_t length = strlen(begin);
    return strncmp(text, begin, length) == 0 && (text[length] == '\0' || text[length] == ' ');
}

static enum sqt_sample_value
sample_table_value_of(const char *source, const char *name)
{
    unsigned kind = 0;
    while (kind < SQT_SAMPLE_SOURCES && !is_of(source, kind))
        ++kind;
    for (unsigned i = 0; i < SQT_SAMPLES; ++i)
        if (sqt_samples[i].source == kind && strcmp(sqt_samples[i].name, name) == 0)
            return i;
    return SQT_SAMPLES;
}

const char *
sqt_sample_split(const struct sqt_sample_row *sample, char *source, enum sqt_sample_value *what)
{
    static const char unknown[] = "unknown";
    const char *const text = sqt_origin_text(sample->origin, SQT_DEF_SAMPLE, sample->what);
    const char *const space = text ? strrchr(text, ' ') : NULL;
    const size_t length = space ? (size_t)(space - text) : sizeof(unknown) - 1;
    const size_t taken = length < SQT_SOURCE_NAME ? length : SQT_SOURCE_NAME - 1;
    memcpy(source, space ? text : unknown, taken);
    source[taken] = '\0';
    *what = space ? sample_table_value_of(source, space + 1) : SQT_SAMPLES;
    return space ? space + 1 : unknown;
}

#define CELL(name) row[SQT_CELL(samples, name)]

static void
sample_table_cells(union sqt_cell *row, const struct sqt_sample_row *sample, const char *source, const char *name)
{
    CELL(time_s).number = sample->at;
    CELL(kid).number = sample->origin->identity.kid;
    CELL(source).text = source;
    CELL(name).text = name;
    CELL(value).number = (int64_t)sample->value;
}

static void
sample(void *context, const struct sqt_sample_row *s)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(samples)];
    char source[SQT_SOURCE_NAME];
    enum sqt_sample_value what;
    sample_table_cells(row, s, source, sqt_sample_split(s, source, &what));
    if (sqt_job_wants(job, s->at, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_samples = {
    .where = {SQT_TABLE_samples}, .where_count = 1, .consumer = {.sample = sample}};

/* ---- by time group ---- */

static struct sqt_sampled_source *
source_of(struct sqt_sampled_source **sources, const struct sqt_job *job, const struct sqt_origin *origin,
          const char *name, int merge)
{
    struct sqt_sampled_source **p = sources;
    while (*p && !(strcmp((*p)->name, name) == 0 &&
                   ((*p)->origin == origin || (merge && (*p)->origin->identity.kid == origin->identity.kid &&
                                               strcmp((*p)->origin->identity.service, origin->identity.service) == 0))))
        p = &(*p)->next;
    if (!*p) {
        *p = sqt_zeroed(1, sizeof(**p));
        (*p)->origin = origin;
        snprintf((*p)->name, sizeof((*p)->name), "%s", name);
        sqt_time_groups_init(&(*p)->groups, job, 2 * SQT_SAMPLES, 0);
    }
    return *p;
}

void
sqt_sampled_add(struct sqt_sampled_source **sources, struct sqt_job *job, const struct sqt_sample_row *s,
                enum sqt_sample_source kind, int merge)
{
    char name[SQT_SOURCE_NAME];
    enum sqt_sample_value what;
    const char *const text = sqt_origin_text(s->origin, SQT_DEF_SAMPLE, s->what);
    if (!text || !is_of(text, kind)) /* as most are: each figure is of one kind of source */
        return;
    const char *const value_name = sqt_sample_split(s, name, &what);
    if (what == SQT_SAMPLES || sqt_samples[what].source != kind)
        return;
    struct sqt_sampled_source *const source = source_of(sources, job, s->origin, name, merge);
    uint64_t sum = s->value, weight = 1;
    if (sqt_samples[what].counter) {
        const int64_t at = source->before[what].at;
        const uint64_t value = source->before[what].value;
        /* One that has shrunk began anew. */
        const int grew = source->before[what].known && s->at > at && s->value >= value;
        sum = grew ? s->value - value : 0;
        weight = grew ? (uint64_t)(s->at - at) : 0;
        source->before[what].at = s->at;
        source->before[what].value = s->value;
        source->before[what].known = 1;
    }
    union sqt_cell row[SQT_CELLS(samples)];
    sample_table_cells(row, s, name, value_name);
    const int wanted = merge ? s->at >= job->since && s->at < job->until : sqt_job_wants(job, s->at, row);
    struct sqt_time_group *const group = wanted && weight ? sqt_time_groups_at(&source->groups, s->at) : NULL;
    if (group) {
        group->sums[SQT_SUM_OF(what)] += sum;
        group->sums[SQT_WEIGHT_OF(what)] += weight;
    }
}

static int
by_kid(const void *one, const void *two)
{
    const struct sqt_sampled_source *const a = *(struct sqt_sampled_source *const *)one,
                                           *const b = *(struct sqt_sampled_source *const *)two;
    const uint64_t a_start = a->origin->identity.start.realtime_ns, b_start = b->origin->identity.start.realtime_ns;
    if (a->origin->identity.kid != b->origin->identity.kid)
        return a->origin->identity.kid < b->origin->identity.kid ? -1 : 1;
    const int names = strcmp(a->name, b->name);
    return names ? names : a_start < b_start ? -1 : a_start > b_start;
}

void
sqt_sampled_finish(struct sqt_sampled_source **sources, struct sqt_job *job)
{
    size_t count = 0;
    for (struct sqt_sampled_source *s = *sources; s; s = s->next, ++count)
        sqt_time_groups_finish(&s->groups, job);
    struct sqt_sampled_source **const sorted = sqt_zeroed(count + 1, sizeof(*sorted)), **end = sources;
    count = 0;
    for (struct sqt_sampled_source *s = *sources; s; s = s->next)
        sorted[count++] = s;
    qsort(sorted, count, sizeof(*sorted), by_kid);
    for (size_t i = 0; i < count; ++i) {
        *end = sorted[i];
        end = &sorted[i]->next;
    }
    *end = NULL;
    free(sorted);
}

void
sqt_sampled_free(struct sqt_sampled_source *sources)
{
    for (struct sqt_sampled_source *s = sources, *next; s; s = next) {
        next = s->next;
        sqt_time_groups_free(&s->groups);
        free(s);
    }
}
