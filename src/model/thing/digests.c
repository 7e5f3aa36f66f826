/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digests.c - what cache digests are busy with.
 *
 * Most of it is work of the main thread, told in one record when it is done.  Two things wait for a peer and are put
 * together here:
 *
 *     DIGEST_FETCH_BEGIN .. DIGEST_FETCH_END
 *     DIGEST_HIT .. SERVER_READ .. SERVER_HEADER .. SERVER_DONE, RETRY or FORWARD_END
 */
#include "model/model-internal.h"

/* What a sibling answers that does not have an object, which it is asked for only-if-cached. */
#define GATEWAY_TIMEOUT 504

const struct sqt_digest_word sqt_digest_activities[SQT_DIGEST_ACTIVITIES] = {
#define SQT_DIGEST(NAME, name, doc) {#name, doc},
#include "model/digests.def"
};

const struct sqt_digest_word sqt_digest_results[SQT_DIGEST_RESULTS] = {
#define SQT_DIGEST_RESULT(NAME, name, doc) {#name, doc},
#include "model/digests.def"
};

/* ---- work ---- */

static void
digests_tell(const struct sqt_process_state *process, const struct sqt_digest *digest)
{
    if (process->consumer->digest)
        process->consumer->digest(process->consumer->context, digest);
}

/* Work of so many ticks that is over now. */
static struct sqt_digest
digests_work(const struct sqt_process_state *process, int64_t now, enum sqt_digest_activity activity, uint64_t ticks)
{
    const int64_t busy = sqt_ticks_ns(process, ticks);
    const int stepped = sqt_stepped_since(process, now - busy);
    return (struct sqt_digest){.origin = process->origin,
                               .activity = activity,
                               .peer = UINT32_MAX,
                               .begin = stepped ? now : now - busy,
                               .end = now,
                               .busy = stepped ? SQT_MISSING : busy,
                               .bytes = SQT_MISSING,
                               .count = 1};
}

static void
digest_look(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    const int key = record->event == SQT_EV_DIGEST_KEY;
    struct sqt_digest look = digests_work(process, now, key ? SQT_DIGEST_KEY : SQT_DIGEST_LOOKUP, record->arg);
    look.xact = record->id;
    look.result = key                                   ? SQT_DIGEST_RESULTS
                  : record->event == SQT_EV_DIGEST_NONE ? SQT_DIGEST_RESULT_NONE
                  : record->aux & SQT_DIGEST_SAYS_HIT   ? SQT_DIGEST_RESULT_HIT
                                                        : SQT_DIGEST_RESULT_MISS;
    if (!key)
        look.peer = record->aux & ~SQT_DIGEST_SAYS_HIT;
    digests_tell(process, &look);
}

static enum sqt_digest_result
digests_step(uint32_t aux)
{
    return aux == SQT_DIGEST_BEGUN  ? SQT_DIGEST_RESULT_BEGUN
           : aux == SQT_DIGEST_DONE ? SQT_DIGEST_RESULT_DONE
                                    : SQT_DIGEST_RESULT_MORE;
}

static void
digest_rebuilt(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_digest rebuild = digests_work(process, now, SQT_DIGEST_REBUILD, record->arg);
    rebuild.result = digests_step(record->aux);
    for (unsigned i = 1; i <= more && record[i].event == SQT_EV_PART_DIGEST_UPDATES; ++i) {
        struct sqt_digest updates = digests_work(process, now, SQT_DIGEST_UPDATE, record[i].arg);
        updates.begin = rebuild.begin;
        updates.result = record[i].aux ? SQT_DIGEST_RESULT_ADDED : SQT_DIGEST_RESULT_REFUSED;
        updates.count = record[i].id;
        if (updates.busy == SQT_MISSING)
            rebuild.busy = SQT_MISSING;
        else if (rebuild.busy != SQT_MISSING)
            rebuild.busy -= updates.busy;
        digests_tell(process, &updates);
    }
    if (rebuild.busy < 0 && rebuild.busy != SQT_MISSING)
        rebuild.busy = 0; /* nanoseconds, from rounding */
    digests_tell(process, &rebuild);
}

static void
digest_rewritten(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_digest rewrite = digests_work(process, now, SQT_DIGEST_REWRITE, record->arg);
    rewrite.result = digests_step(record->aux);
    rewrite.bytes = sqt_bytes(record->id);
    digests_tell(process, &rewrite);
}

/* ---- what waits for a peer ---- */

