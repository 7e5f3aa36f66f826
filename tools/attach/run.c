/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run.c - traces until the end: takes the kernel's events, and writes a trace for each process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "attach/joins.h"
#include "attach/writer.h"
#include "base/memory.h"
#include "trace/clock/clock-internal.h"

#define RUN_MOST 128          /* processes that are traced at a time: each has an open file, and some MB of buffers */
#define RUN_KNOWN (96u << 20) /* bytes that may be known of the objects of all of them */
#define RUN_LOOK_NS 20000000  /* between two looks at the kernel's ring */
#define RUN_FLUSH_NS UINT64_C(1000000000)
#define RUN_COLD 5    /* thirds: a call in Squid, whose caches are colder, took 1.6 times as long as one in a loop */
#define RUN_TRIES 100 /* to attach to the next Squid */
#define RUN_REST 50   /* times as long as a look for the next Squid takes, which may be long where many processes run */
#define RUN_TAGS 64   /* result codes that Squid may have */

/* A process that is traced. */
struct run_process {
    struct run *run;
    struct attach_member member;
    int writes;    /* its trace is begun */
    int gone;      /* it ended, and the event that says so may still come */
    uint64_t lost; /* calls that found no room, so far */
    uint64_t last; /* time of the last event */
    struct sqt_joins joins;
    struct sqt_attach_writer writer;
    struct run_process *next;
};

struct run {
    const struct attach_request *request;
    struct program_voice *voice;
    struct attach_target target;
    struct attach_kernel *kernel;
    struct run_process *processes;
    int directory;
    int made;                        /* the folder was not there */
    int alone;                       /* a lock that only one can have */
    char lock[96];                   /* its file; "": none */
    uint64_t xacts;                  /* transactions that ended */
    unsigned count;                  /* of the processes */
    int beyond;                      /* there were more of them than RUN_MOST */
    int forgot;                      /* objects were forgotten, as too much was known */
    uint64_t unseen;                 /* calls of processes that ended before they were looked at */
    struct sqt_attach_counts before; /* of kernels that were let go */
    uint64_t began;                  /* ns of CLOCK_MONOTONIC */
    enum attach_status status;
    char tags[RUN_TAGS][48];
    unsigned tag_count;
    struct sqt_joins_code code;
    uint32_t code_at; /* that the kernel's program knows */
    struct attach_budget budget;
    uint64_t paused; /* since when there are no probes; 0: there are */
};

static volatile sig_atomic_t run_stopped;

static void
run_stop(int signal)
{
    (void)signal;
    run_stopped = 1;
}

/* ---- Squid's result codes ---- */

/* Where the program lies in the process's memory, less where it was linked to lie. */
static uint64_t
run_base(const struct attach_target *target)
{
    char path[64], line[PATH_MAX + 128];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)target->pid);
    FILE *const f = sqt_fopen(path, "r");
    uint64_t base = UINT64_MAX;
    while (f && base == UINT64_MAX && fgets(line, sizeof(line), f)) {
        unsigned long long begin, offset, inode;
        if (sscanf(line, "%llx-%*x %*s %llx %*s %llu", &begin, &offset, &inode) == 3 && offset == 0 &&
            inode == (unsigned long long)target->file)
            base = begin - target->elf.load_address;
    }
    if (f)
        fclose(f);
    return base;
}

/* One text of the table; returns whether it looks like a result code. */
static int
run_tag(int memory, uint64_t at, char text[48])
{
    uint64_t pointer = 0;
    if (pread(memory, &pointer, sizeof(pointer), (off_t)at) != sizeof(pointer) || !pointer)
        return 0;
    const ssize_t size = pread(memory, text, 47, (off_t)pointer);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const size_t length = strlen(text);
    return length >= 3 && length < 40 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == length;
}

/* Reads LogTags::Str_ from the process, so that no release's numbers need be known. */
static void
run_tags(struct run *run)
{
    char path[64];
    const uint64_t base = run_base(&run->target);
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)run->target.pid);
    const int memory = run->target.functions.tags && base != UINT64_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (memory < 0)
        return;
    while (run->tag_count < RUN_TAGS &&
           run_tag(memory, base + run->target.functions.tags + 8 * run->tag_count, run->tags[run->tag_count]))
        ++run->tag_count;
    close(memory);
}

/* ---- processes ---- */

