/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pass.c - see pass.h.
 */
#include "pass.h"
#include "base/memory.h"

#include <stdlib.h>

#include "lines.h"
#include "relay.h"

/* Figures made of facts, fewer than this, are not worth a relay. */
#define FIGURES_FOR_A_RELAY 4

struct pass_job {
    struct sqt_job *job;
    const struct sqt_family *family;
    int ended; /* its family has given back what its state owns */
};

/* Jobs that want to hear something. */
struct listeners {
    struct pass_job *jobs;
    size_t count;
};

static void
listen_to(struct listeners *l, const struct pass_job *job)
{
    l->jobs = sqt_resized(l->jobs, (l->count + 1) * sizeof(*l->jobs));
    l->jobs[l->count++] = *job;
}

/* What is decoded from the model for all jobs. */
#define FACTS(X) \
    X(request, const struct sqt_xact) \
    X(swap, struct sqt_swap) \
    X(io, const struct sqt_io) \
    X(diskop, const struct sqt_diskop)

enum fact_kind {
#define KIND(name, type) FACT_##name,
    FACTS(KIND)
#undef KIND
        FACT_KINDS
};

/* What the model tells of. */
enum told_kind {
#define KIND(name, type) TOLD_##name,
    SQT_CONSUMER_FUNCTIONS(KIND)
#undef KIND
        TOLD_KINDS
};

struct sqt_pass {
    struct pass_job *jobs;
    size_t count;
    struct sqt_consumer observer; /* hears everything besides the jobs */
    struct sqt_model *model;      /* NULL: no job needs it */
    uint64_t records;
    int64_t last; /* ns */
    struct {
#define LISTENERS(name, type) struct listeners name;
        SQT_CONSUMER_FUNCTIONS(LISTENERS)
#undef LISTENERS
    } raw;
    struct listeners sync[FACT_KINDS];      /* of facts, at once */
    struct listeners deferred;              /* behind the relay */
    int relayed[FACT_KINDS];                /* somebody behind the relay wants them */
    struct sqt_relay *relay;                /* NULL: all facts are told at once */
    struct sqt_lines *lines;                /* NULL: no job wants time lines */
    uint64_t facts[FACT_KINDS];             /* so far */
    struct sqt_row_source told[TOLD_KINDS]; /* the last thing of a kind, if sourced */
    int sourced;                            /* a job asks where its rows come from */
    struct sqt_jump jump;                   /* where no model looks at the records */
    int64_t since, until;                   /* what begins then is waited for */
    int stops;                              /* reading may end behind until */
    unsigned looks;                         /* runs behind until */
    int over;                               /* nothing that began before until is open any more */
};

/* ---- what the model says ---- */

static const struct sqt_row_source pass_nothing = {.record = UINT64_MAX};

/* Notes what the thing is of.  One record may end several of a kind. */
static void
pass_note(struct sqt_pass *pass, enum told_kind kind)
{
    struct sqt_row_source *const last = &pass->told[kind];
    const struct sqt_origin *const origin = sqt_model_origin(pass->model);
    const uint64_t record = sqt_model_record(pass->model);
    const int again = last->origin == origin && last->record == record;
    *last = (struct sqt_row_source){origin, record, again ? last->index + 1 : 0, 0};
}

