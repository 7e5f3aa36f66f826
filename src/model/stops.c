/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stops.c - when the process did not run: it was stopped, or had no processor.
 *
 * Two things tell.  A wait that outlasts its time-out by far.  And a late heartbeat of the flusher, if the main thread
 * recorded nothing meanwhile either, that is, if one wait or the work of one pass covers it.  A heartbeat says only
 * between which two moments the process stopped running:
 *
 *     flusher      ran last      due                           ran again
 *                  |-------------|-----------------------------|
 *     main thread      wait begins or work begins               wait ends or work ends
 *                      |----------------------------------------|
 *     did not run      |_______________________________________|   at most a heartbeat too long
 *
 * What must be covered is the time from when the flusher was due.  Where the trace does not say when that was, it is the
 * time from when the flusher ran last, and it was due 25 ms later at most.
 *
 * A heartbeat is told up to a second after it, and a pass is known when it is over: so both are remembered.
 */
#include "base/memory.h"
#include "model-internal.h"

#include <string.h>

#define LATE ((int64_t)SQT_HEARTBEAT_LATE_NS)
#define REMEMBERED 64 /* passes that long; so many fit in the seconds that matter */
#define PENDING 64    /* as many as the flusher keeps */

struct late {
    int64_t last, due, again;
    uint32_t main_thread;
};

struct sqt_stops {
    struct sqt_loop_row passes[REMEMBERED]; /* a ring: the oldest is overwritten */
    uint64_t pass_count;
    struct late pending[PENDING];
    unsigned pending_count;
};

static struct sqt_stops *
stops_of(struct sqt_process_state *process)
{
    if (!process->loop.stops)
        process->loop.stops = sqt_zeroed(1, sizeof(*process->loop.stops));
    return process->loop.stops;
}

static void
stops_tell(const struct sqt_process_state *process, const struct sqt_loop_row *pass, int waited, int64_t begin,
           int64_t end, int64_t ns)
{
    const struct sqt_stop_row row = {.begin = begin, .end = end, .ns = ns, .pass = pass, .waited = waited};
    if (process->consumer->stop)
        process->consumer->stop(process->consumer->context, &row);
}

/* Nanoseconds for which the main thread computed, as far as the late heartbeat tells. */
static int64_t
stops_computed(const struct late *late)
{
    return late->main_thread & SQT_HEARTBEAT_AT_WORK ? 0 : (int64_t)late->main_thread * 1000;
}

/* Nanoseconds of a late heartbeat that one stretch of the main thread, from begin to end, does not cover. */
static int64_t
outside(int64_t begin, int64_t end, const struct late *late)
{
    const int64_t from = begin > late->due ? begin : late->due, until = end < late->again ? end : late->again;
    return late->again - late->due - (until - from);
}

/* Whether the stretch covers the late heartbeat: all but the time until the flusher was due, if that is in it, and some for
 * the threads to wake one after the other.  Outside the stretch the main thread may have computed, while the flusher alone had no processor: up
 * to a quarter of the time, and up to 100 ms. */
static int
covers(int64_t begin, int64_t end, const struct late *late)
{
    const int64_t gap = late->again - late->due, apart = gap / 8 < LATE ? gap / 8 : LATE;
    const int64_t sleep = late->due == late->last ? LATE : 0;
    const int64_t rest = outside(begin, end, late);
    const int64_t alone = rest <= gap / 4 && rest <= 4 * LATE ? stops_computed(late) : 0;
    return gap - rest >= LATE && rest - alone <= sleep + apart;
}

/* In a wait the main thread does nothing of itself, so that nothing tells a flusher that is held up by its disk from a
 * process that is: unless something ended the wait that was not what it waited for. */
static int
wait_stopped(const struct sqt_loop_row *p, const struct late *late)
{
    if (!covers(p->begin, p->work, late))
        return 0;
    return !(late->main_thread & SQT_HEARTBEAT_AT_WORK) || p->interrupted;
}

static void
stops_judge(const struct sqt_process_state *process, const struct sqt_loop_row *p, const struct late *late)
{
    const int64_t begin = p->begin > late->last ? p->begin : late->last;
    const int64_t work = p->work > late->last ? p->work : late->last;
    if (wait_stopped(p, late)) {
        const int64_t end = p->work < late->again ? p->work : late->again;
        stops_tell(process, p, 1, begin, end, end - begin);
    } else if (covers(p->work, p->end, late) && !(late->main_thread & SQT_HEARTBEAT_AT_WORK)) {
        const int64_t end = p->end < late->again ? p->end : late->again;
        const int64_t within = stops_computed(late) - outside(p->work, p->end, late);
        const int64_t stopped = end - work - (within > 0 ? within : 0);
        if (stopped >= LATE)
            stops_tell(process, p, 0, work, end, stopped);
    }
}

static void
judge_all(const struct sqt_process_state *process, struct sqt_stops *stops)
{
    const uint64_t first = stops->pass_count > REMEMBERED ? stops->pass_count - REMEMBERED : 0;
    for (unsigned i = 0; i < stops->pending_count; ++i)
        for (uint64_t k = first; k < stops->pass_count; ++k)
            stops_judge(process, &stops->passes[k % REMEMBERED], &stops->pending[i]);
    stops->pending_count = 0;
}

void
sqt_stops_pass(struct sqt_process_state *process, const struct sqt_loop_row *pass)
{
    const int64_t wait = pass->work - pass->begin, work = pass->end - pass->work;
    if (!process->consumer->stop)
        return;
    if (wait >= LATE || work >= LATE) {
        struct sqt_stops *const stops = stops_of(process);
        stops->passes[stops->pass_count++ % REMEMBERED] = *pass;
    }
    if (wait >= LATE && wait - LATE >= pass->timeout)
        stops_tell(process, pass, 1, pass->begin + pass->timeout, pass->work, wait - pass->timeout);
    if (process->loop.stops && process->loop.stops->pending_count)
        judge_all(process, process->loop.stops);
}

static void
heartbeat_late(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    if (!process->consumer->stop || sqt_stepped_since(process, sqt_line_ns(&process->line, record->id)))
        return;
    struct sqt_stops *const stops = stops_of(process);
    if (stops->pending_count == PENDING)
        judge_all(process, stops); /* no pass has ended since: a trace of ours does not come here */
    const int told = more && record[1].event == SQT_EV_PART_HEARTBEAT_DUE;
    stops->pending[stops->pending_count++] = (struct late){
        sqt_line_ns(&process->line, record->id), sqt_line_ns(&process->line, told ? record[1].id : record->id),
        sqt_line_ns(&process->line, record->arg), record->aux};
}

void
sqt_stops_finish(struct sqt_process_state *process)
{
    if (process->loop.stops)
        judge_all(process, process->loop.stops);
}

const struct sqt_thing_kind sqt_thing_stops = {
    .events = (const struct sqt_subscription[]){{SQT_EV_HEARTBEAT_LATE, heartbeat_late}, {0}}};