/* Asks again who it is: when it was seen first, it may have been about to become another program. */
static void
run_process_identify(struct run_process *p)
{
    struct attach_member now;
    if (attach_member_now(&p->run->target, p->member.pid, &now) == 0) {
        p->member = now;
        return;
    }
    uint32_t most = 0; /* it is gone: of those that are known */
    for (const struct run_process *other = p->run->processes; other; other = other->next)
        if (other->member.kid > most)
            most = other->member.kid;
    if (p->member.kid == 1 && most == 1)
        p->member.kid_kind = SQT_KID_SINGLE;
}

/* Begins its trace: some processes of Squid, its master for one, have nothing to record. */
static void
run_process_open(struct run_process *p, uint64_t since)
{
    struct run *const run = p->run;
    struct sqt_error error;
    run_process_identify(p);
    const struct sqt_attach_process whose = {.pid = (uint32_t)p->member.pid,
                                             .kid = p->member.kid,
                                             .kid_kind = p->member.kid_kind,
                                             .service = run->target.service,
                                             .squid_version = run->target.version,
                                             .build_id = run->target.elf.build_id,
                                             .since = since};
    if (sqt_attach_writer_open(&p->writer, run->directory, &whose, &error) != 0) {
        program_fail(run->voice, "%s: %s", run->request->given[ATTACH_output], error.text);
        run->status = ATTACH_FAILED;
        return;
    }
    p->writes = 1;
    for (unsigned i = 0; i < run->tag_count; ++i)
        sqt_attach_writer_define(&p->writer, SQT_DEF_TAG, i + 1, run->tags[i]);
}

static void
run_emit(void *context, const struct sqt_record *records, unsigned count)
{
    struct run_process *const p = context;
    if (!p->writes && p->run->status == ATTACH_DONE)
        run_process_open(p, records->time);
    if (p->run->status == ATTACH_DONE)
        sqt_attach_writer_add(&p->writer, records, count);
}

/* Squid's own name of a cache_dir is in its memory, behind members that differ from release to release. */
static void
run_define_dir(void *context, uint32_t number, const char *type)
{
    struct run_process *const p = context;
    char text[64];
    snprintf(text, sizeof(text), "%s cache_dir-%u", type, (unsigned)number + 1);
    if (p->writes)
        sqt_attach_writer_define(&p->writer, SQT_DEF_DIR, number, text);
}

static void
run_process_fail(struct run *run, int error)
{
    if (run->status == ATTACH_DONE) /* of several processes, once */
        program_fail(run->voice, "%s: cannot write the trace: %s", run->request->given[ATTACH_output], strerror(error));
    run->status = ATTACH_FAILED;
}

/* Whoever may write to Squid's memory can have it start any number of processes.  Returns whether one more can be traced. */
static int
run_has_room(struct run *run, pid_t pid)
{
    if (run->count < RUN_MOST)
        return 1;
    if (!run->beyond)
        program_say(run->voice, "this Squid has more than %d processes: process %d and others are not in the trace",
                    RUN_MOST, (int)pid);
    run->beyond = 1;
    return 0;
}

/* There is room for it. */
static void
run_process_new(struct run *run, const struct attach_member *member)
{
    struct run_process *const p = sqt_zeroed(1, sizeof(*p));
    ++run->count;
    p->run = run;
    p->member = *member;
    p->joins.emit = run_emit;
    p->joins.define_dir = run_define_dir;
    p->joins.context = p;
    p->joins.has = run->target.functions.has;
    p->joins.tags = run->tag_count;
    p->joins.code = &run->code;
    sqt_joins_begin(&p->joins);
    p->next = run->processes;
    run->processes = p;
}

static struct run_process *
run_process_known(const struct run *run, pid_t pid)
{
    for (struct run_process *p = run->processes; p; p = p->next)
        if (p->member.pid == pid)
            return p;
    return NULL;
}

/* A process that began since is looked for when its first event comes. */
static struct run_process *
run_process_of(struct run *run, pid_t pid)
{
    struct attach_member member;
    struct run_process *const known = run_process_known(run, pid);
    if (known)
        return known;
    if (!run_has_room(run, pid)) {
        attach_kernel_unwatch(run->kernel, pid); /* its calls would cost time */
        return NULL;
    }
    if (attach_member_of(&run->target, pid, &member) != 0)
        return NULL;
    run_process_new(run, &member);
    return run->processes;
}

