/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loops.c - passes of the event loop: a wait, and the work until the next one.
 *
 *     wait begins   wait ends                      wait begins
 *     |----wait-----|---------------work-----------|
 *                       |--longest activity--|
 *
 * An I/O of the store without stamps ran in the main thread: the loop stood still meanwhile.  The longest of a pass is
 * kept beside the longest activity, which has it inside.
 *
 * Samples of the main thread (LOOP_SAMPLE) tell how long it ran, waited for a processor and was stopped since the sample
 * before.  The waits of the loop tell how long it was idle.  In what is left, it was blocked in a call.
 */
#include <string.h>

#include "model-internal.h"

/* What no sample tells, the end of a pass, goes to the parts as what came before it. */
static void
loops_guess_rest(struct sqt_loop_row *row)
{
    const int64_t rest = row->sampled ? row->end - row->sampled : 0, known = row->sampled - row->work;
    for (unsigned i = 0; i < SQT_LOOP_PARTS && rest > 0 && known > 0; ++i) {
        const double more = (double)rest * (double)row->parts[i] / (double)known;
        row->parts[i] += more < (double)rest ? (int64_t)more : rest; /* the division may have rounded up */
    }
}

/* Sums of two such sums, and a time, never overflow. */
static int64_t
loops_sum(int64_t a, int64_t b)
{
    const int64_t sum = sqt_sum(a, b), most = INT64_C(1) << 61;
    return sum < most ? sum : most;
}

static void
loop_wait(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_loop_state *const p = &process->loop;
    if (p->works && p->epoch == process->epoch && (process->consumer->loop || process->consumer->stop)) {
        struct sqt_loop_row row = p->row;
        row.origin = process->origin;
        row.end = now;
        row.unknown = sqt_stepped_since(process, row.begin);
        loops_guess_rest(&row);
        if (more && record[1].event == SQT_EV_PART_ACTIVITY) {
            row.activity = record[1].aux;
            row.activity_ns = sqt_line_ns(&process->line, record[1].arg) - sqt_line_ns(&process->line, record[1].id);
            if (row.activity_ns < 0)
                row.activity_ns = 0;
        }
        if (process->consumer->loop)
            process->consumer->loop(process->consumer->context, &row);
        if (!row.unknown)
            sqt_stops_pass(process, &row);
    }
    if (p->works && now - p->row.work >= SQT_LOOP_LONG)
        p->lasted = loops_sum(p->lasted, now - p->row.work);
    p->works = 0;
    p->waits = 1;
    p->epoch = process->epoch;
    const uint64_t most_ms = INT64_MAX / 1000000;
    p->row = (struct sqt_loop_row){.begin = now,
                                   .activity = UINT32_MAX,
                                   .timeout = record->arg > most_ms ? INT64_MAX : (int64_t)record->arg * 1000000};
}

static void
loop_work(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_loop_state *const p = &process->loop;
    if (p->whole != INT64_MIN && (!p->waits || p->epoch != process->epoch))
        p->whole = now; /* its begin is missing */
    if (!p->waits)
        return;
    p->waits = 0;
    p->works = 1;
    p->row.work = now;
    p->row.ready = record->arg;
    p->row.interrupted = record->aux != 0;
    p->waits_over.total = sqt_sum(p->waits_over.total, now - p->row.begin);
    p->waits_over.begin = p->row.begin;
    p->waits_over.end = now;
}

int64_t
sqt_loop_since_poll(const struct sqt_process_state *process, int64_t now)
{
    const struct sqt_loop_state *const p = &process->loop;
    if (!p->works || p->epoch != process->epoch || sqt_stepped_since(process, p->row.work))
        return SQT_MISSING;
    return now - p->row.work;
}

void
sqt_loop_switched_off(struct sqt_process_state *process)
{
    process->loop.waits = process->loop.works = 0;
    process->loop.sampled.ticks = 0;
}

void
sqt_loop_io(struct sqt_process_state *process, enum sqt_disk_op op, uint32_t dir, int64_t begin, int64_t end)
{
    struct sqt_loop_row *const row = &process->loop.row;
    if (!process->loop.works || begin < row->work || end - begin <= row->disk_ns)
        return;
    row->disk_ns = end - begin;
    row->disk_call = op;
    row->dir = dir;
}

