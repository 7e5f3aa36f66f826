/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ask.c - a copy of the process looks for findings: what it finds comes through a pipe, row by row.
 *
 * The copy has the whole state of the reader, and may do with it what it likes.  It writes nothing else, runs no exit
 * handlers, and ends itself if it takes too long, or if the process that made it is gone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "live-internal.h"

#define MS INT64_C(1000000)
/* Seconds for which a copy lives at most. */
#define ASK_SECONDS 10
/* Descriptors of a program are below. */
#define ASK_DESCRIPTORS 4096u
/* A copy that takes long is made less often: it works a tenth of the time at most. */
#define TIMES 10

/* ---- in the copy ---- */

struct ask_copy {
    struct sqt_live *live;
    const struct sqt_now *now;
    int to;
    unsigned count;
};

static void
ask_write(int to, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t written = write(to, (const char *)bytes + at, size - at);
        if (written < 0 && errno != EINTR)
            _exit(1);
        at += written > 0 ? (size_t)written : 0;
    }
}

static int
ask_row(void *context, const union sqt_cell *row)
{
    static struct sqt_live_finding finding;
    struct ask_copy *const copy = context;
    const struct sqt_table *const table = &sqt_tables[SQT_TABLE_findings];
    if (sqt_live_is_none(row) || copy->count >= SQT_LIVE_MOST || !++copy->count)
        return 0;
    memset(&finding, 0, sizeof(finding));
    for (unsigned i = 0; i < table->column_count; ++i)
        if (table->columns[i].type != SQT_TYPE_TEXT)
            finding.row[i].number = row[i].number;
        else if (row[i].text) /* a pointer means nothing there but that there is a text */
            finding.row[i].text = strncpy(finding.texts[i], row[i].text, sizeof(finding.texts[i]) - 1);
    ask_write(copy->to, &finding, sizeof(finding));
    return 1;
}

static void
ask_open_loop(void *context, const struct sqt_open_loop *loop)
{
    const struct ask_copy *const copy = context;
    sqt_family_findings.open_loop(&copy->live->windows[0].job, loop, copy->now);
}

static void
ask_out_of_memory(void)
{
    _exit(1);
}

/* Closes sockets, pipes and terminals of the program except the pipe and the standard error.  Otherwise a port that the
 * program closes stays in use, and a client or a pager waits for the end of an answer that is complete.  Files stay open:
 * the copy reads heartbeats from rings. */
static void
ask_close_others(int to)
{
    struct rlimit most = {ASK_DESCRIPTORS, ASK_DESCRIPTORS};
    struct stat st;
    getrlimit(RLIMIT_NOFILE, &most);
    for (int fd = 0; fd < (int)ASK_DESCRIPTORS && (rlim_t)fd < most.rlim_cur; ++fd)
        if (fd != to && fd != STDERR_FILENO && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
            close(fd);
}

/* Signals end it, and do nothing that they do in the program. */
static void
ask_settle(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPIPE};
    sigset_t none;
    for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); ++i)
        signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(ASK_SECONDS);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sqt_before_no_memory(ask_out_of_memory);
}

static void
ask_find(struct ask_copy *copy)
{
    struct sqt_live *const live = copy->live;
    struct sqt_job *const job = &live->windows[0].job;
    live->alone = 1;
    sqt_model_join(live->model, NULL, NULL); /* both processes read a log at the same place of its file */
    job->row = ask_row;
    job->context = copy;
    job->length = copy->now && copy->now->ns > live->latest ? copy->now->ns : live->latest;
    if (copy->now) {
        sqt_model_open_loops(live->model, ask_open_loop, copy);
        sqt_model_finish_now(live->model, copy->now);
    } else {
        sqt_model_finish(live->model);
    }
    sqt_family_findings.finish(job);
}

/* ---- in the program ---- */

static int64_t
ask_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int
ask_is_early(const struct sqt_live *live, int64_t every)
{
    const int64_t pause = every && TIMES * live->took > every ? TIMES * live->took : every;
    return live->asked && ask_clock() - live->asked < pause;
}

int
sqt_live_ask(struct sqt_live *live, const struct sqt_now *now, int64_t every)
{
    int ends[2];
    if (live->copy || !live->windows[0].on || ask_is_early(live, every) || pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    live->asked = ask_clock();
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        struct ask_copy copy = {live, now, ends[1], 0};
        ask_settle();
        ask_close_others(ends[1]);
        if (getppid() == parent)
            ask_find(&copy);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return 0;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    live->copy = pid;
    live->from = live->windows[0].job.from;
    live->pipe = ends[0];
    live->received = 0;
    live->bytes = sqt_allocated(sizeof(live->found) + 1);
    return 1;
}

static int64_t
ask_ns(const struct timeval *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_usec * INT64_C(1000);
}

/* The copy has ended, or ends.  Returns whether it did what it should. */
static int
ask_end(struct sqt_live *live)
{
    struct rusage used;
    int status = 0;
    memset(&used, 0, sizeof(used));
    close(live->pipe);
    while (wait4(live->copy, &status, 0, &used) < 0 && errno == EINTR)
        ;
    live->copy = 0;
    live->pipe = -1;
    live->took = ask_ns(&used.ru_utime) + ask_ns(&used.ru_stime);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Puts what came where findings are: texts have another place here. */
static void
ask_keep(struct sqt_live *live)
{
    const struct sqt_table *const table = &sqt_tables[SQT_TABLE_findings];
    live->count = (unsigned)(live->received / sizeof(*live->found));
    memcpy(live->found, live->bytes, live->count * sizeof(*live->found));
    for (unsigned k = 0; k < live->count; ++k)
        for (unsigned i = 0; i < table->column_count; ++i)
            if (table->columns[i].type == SQT_TYPE_TEXT && live->found[k].row[i].text)
                live->found[k].row[i].text = live->found[k].texts[i];
}

/* All that there is now.  Returns whether the pipe has ended. */
static int
ask_receive(struct sqt_live *live)
{
    for (;;) {
        const ssize_t got = read(live->pipe, live->bytes + live->received, sizeof(live->found) + 1 - live->received);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 || errno != EAGAIN;
        live->received += (size_t)got;
    }
}

int
sqt_live_take(struct sqt_live *live, int milliseconds)
{
    const int64_t until = ask_clock() + milliseconds * MS;
    if (!live->copy)
        return -1;
    while (!ask_receive(live)) {
        struct pollfd from = {.fd = live->pipe, .events = POLLIN};
        const int64_t left = until - ask_clock();
        if (left <= 0)
            return 0;
        poll(&from, 1, (int)(left / MS) + 1);
    }
    const int good = ask_end(live) && live->received % sizeof(*live->found) == 0;
    if (good)
        ask_keep(live);
    free(live->bytes);
    live->bytes = NULL;
    return good ? 1 : -1;
}

const struct sqt_live_finding *
sqt_live_found(const struct sqt_live *live, unsigned *count)
{
    *count = live->count;
    return live->found;
}

int64_t
sqt_live_from(const struct sqt_live *live)
{
    return live->from;
}

void
sqt_live_stop(struct sqt_live *live)
{
    if (!live->copy)
        return;
    kill(live->copy, SIGKILL);
    ask_end(live);
    free(live->bytes);
    live->bytes = NULL;
}