/* Calls of it were lost before that time: what is known of its objects may be wrong. */
static void
run_process_lost(struct run_process *p, uint64_t lost, uint64_t time)
{
    if (lost <= p->lost)
        return;
    if (!p->writes && p->run->status == ATTACH_DONE)
        run_process_open(p, p->last ? p->last : time);
    if (p->writes)
        sqt_attach_writer_lost(&p->writer, p->last, time, lost - p->lost, SQT_LOSS_RING_FULL);
    p->lost = lost;
    sqt_joins_forget(&p->joins);
}

static void
run_process_end(struct run *run, struct run_process *p, uint64_t lost, uint64_t time, int goes_on)
{
    run_process_lost(p, lost, time);
    if (run->paused && p->writes)
        sqt_attach_writer_lost(&p->writer, run->paused, time, 1, SQT_LOSS_SAMPLED);
    run->xacts += p->joins.ended;
    sqt_joins_free(&p->joins);
    if (p->writes && sqt_attach_writer_close(&p->writer, goes_on) != 0)
        run_process_fail(run, errno);
    --run->count;
    free(p);
}

/* The same where no event says it. */
static void
run_process_leave(struct run *run, struct run_process *p)
{
    const uint64_t lost = run->kernel ? attach_kernel_lost_of(run->kernel, p->member.pid) : 0;
    if (run->kernel)
        attach_kernel_unwatch(run->kernel, p->member.pid);
    run_process_end(run, p, lost, sqt_monotonic_ns(), kill(p->member.pid, 0) == 0 || errno != ESRCH);
}

static void
run_exit(struct run *run, const struct sqt_attach_event *event)
{
    for (struct run_process **at = &run->processes; *at; at = &(*at)->next)
        if ((*at)->member.pid == (pid_t)event->pid) {
            struct run_process *const p = *at;
            *at = p->next;
            run_process_end(run, p, event->lost, event->time, 0);
            return;
        }
}

static void
run_take(void *context, const struct sqt_attach_event *event)
{
    struct run *const run = context;
    if (event->row == SQT_ATTACH_EXIT) {
        run_exit(run, event);
        return;
    }
    struct run_process *const p = run->status == ATTACH_DONE ? run_process_of(run, (pid_t)event->pid) : NULL;
    if (!p) {
        ++run->unseen;
        return;
    }
    run_process_lost(p, event->lost, event->time);
    p->last = event->time;
    sqt_joins_take(&p->joins, event);
}

/* ---- rounds ---- */

/* Calls may be made up, or requests never be logged: what is open is forgotten when it takes too much memory.  All processes
 * begin again, so that one does not leave the others without. */
static void
run_bound(struct run *run)
{
    size_t bytes = 0;
    for (const struct run_process *p = run->processes; p; p = p->next)
        bytes += sqt_joins_bytes(&p->joins);
    if (bytes <= RUN_KNOWN)
        return;
    if (!run->forgot)
        program_say(run->voice,
                    "open requests and connections take more than %u MB: they are forgotten, and table "
                    "losses says when",
                    RUN_KNOWN >> 20);
    run->forgot = 1;
    for (struct run_process *p = run->processes; p; p = p->next) {
        if (p->writes)
            sqt_attach_writer_lost(&p->writer, p->last, p->last, 1, SQT_LOSS_SAMPLED);
        sqt_joins_forget(&p->joins);
    }
}

/* Takes the events that there are, at most some.  Returns whether there may be more. */
static int
run_drain(struct run *run)
{
    const int more = attach_kernel_drain(run->kernel, run_take, run);
    run_bound(run);
    return more;
}

static void
run_flush(struct run *run)
{
    for (struct run_process *p = run->processes; p; p = p->next)
        if (p->writes && sqt_attach_writer_flush(&p->writer) != 0)
            run_process_fail(run, errno);
}

static uint64_t
run_ended(const struct run *run)
{
    uint64_t xacts = run->xacts;
    for (const struct run_process *p = run->processes; p; p = p->next)
        xacts += p->joins.ended;
    return xacts;
}

/* Calls so far. */
static struct sqt_attach_counts
run_counts(const struct run *run)
{
    struct sqt_attach_counts counts = run->before;
    if (run->kernel) {
        const struct sqt_attach_counts now = attach_kernel_counts(run->kernel);
        counts.events += now.events;
        counts.lost += now.lost;
        counts.others += now.others;
    }
    return counts;
}

