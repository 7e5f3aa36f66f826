/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * syscalls-strace.c - the table of system calls from what strace or perf trace printed of any program.
 *
 * A call belongs to the window in which it ends.  Classes are those of calls.def; a call that is none of them stands
 * under the kernel's name of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "read/strace.h"
#include "threads.h"

static const struct {
    const char *name;
    const char *kernel;
} classes[] = {
#define SQT_CALL(NAME, name, kernel, doc) {#name, kernel},
#include "format/calls.def"
};
/* Windows without a call that stand one by one; more of them are one. */
#define IDLE_MOST (2 * SQT_THREADS_IDLE)
/* Bytes of a line; a longer one is not understood.  In so many bytes one must end. */
#define LINE_MOST ((size_t)1 << 20)
#define LINE_ENDS ((size_t)64 << 20)
#define CLASSES (sizeof(classes) / sizeof(*classes))

struct strace {
    struct sqt_job *job;
    struct sqt_threads threads;
    int64_t first;       /* ns; SQT_MISSING before the first call */
    int64_t begin, last; /* of the window, and the latest end; since `first` */
    int64_t end;         /* of the window that is being closed */
};

/* The class's name, or the call's own. */
static const char *
class_of(const struct sqt_traced_call *call)
{
    char word[40];
    snprintf(word, sizeof(word), " %s ", call->name);
    for (unsigned i = 0; i < CLASSES; ++i) {
        if (!strstr(classes[i].kernel, word))
            continue;
        const char *const name = classes[i].name;
        if (strcmp(name, "open-read") == 0)
            return call->writes ? "open-write" : name;
        if (strcmp(name, "read") == 0)
            return call->fd == SQT_TRACED_FILE ? "read-disk" : call->fd == SQT_TRACED_PIPE ? "read-pipe" : name;
        if (strcmp(name, "write") == 0)
            return call->fd == SQT_TRACED_FILE ? "write-disk" : call->fd == SQT_TRACED_PIPE ? "write-pipe" : name;
        return name;
    }
    return call->name;
}

static void
strace_table_add(struct sqt_thread *t, const struct sqt_traced_call *call)
{
    const char *const name = class_of(call);
    unsigned i = 0;
    while (i + 1 < SQT_ACCOUNT_CALLS && t->account.calls[i].name && strcmp(t->account.calls[i].name, name) != 0)
        ++i;
    struct sqt_account_call *const c = &t->account.calls[i];
    if (!c->name) {
        c->name = name;
        if (name == call->name)
            c->name = t->own_names[i] = sqt_copied(name);
        if (!c->name)
            return;
    }
    ++c->count;
    t->account.used |= UINT64_C(1) << i;
    c->ns = sqt_account_sum(c->ns, call->ns);
    if (call->ns > c->longest)
        c->longest = call->ns;
}

static void
strace_table_take_thread(void *context, struct sqt_thread *thread)
{
    const struct strace *const s = context;
    snprintf(thread->name, sizeof(thread->name), "thread %u", (unsigned)thread->number);
    thread->account.begin = s->begin;
    thread->account.end = s->end;
    thread->account.kid = SQT_CELL_MISSING;
    thread->account.thread = thread->name;
    if (s->end > s->begin)
        sqt_account_rows(s->job, &thread->account);
}

static void
strace_table_close_window(struct strace *s, int64_t end)
{
    s->end = end;
    sqt_threads_close(&s->threads, strace_table_take_thread, s);
    s->begin = end;
}

static void
strace_table_take(struct strace *s, const struct sqt_traced_call *call)
{
    if (s->first == SQT_MISSING)
        s->first = call->begin;
    const int64_t end = sqt_account_sum(call->begin - s->first, call->ns);
    /* Windows in which nothing is told are rows, but not any number of them. */
    for (unsigned idle = 0; end - s->begin >= s->job->group; ++idle)
        strace_table_close_window(s,
                                  idle < IDLE_MOST ? s->begin + s->job->group : end - (end - s->begin) % s->job->group);
    struct sqt_thread *const thread = sqt_threads_call(&s->threads, call->thread);
    if (thread)
        strace_table_add(thread, call);
    if (end > s->last)
        s->last = end;
}

/* Reads a line without its newline, of a longer one the begin.  Returns its length; -1: there are no more. */
static ssize_t
strace_table_line(FILE *file, char line[LINE_MOST])
{
    size_t length = 0;
    int c = getc_unlocked(file);
    if (c == EOF)
        return -1;
    for (; c != EOF && c != '\n' && length < LINE_ENDS; c = getc_unlocked(file), ++length)
        if (length < LINE_MOST)
            line[length] = (char)c;
    line[length < LINE_MOST ? length : LINE_MOST - 1] = '\0';
    return (ssize_t)length;
}

static void
strace_table_note(const struct sqt_strace *reader, uint64_t strange, struct sqt_job *job)
{
    char text[96];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)strange);
    if (strange)
        job->note(job->context, "lines that were not understood", text);
    snprintf(text, sizeof(text), "%llu are left out, because more than %d go on at once",
             (unsigned long long)sqt_strace_beyond(reader), SQT_STRACE_OPEN_MOST);
    if (sqt_strace_beyond(reader))
        job->note(job->context, "calls", text);
}

int
sqt_syscalls_of_tracer(struct sqt_job *job, const struct sqt_tracer *tracer, FILE *file, const char *name, char *error,
                       size_t error_size)
{
    struct strace s = {.job = job, .first = SQT_MISSING};
    struct sqt_strace *const reader = sqt_strace_new();
    struct sqt_traced_call call;
    char *const line = sqt_allocated(LINE_MOST);
    ssize_t length;
    uint64_t number = 0, strange = 0;
    int failed = 0;
    while (!failed && !job->done && (length = strace_table_line(file, line)) >= 0) {
        ++number;
        if ((size_t)length == LINE_ENDS) {
            snprintf(error, error_size, "%s: line %llu does not end in 64 MiB", name, (unsigned long long)number);
            failed = 1;
            break;
        }
        const enum sqt_strace_line what =
            (size_t)length < LINE_MOST ? tracer->take(reader, line, &call) : SQT_STRACE_STRANGE;
        if (what == SQT_STRACE_CALL)
            strace_table_take(&s, &call);
        else if (what == SQT_STRACE_STRANGE)
            ++strange;
        if (what == SQT_STRACE_NO_TIME || (what == SQT_STRACE_STRANGE && strange == number && number == 10)) {
            snprintf(error, error_size, "%s: line %llu: %s %s%s", name, (unsigned long long)number,
                     what == SQT_STRACE_NO_TIME ? "a call without its duration; it must be made by"
                                                : "this is not what",
                     tracer->command, what == SQT_STRACE_NO_TIME ? "" : " prints");
            failed = 1;
        }
    }
    if (!failed && ferror(file)) {
        snprintf(error, error_size, "%s: %s", name, strerror(errno));
        failed = 1;
    }
    if (!failed && s.first == SQT_MISSING && strange) {
        snprintf(error, error_size, "%s: line 1: this is not what %s prints", name, tracer->command);
        failed = 1;
    }
    if (!failed) {
        strace_table_close_window(&s, s.last);
        strace_table_note(reader, strange, job);
    }
    sqt_threads_note(&s.threads, job);
    sqt_threads_free(&s.threads);
    sqt_freed(line);
    sqt_strace_free(reader);
    return failed ? -1 : 0;
}
