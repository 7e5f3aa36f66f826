/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * chrome.c - the family of trace-event JSON, and the frame around the events; see chrome.h.
 */
#include "chrome.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

#define KEEP_BUDGET ((size_t)32 << 20) /* bytes that may wait for the ends of requests */
#define LANE_BUDGET ((size_t)16 << 20) /* bytes of all threads of tracks */

static void
chrome_start(struct sqt_job *job)
{
    struct sqt_chrome *const c = job->state = sqt_zeroed(1, sizeof(*c));
    c->sink = job->context;
    c->events.out = &c->sink->out;
    c->keep.left = KEEP_BUDGET;
    c->tracks.events = c->links.events = &c->events;
    c->tracks.left = LANE_BUDGET;
    c->counters.tracks = &c->tracks;
    c->counters.most = SQT_CHANGES;
    c->counters.settled = INT64_MIN;
}

static void
chrome_note_bounds(const struct sqt_job *job, const struct sqt_chrome *c)
{
    sqt_job_note_bound(job, c->tracks.beyond, "slices are moments, because too many of a track overlap");
    sqt_job_note_bound(job, c->counters.late,
                       "requests or blocks are counted as in flight only from later on, because "
                       "too many others came before they ended");
    sqt_job_note_bound(job, c->links.forgotten, "blocks have no arrow, because too many waited for their requests");
}

static void
chrome_finish(struct sqt_job *job)
{
    struct sqt_chrome *const c = job->state;
    sqt_sink_header(c->sink);
    sqt_counters_finish(&c->counters);
    sqt_chrome_loop_finish(c);
    sqt_links_finish(&c->links);
    chrome_note_bounds(job, c);
    sqt_links_free(&c->links);
    sqt_counters_free(&c->counters);
    sqt_tracks_free(&c->tracks);
    sqt_keep_free(&c->keep);
    free(c);
}

const struct sqt_family sqt_chrome_family = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = chrome_start,
    .consumer = {.charge = sqt_chrome_charge,
                 .recharge = sqt_chrome_recharge,
                 .request = sqt_chrome_request,
                 .unlogged = sqt_chrome_unlogged,
                 .io = sqt_chrome_io,
                 .connection = sqt_chrome_connection,
                 .wait = sqt_chrome_wait,
                 .loop = sqt_chrome_loop,
                 .loss = sqt_chrome_loss},
    .finish = chrome_finish,
};

/* ---- the frame around the events ---- */

void
sqt_chrome_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    const char *const list = sink->headed ? "\n],\n\"account\":[" : "{\"about\":[";
    char line[4000];
    snprintf(line, sizeof(line), "%s: %s", key, text);
    sqt_json_print(&sink->out, "%s\n", sink->comments++ ? "," : list);
    sqt_json_string(&sink->out, line);
}

void
sqt_chrome_header(struct sqt_sink *sink)
{
    sqt_json_print(&sink->out, "%s\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[", sink->comments ? "\n],\n" : "{");
    sink->comments = 0;
}

void
sqt_chrome_finish(struct sqt_sink *sink)
{
    sqt_json_print(&sink->out, "\n]}\n");
}