static void
run_progress(struct run *run, uint64_t now)
{
    const struct sqt_attach_counts counts = run_counts(run);
    program_progress(run->voice, "%llu s: %llu requests, %llu calls, %llu lost",
                     (unsigned long long)((now - run->began) / RUN_FLUSH_NS), (unsigned long long)run_ended(run),
                     counts.events, counts.lost);
}

/* Whether to go on. */
static int
run_goes_on(const struct run *run)
{
    const uint64_t lasted = sqt_monotonic_ns() - run->began;
    return !run_stopped && run->status == ATTACH_DONE &&
           (!run->request->duration || lasted < (uint64_t)run->request->duration);
}

static void
run_nap_for(uint64_t ns)
{
    const struct timespec nap = {(time_t)(ns / RUN_FLUSH_NS), (long)(ns % RUN_FLUSH_NS)};
    nanosleep(&nap, NULL);
}

static void
run_nap(void)
{
    run_nap_for(RUN_LOOK_NS);
}

/* Looks for processes that no event spoke of: those that the kernel does not watch yet, and, if all events were taken, those
 * whose end was lost. */
static void
run_look(struct run *run, int all_taken)
{
    static struct attach_member members[RUN_MOST + 1];
    const size_t count = attach_members(&run->target, members, RUN_MOST + 1);
    for (size_t i = 0; i < count; ++i)
        if (!run_process_known(run, members[i].pid) && run_has_room(run, members[i].pid)) {
            attach_kernel_watch(run->kernel, members[i].pid);
            run_process_new(run, &members[i]);
        }
    for (struct run_process **at = &run->processes, *p; (p = *at);) {
        if (kill(p->member.pid, 0) == 0 || errno != ESRCH || !p->gone || !all_taken) {
            p->gone = kill(p->member.pid, 0) != 0 && errno == ESRCH; /* it ends at the next look */
            at = &p->next;
            continue;
        }
        *at = p->next;
        run_process_leave(run, p);
    }
}

/* Each call costs Squid time: those of TAG are not needed once the log line has the code. */
static void
run_code(struct run *run)
{
    if (run->code.at != run->code_at)
        attach_kernel_code(run->kernel, run->code.at);
    run->code_at = run->code.at;
    if (run->code.sure)
        attach_kernel_no_tags(run->kernel);
}

/* ---- --most ---- */

/* What was open when the probes were taken out is not seen to end. */
static void
run_pause(struct run *run)
{
    attach_kernel_pause(run->kernel);
    while (run_drain(run))
        continue;
    run->paused = sqt_monotonic_ns();
    for (struct run_process *p = run->processes; p; p = p->next)
        sqt_joins_forget(&p->joins);
}

/* The trace says that nothing was seen until now. */
static void
run_pause_ends(struct run *run, uint64_t now)
{
    for (struct run_process *p = run->processes; p && run->paused; p = p->next)
        if (p->writes)
            sqt_attach_writer_lost(&p->writer, run->paused, now, 1, SQT_LOSS_SAMPLED);
    run->paused = 0;
}

/* Takes the probes out, or puts them in again, so that they take no more than --most. */
static void
run_budget(struct run *run)
{
    if (run->budget.most <= 0)
        return;
    const struct sqt_attach_counts counts = attach_kernel_counts(run->kernel);
    const uint64_t now = sqt_monotonic_ns();
    const int allowed = attach_budget_allows(&run->budget, now, counts.events + counts.lost + counts.others);
    if (!allowed && !run->paused) {
        run_pause(run);
    } else if (allowed && run->paused) {
        if (attach_kernel_resume(run->kernel, &run->target, !run->code.sure) == 0) {
            run_pause_ends(run, now);
            return;
        }
        program_fail(run->voice, "cannot put the probes in again: %s", strerror(errno));
        run->status = ATTACH_FAILED;
    }
}

/* Before the probes are put in.  Older kernels need too long to take them out.  Returns 0, or -1: without many, after saying
 * why. */
static int
run_budget_begin(struct run *run, int many)
{
    run->budget.most = run->request->most;
    if (run->budget.most <= 0)
        return 0;
    run->budget.call = many ? attach_kernel_cost(run->kernel) * RUN_COLD / 3 : 0;
    run->budget.looked = sqt_monotonic_ns();
    run->budget.calls = 0;
    if (run->budget.call)
        return 0;
    return many ? -1 : program_fail(run->voice, "--most needs Linux 6.6 or newer");
}