#define TELL_ALL(name, type) \
    static void name(void *context, type *thing) \
    { \
        struct sqt_pass *const pass = context; \
        if (pass->sourced) \
            pass_note(pass, TOLD_##name); \
        for (size_t i = 0; i < pass->raw.name.count; ++i) { \
            const struct pass_job *const j = &pass->raw.name.jobs[i]; \
            if (pass->sourced) \
                j->job->source = j->job->sourced ? pass->told[TOLD_##name] : pass_nothing; \
            if (!j->job->done) \
                j->family->consumer.name(j->job, thing); \
        } \
        if (pass->observer.name) \
            pass->observer.name(pass->observer.context, thing); \
    }
SQT_CONSUMER_FUNCTIONS(TELL_ALL)
#undef TELL_ALL

/* Tells facts of one kind. */
static void
pass_tell(const struct pass_job *j, unsigned kind, const void *const *facts, size_t count)
{
    switch (kind) {
#define TELL(name, type) \
    case FACT_##name: \
        for (size_t i = 0; i < count; ++i) \
            j->family->name(j->job, facts[i]); \
        break;
        FACTS(TELL)
#undef TELL
    }
}

static void
tell_sync(const struct sqt_pass *pass, unsigned kind, const struct sqt_row_source *source, const void *fact)
{
    for (size_t i = 0; i < pass->sync[kind].count; ++i) {
        const struct pass_job *const j = &pass->sync[kind].jobs[i];
        if (pass->sourced)
            j->job->source = j->job->sourced ? *source : pass_nothing;
        if (!j->job->done)
            pass_tell(j, kind, &fact, 1);
    }
}

/* The kinds of facts that it wants, as bits. */
static unsigned
kinds_of(const struct pass_job *j)
{
    unsigned kinds = 0;
#define KIND(name, type) kinds |= (unsigned)(j->family->name != NULL) << FACT_##name;
    FACTS(KIND)
#undef KIND
    return kinds;
}

/* All facts to one figure, then all to the next: so its code and its numbers stay in the processor's caches. */
static void
tell_deferred(void *context, const struct sqt_relay_fact *facts, size_t count)
{
    const struct sqt_pass *const pass = context;
    struct {
        const void *facts[SQT_RELAY_FACTS];
        size_t count;
    } of[FACT_KINDS];
    for (unsigned kind = 0; kind < FACT_KINDS; ++kind)
        of[kind].count = 0;
    for (size_t i = 0; i < count; ++i)
        of[facts[i].kind].facts[of[facts[i].kind].count++] = facts[i].fact;
    for (size_t l = 0; l < pass->deferred.count; ++l) {
        const struct pass_job *const j = &pass->deferred.jobs[l];
        const unsigned kinds = kinds_of(j);
        if (j->job->done)
            continue;
        for (size_t i = 0; j->family->expect && i < of[FACT_request].count; ++i)
            j->family->expect(j->job, of[FACT_request].facts[i]);
        if (kinds & (kinds - 1)) {
            for (size_t i = 0; i < count; ++i)
                if (kinds >> facts[i].kind & 1)
                    pass_tell(j, facts[i].kind, &facts[i].fact, 1);
        } else {
            const unsigned kind = (unsigned)__builtin_ctz(kinds);
            pass_tell(j, kind, of[kind].facts, of[kind].count);
        }
    }
}

/* The jobs that are told of requests themselves need not decode them again. */
static void
pass_show_fact(const struct sqt_pass *pass, unsigned kind, const void *fact)
{
    for (size_t i = 0; kind == FACT_request && i < pass->raw.request.count; ++i)
        pass->raw.request.jobs[i].job->fact = fact;
}

/* Texts of a line of a log are gone when the next lines are read, and facts behind the relay are looked at later. */
#define LOG_TEXTS_FROM SQT_CELL(requests, client)
#define LOG_TEXTS_UNTIL SQT_CELL(requests, log_dns_ns)

static void
pass_forget_texts(unsigned kind, void *fact)
{
    struct sqt_request_fact *const request = fact;
    for (unsigned i = LOG_TEXTS_FROM; i < LOG_TEXTS_UNTIL && kind == FACT_request; ++i)
        request->row[i].text = NULL;
}

/* The thing itself, and then the fact.  A fact has pointers into itself, so it is made where it stays. */
#define TELL_FACT(name, type) \
    static void name##_and_fact(void *context, type *thing) \
    { \
        struct sqt_pass *const pass = context; \
        ++pass->facts[FACT_##name]; \
        struct sqt_##name##_fact own, *fact = &own; \
        if (pass->relayed[FACT_##name]) \
            fact = sqt_relay_next(pass->relay, FACT_##name, sizeof(own)); \
        sqt_##name##_fact(fact, thing); \
        pass_show_fact(pass, FACT_##name, fact); \
        name(context, thing); \
        tell_sync(pass, FACT_##name, &pass->told[TOLD_##name], fact); \
        if (pass->relayed[FACT_##name]) \
            pass_forget_texts(FACT_##name, fact); \
    }
FACTS(TELL_FACT)
#undef TELL_FACT

/* Whether its condition is about texts of a log. */
static int
pass_needs_texts(const struct pass_job *j)
{
    unsigned table = 0;
    while (table < j->family->where_count && j->family->where[table] != SQT_TABLE_requests)
        ++table;
    return table < j->family->where_count &&
           sqt_where_uses_columns(j->job->where, table, LOG_TEXTS_FROM, LOG_TEXTS_UNTIL);
}

/* Whether facts can be told later, and in another thread: it needs facts only, and its rows come at the end, as those of
 * figures and of tables that sum things up. */
static int
can_wait(const struct pass_job *j)
{
    return kinds_of(j) && !pass_needs_texts(j) &&
           (j->job->table->figure || (!j->job->table->things && j->family->finish));
}

static void
listen_to_things(struct sqt_pass *pass, const struct pass_job *j)
{
#define LISTEN(name, type) \
    if (j->family->consumer.name) \
        listen_to(&pass->raw.name, j);
    SQT_CONSUMER_FUNCTIONS(LISTEN)
#undef LISTEN
}

/* Time lines are kept once for all jobs. */
static void
share_lines(struct sqt_pass *pass)
{
    for (size_t i = 0; i < pass->count; ++i) {
        const struct pass_job *const j = &pass->jobs[i];
        if (!j->family->line)
            continue;
        if (!pass->lines)
            pass->lines = sqt_lines_new(sqt_job_open_room(j->job));
        sqt_lines_show(pass->lines, j->job, j->family);
    }
    if (pass->lines)
        listen_to_things(pass, &(struct pass_job){sqt_lines_job(pass->lines), &sqt_lines_family, 0});
}

static void
share_out(struct sqt_pass *pass, struct sqt_crew *crew)
{
    unsigned figures = 0;
    for (size_t i = 0; i < pass->count; ++i)
        figures += (unsigned)can_wait(&pass->jobs[i]);
    if (figures >= FIGURES_FOR_A_RELAY)
        pass->relay = sqt_relay_new(tell_deferred, pass, crew);
    for (size_t i = 0; i < pass->count; ++i) {
        const struct pass_job *const j = &pass->jobs[i];
        const int deferred = pass->relay && can_wait(j);
        if (deferred)
            listen_to(&pass->deferred, j);
#define LISTEN(name, type) \
    if (j->family->name && deferred) \
        pass->relayed[FACT_##name] = 1; \
    else if (j->family->name) \
        listen_to(&pass->sync[FACT_##name], j);
        FACTS(LISTEN)
#undef LISTEN
        listen_to_things(pass, j);
    }
    share_lines(pass);
}

/* What somebody wants to raw. */
static struct sqt_consumer
pass_wanted(struct sqt_pass *pass)
{
    struct sqt_consumer c = {.context = pass};
#define WANTED(name, type) \
    if (pass->raw.name.count || pass->observer.name) \
        c.name = name;
    SQT_CONSUMER_FUNCTIONS(WANTED)
#undef WANTED
#define WANTED(name, type) \
    if (pass->sync[FACT_##name].count || pass->relayed[FACT_##name]) \
        c.name = name##_and_fact;
    FACTS(WANTED)
#undef WANTED
    return c;
}

/* ---- reading ---- */

struct sqt_pass *
sqt_pass_new(struct sqt_job *jobs, size_t count, const struct sqt_consumer *observer, struct sqt_crew *crew)
{
    struct sqt_pass *const pass = sqt_zeroed(1, sizeof(*pass));
    int model = 0;
    pass->jobs = sqt_zeroed(count, sizeof(*pass->jobs));
    pass->count = count;
    if (observer)
        pass->observer = *observer;
    for (size_t i = 0; i < count; ++i) {
        const struct sqt_family *const family = jobs[i].family ? jobs[i].family : sqt_family_of(jobs[i].table);
        if (!jobs[i].room)
            jobs[i].room = count < FIGURES_FOR_A_RELAY ? SQT_JOB_ROOM : SQT_JOB_ROOM_OF_MANY;
        pass->jobs[i] = (struct pass_job){&jobs[i], family, 0};
        model |= !family->run;
        jobs[i].source = pass_nothing;
        jobs[i].sourced = jobs[i].sourced && jobs[i].table->things; /* of other rows nobody knows */
        pass->sourced |= jobs[i].sourced;
        if (!jobs[i].run)
            jobs[i].run = family->run;
        if (family->start)
            family->start(&jobs[i]);
    }
    share_out(pass, crew);
    if (model) {
        const struct sqt_consumer consumer = pass_wanted(pass);
        pass->model = sqt_model_new(&consumer);
    }
    return pass;
}

/* A record may come so long after what it is about began, although nothing was open meanwhile, in ns: the flusher's looks at the
 * main thread, and resource samples; and where somebody asks for waits, queries to name servers, which are recorded once they
 * are over. */
#define PASS_LATE INT64_C(3000000000)
#define PASS_LATE_WAITS INT64_C(31000000000)
/* What is open is looked at once in so many runs. */
#define PASS_LOOKS 16

/* Whether all that began before `until` has come to its end. */
static int
pass_is_over(struct sqt_pass *pass, const struct sqt_run *run)
{
    const int64_t now = run->logged ? 0 : sqt_line_ns(&run->line, run->records->time);
    if (run->logged || run->overdue)
        return 0;
    if (!pass->model)
        return now >= pass->until;
    if (now - (pass->raw.wait.count ? PASS_LATE_WAITS : PASS_LATE) < pass->until || pass->looks++ % PASS_LOOKS)
        return 0;
    if (!sqt_model_is_open(pass->model, pass->since, pass->until))
        return 1;
    sqt_model_settle(pass->model, pass->since, pass->until);
    return 0;
}

/* Where no model looks at the records. */
static void
find_losses_and_steps(struct sqt_pass *pass, const struct sqt_run *run)
{
    for (size_t i = 0; i < run->count; ++i) {
        const struct sqt_record *const r = &run->records[i];
        if (r->event == SQT_EV_LOST && pass->observer.loss)
            pass->observer.loss(pass->observer.context,
                                &(struct sqt_loss_row){.origin = run->origin,
                                                       .from = sqt_line_ns(&run->line, r->id),
                                                       .until = sqt_line_ns(&run->line, r->time),
                                                       .records = r->arg,
                                                       .reason = r->aux});
        else if (r->event == SQT_EV_CLOCK_STEP && pass->observer.step) {
            const struct sqt_step_row row = sqt_step_of(run->origin, &run->line, r, &pass->jump);
            pass->observer.step(pass->observer.context, &row);
        }
    }
}

void
sqt_pass_join(struct sqt_pass *pass, sqt_logged_function *logged, void *context)
{
    if (pass->model)
        sqt_model_join(pass->model, logged, context);
}

void
sqt_pass_look_back(struct sqt_pass *pass, sqt_accepted_function *accepted, void *context, int64_t since, int64_t until)
{
    if (pass->model)
        sqt_model_look_back(pass->model, accepted, context, since, until);
}

void
sqt_pass_run(struct sqt_pass *pass, const struct sqt_run *run)
{
    const size_t count = run->logged ? run->logged_count : run->count;
    if (!count || pass->over)
        return;
    pass->records += count;
    const int64_t last =
        run->logged ? run->logged[count - 1].at : sqt_line_ns(&run->line, run->records[count - 1].time);
    if (last > pass->last)
        pass->last = last;
    if (pass->model)
        sqt_model_run(pass->model, run);
    else if (pass->observer.loss || pass->observer.step)
        find_losses_and_steps(pass, run);
    for (size_t i = 0; i < pass->count; ++i)
        if (pass->jobs[i].job->run && !pass->jobs[i].job->done)
            pass->jobs[i].job->run(pass->jobs[i].job, run);
    pass->over = pass->stops && pass->until != INT64_MAX && pass_is_over(pass, run);
}

static int
pass_jobs_are_done(const struct sqt_pass *pass)
{
    for (size_t i = 0; i < pass->count; ++i)
        if (!pass->jobs[i].job->done)
            return 0;
    return 1;
}

int
sqt_pass_done(const struct sqt_pass *pass)
{
    return pass->over || pass_jobs_are_done(pass);
}

void
sqt_pass_stop_early(struct sqt_pass *pass, int64_t since, int64_t until)
{
    pass->stops = 1;
    pass->since = since;
    pass->until = until;
}

void
sqt_pass_lasts(struct sqt_pass *pass, int64_t last_ns)
{
    pass->last = last_ns > pass->last ? last_ns : pass->last;
}

int
sqt_pass_reads_on(const struct sqt_pass *pass)
{
    return pass->looks && !pass->over;
}

/* What is above the picture and beside its axes. */
static void
note_axes(const struct sqt_job *job)
{
    job->note(job->context, "title", job->table->title);
    job->note(job->context, "x", job->table->x);
    job->note(job->context, "y", job->table->y);
}

/* Why a figure is empty. */
static void
note_nothing(const struct sqt_pass *pass, const struct pass_job *j)
{
    const struct sqt_job *const job = j->job;
    const char *why = "none of what is in the trace belongs here, or fewer than 10 in each group";
    if (!pass->records)
        why = "the trace holds no records";
    else if (j->family->request && !pass->facts[FACT_request] && !(j->family->swap && pass->facts[FACT_swap]))
        why = "the trace holds no requests";
    else if (!j->family->request && j->family->swap && !pass->facts[FACT_swap])
        why = "the trace holds no swaps";
    else if (job->where || job->since > 0 || job->until <= pass->last)
        why = "the condition or the time asked for leaves nothing, or fewer than 10 in each group";
    job->note(job->context, "nothing", why);
}

/* Tells one job of what main threads do now. */
struct pass_open {
    const struct pass_job *of;
    const struct sqt_now *now;
};

static void
pass_open_loop(void *context, const struct sqt_open_loop *loop)
{
    const struct pass_open *const open = context;
    open->of->family->open_loop(open->of->job, loop, open->now);
}

static void
pass_finish_model(struct sqt_pass *pass, const struct sqt_now *now)
{
    for (size_t i = 0; now && i < pass->count; ++i)
        if (pass->jobs[i].family->open_loop)
            sqt_model_open_loops(pass->model, pass_open_loop, &(struct pass_open){&pass->jobs[i], now});
    if (now)
        sqt_model_finish_now(pass->model, now);
    else
        sqt_model_finish(pass->model);
    if (now && now->ns > pass->last)
        pass->last = now->ns;
}

/* The family gives back what its state owns: once, also of a pass that is not finished. */
static void
pass_end_family(struct pass_job *j)
{
    if (j->family->end && !j->ended)
        j->family->end(j->job);
    j->ended = 1;
}

static void
pass_finish(struct sqt_pass *pass, const struct sqt_now *now)
{
    if (pass->model && !pass_jobs_are_done(pass))
        pass_finish_model(pass, pass->over ? NULL : now);
    if (pass->relay)
        sqt_relay_finish(pass->relay);
    pass->relay = NULL;
    for (size_t i = 0; i < pass->count; ++i) {
        struct pass_job *const j = &pass->jobs[i];
        j->job->length = pass->last;
        j->job->source = pass_nothing;
        if (j->job->table->figure)
            note_axes(j->job);
        if (j->family->finish)
            j->family->finish(j->job);
        pass_end_family(j);
        if (j->job->table->figure && !j->job->rows)
            note_nothing(pass, j);
    }
}

void
sqt_pass_finish(struct sqt_pass *pass)
{
    pass_finish(pass, NULL);
}

void
sqt_pass_finish_now(struct sqt_pass *pass, const struct sqt_now *now)
{
    pass_finish(pass, now);
}

void
sqt_pass_end_origin(struct sqt_pass *pass, const struct sqt_origin *origin)
{
    if (pass->model && !pass_jobs_are_done(pass))
        sqt_model_end(pass->model, origin);
}

void
sqt_pass_forget_origin(struct sqt_pass *pass, const struct sqt_origin *origin)
{
    for (unsigned kind = 0; kind < TOLD_KINDS; ++kind)
        if (pass->told[kind].origin == origin) /* another may get its address */
            pass->told[kind] = pass_nothing;
    if (pass->model)
        sqt_model_forget(pass->model, origin);
}

void
sqt_pass_free(struct sqt_pass *pass)
{
    if (!pass)
        return;
    if (pass->relay)
        sqt_relay_finish(pass->relay);
    for (size_t i = 0; i < pass->count; ++i)
        pass_end_family(&pass->jobs[i]);
    sqt_model_free(pass->model);
    for (unsigned i = 0; i < FACT_KINDS; ++i)
        free(pass->sync[i].jobs);
    free(pass->deferred.jobs);
    sqt_lines_free(pass->lines);
#define FORGET(name, type) free(pass->raw.name.jobs);
    SQT_CONSUMER_FUNCTIONS(FORGET)
#undef FORGET
    free(pass->jobs);
    free(pass);
}

uint64_t
sqt_pass_records(const struct sqt_pass *pass)
{
    return pass->records;
}

int64_t
sqt_pass_last_ns(const struct sqt_pass *pass)
{
    return pass->last;
}
