/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parquet.c - see parquet.h.
 */
#include "parquet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"
#include "base/visible.h"
#include "codec.h"
#include "fields.h"
#include "file.h"

/* A row group smaller than this is not worth writing to gain memory. */
#define WORTH_WRITING ((size_t)256 << 10)

/* The files of one table and one process, one after the other. */
struct parquet_series {
    struct parquet_series *next;     /* of all that have a file under way */
    const struct sqt_origin *origin; /* NULL: none */
    struct sqt_parquet_table *table;
    struct sqt_parquet_file file;
    int open;       /* the file is under way */
    size_t size;    /* its bytes of memory, as counted */
    uint64_t used;  /* when it got a row last */
    unsigned batch; /* number of the next file */
};

struct sqt_parquet_table {
    struct sqt_parquet_table *next;
    struct sqt_parquet *parquet;
    const struct sqt_table *table;
    struct sqt_parquet_field fields[SQT_PARQUET_FIELDS];
    unsigned field_count;
    char prefix[32];                /* of its files, which stand beside others; "": they do not */
    int directory;                  /* -1: not made */
    struct parquet_series **series; /* by the origin's index, after that of rows that are of no process */
    size_t series_count;
    uint64_t files;
};

struct sqt_parquet {
    int directory;
    const char *name;
    uint64_t start_ns;
    mode_t mode;
    struct sqt_parquet_table *tables;
    struct parquet_series *open;
    size_t size;
    uint64_t clock; /* blocks of rows so far */
    uint64_t rows, files;
    void *codec;
    char error[640];
};

/* ---- tables ---- */

struct sqt_parquet *
sqt_parquet_new(int directory, const char *name, uint64_t start_ns, mode_t mode)
{
    struct sqt_parquet *const p = sqt_zeroed(1, sizeof(*p));
    p->directory = directory;
    p->name = name;
    p->start_ns = start_ns;
    p->mode = mode;
    return p;
}

static int
parquet_fail(const struct sqt_parquet_table *t, const char *file, int cause)
{
    struct sqt_parquet *const p = t->parquet;
    const char *const table = *t->prefix ? "" : t->table->name;
    if (!p->error[0])
        snprintf(p->error, sizeof(p->error), "%.300s/%s%s%s: cannot write: %s", p->name, table,
                 *table && *file ? "/" : "", file,
                 cause == ESTALE ? "somebody put another file there meanwhile" : sqt_open_refusal(cause));
    return -1;
}

static struct sqt_parquet_table *
parquet_add_table(struct sqt_parquet *p, const struct sqt_table *table)
{
    struct sqt_parquet_table *const t = sqt_zeroed(1, sizeof(*t));
    t->parquet = p;
    t->table = table;
    t->next = p->tables;
    p->tables = t;
    t->field_count = sqt_parquet_fields(table, t->fields);
    return t;
}

struct sqt_parquet_table *
sqt_parquet_add_beside(struct sqt_parquet *p, const struct sqt_table *table, const char *prefix)
{
    struct sqt_parquet_table *const t = parquet_add_table(p, table);
    snprintf(t->prefix, sizeof(t->prefix), "%s-", prefix);
    t->directory = p->directory;
    return t;
}

