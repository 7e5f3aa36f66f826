/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * samples.c - the table of resource samples, and the same by time group (samples.h).
 */
#include "samples.h"
#include "base/memory.h"
#include "base/scatter.h"

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

/* Runs of a kid are told apart by their origin, unless they are merged. */
static struct sqt_sampled_source **
source_place(struct sqt_sampled *all, const struct sqt_origin *origin, const char *name, int merge)
{
    const uint64_t whose = merge ? (uint64_t)origin->identity.kid : (uint64_t)(uintptr_t)origin;
    const uint64_t hash = sqt_scattered(whose, sqt_scatter()) ^ sqt_scattered_text(name, strlen(name));
    struct sqt_sampled_source **p = &all->hashed[(hash >> 32) % SQT_SAMPLED_MOST];
    while (*p && !(strcmp((*p)->name, name) == 0 &&
                   ((*p)->origin == origin || (merge && (*p)->origin->identity.kid == origin->identity.kid &&
                                               strcmp((*p)->origin->identity.service, origin->identity.service) == 0))))
        p = &(*p)->same;
    return p;
}

/* NULL: there are too many. */
static struct sqt_sampled_source *
source_of(struct sqt_sampled *all, const struct sqt_job *job, const struct sqt_origin *origin, const char *name,
          int merge)
{
    struct sqt_sampled_source **const place = source_place(all, origin, name, merge), *s = *place;
    if (s)
        return s;
    if (all->count == SQT_SAMPLED_MOST) {
        ++all->beyond;
        return NULL;
    }
    ++all->count;
    s = *place = sqt_zeroed(1, sizeof(*s));
    s->origin = origin;
    snprintf(s->name, sizeof(s->name), "%s", name);
    sqt_time_groups_init(&s->groups, job, 2 * SQT_SAMPLES, 0);
    sqt_time_groups_share(&s->groups, &all->left, 0);
    s->next = all->sources;
    all->sources = s;
    return s;
}

static struct sqt_sampled *
source_all(struct sqt_sampled **sampled, const struct sqt_job *job)
{
    if (!*sampled) {
        *sampled = sqt_zeroed(1, sizeof(**sampled));
        const int64_t room = 4 * sqt_job_room(job);
        (*sampled)->left = room < (int64_t)SQT_JOB_ROOM ? room : (int64_t)SQT_JOB_ROOM;
    }
    return *sampled;
}

void
sqt_sampled_add(struct sqt_sampled **sampled, struct sqt_job *job, const struct sqt_sample_row *s,
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
    struct sqt_sampled_source *const source = source_of(source_all(sampled, job), job, s->origin, name, merge);
    if (!source)
        return;
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
sqt_sampled_finish(struct sqt_sampled *all, struct sqt_job *job)
{
    struct sqt_sampled_source *sorted[SQT_SAMPLED_MOST], **end;
    unsigned count = 0;
    if (!all)
        return;
    for (struct sqt_sampled_source *s = all->sources; s; s = s->next) {
        sqt_time_groups_finish(&s->groups, job);
        sorted[count++] = s;
    }
    qsort(sorted, count, sizeof(*sorted), by_kid);
    end = &all->sources;
    for (unsigned i = 0; i < count; ++i) {
        *end = sorted[i];
        end = &sorted[i]->next;
    }
    *end = NULL;
    for (unsigned i = 1; i < count; ++i) /* the note of the first speaks for all */
        sorted[0]->groups.beyond += sorted[i]->groups.beyond;
    sqt_job_note_bound(job, all->beyond, "samples are left out, because they are of too many sources");
}

void
sqt_sampled_free(struct sqt_sampled *all)
{
    for (struct sqt_sampled_source *s = all ? all->sources : NULL, *next; s; s = next) {
        next = s->next;
        sqt_time_groups_free(&s->groups);
        sqt_freed(s);
    }
    sqt_freed(all);
}
