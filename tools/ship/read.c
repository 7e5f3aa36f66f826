/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read.c - reading the trace, and shipping what is new.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digits.h"
#include "read/final.h"
#include "run.h"

/* A directory that changed while it was listed is listed again, so often at most and after so many ms. */
#define READ_LISTS_MOST 20
#define READ_PAUSE_MS 20

static void
read_report(void *context, enum sqt_severity severity, const char *text)
{
    struct ship *const ship = context;
    if (severity == SQT_ERROR) {
        program_fail(&ship->voice, "%s", text);
        ship->failed = 1;
    } else if (severity == SQT_WARNING) {
        program_say(&ship->voice, "warning: %s", text);
    }
}

/* ---- opening ---- */

/* When the directories changed last, in one number; INT64_MAX if that was just now. */
static int64_t
read_changed(const struct ship *ship)
{
    struct timespec now;
    int64_t sum = 0;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    for (size_t i = 0; i < ship->request->directory_count; ++i) {
        struct stat st;
        if (stat(ship->request->directories[i], &st) != 0)
            continue;
        const int64_t ago = (now.tv_sec - st.st_mtim.tv_sec) * INT64_C(1000000000) + now.tv_nsec - st.st_mtim.tv_nsec;
        if (ago >= 0 && ago < READ_PAUSE_MS * INT64_C(1000000))
            return INT64_MAX;
        sum += st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
    }
    return sum;
}

/* Opens the trace.  A list that was made while files came and went may lack one of them. */
static struct sqt_stream *
read_open(struct ship *ship)
{
    const struct timespec pause = {0, READ_PAUSE_MS * 1000000L};
    struct sqt_stream *stream = NULL;
    for (unsigned tries = 0; tries < READ_LISTS_MOST; ++tries) {
        sqt_stream_close(stream);
        const int64_t before = read_changed(ship);
        stream = sqt_stream_open(ship->request->directories, ship->request->directory_count, read_report, ship);
        if (!stream || (before != INT64_MAX && before == read_changed(ship)))
            break;
        nanosleep(&pause, NULL);
    }
    return stream;
}

/* Each ring holds a descriptor. */
static void
read_allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- records ---- */

static void
read_run(struct ship *ship, const struct sqt_run *run)
{
    struct ship_ring *const ring = ship_ring_of(ship, run->origin);
    struct sqt_record lost;
    struct sqt_run mine;
    if (!ring->met && ship_ring_removed(ring, run, &mine, &lost)) {
        ship->position = mine.next - 1;
        sqt_pass_run(ship->pass, &mine);
    }
    ring->met = 1;
    run = ship_ring_run(ship, ring, run, &mine, &lost);
    if (run)
        sqt_pass_run(ship->pass, run);
}

static void
read_ended(void *context, const struct sqt_origin *origin)
{
    struct ship *const ship = context;
    struct ship_ring *const ring = ship_ring_of(ship, origin);
    ring->ended = 1;
    ship->position = ring->seen;
    if (ring->rest.count)
        sqt_pass_run(ship->pass, &ring->rest);
    sqt_pass_end_origin(ship->pass, origin);
}

/* ---- batches ---- */

/* Whether a batch is large or old enough. */
static int
read_is_due(const struct ship *ship, const struct ship_ring *ring)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    return ship->crowded || ring->ended || ring->bytes >= (uint64_t)ship->request->least_size ||
           (ring->oldest_ns < now_ns && now_ns - ring->oldest_ns >= ship->request->least_age);
}

static void
read_ship_ring(struct ship *ship, struct ship_ring *ring)
{
    struct ship_state state = ring->state;
    state.shipped = ring->seen + (ring->ended ? 1 : 0);
    state.ended = ring->ended;
    if (ring->lock < 0 || state.shipped <= ring->state.shipped)
        return;
    if (!read_is_due(ship, ring)) {
        ++ship->put_off;
        if (ship_stage_clear(ship, ring->id, &ring->state) != 0)
            ship->failed = 1;
        return;
    }
    state.ticks = ring->ticks;
    ship_claim_sign(ring, &state);
    if (ship_stage_commit(ship, ring, &state) != 0)
        ship->failed = 1;
    else
        ship->bytes += ring->bytes;
}

