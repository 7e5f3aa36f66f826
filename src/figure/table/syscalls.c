/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * syscalls.c - the table of system calls: by window of time, thread and class.
 *
 * A window ends with the first pass of the event loop that is over when the width asked for has gone by, because calls
 * are told between passes: so none of the main thread's is cut in two, and with `misc` they add up to the window.
 */
#include "syscalls.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static int
syscall_table_by_name(const void *one, const void *two)
{
    const struct sqt_account_call *const a = *(const struct sqt_account_call *const *)one;
    const struct sqt_account_call *const b = *(const struct sqt_account_call *const *)two;
    return strcmp(a->name, b->name);
}

/* The calls that were made, by name; returns how many. */
static unsigned
sorted_calls(const struct sqt_account *account, const struct sqt_account_call *sorted[SQT_ACCOUNT_CALLS])
{
    unsigned count = 0;
    for (uint64_t used = account->used; used; used &= used - 1) {
        const struct sqt_account_call *const call = &account->calls[__builtin_ctzll(used)];
        if (call->name && call->count)
            sorted[count++] = call;
    }
    if (count > 1)
        qsort(sorted, count, sizeof(*sorted), syscall_table_by_name);
    return count;
}

#define CELL(name) row[SQT_CELL(syscalls, name)]

static void
syscall_table_cells(union sqt_cell *row, const struct sqt_account *account, const struct sqt_account_call *call)
{
    const int64_t window = account->end - account->begin;
    CELL(time_s).number = account->begin;
    CELL(kid).number = account->kid;
    CELL(thread).text = account->thread;
    CELL(name).text = call->name;
    CELL(total_s).number = call->ns;
    CELL(share_pct).number = sqt_percent((double)call->ns, (double)window);
    CELL(count).number = (int64_t)call->count;
    CELL(mean_s).number = call->count ? call->ns / (int64_t)call->count : SQT_CELL_MISSING;
    CELL(max_s).number = call->longest;
    CELL(window_s).number = window;
}

static void
syscall_table_print(struct sqt_job *job, const struct sqt_account *account, const struct sqt_account_call *call)
{
    union sqt_cell row[SQT_CELLS(syscalls)];
    syscall_table_cells(row, account, call);
    if (sqt_job_wants(job, account->begin, row))
        sqt_job_row(job, row);
}

void
sqt_account_rows(struct sqt_job *job, const struct sqt_account *account)
{
    const struct sqt_account_call *sorted[SQT_ACCOUNT_CALLS];
    struct sqt_account_call misc = {"misc", 1, account->end - account->begin, SQT_CELL_MISSING};
    const unsigned count = sorted_calls(account, sorted);
    for (unsigned i = 0; i < count; ++i) {
        misc.count += sorted[i]->count;
        misc.ns = sqt_account_sum(misc.ns, -sorted[i]->ns);
    }
    syscall_table_print(job, account, &misc);
    for (unsigned i = 0; i < count; ++i)
        syscall_table_print(job, account, sorted[i]);
}

/* ---- rows of the trend ---- */

/* Unless --where says which. */
static int
is_of_disk(const char *name)
{
    return strcmp(name, "open-read") == 0 || strcmp(name, "open-write") == 0 || strcmp(name, "read-disk") == 0 ||
           strcmp(name, "write-disk") == 0;
}

#define TREND(name) trend[SQT_CELL(syscall_trend, name)]

void
sqt_account_trend(struct sqt_job *job, const struct sqt_account *account)
{
    union sqt_cell row[SQT_CELLS(syscalls)], trend[SQT_CELLS(syscall_trend)];
    const struct sqt_account_call *sorted[SQT_ACCOUNT_CALLS];
    const unsigned count = sorted_calls(account, sorted);
    for (unsigned i = 0; i < count; ++i) {
        syscall_table_cells(row, account, sorted[i]);
        if (!sqt_job_wants(job, account->begin, row) || !(job->where || is_of_disk(sorted[i]->name)))
            continue;
        TREND(time_s) = CELL(time_s);
        TREND(kid) = CELL(kid);
        TREND(name) = CELL(name);
        TREND(total_s) = CELL(total_s);
        TREND(share_pct) = CELL(share_pct);
        TREND(count) = CELL(count);
        TREND(mean_ms) = CELL(mean_s);
        sqt_job_row(job, trend);
    }
}

