/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waits.c - who was waited for, besides servers: uses of helpers and of adaptation services, queries to name servers.
 *
 *     helper    HELPER_BEGIN ...(a child gets it)... HELPER_END               a use
 *     service   ADAPT_SERVICE .. ADAPT_ADMITTED .. the next ADAPT_SERVICE, or ADAPT_END, or ADAPT_FAILED
 *     query     QUERY_END, which says when it was sent
 */
#include "model/model-internal.h"

#include <string.h>

#define AGAIN (UINT32_C(1) << 31)

const char *const sqt_waited_names[SQT_WAITED_KINDS] = {
#define SQT_WAITED(NAME, name, doc) [SQT_WAITED_##NAME] = #name,
#include "format/waits.def"
};

const char *const sqt_wait_outcome_names[SQT_WAIT_OUTCOMES] = {
#define SQT_WAIT_OUTCOME(NAME, name, doc) [SQT_WAIT_##NAME] = #name,
#include "format/waits.def"
};

/* What only a reader says does not come from a record. */
static enum sqt_wait_outcome
waits_outcome(uint32_t told)
{
    return told < SQT_WAIT_LOST ? (enum sqt_wait_outcome)told : SQT_WAIT_FAILED;
}

/* Whether a definition begins with that kind. */
static int
waits_is(const char *text, enum sqt_waited kind)
{
    const size_t length = strlen(sqt_waited_names[kind]);
    return text && strncmp(text, sqt_waited_names[kind], length) == 0 && text[length] == ' ';
}

static enum sqt_named_stage
waits_stage(const struct sqt_wait *wait)
{
    if (wait->def == SQT_DEF_SERVICE)
        return SQT_NAMED_ADAPT;
    const char *const text = sqt_origin_text(wait->origin, SQT_DEF_WAITED, wait->who);
    if (waits_is(text, SQT_WAITED_NAME_SERVER))
        return SQT_NAMED_DNS;
    return waits_is(text, SQT_WAITED_URL_REWRITE) || waits_is(text, SQT_WAITED_STORE_ID) ? SQT_NAMED_REDIRECT
                                                                                         : SQT_NAMED_HELPER;
}

/* The transaction remembers whom it waited for longest. */
static void
waits_remember(struct sqt_xact *xact, const struct sqt_wait *wait)
{
    const int64_t ns = wait->end - wait->begin;
    if (!xact || sqt_wait_unknown(wait) || (xact->longest[wait->stage].def && xact->longest[wait->stage].ns >= ns))
        return;
    int64_t queue = ns; /* no child took it */
    if (wait->outcome == SQT_WAIT_UNFINISHED && wait->def == SQT_DEF_WAITED)
        queue = SQT_MISSING; /* whether a child took it is told with the answer */
    else if (wait->given != SQT_MISSING)
        queue = wait->given - wait->begin;
    else if (wait->def == SQT_DEF_SERVICE)
        queue = 0;
    else if (wait->outcome == SQT_WAIT_SHARED)
        queue = SQT_MISSING;
    xact->longest[wait->stage] = (struct sqt_longest_wait){wait->def, wait->who, ns, queue};
}

static void
waits_tell(struct sqt_process_state *process, struct sqt_wait *wait, int64_t now, enum sqt_wait_outcome outcome)
{
    const enum sqt_outcome known = sqt_outcome_of(process, wait->epoch, wait->begin, SQT_OUTCOME_COMPLETE);
    wait->end = now;
    wait->outcome = known == SQT_OUTCOME_LOST ? SQT_WAIT_LOST : known == SQT_OUTCOME_CLOCK ? SQT_WAIT_CLOCK : outcome;
    waits_remember(wait->xact ? sqt_idmap_get(&process->xacts.ids, wait->xact) : NULL, wait);
    if (process->consumer->wait)
        process->consumer->wait(process->consumer->context, wait);
}

static struct sqt_idmap *
waits_map(struct sqt_process_state *process, const struct sqt_wait *wait)
{
    return wait->def == SQT_DEF_SERVICE ? &process->services : &process->waits.ids;
}

static void
waits_end(struct sqt_process_state *process, struct sqt_wait *wait, int64_t now, enum sqt_wait_outcome outcome)
{
    struct sqt_idmap *const map = waits_map(process, wait);
    waits_tell(process, wait, now, outcome);
    if (sqt_idmap_get(map, wait->key) == wait)
        sqt_idmap_take(map, wait->key);
    sqt_pool_put(&process->waits.pool, wait);
}

/* The transaction ends while it waits: for as long as it did, it waited for whom it waits. */
void
sqt_wait_cut_off(const struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    if (!xact->waiting || xact->waiting->pooled.serial != xact->waiting_serial)
        return;
    struct sqt_wait wait = *xact->waiting;
    wait.end = now;
    wait.outcome = SQT_WAIT_UNFINISHED;
    if (sqt_outcome_of(process, wait.epoch, wait.begin, SQT_OUTCOME_COMPLETE) == SQT_OUTCOME_COMPLETE)
        waits_remember(xact, &wait);
}

static void
waits_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    struct sqt_wait *const wait = thing;
    const int lost = outcome == SQT_OUTCOME_LOST;
    if (lost)
        wait->epoch = ~process->epoch;
    waits_end(process, wait, process->now, lost ? SQT_WAIT_LOST : SQT_WAIT_UNFINISHED);
}

