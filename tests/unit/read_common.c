/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_common.c - see read_common.h.
 */
#include "read_common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct sqt_crew *read_crew;
static char directory[64];

const char *
read_directory(void)
{
    strcpy(directory, "/tmp/sqtrace-read-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return directory;
}

void
read_directory_remove(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    assert_int_equal(system(command), 0);
}

const char *
read_path(const char *name)
{
    static char paths[16][256];
    static unsigned next;
    char *const path = paths[next++ % 16];
    snprintf(path, sizeof(paths[0]), "%s%s%s", directory, *name ? "/" : "", name);
    return path;
}

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    struct read_result *const r = context;
    char line[1200], *in;
    const size_t prefix = strlen(directory);
    snprintf(line, sizeof(line), "%c %s\n", "NWE"[severity], text);
    while (prefix && (in = strstr(line, directory)) != NULL)
        memmove(in, in + prefix + 1, strlen(in + prefix + 1) + 1);
    const size_t size = strlen(line);
    r->messages = realloc(r->messages, r->messages_size + size + 1);
    memcpy(r->messages + r->messages_size, line, size + 1);
    r->messages_size += size;
}

static void
keep(struct read_result *r, const struct sqt_run *run)
{
    ++r->runs;
    r->origin = run->origin;
    if (r->count + run->count > r->room) {
        r->room = (r->count + run->count) * 2;
        r->records = realloc(r->records, r->room * sizeof(*r->records));
        r->ns = realloc(r->ns, r->room * sizeof(*r->ns));
        r->number = realloc(r->number, r->room * sizeof(*r->number));
        r->kid = realloc(r->kid, r->room * sizeof(*r->kid));
    }
    r->split |= (run->records[0].flags & SQT_FLAG_PART) != 0;
    for (size_t i = 0; i < run->count; ++i) {
        const size_t n = r->count++;
        r->records[n] = run->records[i];
        r->ns[n] = sqt_line_ns(&run->line, run->records[i].time);
        r->number[n] = run->first == UINT64_MAX ? UINT64_MAX : run->first + i;
        r->kid[n] = run->origin->identity.kid;
        r->went_back |= n > 0 && r->ns[n] < r->ns[n - 1];
    }
}

static void
read_paths(struct read_result *r, const char *const *paths, size_t count, const uint32_t *kid)
{
    struct sqt_run run;
    read_free(r);
    r->stream = sqt_stream_open(paths, count, hear, r);
    r->opened = r->stream != NULL;
    if (!r->opened)
        return;
    if (kid)
        sqt_stream_keep_kids(r->stream, kid, 1);
    sqt_stream_share(r->stream, read_crew);
    r->start_ns = sqt_stream_start_ns(r->stream);
    while (sqt_stream_next(r->stream, &run))
        keep(r, &run);
    r->problems = sqt_stream_problems(r->stream);
}

void
read_all(struct read_result *r, const char *path, ...)
{
    const char *paths[64];
    size_t count = 0;
    va_list more;
    va_start(more, path);
    for (; path && count < 64; path = va_arg(more, const char *))
        paths[count++] = path;
    va_end(more);
    read_paths(r, paths, count, NULL);
}

void
read_kid(struct read_result *r, uint32_t kid, const char *path)
{
    read_paths(r, &path, 1, &kid);
}

void
read_free(struct read_result *r)
{
    sqt_stream_close(r->stream);
    free(r->records);
    free(r->ns);
    free(r->number);
    free(r->kid);
    free(r->messages);
    memset(r, 0, sizeof(*r));
}

void
read_expect_records(const struct read_result *r, const struct sqt_record *records, size_t count, uint64_t first)
{
    assert_int_equal(r->count, count);
    assert_false(r->went_back);
    assert_false(r->split);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(r->number[i], first + i);
        assert_memory_equal(&r->records[i], &records[i], sizeof(*records));
    }
}

void
read_expect_lost(const struct read_result *r, size_t i, unsigned reason, uint64_t count)
{
    assert_true(i < r->count);
    assert_int_equal(r->number[i], UINT64_MAX);
    assert_int_equal(r->records[i].event, SQT_EV_LOST);
    assert_int_equal(r->records[i].aux, reason);
    assert_int_equal(r->records[i].arg, count);
}

void
read_simple(struct sqt_record *records, size_t n)
{
    memset(records, 0, n * sizeof(*records));
    for (size_t i = 0; i < n; ++i) {
        records[i].time = MAKE_START + (i + 1) * (MAKE_TICKS_PER_SECOND / 1000000);
        records[i].event = SQT_EV_ACCESS_BEGIN;
        records[i].id = i + 1;
    }
}