/* ---- samples of the main thread ---- */

/* Nanoseconds of waits until then, which is in the last wait or after it. */
static int64_t
loops_waited(const struct sqt_loop_state *p, int64_t until)
{
    const int64_t begin = until > p->waits_over.begin ? until : p->waits_over.begin;
    return p->waits_over.total - (p->waits_over.end > begin ? p->waits_over.end - begin : 0);
}

static int64_t
at_most(uint64_t ns, int64_t most)
{
    return most < 0 ? 0 : ns < (uint64_t)most ? (int64_t)ns : most;
}

/* What the kernel tells late of waiting for a processor was told as such by what the thread was seen to do: *paid. */
static int64_t
loops_queued(struct sqt_loop_state *p, uint64_t queued, int64_t most, int64_t *paid)
{
    *paid = at_most(queued, p->sampled.lent);
    p->sampled.lent -= *paid;
    return at_most(queued - (uint64_t)*paid, most);
}

/* The flusher was stopped for that long at least, and at most since it looked before. */
static int64_t
loops_stopped(const struct sqt_loop_sample_row *row, uint64_t stopped, int64_t waited, int64_t most)
{
    const int64_t least = at_most(stopped, most), blocked = most - waited < row->since ? most - waited : row->since;
    return stopped && blocked > least ? blocked : least;
}

static void
loops_divide(struct sqt_loop_state *p, struct sqt_loop_sample_row *row, const struct sqt_record *ran,
             const struct sqt_record *held, int64_t waited)
{
    int64_t *const parts = row->parts, paid;
    const int64_t all = row->until - row->from;
    int64_t left = all - (parts[SQT_LOOP_COMPUTING] = at_most(ran->id, all));
    left -= parts[SQT_LOOP_QUEUED] = loops_queued(p, ran->arg, left, &paid);
    left -= parts[SQT_LOOP_STOPPED] = loops_stopped(row, held ? held->id : 0, waited, left);
    left -= parts[SQT_LOOP_IDLE] = waited < left ? waited : left;
    if (left && ran->aux & SQT_LOOP_RUNNABLE) {
        parts[SQT_LOOP_QUEUED] += left;
        p->sampled.lent = sqt_sum(p->sampled.lent, left);
    } else {
        parts[SQT_LOOP_BLOCKED] = left;
    }
    /* the kernel tells both when the thread runs again, so that is of the samples before it, too */
    row->throttled =
        ran->aux & SQT_LOOP_THROTTLING_UNKNOWN
            ? SQT_MISSING
            : at_most(held ? held->arg : 0, sqt_sum(paid, parts[SQT_LOOP_QUEUED] + parts[SQT_LOOP_STOPPED]));
}

/* What of the sample the loop was held: long passes, and else what it was blocked or did not run.  Samples of a long pass
 * are told together when it is over: each takes its part of the pass. */
static void
loops_hold(struct sqt_loop_state *p, struct sqt_loop_sample_row *row, int64_t now)
{
    const int64_t all = row->until - row->from;
    const int64_t rest = sqt_loop_long(p, now) - p->sampled.lasted;
    const int64_t longs = rest < all ? rest : all;
    const int64_t bad = row->parts[SQT_LOOP_BLOCKED] + row->parts[SQT_LOOP_QUEUED] + row->parts[SQT_LOOP_STOPPED];
    const int64_t held = longs > bad ? longs : bad;
    p->sampled.lasted += longs;
    if (bad > longs)
        p->held_else = loops_sum(p->held_else, bad - (longs > 0 ? longs : 0));
    row->held = held < 0 ? 0 : held < all ? held : all;
}

/* Moves what fits of a part of the sample to the pass.  Returns what is left of the pass. */
static int64_t
loops_move_to_pass(struct sqt_loop_row *pass, const struct sqt_loop_sample_row *k, unsigned part, int64_t left)
{
    const int64_t ns = k->parts[part] < left ? k->parts[part] : left;
    pass->parts[part] += ns;
    return left - ns;
}

/* A sample that began before the pass: what fits into the pass is of it, but for the idle time.  First what the main thread
 * was seen to do in the pass. */
