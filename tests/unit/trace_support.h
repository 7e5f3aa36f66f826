/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_support.h - what the tests of the runtime share: a place to trace into, and a small decoder of their own.
 */
#ifndef TRACE_SUPPORT_H
#define TRACE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "trace/sqtrace.h"

/* A trace directory on disk and a ring directory on tmpfs, both new and empty. */
struct place {
    char directory[128];
    char ringdir[128];
    pid_t owner; /* process that made it */
};
void place_make(struct place *place);
/* A test that has such a place as its state. */
#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)
int place_setup(void **state);
int place_teardown(void **state);
/* Removes both with all that is in them.  A forked child that comes here failed an assertion, and ends with status 1
 * instead of running the other tests a second time. */
void place_remove(const struct place *place);
/* Files in a directory whose names end so. */
unsigned place_count(const char *directory, const char *suffix);
/* The path of the only such file; fails the test if there are none or more. */
void place_only(char *path, size_t size, const char *directory, const char *suffix);

/* Whether there is a file of that name in the trace directory. */
int place_has(const struct place *place, const char *name);

/* Starts tracing there, without group sample, with more words of the directive, as kid 3 of service "test".  Returns sqt_start's result. */
int place_start(const struct place *place, const char *const *words);
void place_config(const struct place *place, const char *const *words, struct sqt_config *config);
extern const struct sqt_process place_process;

/* What was said through the log function since the last place_start. */
extern char place_said[8192];
void place_log(int level, const char *text);

/* A ring in memory, without a flusher, that the emitter writes to with that clock, and its end. */
struct sqt_ring_header *ring_in_memory(unsigned capacity, unsigned text_size, uint32_t clock);
void ring_in_memory_end(struct sqt_ring_header *ring);
/* A test by either clock, for a program that has these three functions. */
#define WITH_EACH_CLOCK(test) \
    {#test " (tsc)", test, setup_tsc, teardown, NULL}, \
    { \
#test " (monotonic)", test, setup_monotonic, teardown, NULL \
    }

/* All records of one ring id, read back. */
struct decoded {
    struct sqt_record *records;
    uint64_t first; /* number of records[0] */
    uint64_t count;
    uint64_t lost;  /* that LOST records speak of */
    uint64_t marks; /* LOST records */
    unsigned segments, ends;
    struct sqt_totals totals; /* of the last END, or of the ring */
    char *text;               /* of the last segment, NUL-terminated */
    uint8_t ring_id[16];
};

/* Reads the segments of a run and then its ring, if it still has one, and fails the test unless record numbers go on
 * without a gap or a double, CRCs hold, time does not go back and units are whole in each block.
 * base: prefix of the names; NULL: of the only run. */
void decode(struct decoded *decoded, const char *directory, const char *base);
/* Adds nothing from segments: what a ring file holds from its tail on. */
void decode_ring(struct decoded *decoded, const char *path);
void decode_free(struct decoded *decoded);
/* The text of a definition (enum sqt_def) in a trace's text, until the next call; fails the test if it is not there. */
const char *definition(const char *text, unsigned kind, uint32_t number);

/* Emits n events with consecutive ids from `id`, every fifth as a unit of three.  Returns how many records they are. */
uint64_t emit_mixed(uint64_t id, unsigned n);
/* Fails the test unless the ids from..to came back in order, each once. */
void check_mixed(const struct decoded *decoded, uint64_t from, uint64_t to);

/* Waits until the flusher has taken everything; fails the test after 10 s. */
void wait_flushed(void);

/* Skips the test, saying why. */
#define SKIP_BECAUSE(...) \
    do { \
        print_message("# " __VA_ARGS__); \
        print_message("\n"); \
        skip(); \
    } while (0)

/* Writes ROOT/path, whose folders are made: a file of /proc or /sys, as a test wants it. */
void plant_file(const char *root, const char *path, const char *text);

#endif