/* Until Squid ends, or the time is over. */
static void
run_rounds(struct run *run)
{
    uint64_t flushed = sqt_monotonic_ns();
    for (int more = 0; run->processes && run_goes_on(run);) {
        if (!more)
            run_nap();
        more = run_drain(run);
        run_code(run);
        run_budget(run);
        const uint64_t now = sqt_monotonic_ns();
        if (now - flushed < RUN_FLUSH_NS)
            continue;
        flushed = now;
        run_flush(run);
        run_look(run, !more);
        run_progress(run, now);
    }
}

static int
run_is_link(const char *name)
{
    struct stat st;
    return lstat(name, &st) == 0 && S_ISLNK(st.st_mode);
}

static int
run_directory(struct run *run)
{
    char name[PATH_MAX];
    size_t length = (size_t)snprintf(name, sizeof(name), "%s", run->request->given[ATTACH_output]);
    if (length >= sizeof(name))
        return program_fail(run->voice, "-o: the name is too long");
    while (length > 1 && name[length - 1] == '/') /* "link/" is what the link points to */
        name[--length] = '\0';
    run->made = mkdir(name, 0750) == 0;
    if (!run->made && errno != EEXIST)
        return program_fail(run->voice, "cannot make the folder %s: %s", name, strerror(errno));
    run->directory = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (run->directory < 0)
        return program_fail(run->voice, "%s: %s", name,
                            run_is_link(name) ? "it is a symbolic link; name the folder itself" : strerror(errno));
    return 0;
}

/* Says which processes are traced.  Returns 0, or -1: without many, after saying why. */
static int
run_watch(struct run *run, int many)
{
    for (const struct run_process *p = run->processes; p; p = p->next)
        if (attach_kernel_watch(run->kernel, p->member.pid) != 0)
            return many ? -1 : program_fail(run->voice, "cannot tell the kernel what to trace: %s", strerror(errno));
    return 0;
}

/* Loads, and puts the probes in.  The same. */
static int
run_attach(struct run *run, int many)
{
    run->kernel = attach_kernel_load(many, run->voice);
    if (!run->kernel)
        return -1;
    if (run_watch(run, many) == 0 && run_budget_begin(run, many) == 0 &&
        attach_kernel_attach(run->kernel, many, &run->target, run->voice) == 0)
        return 0;
    attach_kernel_free(run->kernel);
    run->kernel = NULL;
    return -1;
}

