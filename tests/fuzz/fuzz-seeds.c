/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-seeds.c - pieces of traces, small enough for fuzzing, on the standard output or into files.
 *
 *     fuzz_seeds TRACE FOLDER PREFIX RECORDS STEP
 *
 * Each STEP records a piece of RECORDS begins: FOLDER/PREFIX-<number>.  A piece is a segment for each process, with the
 * declarations and definitions that its records need, and no others.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/read/stream.h"

#define ORIGINS 8
#define BLOCK 700

/* What a process wrote. */
struct process {
    struct sqt_origin *origin;
    struct sqt_record *records;
    size_t count, room;
    uint64_t first;
};

static struct process processes[ORIGINS];
static size_t process_count;

static void
hear(void *context, enum sqt_severity severity, const char *text)
{
    (void)context, (void)severity;
    fprintf(stderr, "fuzz_seeds: %s\n", text);
}

static struct process *
process_of(struct sqt_origin *origin)
{
    size_t i = 0;
    while (i < process_count && processes[i].origin != origin)
        ++i;
    if (i == ORIGINS)
        exit(1);
    process_count += i == process_count;
    processes[i].origin = origin;
    return &processes[i];
}

static void
keep(struct process *p, const struct sqt_record *records, size_t count)
{
    if (p->count + count > p->room) {
        p->room = (p->count + count) * 2;
        p->records = realloc(p->records, p->room * sizeof(*records));
        if (!p->records)
            exit(1);
    }
    memcpy(p->records + p->count, records, count * sizeof(*records));
    p->count += count;
}

/* The definition of that kind and number, if there is one and it is not in the text.  Of a cache_dir only the type is
 * kept. */
static void
append_definition(struct make_bytes *text, const struct process *p, unsigned kind, uint64_t number)
{
    const char *const name = number <= UINT32_MAX ? sqt_origin_text(p->origin, kind, (uint32_t)number) : NULL;
    char line[128];
    if (!name)
        return;
    const int n = kind == SQT_DEF_DIR
                      ? snprintf(line, sizeof(line), "def\t%u\t%u\t%.*s /cache/%u\n", kind, (unsigned)number,
                                 (int)strcspn(name, " "), name, (unsigned)number)
                      : snprintf(line, sizeof(line), "def\t%u\t%u\t%.80s\n", kind, (unsigned)number, name);
    if (!text->size || !memmem(text->data, text->size, line, (size_t)n))
        make_append(text, line, (size_t)n);
}

/* The declarations of events and the definitions that the records need. */
static void
append_text(struct make_bytes *b, const struct process *p, size_t from, size_t until)
{
    static char all[32768];
    struct make_bytes text = {NULL, 0, 0};
    uint8_t seen[256] = {0};
    sqt_events_text(all, sizeof(all));
    for (size_t i = from; i < until; ++i)
        seen[p->records[i].event & 255] = 1;
    for (const char *line = all; *line; line = strchr(line, '\n') + 1)
        if (seen[strtoul(line + 6, NULL, 10) & 255])
            make_append(&text, line, (size_t)(strchr(line, '\n') + 1 - line));
    for (size_t i = from; i < until; ++i)
        for (unsigned kind = 1; kind < SQT_DEF_KINDS; ++kind) {
            append_definition(&text, p, kind, p->records[i].id);
            append_definition(&text, p, kind, p->records[i].arg);
            append_definition(&text, p, kind, p->records[i].aux & ~(UINT32_C(1) << 31));
        }
    make_frame(b, SQT_FRAME_TEXT, 0, text.data, text.size);
    make_free(&text);
}

static void
append_piece(struct make_bytes *b, const struct process *p, unsigned number, size_t from, size_t until)
{
    struct sqt_identity who;
    while (from < until && (p->records[from].flags & SQT_FLAG_PART))
        ++from;
    while (until > from && until < p->count && (p->records[until].flags & SQT_FLAG_PART))
        --until;
    if (from >= until)
        return;
    const struct sqt_totals totals = {.head = until - from, .clean = 1};
    make_identity(&who, number + 1, p->origin->identity.kid);
    who.kid_kind = p->origin->identity.kid_kind;
    who.ticks_per_second = p->origin->identity.ticks_per_second;
    who.start.ticks = p->origin->identity.start.ticks;
    make_header(b, &who, 0);
    append_text(b, p, from, until);
    make_blocks(b, &who, 0, p->records + from, until - from, BLOCK, MAKE_ZLIB);
    make_end(b, &who, &totals);
}

int
main(int argc, char **argv)
{
    struct sqt_run run;
    struct sqt_stream *const stream = argc == 6 ? sqt_stream_open((const char *const *)&argv[1], 1, hear, NULL) : NULL;
    if (!stream)
        return 1;
    const size_t records = strtoul(argv[4], NULL, 10), step = strtoul(argv[5], NULL, 10);
    while (sqt_stream_next(stream, &run))
        if (run.first != UINT64_MAX)
            keep(process_of(run.origin), run.records, run.count);
    int more = step > 0;
    for (unsigned number = 0; more; ++number) {
        struct make_bytes b = {NULL, 0, 0};
        char path[4096];
        more = 0;
        for (size_t i = 0; i < process_count; ++i) {
            const struct process *const p = &processes[i];
            const size_t share = records / process_count, from = number * (step / process_count + 1);
            if (from < p->count)
                append_piece(&b, p, (unsigned)i, from, from + share < p->count ? from + share : p->count);
            more |= from + share < p->count;
        }
        snprintf(path, sizeof(path), "%s/%s-%u", argv[2], argv[3], number);
        if (b.size)
            make_file(path, &b);
        make_free(&b);
    }
    sqt_stream_close(stream);
    return 0;
}
