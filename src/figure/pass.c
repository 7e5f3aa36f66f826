/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pass.c - see pass.h.
 */
#include "pass.h"

#include <stdlib.h>

struct pass_job {
    struct sqt_job *job;
    const struct sqt_family *family;
};

struct sqt_pass {
    struct pass_job *jobs;
    size_t count;
    struct sqt_consumer also;
    struct sqt_model *model; /* NULL: no job needs it */
    uint64_t records;
    int64_t last;            /* ns */
    uint64_t requests, swaps; /* that have ended */
};

/* ---- what the model says ---- */

#define TELL_ALL(name, type) \
    static void name(void *context, type *thing) \
    { \
        const struct sqt_pass *const pass = context; \
        for (size_t i = 0; i < pass->count; ++i) \
            if (pass->jobs[i].family->consumer.name && !pass->jobs[i].job->done) \
                pass->jobs[i].family->consumer.name(pass->jobs[i].job, thing); \
        if (pass->also.name) \
            pass->also.name(pass->also.context, thing); \
    }
SQT_CONSUMER_FUNCTIONS(TELL_ALL)
#undef TELL_ALL

static void
count_request(struct sqt_pass *pass)
{
    ++pass->requests;
}

static void
count_swap(struct sqt_pass *pass)
{
    ++pass->swaps;
}

static void
count_io(struct sqt_pass *pass)
{
    (void)pass;
}

/* The same, and then what was decoded from it. */
#define TELL_FACT(name, type) \
    static void name##_and_fact(void *context, type *thing) \
    { \
        struct sqt_pass *const pass = context; \
        struct sqt_##name##_fact fact; \
        name(context, thing); \
        count_##name(pass); \
        sqt_##name##_fact(&fact, thing); \
        for (size_t i = 0; i < pass->count; ++i) \
            if (pass->jobs[i].family->name && !pass->jobs[i].job->done) \
                pass->jobs[i].family->name(pass->jobs[i].job, &fact); \
    }
TELL_FACT(request, const struct sqt_xact)
TELL_FACT(swap, struct sqt_swap)
TELL_FACT(io, const struct sqt_io)
#undef TELL_FACT

/* What somebody wants to hear. */
static struct sqt_consumer
wanted(struct sqt_pass *pass)
{
    struct sqt_consumer c = {.context = pass};
    for (size_t i = 0; i < pass->count; ++i) {
        const struct sqt_family *const f = pass->jobs[i].family;
#define WANTED(name, type) \
        if (f->consumer.name || pass->also.name) \
            c.name = name;
        SQT_CONSUMER_FUNCTIONS(WANTED)
#undef WANTED
    }
    for (size_t i = 0; i < pass->count; ++i) {
        const struct sqt_family *const f = pass->jobs[i].family;
        if (f->request)
            c.request = request_and_fact;
        if (f->swap)
            c.swap = swap_and_fact;
        if (f->io)
            c.io = io_and_fact;
    }
    return c;
}

/* ---- reading ---- */

struct sqt_pass *
sqt_pass_new(struct sqt_job *jobs, size_t count, const struct sqt_consumer *also)
{
    struct sqt_pass *const pass = sqt_zeroed(1, sizeof(*pass));
    int model = 0;
    pass->jobs = sqt_zeroed(count, sizeof(*pass->jobs));
    pass->count = count;
    if (also)
        pass->also = *also;
    for (size_t i = 0; i < count; ++i) {
        const struct sqt_family *const family = jobs[i].family ? jobs[i].family : sqt_family_of(jobs[i].table);
        pass->jobs[i] = (struct pass_job){&jobs[i], family};
        model |= !family->run;
        if (!jobs[i].run)
            jobs[i].run = family->run;
        if (family->start)
            family->start(&jobs[i]);
    }
    if (model) {
        const struct sqt_consumer consumer = wanted(pass);
        pass->model = sqt_model_new(&consumer);
    }
    return pass;
}

/* Where no model looks at the records. */
static void
find_losses(const struct sqt_pass *pass, const struct sqt_run *run)
{
    for (size_t i = 0; i < run->count; ++i) {
        const struct sqt_record *const r = &run->records[i];
        if (r->event == SQT_EV_LOST)
            pass->also.loss(pass->also.context,
                            &(struct sqt_loss_row){.origin = run->origin,
                                                   .from = sqt_line_ns(&run->line, r->id),
                                                   .until = sqt_line_ns(&run->line, r->time),
                                                   .records = r->arg,
                                                   .reason = r->aux});
    }
}

void
sqt_pass_run(struct sqt_pass *pass, const struct sqt_run *run)
{
    if (!run->count)
        return;
    pass->records += run->count;
    const int64_t last = sqt_line_ns(&run->line, run->records[run->count - 1].time);
    if (last > pass->last)
        pass->last = last;
    if (pass->model)
        sqt_model_run(pass->model, run);
    else if (pass->also.loss)
        find_losses(pass, run);
    for (size_t i = 0; i < pass->count; ++i)
        if (pass->jobs[i].job->run && !pass->jobs[i].job->done)
            pass->jobs[i].job->run(pass->jobs[i].job, run);
}

int
sqt_pass_done(const struct sqt_pass *pass)
{
    for (size_t i = 0; i < pass->count; ++i)
        if (!pass->jobs[i].job->done)
            return 0;
    return 1;
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
    else if (j->family->request && !pass->requests && !(j->family->swap && pass->swaps))
        why = "the trace holds no requests";
    else if (!j->family->request && j->family->swap && !pass->swaps)
        why = "the trace holds no swaps";
    else if (job->where || job->since > 0 || job->until <= pass->last)
        why = "the condition or the time asked for leaves nothing, or fewer than 10 in each group";
    job->note(job->context, "nothing", why);
}

void
sqt_pass_finish(struct sqt_pass *pass)
{
    if (pass->model && !sqt_pass_done(pass))
        sqt_model_finish(pass->model);
    for (size_t i = 0; i < pass->count; ++i) {
        const struct pass_job *const j = &pass->jobs[i];
        j->job->length = pass->last;
        if (j->job->table->figure)
            note_axes(j->job);
        if (j->family->finish)
            j->family->finish(j->job);
        if (j->job->table->figure && !j->job->rows)
            note_nothing(pass, j);
    }
}

void
sqt_pass_free(struct sqt_pass *pass)
{
    if (!pass)
        return;
    sqt_model_free(pass->model);
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