/* Locks the file; returns -1 with errno: EAGAIN if somebody else has the lock, or just let go of it. */
static int
run_lock(struct run *run)
{
    struct stat own, there;
    run->alone = open(run->lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (run->alone < 0 || flock(run->alone, LOCK_EX | LOCK_NB) != 0)
        return -1;
    if (fstat(run->alone, &own) == 0 && lstat(run->lock, &there) == 0 && own.st_ino == there.st_ino)
        return 0;
    errno = EAGAIN;
    return -1;
}

/* Two would double what the probes cost.  Only root writes to the folder. */
static int
run_alone(struct run *run)
{
    snprintf(run->lock, sizeof(run->lock), "/run/sqtrace-attach-%llx-%llx-%s.lock",
             (unsigned long long)run->target.device, (unsigned long long)run->target.file, run->target.service);
    if (run_lock(run) == 0)
        return 0;
    if (errno == EAGAIN)
        program_fail(run->voice, "another sqtrace-attach traces this Squid");
    else
        program_fail(run->voice, "%s: %s", run->lock, strerror(errno));
    run->lock[0] = '\0';
    return -1;
}

static void
run_unlock(struct run *run)
{
    if (run->alone >= 0 && run->lock[0])
        unlink(run->lock);
    if (run->alone >= 0)
        close(run->alone);
    run->alone = -1;
}

static int
run_begin(struct run *run)
{
    static struct attach_member members[RUN_MOST];
    const size_t count = attach_members(&run->target, members, RUN_MOST);
    if (!count)
        return program_fail(run->voice, "process %d ended", (int)run->target.pid);
    if (run_alone(run) != 0)
        return -1;
    run_tags(run);
    for (size_t i = 0; i < count; ++i)
        run_process_new(run, &members[i]);
    if (run_attach(run, 1) != 0 && run_attach(run, 0) != 0)
        return -1;
    run_look(run, 0); /* for those that came meanwhile */
    program_say(run->voice, "attached to %zu processes of %s", count, run->target.program);
    return 0;
}

/* Lets go of Squid. */
static void
run_end(struct run *run)
{
    if (run->kernel) {
        attach_kernel_detach(run->kernel);
        run_pause_ends(run, sqt_monotonic_ns());
        while (run_drain(run))
            continue;
        run->before = run_counts(run);
    }
    while (run->processes) {
        struct run_process *const p = run->processes;
        run->processes = p->next;
        run_process_leave(run, p);
    }
    attach_kernel_free(run->kernel);
    run->kernel = NULL;
    run->tag_count = 0;
    run->code = (struct sqt_joins_code){.at = 0};
    run->code_at = 0;
    run_unlock(run);
}

/* A Squid that starts is a few processes that end at once before it is the one that stays. */
static int
run_next(struct run *run)
{
    const char *const service = run->request->given[ATTACH_service];
    struct program_voice silent = {.program = "", .quiet = 1, .silent = 1}, *const voice = run->voice;
    for (unsigned tries = 0; run_goes_on(run) && attach_target_pid(service); ++tries) {
        run->voice = tries < RUN_TRIES ? &silent : voice;
        const int found = attach_target_find(&run->target, run->request, run->voice) == 0 && run_begin(run) == 0;
        run->voice = voice;
        if (found) {
            program_say(voice, "the next one is traced: %s", run->target.program);
            return 1;
        }
        run_end(run);
        attach_target_free(&run->target);
        if (tries >= RUN_TRIES) {
            run->status = ATTACH_FAILED;
            return 0;
        }
        run_nap();
    }
    return 0;
}

/* Squid ended.  With --service, the next one is traced, too, which may be another program.  Returns whether one came. */
static int
run_again(struct run *run)
{
    if (!run->request->given[ATTACH_service] || !run_goes_on(run))
        return 0;
    program_say(run->voice, "Squid ended; waiting for the next one");
    run_end(run);
    attach_target_free(&run->target);
    while (run_goes_on(run)) {
        const uint64_t began = sqt_monotonic_ns();
        if (attach_target_pid(run->request->given[ATTACH_service]) && run_next(run))
            return 1;
        const uint64_t nap = RUN_REST * (sqt_monotonic_ns() - began);
        run_nap_for(nap < RUN_LOOK_NS ? RUN_LOOK_NS : nap > RUN_FLUSH_NS ? RUN_FLUSH_NS : nap);
    }
    return 0;
}

static void
run_summary(struct run *run)
{
    const struct sqt_attach_counts counts = run_counts(run);
    if (run->unseen)
        program_say(run->voice, "%llu calls were of processes that ended at once%s, and are not in the trace",
                    (unsigned long long)run->unseen, run->beyond ? ", or that were too many" : "");
    if (run->budget.most > 0)
        program_say(run->voice, "to keep %s, the probes were in for %.1f %% of the time; a call costs %llu ns",
                    run->request->given[ATTACH_most],
                    100 * (double)run->budget.on / (double)(run->budget.on + run->budget.off + 1),
                    (unsigned long long)run->budget.call);
    program_say(run->voice, "%llu requests in %s, from %llu calls of functions; %llu calls were lost",
                (unsigned long long)run->xacts, run->request->given[ATTACH_output], counts.events, counts.lost);
}

enum attach_status
attach_run(const struct attach_request *request, struct program_voice *voice)
{
    struct run run = {.request = request, .voice = voice, .directory = -1, .alone = -1, .began = sqt_monotonic_ns()};
    const struct sigaction stop = {.sa_handler = run_stop};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    if (attach_target_find(&run.target, request, voice) != 0 || attach_target_numbers(voice) != 0 ||
        run_directory(&run) != 0 || run_begin(&run) != 0)
        run.status = ATTACH_FAILED;
    else
        do
            run_rounds(&run);
        while (run_again(&run));
    run_end(&run);
    program_clear(voice);
    if (run.status == ATTACH_DONE)
        run_summary(&run);
    attach_target_free(&run.target);
    if (run.directory >= 0)
        close(run.directory);
    if (run.status != ATTACH_DONE && run.made)
        rmdir(request->given[ATTACH_output]); /* unless it has a trace */
    return run.status;
}