/* ---- from a trace ---- */

struct thread {
    struct thread *next;
    uint32_t number;
    struct sqt_account account;
};

/* What one process did since its window began. */
struct process {
    struct process *next;
    const struct sqt_origin *origin;
    int64_t begin, told;           /* SQT_MISSING: the account has not begun */
    struct thread *threads, *last; /* by number; the one that was found last */
    unsigned thread_count;
};

struct syscalls {
    struct process *processes;
    struct process **by_origin; /* by its index */
    size_t origin_count;
    unsigned thread_count;
    uint64_t beyond;      /* records of threads for which there was no room */
    int64_t idle_left;    /* rows that idle threads may still have */
    uint64_t idle_beyond; /* those that they did not get */
};

/* One record can end a window, and each thread then has a row, although most made no call.  So a trace gets this many
 * rows of idle threads at first, and more for each record. */
#define IDLE_ROWS 1000000
#define IDLE_ROWS_A_RECORD 4

static void
syscall_table_start(struct sqt_job *job)
{
    struct syscalls *const s = job->state = sqt_zeroed(1, sizeof(*s));
    s->idle_left = IDLE_ROWS;
}

static struct process *
syscall_table_process_of(struct syscalls *s, const struct sqt_origin *origin)
{
    if (origin->index >= s->origin_count) {
        s->by_origin = sqt_resized(s->by_origin, (origin->index + 1) * sizeof(*s->by_origin));
        while (s->origin_count <= origin->index)
            s->by_origin[s->origin_count++] = NULL;
    }
    struct process **const known = &s->by_origin[origin->index];
    if (!*known) {
        struct process **end = &s->processes;
        while (*end)
            end = &(*end)->next;
        *known = *end = sqt_zeroed(1, sizeof(**end));
        (*known)->origin = origin;
        (*known)->begin = SQT_MISSING;
    }
    return *known;
}

/* NULL if there is no room for another thread. */
static struct thread *
syscall_table_thread_of(struct syscalls *s, struct process *process, uint32_t number)
{
    if (process->last && process->last->number == number)
        return process->last;
    struct thread **t = &process->threads;
    while (*t && (*t)->number < number)
        t = &(*t)->next;
    if (!*t || (*t)->number != number) {
        if (process->thread_count == SQT_ACCOUNT_THREADS || s->thread_count == SQT_ACCOUNT_ALL_THREADS)
            return NULL;
        ++process->thread_count;
        ++s->thread_count;
        struct thread *const added = sqt_zeroed(1, sizeof(*added));
        added->number = number;
        added->next = *t;
        *t = added;
    }
    return process->last = *t;
}

/* Adds what a thread did to what all did. */
static void
add_account(struct sqt_account *all, const struct sqt_account *own)
{
    all->begin = own->begin;
    all->end = own->end;
    all->kid = own->kid;
    all->thread = "all";
    all->used |= own->used;
    for (uint64_t used = own->used; used; used &= used - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(used);
        struct sqt_account_call *const to = &all->calls[i];
        const struct sqt_account_call *const from = &own->calls[i];
        to->name = to->name ? to->name : from->name;
        to->count += from->count;
        to->ns = sqt_account_sum(to->ns, from->ns);
        to->longest = from->longest > to->longest ? from->longest : to->longest;
    }
}