struct sqt_parquet_table *
sqt_parquet_add(struct sqt_parquet *p, const struct sqt_table *table)
{
    struct sqt_parquet_table *const t = parquet_add_table(p, table);
    t->directory = mkdirat(p->directory, table->name, 0777) == 0
                       ? openat(p->directory, table->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                       : -1;
    if (t->directory < 0)
        parquet_fail(t, "", errno);
    return t;
}

/* ---- files ---- */

static void
parquet_ring(const struct sqt_origin *origin, char text[36])
{
    snprintf(text, 36, "none");
    for (unsigned i = 0; origin && i < 16; ++i)
        snprintf(text + 2 * i, 3, "%02x", origin->shown_ring[i]);
}

static void
parquet_begin_file(struct parquet_series *s)
{
    struct sqt_parquet_table *const t = s->table;
    char ring[36], name[sizeof(s->file.name)];
    parquet_ring(s->origin, ring);
    snprintf(name, sizeof(name), "%.31s%.32s-%06u.parquet", t->prefix, ring, s->batch++ % 1000000);
    sqt_parquet_file_begin(&s->file, t->directory, name, t->parquet->mode, t->fields, t->field_count,
                           &t->parquet->codec);
    s->open = 1;
    s->next = t->parquet->open;
    t->parquet->open = s;
    ++t->files;
    ++t->parquet->files;
}

static void
parquet_count_size(struct parquet_series *s)
{
    const size_t size = s->open ? sqt_parquet_file_size(&s->file) : 0;
    s->table->parquet->size += size - s->size;
    s->size = size;
}

/* Takes it from those whose file is under way, and gives up its memory. */
static void
parquet_drop(struct parquet_series *s, int remove)
{
    struct parquet_series **link = &s->table->parquet->open;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    sqt_parquet_file_free(&s->file, remove);
    s->open = 0;
    parquet_count_size(s);
}

static int
parquet_finish_file(struct parquet_series *s)
{
    const struct sqt_origin *const o = s->origin;
    char numbers[3][24], ring[36], name[80], squid[SQT_VISIBLE_MOST * sizeof(o->identity.squid_version)];
    const uint64_t start = s->table->parquet->start_ns;
    const uint64_t values[3] = {start || !o ? start : o->identity.start.realtime_ns, o ? o->head : 0, o ? o->lost : 0};
    for (unsigned i = 0; i < 3; ++i)
        snprintf(numbers[i], sizeof(numbers[i]), "%llu", (unsigned long long)values[i]);
    parquet_ring(o, ring);
    sqt_visible_text(squid, sizeof(squid), o ? o->identity.squid_version : "");
    const struct sqt_parquet_note notes[] = {{"sqtrace.table", s->table->table->name},
                                             {"sqtrace.start_ns", numbers[0]},
                                             {"sqtrace.ring", ring},
                                             {"sqtrace.squid", squid},
                                             {"sqtrace.head", numbers[1]},
                                             {"sqtrace.lost", numbers[2]}};
    const int failed = sqt_parquet_file_finish(&s->file, notes, o ? sizeof(notes) / sizeof(*notes) : 2) != 0;
    const int cause = errno;
    snprintf(name, sizeof(name), "%s", s->file.name);
    parquet_drop(s, failed);
    return failed ? parquet_fail(s->table, name, cause) : 0;
}

static int
parquet_end_group(struct parquet_series *s)
{
    if (sqt_parquet_file_end_group(&s->file) != 0)
        return parquet_fail(s->table, s->file.name, errno);
    parquet_count_size(s);
    return s->file.group_count < SQT_FILE_GROUPS ? 0 : parquet_finish_file(s);
}

/* Gains memory until the budget holds. */
static int
parquet_save_memory(struct sqt_parquet *p)
{
    while (p->size > SQT_PARQUET_BYTES && p->open) {
        struct parquet_series *largest = p->open, *oldest = p->open;
        for (struct parquet_series *s = p->open; s; s = s->next) {
            largest = s->size > largest->size ? s : largest;
            oldest = s->used < oldest->used ? s : oldest;
        }
        const int write = largest->size >= WORTH_WRITING && largest->file.rows;
        if ((write ? parquet_end_group(largest) : parquet_finish_file(oldest)) != 0)
            return -1;
    }
    return 0;
}

/* ---- rows ---- */

static struct parquet_series *
parquet_series_of(struct sqt_parquet_table *t, const struct sqt_origin *origin)
{
    const size_t at = origin ? origin->index + (size_t)1 : 0;
    if (at >= t->series_count) {
        t->series = sqt_resized(t->series, (at + 1) * sizeof(struct parquet_series *));
        while (t->series_count <= at)
            t->series[t->series_count++] = NULL;
    }
    struct parquet_series *s = t->series[at];
    if (!s) {
        s = t->series[at] = sqt_zeroed(1, sizeof(*s));
        s->origin = origin;
        s->table = t;
    }
    return s;
}

int
sqt_parquet_row(struct sqt_parquet_table *t, const struct sqt_origin *origin, const union sqt_cell *row)
{
    struct sqt_parquet *const p = t->parquet;
    struct parquet_series *const s = parquet_series_of(t, origin);
    if (p->error[0])
        return 0;
    const int begins = !s->open;
    if (begins)
        parquet_begin_file(s);
    ++p->rows;
    sqt_parquet_file_row(&s->file, row);
    if (s->file.waiting && !begins)
        return 1;
    s->used = ++p->clock;
    parquet_count_size(s);
    if (sqt_parquet_file_group_full(&s->file) && parquet_end_group(s) != 0)
        return 0;
    return parquet_save_memory(p) == 0;
}

/* ---- the end ---- */

int
sqt_parquet_finish(struct sqt_parquet *p)
{
    for (struct sqt_parquet_table *t = p->tables; t && !p->error[0]; t = t->next)
        if (!t->files && !*t->prefix)
            parquet_begin_file(parquet_series_of(t, NULL));
    while (p->open && !p->error[0])
        parquet_finish_file(p->open);
    return p->error[0] ? -1 : 0;
}

const char *
sqt_parquet_error(const struct sqt_parquet *p)
{
    return p->error;
}

uint64_t
sqt_parquet_files(const struct sqt_parquet *p)
{
    return p->files;
}

uint64_t
sqt_parquet_rows(const struct sqt_parquet *p)
{
    return p->rows;
}

void
sqt_parquet_free(struct sqt_parquet *p)
{
    if (!p)
        return;
    while (p->open)
        parquet_drop(p->open, 1);
    for (struct sqt_parquet_table *t = p->tables, *next; t; t = next) {
        next = t->next;
        for (size_t i = 0; i < t->series_count; ++i)
            free(t->series[i]);
        free(t->series);
        if (t->directory >= 0 && !*t->prefix)
            close(t->directory);
        free(t);
    }
    sqt_codec_free(p->codec);
    free(p);
}
