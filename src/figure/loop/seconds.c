/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * seconds.c - see seconds.h.
 */
#include "seconds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"

/* A sample that lasts longer counts for the last of these seconds, and with the rest for the one that it begins in: so no
 * record makes many rows. */
#define LONGEST 4

int64_t
sqt_second_known(const int64_t parts[SQT_LOOP_PARTS])
{
    int64_t sum = 0;
    for (unsigned i = 0; i < SQT_LOOP_PARTS; ++i)
        sum += parts[i];
    return sum;
}

const char *
sqt_thing_name(const struct sqt_origin *origin, const struct sqt_thing *thing, char text[SQT_THING_NAME])
{
    if (thing->disk_call != SQT_DISK_OTHER) {
        const char *const dir = sqt_origin_text(origin, SQT_DEF_DIR, thing->dir);
        snprintf(text, SQT_THING_NAME, "%s on cache_dir %u (%.*s)", sqt_disk_op_names[thing->disk_call],
                 (unsigned)thing->dir, dir ? (int)strcspn(dir, " ") : 1, dir ? dir : "?");
    } else {
        const char *const name = sqt_origin_text(origin, SQT_DEF_ACTIVITY, thing->activity);
        snprintf(text, SQT_THING_NAME, "%s", name ? name : "unknown");
    }
    return text;
}

static void
seconds_close(struct sqt_job *job, struct sqt_seconds *s, unsigned slot)
{
    if (s->open[slot] && s->open[slot]->origin)
        s->print(job, s->open[slot]);
    if (s->open[slot])
        s->open[slot]->origin = NULL;
}

/* Its things are set when they are counted: clearing them for each second would take longer than all the rest. */
static void
seconds_open(struct sqt_loop_second *second, const struct sqt_origin *origin, int64_t begin)
{
    second->origin = origin;
    second->begin = begin;
    memset(second->parts, 0, sizeof(second->parts));
    second->throttled = 0;
    second->throttled_known = 0;
    second->count = 0;
}

/* The second of the process in which that time is. */
static struct sqt_loop_second *
seconds_at(struct sqt_job *job, struct sqt_seconds *s, const struct sqt_origin *origin, int64_t at)
{
    const unsigned slot = origin->index % SQT_SECONDS_OPEN;
    const int64_t begin = at - (at % SQT_SECOND + SQT_SECOND) % SQT_SECOND;
    if (!s->open[slot])
        s->open[slot] = sqt_zeroed(1, sizeof(**s->open));
    if (s->open[slot]->origin != origin || s->open[slot]->begin != begin) {
        const int in_pass = s->open[slot]->origin == origin && s->open[slot]->in_pass;
        seconds_close(job, s, slot);
        seconds_open(s->open[slot], origin, begin);
        s->open[slot]->in_pass = in_pass;
    }
    return s->open[slot];
}

static struct sqt_thing *
seconds_thing(struct sqt_loop_second *second, const struct sqt_loop_sample_row *k)
{
    const int disk = k->disk_call != SQT_DISK_OTHER;
    for (unsigned i = 0; i < second->count; ++i) {
        struct sqt_thing *const t = &second->things[i];
        if (t->acl == k->acl && t->disk_call == k->disk_call && (disk ? t->dir == k->dir : t->activity == k->activity))
            return t;
    }
    if (second->count == SQT_SECOND_THINGS)
        return NULL;
    struct sqt_thing *const t = &second->things[second->count++];
    *t = (struct sqt_thing){.activity = k->activity, .acl = k->acl, .dir = k->dir, .disk_call = k->disk_call};
    return t;
}

/* The sample stands for a time of which ns are in the second: processor time, or time in a call.  Where neither is known,
 * the main thread did in it what it did since the sample before. */
