/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_kept.h - the traces of the tests of findings as files, for findings_oracle.py.
 *
 * Where the environment variable SQT_MODEL_TRACES names a folder, each trace in which a test finds something becomes a folder in
 * it: 01, 02 ..., with a segment for each process.
 */
#ifndef MODEL_KEPT_H
#define MODEL_KEPT_H

#include <stdint.h>
#include <sys/stat.h>

#include "make_trace.h"
#include "model_script.h"

#define KEPT_PROCESSES 2
#define KEPT_DEFINITIONS 2048
#define KEPT_MOST ((size_t)1 << 20) /* records of a process: of longer traces none is kept */

static struct {
    struct sqt_record *records;
    size_t count, room;
} kept_processes[KEPT_PROCESSES];
static unsigned kept_number;

/* The records are about to be played, as that process. */
static inline void
kept_play(unsigned process, const struct sqt_record *records, size_t count)
{
    if (!getenv("SQT_MODEL_TRACES") || kept_processes[process].count > KEPT_MOST)
        return;
    while (kept_processes[process].count + count > kept_processes[process].room) {
        kept_processes[process].room = kept_processes[process].room ? 2 * kept_processes[process].room : 4096;
        kept_processes[process].records = realloc(
            kept_processes[process].records, kept_processes[process].room * sizeof(*kept_processes[process].records));
        assert_non_null(kept_processes[process].records);
    }
    memcpy(kept_processes[process].records + kept_processes[process].count, records, count * sizeof(*records));
    kept_processes[process].count += count;
}

/* A trace begins. */
static inline void
kept_begin(void)
{
    script_played = kept_play;
    for (unsigned i = 0; i < KEPT_PROCESSES; ++i)
        kept_processes[i].count = 0;
}

/* All names that the model is told. */
static inline void
kept_texts(struct make_bytes *bytes)
{
    char line[256];
    for (unsigned kind = SQT_DEF_DIR; kind < SQT_DEF_KINDS; ++kind)
        for (uint32_t i = 0; i < KEPT_DEFINITIONS; ++i) {
            const char *const text = sqt_origin_text(NULL, kind, i);
            if (text)
                make_append(bytes, line,
                            (size_t)snprintf(line, sizeof(line), "def\t%u\t%u\t%s\n", kind, (unsigned)i, text));
        }
    make_append(bytes, "", 1);
}

/* The trace is over: writes it, and forgets it.  Ticks are nanoseconds. */
static inline void
kept_write(const struct sqt_origin origins[KEPT_PROCESSES])
{
    const char *const folder = getenv("SQT_MODEL_TRACES");
    char path[4096];
    struct make_bytes texts = {NULL, 0, 0};
    if (!folder || !kept_processes[0].count || kept_processes[0].count > KEPT_MOST)
        return;
    kept_texts(&texts);
    snprintf(path, sizeof(path), "%s/%02u", folder, ++kept_number);
    assert_int_equal(mkdir(path, 0755), 0);
    const size_t used = strlen(path);
    for (unsigned i = 0; i < KEPT_PROCESSES; ++i) {
        const size_t count = kept_processes[i].count;
        struct sqt_identity who;
        kept_processes[i].count = 0;
        if (!count || count > KEPT_MOST)
            continue;
        make_identity(&who, i + 1, origins[i].identity.kid);
        who.kid_kind = origins[i].identity.kid_kind;
        who.ticks_per_second = 1000000000;
        who.start.ticks = i ? kept_processes[i].records[0].time : 0;
        who.start.monotonic_ns += who.start.ticks;
        who.start.realtime_ns += who.start.ticks;
        snprintf(path + used, sizeof(path) - used, "/%u.sqt", i);
        make_segment_file(path, &who, 0, 0, kept_processes[i].records, count, (char *)texts.data, MAKE_ZLIB);
    }
    make_free(&texts);
}

#endif