/* Whether a thread has a row in its window. */
static int
syscall_table_has_row(struct syscalls *s, const struct sqt_account *account)
{
    if (account->used || s->idle_left-- > 0)
        return 1;
    ++s->idle_left;
    ++s->idle_beyond;
    return 0;
}

static void
syscall_table_close_window(struct sqt_job *job, struct process *process)
{
    struct sqt_account all = {0};
    job->source = (struct sqt_row_source){.origin = process->origin, .record = UINT64_MAX}; /* a window is no event */
    for (struct thread *t = process->threads; t && process->told > process->begin; t = t->next) {
        t->account.begin = process->begin;
        t->account.end = process->told;
        t->account.kid = process->origin->identity.kid;
        t->account.thread = sqt_origin_text(process->origin, SQT_DEF_THREAD, t->number);
        if (job->table == &sqt_tables[SQT_TABLE_syscall_trend])
            add_account(&all, &t->account);
        else if (syscall_table_has_row(job->state, &t->account))
            sqt_account_rows(job, &t->account);
        sqt_account_clear(&t->account);
    }
    sqt_account_trend(job, &all);
    process->begin = process->told;
}

static void
calls(void *context, const struct sqt_calls_row *c)
{
    struct sqt_job *const job = context;
    struct syscalls *const s = job->state;
    struct process *const process = syscall_table_process_of(s, c->origin);
    s->idle_left += IDLE_ROWS_A_RECORD;
    if (c->call == UINT32_MAX) {
        if (c->begins) {
            syscall_table_close_window(job, process);
            process->begin = c->at;
        } else if (process->begin == SQT_MISSING)
            process->begin = c->at;
        process->told = c->at;
        if (c->at - process->begin >= job->group)
            syscall_table_close_window(job, process);
        return;
    }
    if (process->begin == SQT_MISSING || c->call >= SQT_ACCOUNT_CALLS)
        return;
    struct thread *const thread = syscall_table_thread_of(s, process, c->thread);
    if (!thread) {
        ++s->beyond;
        return;
    }
    struct sqt_account_call *const call = &thread->account.calls[c->call];
    thread->account.used |= UINT64_C(1) << c->call;
    call->name = sqt_origin_text(c->origin, SQT_DEF_CALL, c->call);
    call->count += c->count;
    call->ns = sqt_account_sum(call->ns, c->ns);
    if (c->longest_ns > call->longest)
        call->longest = c->longest_ns;
}

static void
syscall_table_finish(struct sqt_job *job)
{
    struct syscalls *const s = job->state;
    if (!s->processes)
        job->note(job->context, "syscalls", "the trace has no account of system calls: events=syscall was not given");
    sqt_job_note_bound(job, s->beyond, "records of calls are left out, because there are too many threads");
    sqt_job_note_bound(job, s->idle_beyond,
                       "rows of threads that made no call are left out, because there are too many");
    s->idle_left += SQT_ACCOUNT_ALL_THREADS; /* the last windows are whole */
    sqt_freed(s->by_origin);
    for (struct process *p = s->processes, *next; p; p = next) {
        next = p->next;
        syscall_table_close_window(job, p);
        for (struct thread *t = p->threads, *after; t; t = after) {
            after = t->next;
            sqt_freed(t);
        }
        sqt_freed(p);
    }
    sqt_freed(s);
}

const struct sqt_family sqt_family_syscalls = {.where = {SQT_TABLE_syscalls},
                                               .where_count = 1,
                                               .group = INT64_C(10000000000),
                                               .chained = 1,
                                               .start = syscall_table_start,
                                               .consumer = {.calls = calls},
                                               .finish = syscall_table_finish};
const struct sqt_family sqt_family_syscall_trend = {.where = {SQT_TABLE_syscalls},
                                                    .where_count = 1,
                                                    .group = INT64_C(10000000000),
                                                    .chained = 1,
                                                    .start = syscall_table_start,
                                                    .consumer = {.calls = calls},
                                                    .finish = syscall_table_finish};