/* As sqt_thing_new() makes it, which does not know of services. */
static void
waits_make_room(struct sqt_process_state *process, const struct sqt_idmap *map)
{
    while (process->waits.pool.first && (sqt_pool_full(&process->waits.pool) || sqt_idmap_full(map))) {
        sqt_bound_met(process, &process->waits);
        waits_cut_off(process, process->waits.pool.first, SQT_OUTCOME_LOST);
    }
}

static struct sqt_wait *
waits_begin(struct sqt_process_state *process, int64_t now, enum sqt_def def, uint64_t key,
            const struct sqt_record *record)
{
    struct sqt_idmap *const map = def == SQT_DEF_SERVICE ? &process->services : &process->waits.ids;
    struct sqt_wait *const old = sqt_idmap_get(map, key);
    if (old)
        waits_end(process, old, now, SQT_WAIT_OK);
    waits_make_room(process, map);
    struct sqt_wait *const wait = sqt_pool_get(&process->waits.pool);
    wait->origin = process->origin;
    wait->xact = record->id;
    wait->def = def;
    wait->begin = now;
    wait->given = wait->depth = SQT_MISSING;
    wait->key = key;
    wait->epoch = process->epoch;
    sqt_idmap_put(map, key, wait);
    struct sqt_xact *const xact = wait->xact ? sqt_idmap_get(&process->xacts.ids, wait->xact) : NULL;
    if (xact) {
        xact->waiting = wait;
        xact->waiting_serial = wait->pooled.serial;
    }
    return wait;
}

/* ---- helpers ---- */

static void
helper_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_wait *const wait = waits_begin(process, now, SQT_DEF_WAITED, record->arg, record);
    wait->who = record->aux & ~AGAIN;
    wait->again = (record->aux & AGAIN) != 0;
    wait->stage = waits_stage(wait);
    if (wait->stage == SQT_NAMED_HELPER) /* redirect is open for the others */
        sqt_xact_stages(process, now, record, more);
}

static void
helper_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_wait *const wait = sqt_idmap_get(&process->waits.ids, record->arg);
    if (!wait || wait->stage == SQT_NAMED_HELPER)
        sqt_xact_stages(process, now, record, more);
    if (!wait)
        return;
    const enum sqt_wait_outcome outcome = waits_outcome(record->aux);
    if (more && record[1].event == SQT_EV_PART_HELPER && outcome != SQT_WAIT_SHARED) {
        const int64_t given = record[1].id ? sqt_line_ns(&process->line, record[1].id) : SQT_MISSING;
        wait->given = given == SQT_MISSING  ? SQT_MISSING
                      : given < wait->begin ? wait->begin
                      : given > now         ? now
                                            : given;
        wait->depth = record[1].arg > INT32_MAX ? INT32_MAX : (int64_t)record[1].arg;
    }
    waits_end(process, wait, now, outcome);
}

/* ---- adaptation services ---- */

static void
waits_ask_service(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_wait *const wait = waits_begin(process, now, SQT_DEF_SERVICE, record->id, record);
    wait->who = (uint32_t)record->arg;
    wait->stage = SQT_NAMED_ADAPT;
}

static void
service_admits(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_wait *const wait = sqt_idmap_get(&process->services, record->id);
    if (wait && wait->given == SQT_MISSING)
        wait->given = now;
}

/* After a time-out Squid may ask the same service again: if it does not, a failure follows. */
static void
service_failed(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_wait *const wait = sqt_idmap_get(&process->services, record->id);
    if (!wait)
        return;
    if (record->aux == SQT_WAIT_TIMEOUT)
        ++wait->repeats;
    else
        waits_end(process, wait, now,
                  record->aux == SQT_WAIT_CUT ? SQT_WAIT_CUT
                  : wait->repeats             ? SQT_WAIT_TIMEOUT
                                              : SQT_WAIT_FAILED);
}

static void
service_done(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_wait *const wait = sqt_idmap_get(&process->services, record->id);
    if (wait)
        waits_end(process, wait, now, SQT_WAIT_OK);
}

/* ---- name servers ---- */

static void
query_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    const int64_t sent = sqt_line_ns(&process->line, record->arg);
    struct sqt_wait wait = {.origin = process->origin,
                            .xact = record->id,
                            .def = SQT_DEF_WAITED,
                            .who = record->aux & ~AGAIN,
                            .again = (record->aux & AGAIN) != 0,
                            .begin = sent < now ? sent : now,
                            .depth = SQT_MISSING,
                            .epoch = process->epoch};
    wait.given = wait.begin;
    wait.stage = waits_stage(&wait);
    if (more && record[1].event == SQT_EV_PART_QUERY) {
        wait.query = (uint32_t)record[1].id;
        wait.acl = (uint32_t)record[1].arg;
    }
    waits_tell(process, &wait, now,
               more && record[1].event == SQT_EV_PART_QUERY ? waits_outcome(record[1].aux) : SQT_WAIT_OK);
}

const struct sqt_thing_kind sqt_thing_waits = {
    .words = "waits for helpers and services",
    .size = sizeof(struct sqt_wait),
    .begin = offsetof(struct sqt_wait, begin),
    .cut_off = waits_cut_off,
    .charges =
        (const struct sqt_subscription[]){{SQT_EV_HELPER_BEGIN, helper_begin}, {SQT_EV_HELPER_END, helper_end}, {0}},
    .events = (const struct sqt_subscription[]){{SQT_EV_ADAPT_SERVICE, waits_ask_service},
                                                {SQT_EV_ADAPT_ADMITTED, service_admits},
                                                {SQT_EV_ADAPT_FAILED, service_failed},
                                                {SQT_EV_ADAPT_END, service_done},
                                                {SQT_EV_QUERY_END, query_end},
                                                {0}}};
