/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whatif.c - what a change of a setting would bring: the table `whatif`.
 */
#include "sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"

struct whatif {
    struct sqt_sizes *sizes[SQT_SIZES];   /* NULL: not wanted */
    struct sqt_replay replay;             /* of their caches */
    struct sqt_whatif_children *children; /* the same */
    struct sqt_whatif_collapsed *collapsed;
    struct sqt_whatif_kept *kept;
    struct sqt_whatif_bounds *bounds;
};

void
sqt_whatif_clear(union sqt_cell *row)
{
    for (unsigned i = 0; i < SQT_CELLS(whatif); ++i)
        if (sqt_tables[SQT_TABLE_whatif].columns[i].type == SQT_TYPE_TEXT)
            row[i].text = NULL;
        else
            row[i].number = SQT_CELL_MISSING;
}

double
sqt_whatif_hours(int64_t first, int64_t last)
{
    return first > last ? 0 : ((double)last - (double)first) / 3.6e12;
}

int64_t
sqt_whatif_whole(double number)
{
    return isnan(number) ? SQT_CELL_MISSING : sqt_whole(number);
}

void
sqt_whatif_settings(const struct sqt_job *job, struct sqt_settings *settings)
{
    if (job->whatif)
        *settings = job->whatif->settings;
    else
        sqt_settings_init(settings);
}

/* Settings of a trace are few. */
#define SETTINGS_MOST 64

void
sqt_whatif_settings_of(const struct sqt_job *job, struct sqt_settings *settings, const struct sqt_origin *origin)
{
    char error[512];
    if (job->whatif && job->whatif->from_file)
        return;
    for (unsigned i = 0; i < SETTINGS_MOST; ++i) {
        const char *const line = sqt_origin_text(origin, SQT_DEF_SETTING, i);
        if (line)
            sqt_settings_line(settings, line, error, sizeof(error)); /* a line that is wrong changes nothing */
    }
}

int
sqt_whatif_wants(const struct sqt_job *job, const char *setting)
{
    if (!job->whatif || !job->whatif->asked_count)
        return 1;
    for (unsigned i = 0; i < job->whatif->asked_count; ++i)
        if (strcmp(job->whatif->asked[i].setting, setting) == 0)
            return 1;
    return 0;
}

/* ---- figures ---- */

#define OF(name) row[SQT_CELL(whatif, name)]

/* Both figures of caches have the same columns. */
SQT_ASSERT(SQT_CELLS(whatif_cache_mem) == SQT_CELLS(whatif_cache_dir), "the same columns");

static void
whatif_point_of_size(struct sqt_job *job, const union sqt_cell *row, int64_t value, unsigned marks)
{
    union sqt_cell point[SQT_CELLS(whatif_cache_mem)];
    point[SQT_CELL(whatif_cache_mem, size_bytes)].number = value;
    point[SQT_CELL(whatif_cache_mem, hits_pct)] = OF(hit_ratio_pct);
    point[SQT_CELL(whatif_cache_mem, bytes_pct)] = OF(byte_hit_ratio_pct);
    point[SQT_CELL(whatif_cache_mem, now_pct)].number =
        marks & SQT_WHATIF_TODAY ? OF(hit_ratio_pct).number : SQT_CELL_MISSING;
    point[SQT_CELL(whatif_cache_mem, knee_pct)].number =
        marks & SQT_WHATIF_KNEE ? OF(hit_ratio_pct).number : SQT_CELL_MISSING;
    sqt_job_row(job, point);
}

static void
whatif_point_of_children(struct sqt_job *job, const union sqt_cell *row, int64_t value, unsigned marks)
{
    union sqt_cell point[SQT_CELLS(whatif_children)];
    point[SQT_CELL(whatif_children, children)].number = value;
    point[SQT_CELL(whatif_children, mean_ms)] = OF(wait_mean_ms);
    point[SQT_CELL(whatif_children, p99_ms)] = OF(wait_p99_ms);
    point[SQT_CELL(whatif_children, now_ms)].number =
        marks & SQT_WHATIF_TODAY ? OF(wait_mean_ms).number : SQT_CELL_MISSING;
    point[SQT_CELL(whatif_children, setting)].text = OF(setting).text;
    sqt_job_row(job, point);
}

void
sqt_whatif_words(union sqt_cell *row, const char *setting, const char *value, const char *now, const char *bound,
                 const char *method)
{
    sqt_whatif_clear(row);
    OF(setting).text = setting;
    OF(value).text = value;
    OF(now_value).text = now;
    OF(bound).text = bound;
    OF(method).text = method;
}

void
sqt_whatif_row(struct sqt_job *job, const union sqt_cell *row, int64_t value, unsigned marks)
{
    if (job->table == &sqt_tables[SQT_TABLE_whatif])
        sqt_job_row(job, row);
    else if (strcmp(OF(bound).text, "refused") == 0)
        job->note(job->context, "refused", OF(method).text);
    else if (job->table == &sqt_tables[SQT_TABLE_whatif_children])
        whatif_point_of_children(job, row, value, marks);
    else
        whatif_point_of_size(job, row, value, marks);
}