static void
digests_end(struct sqt_process_state *process, struct sqt_digest *digest, int64_t now, enum sqt_digest_result result)
{
    digest->end = now;
    digest->busy = now - digest->begin;
    digest->result = digest->epoch != process->epoch             ? SQT_DIGEST_RESULT_LOST
                     : sqt_stepped_since(process, digest->begin) ? SQT_DIGEST_RESULT_CLOCK
                                                                 : result;
    digests_tell(process, digest);
    sqt_thing_forget(&process->digests, digest->xact, digest);
}

static void
digest_ask(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_digest *const before = sqt_idmap_get(&process->digests.ids, record->id);
    if (before)
        digests_end(process, before, now, SQT_DIGEST_RESULT_ERROR);
    struct sqt_digest *const digest = sqt_thing_new(process, &process->digests);
    digest->origin = process->origin;
    digest->activity = record->event == SQT_EV_DIGEST_HIT ? SQT_DIGEST_HIT : SQT_DIGEST_FETCH;
    digest->parent = record->arg != 0;
    digest->xact = record->id;
    digest->peer = record->aux;
    digest->begin = now;
    digest->count = 1;
    digest->epoch = process->epoch;
    sqt_idmap_put(&process->digests.ids, record->id, digest);
}

static struct sqt_digest *
open_one(const struct sqt_process_state *process, enum sqt_digest_activity activity, uint64_t xact)
{
    struct sqt_digest *const digest = process->digests.ids.used ? sqt_idmap_get(&process->digests.ids, xact) : NULL;
    return digest && digest->activity == activity ? digest : NULL;
}

static void
digest_fetched(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_digest *const fetch = open_one(process, SQT_DIGEST_FETCH, record->id);
    if (!fetch)
        return;
    fetch->bytes = sqt_bytes(record->arg);
    digests_end(process, fetch, now,
                record->aux == SQT_DIGEST_NEW    ? SQT_DIGEST_RESULT_NEW
                : record->aux == SQT_DIGEST_SAME ? SQT_DIGEST_RESULT_SAME
                                                 : SQT_DIGEST_RESULT_ERROR);
}

static void
digest_server_read(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    struct sqt_digest *const hit = open_one(process, SQT_DIGEST_HIT, record->id);
    if (hit)
        hit->bytes = sqt_sum(hit->bytes, sqt_bytes(record->arg));
}

static void
digest_server_header(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    struct sqt_digest *const hit = open_one(process, SQT_DIGEST_HIT, record->id);
    if (hit)
        hit->status = record->aux;
}

/* SERVER_DONE, or that it never came. */
static void
digest_server_done(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_digest *const hit = open_one(process, SQT_DIGEST_HIT, record->id);
    if (!hit)
        return;
    const int failed = record->event != SQT_EV_SERVER_DONE || record->aux;
    digests_end(process, hit, now,
                failed                                           ? SQT_DIGEST_RESULT_ERROR
                : hit->status == GATEWAY_TIMEOUT && !hit->parent ? SQT_DIGEST_RESULT_FALSE
                                                                 : SQT_DIGEST_RESULT_HIT);
}

static void
digests_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    digests_end(process, thing, process->now,
                outcome == SQT_OUTCOME_LOST ? SQT_DIGEST_RESULT_LOST : SQT_DIGEST_RESULT_UNFINISHED);
}

const struct sqt_thing_kind sqt_thing_digests = {
    .words = "requests for digests",
    .size = sizeof(struct sqt_digest),
    .begin = offsetof(struct sqt_digest, begin),
    .cut_off = digests_cut_off,
    .events = (const struct sqt_subscription[]){{SQT_EV_SERVER_READ, digest_server_read},
                                                {SQT_EV_SERVER_HEADER, digest_server_header},
                                                {SQT_EV_SERVER_DONE, digest_server_done},
                                                {SQT_EV_RETRY, digest_server_done},
                                                {SQT_EV_FORWARD_END, digest_server_done},
                                                {SQT_EV_DIGEST_KEY, digest_look},
                                                {SQT_EV_DIGEST_LOOKUP, digest_look},
                                                {SQT_EV_DIGEST_NONE, digest_look},
                                                {SQT_EV_DIGEST_HIT, digest_ask},
                                                {SQT_EV_DIGEST_REBUILD, digest_rebuilt},
                                                {SQT_EV_DIGEST_REWRITE, digest_rewritten},
                                                {SQT_EV_DIGEST_FETCH_BEGIN, digest_ask},
                                                {SQT_EV_DIGEST_FETCH_END, digest_fetched},
                                                {0}}};