static void
seconds_count(struct sqt_loop_second *second, const struct sqt_loop_sample_row *k, int64_t ns, int last)
{
    struct sqt_thing *const t = k->waits || !k->since || (ns <= 0 && !last) ? NULL : seconds_thing(second, k);
    const int64_t worked = k->until - k->from - k->parts[SQT_LOOP_IDLE];
    if (!t)
        return;
    t->samples += (uint64_t)last;
    t->call = k->call ? k->call : t->call;
    if (k->call || k->by_processor || worked <= 0) {
        t->parts[k->call ? SQT_LOOP_BLOCKED : SQT_LOOP_COMPUTING] += ns;
        return;
    }
    for (unsigned i = 0; i < SQT_LOOP_IDLE; ++i)
        t->parts[i] += (int64_t)((double)ns * (double)k->parts[i] / (double)worked);
}

/* A stretch of a sample. */
struct stretch {
    int64_t begin, end;
};

/* Where in the sample the main thread worked, was blocked and did not run.
 * - The sample was taken because of it: after the look before, as far as that fits.  What came before that look was idle,
 *   else it had been told.
 * - It was taken in a wait, and the one before it in a pass: the rest of that pass comes first.
 * - It was taken in a wait, as the one before it: in many short passes. */
static struct stretch
seconds_work(const struct sqt_loop_sample_row *k, int after_pass)
{
    const int64_t all = k->until - k->from, worked = all - k->parts[SQT_LOOP_IDLE];
    const int64_t lasted = k->since > worked ? k->since : worked;
    if (k->waits && worked > 0 && worked < all)
        return (struct stretch){k->from, after_pass ? k->from + worked : k->until};
    return (struct stretch){all > lasted ? k->until - lasted : k->from, k->until};
}

/* What of an amount that is spread over a stretch belongs to from..until. */
static int64_t
seconds_share(int64_t amount, const struct stretch *over, int64_t from, int64_t until)
{
    from = from > over->begin ? from : over->begin;
    until = until < over->end ? until : over->end;
    return until > from ? (int64_t)((double)amount * (double)(until - from) / (double)(over->end - over->begin)) : 0;
}

static void
seconds_count_parts(struct sqt_loop_second *second, const struct sqt_loop_sample_row *k, const struct stretch *work,
                    int64_t from, int64_t until)
{
    int64_t idle = until - from;
    for (unsigned i = 0; i < SQT_LOOP_IDLE; ++i) {
        const int64_t ns = seconds_share(k->parts[i], work, from, until);
        second->parts[i] = sqt_sum(second->parts[i], ns);
        idle -= ns;
    }
    second->parts[SQT_LOOP_IDLE] = sqt_sum(second->parts[SQT_LOOP_IDLE], idle > 0 ? idle : 0);
    if (k->throttled != SQT_MISSING) {
        second->throttled = sqt_sum(second->throttled, seconds_share(k->throttled, work, from, until));
        second->throttled_known = 1;
    }
}

void
sqt_seconds_add(struct sqt_job *job, struct sqt_seconds *s, const struct sqt_loop_sample_row *k)
{
    int64_t from = k->from;
    struct sqt_loop_second *second = seconds_at(job, s, k->origin, from);
    const struct stretch work = seconds_work(k, second->in_pass);
    do {
        second = seconds_at(job, s, k->origin, from);
        int64_t until =
            k->until - from > LONGEST * SQT_SECOND ? k->until - LONGEST * SQT_SECOND : second->begin + SQT_SECOND;
        until = until < k->until ? until : k->until;
        seconds_count_parts(second, k, &work, from, until);
        const int64_t since = k->until - k->since > from ? k->until - k->since : from;
        seconds_count(second, k, until > since ? until - since : 0, until == k->until);
        from = until;
    } while (from < k->until);
    second->in_pass = !k->waits;
}

void
sqt_seconds_end(struct sqt_job *job, struct sqt_seconds *s)
{
    for (unsigned i = 0; i < SQT_SECONDS_OPEN; ++i) {
        seconds_close(job, s, i);
        sqt_freed(s->open[i]);
    }
}