static void
loops_count_in_pass(struct sqt_loop_row *pass, const struct sqt_loop_sample_row *k)
{
    const int64_t begin = pass->sampled ? pass->sampled : pass->work;
    const unsigned first = k->call ? SQT_LOOP_BLOCKED : SQT_LOOP_COMPUTING;
    if (k->until <= begin) /* in a damaged trace, an earlier sample covers this time */
        return;
    int64_t left = loops_move_to_pass(pass, k, first, k->until - (k->from > begin ? k->from : begin));
    for (unsigned i = 0; i < SQT_LOOP_IDLE && left > 0; ++i)
        if (i != first)
            left = loops_move_to_pass(pass, k, i, left);
    pass->sampled = k->until;
}

/* The part of the unit with that event; NULL: none. */
static const struct sqt_record *
loops_part(const struct sqt_record *record, unsigned more, unsigned event)
{
    for (unsigned i = 1; i <= more; ++i)
        if (record[i].event == event)
            return &record[i];
    return NULL;
}

/* The call that the main thread was blocked in; 0: none.  Traces from before sqtrace left out the loop's own wait may
 * have it, by its name or number: epoll_wait is 232 on x86-64, and epoll_pwait 281 there and 22 on arm64. */
static uint32_t
loops_call(const struct sqt_process_state *process, const struct sqt_record *held)
{
    static const char *const waits[] = {"system call 232", "system call 281", "system call 22", "epoll_wait",
                                        "epoll_pwait"};
    const char *const name = held && held->aux ? sqt_origin_text(process->origin, SQT_DEF_CALL, held->aux) : NULL;
    for (unsigned i = 0; name && i < sizeof(waits) / sizeof(*waits); ++i)
        if (strcmp(name, waits[i]) == 0)
            return 0;
    return held ? held->aux : 0;
}

static void
loop_sampled(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_loop_state *const p = &process->loop;
    const struct sqt_record *const ran = loops_part(record, more, SQT_EV_PART_LOOP_RAN);
    const struct sqt_record *const held = loops_part(record, more, SQT_EV_PART_LOOP_HELD);
    const struct sqt_record *const in = loops_part(record, more, SQT_EV_PART_LOOP_IN);
    struct sqt_loop_sample_row row = {
        .origin = process->origin,
        .from = sqt_line_ns(&process->line, record->id),
        .until = sqt_line_ns(&process->line, record->arg),
        .activity = record->aux,
        .call = loops_call(process, held),
        .acl = in ? (uint32_t)in->id : 0,
        .disk_call = in && in->arg < SQT_DISK_OPS ? (enum sqt_disk_op)in->arg : SQT_DISK_OTHER,
        .dir = in ? in->aux : UINT32_MAX,
    };
    const int64_t until = row.until < now ? row.until : now, waited = loops_waited(p, until);
    const int known =
        p->sampled.ticks && p->sampled.ticks == record->id && p->sampled.epoch == process->epoch &&
        row.from >= p->whole; /* a sample is recorded after it is taken: waits in between may be missing */
    const int64_t before = p->sampled.waited;
    p->sampled.ticks = record->arg;
    p->sampled.waited = waited;
    p->sampled.epoch = process->epoch;
    if (!known) {
        p->sampled.lent = 0;
        p->sampled.lasted = sqt_loop_long(p, now);
    }
    if (!ran || !known || row.until > now || row.from >= row.until || sqt_stepped_since(process, row.from) ||
        !(process->consumer->loop_sample || process->consumer->loop || process->consumer->request))
        return;
    row.waits = (ran->aux & SQT_LOOP_IN_WAIT) != 0;
    row.since = (int64_t)(ran->aux >> SQT_LOOP_FLAG_BITS) * 1000;
    row.by_processor = (ran->aux & SQT_LOOP_BY_PROCESSOR) != 0;
    loops_divide(p, &row, ran, held, waited > before ? waited - before : 0);
    loops_hold(p, &row, now);
    if (p->works && !row.waits && row.until > p->row.work)
        loops_count_in_pass(&p->row, &row);
    if (process->consumer->loop_sample)
        process->consumer->loop_sample(process->consumer->context, &row);
}

const struct sqt_thing_kind sqt_thing_loops = {
    .events = (const struct sqt_subscription[]){
        {SQT_EV_WAIT_BEGIN, loop_wait}, {SQT_EV_WAIT_END, loop_work}, {SQT_EV_LOOP_SAMPLE, loop_sampled}, {0}}};