static void
read_ship(struct ship *ship)
{
    ship_stage_count(ship);
    for (size_t i = 0; i < ship->ring_count; ++i)
        if (ship->rings[i])
            read_ship_ring(ship, ship->rings[i]);
}

/* ---- all together ---- */

/* Where a run ends early, records are final all the same: the next run reads on from there. */
static int
read_is_crowded(struct ship *ship)
{
    return ship->crowded = sqt_parquet_files(ship->parquet) >= SHIP_FILES_MOST;
}

static void
read_stream(struct ship *ship)
{
    struct sqt_crew *const crew = sqt_crew_new(sqt_processors() - 1);
    struct sqt_run run;
    sqt_stream_share(ship->stream, crew);
    ship_claim_look(ship);
    sqt_stream_only_final(ship->stream, ship, read_ended);
    ship_rows_begin(ship);
    ship->pass = sqt_pass_new(ship->jobs, ship->request->table_count, NULL, crew);
    while (!sqt_pass_done(ship->pass) && !read_is_crowded(ship) && sqt_stream_next(ship->stream, &run))
        read_run(ship, &run);
    sqt_pass_free(ship->pass);
    if (ship_rows_finish(ship) != 0)
        ship->failed = 1;
    else
        read_ship(ship);
    ship_rows_free(ship);
    for (size_t i = 0; i < ship->ring_count; ++i)
        if (ship->rings[i] && ship->rings[i]->lock >= 0 && ship->failed)
            ship_stage_clear(ship, ship->rings[i]->id, &ship->rings[i]->state);
    sqt_stream_close(ship->stream);
    sqt_crew_free(crew);
}

static void
read_say(struct ship *ship)
{
    char files[32], bytes[32];
    program_say(&ship->voice, "shipped %s files of %s bytes", sqt_grouped(ship->files, files),
                sqt_grouped(ship->bytes, bytes));
    if (ship->put_off)
        program_say(&ship->voice, "%u rings have too little yet; --least-size and --least-age say when", ship->put_off);
    if (ship->undated)
        program_say(&ship->voice,
                    "warning: %" PRIu64 " rows are in date=" SHIP_NONE
                    ": a run makes folders for %d days of a ring, and "
                    "%d in all",
                    ship->undated, SHIP_RING_DAYS, SHIP_RUN_DAYS);
    if (ship->crowded)
        program_say(&ship->voice, "warning: a run makes %d files and then ends; the next run goes on", SHIP_FILES_MOST);
    if (ship->busy)
        program_say(&ship->voice, "rings that another sqtrace-ship has were left to it");
}

static void
read_free(struct ship *ship)
{
    for (size_t i = 0; i < ship->ring_count; ++i)
        if (ship->rings[i]) {
            ship_ring_close(ship->rings[i]);
            free(ship->rings[i]);
        }
    free(ship->rings);
    free(ship->traces);
    ship_place_close(&ship->place);
}

enum ship_status
ship_run(const struct ship_request *request)
{
    struct ship ship = {.request = request,
                        .voice = {.program = "sqtrace-ship", .quiet = request->given[SHIP_quiet] != NULL}};
    read_allow_descriptors();
    if (ship_place_open(&ship.place, &ship.voice, request->given[SHIP_to], request->given[SHIP_make_folder] != NULL) !=
        0) {
        read_free(&ship);
        return SHIP_FAILED;
    }
    ship_stage_recover(&ship);
    ship.stream = read_open(&ship);
    if (ship.stream) {
        read_stream(&ship);
        read_say(&ship);
    }
    const int failed = !ship.stream || ship.failed;
    read_free(&ship);
    return failed ? SHIP_FAILED : ship.busy ? SHIP_BUSY : SHIP_DONE;
}