/* Whether the table or figure is about a setting of that kind; SQT_SIZES: about children. */
static int
whatif_is_about(const struct sqt_job *job, unsigned setting)
{
    if (job->table == &sqt_tables[SQT_TABLE_whatif_cache_mem])
        return setting == SQT_SIZES_MEMORY;
    if (job->table == &sqt_tables[SQT_TABLE_whatif_cache_dir])
        return setting == SQT_SIZES_DISK;
    return job->table != &sqt_tables[SQT_TABLE_whatif_children] || setting == SQT_SIZES;
}

/* ---- the family ---- */

static void
whatif_start(struct sqt_job *job)
{
    struct whatif *const w = job->state = sqt_zeroed(1, sizeof(*w));
    sqt_replay_init(&w->replay);
    for (unsigned i = 0; i < SQT_SIZES; ++i)
        if (whatif_is_about(job, i) && sqt_whatif_wants(job, sqt_sizes_name(i)))
            w->sizes[i] = sqt_sizes_new(job, i, &w->replay);
    if (whatif_is_about(job, SQT_SIZES) && (sqt_whatif_wants(job, "children") || sqt_whatif_wants(job, "max-conn")))
        w->children = sqt_whatif_children_new(job);
    if (!job->table->figure && sqt_whatif_wants(job, "collapsed_forwarding"))
        w->collapsed = sqt_whatif_collapsed_new(job);
    if (job->table == &sqt_tables[SQT_TABLE_whatif] && !(job->whatif && job->whatif->asked_count)) {
        w->kept = sqt_whatif_kept_new(job);
        w->bounds = sqt_whatif_bounds_new(job);
    }
}

int
sqt_whatif_believes(int64_t begin, int64_t end)
{
    const int64_t far = INT64_C(1) << 61; /* ns: 73 years */
    return -far < begin && begin <= end && end < far;
}

static void
whatif_request(void *context, const struct sqt_xact *xact)
{
    const struct sqt_job *const job = context;
    struct whatif *const w = job->state;
    struct sqt_access access;
    enum sqt_class class;
    if (xact->begin < job->since || xact->begin >= job->until || !sqt_whatif_believes(xact->begin, xact->end))
        return;
    if (w->kept) {
        sqt_whatif_kept_request(w->kept, xact);
        sqt_whatif_bounds_request(w->bounds, xact);
    }
    if (!sqt_whatif_access(&access, xact, &class))
        return;
    for (unsigned i = 0; i < SQT_SIZES; ++i)
        if (w->sizes[i])
            sqt_sizes_request(w->sizes[i], &access, class, xact);
    if (w->replay.group_count)
        sqt_replay_add(&w->replay, &access);
    if (w->collapsed)
        sqt_whatif_collapsed_request(w->collapsed, &access, xact);
}

static void
whatif_sample(void *context, const struct sqt_sample_row *sample)
{
    const struct sqt_job *const job = context;
    struct whatif *const w = job->state;
    for (unsigned i = 0; i < SQT_SIZES; ++i)
        if (w->sizes[i])
            sqt_sizes_sample(w->sizes[i], sample);
}

static void
whatif_wait(void *context, const struct sqt_wait *wait)
{
    const struct sqt_job *const job = context;
    struct whatif *const w = job->state;
    if (w->children && wait->begin >= job->since && wait->begin < job->until &&
        sqt_whatif_believes(wait->begin, wait->end))
        sqt_whatif_children_wait(w->children, wait);
}

static void
whatif_closed(void *context, const struct sqt_closed_row *row)
{
    const struct sqt_job *const job = context;
    struct whatif *const w = job->state;
    if (w->kept && row->at >= job->since && row->at < job->until)
        sqt_whatif_kept_closed(w->kept, row);
}

/* Settings that a trace cannot answer for. */
static void
whatif_reasons(struct sqt_job *job)
{
    static const struct {
        const char *setting, *why;
    } reasons[] = {
#define WHATIF_REASON(setting, why) {setting, why},
#include "reasons.def"
    };
    union sqt_cell row[SQT_CELLS(whatif)];
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(*reasons); ++i) {
        sqt_whatif_words(row, reasons[i].setting, NULL, NULL, "none", reasons[i].why);
        sqt_job_row(job, row);
    }
}

static void
whatif_finish(struct sqt_job *job)
{
    struct whatif *const w = job->state;
    for (unsigned i = 0; i < SQT_SIZES; ++i)
        if (w->sizes[i])
            sqt_sizes_finish(w->sizes[i]);
    sqt_replay_free(&w->replay);
    if (w->children)
        sqt_whatif_children_finish(w->children);
    if (w->collapsed)
        sqt_whatif_collapsed_finish(w->collapsed);
    if (w->kept) {
        sqt_whatif_kept_finish(w->kept);
        sqt_whatif_bounds_finish(w->bounds);
    }
    if (job->rows && !job->table->figure && !(job->whatif && job->whatif->asked_count))
        whatif_reasons(job);
    sqt_freed(w);
}

const struct sqt_family sqt_family_whatif = {
    .start = whatif_start,
    .consumer = {.request = whatif_request, .sample = whatif_sample, .wait = whatif_wait, .closed = whatif_closed},
    .finish = whatif_finish,
};
