/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * watch-read.c - what the kernel tells of the main thread and of the control groups that it is in.
 *
 * Files are read by the kernel's own calls or with stdio, which the wrappers of calls-wrap.c do not see.
 */
#define _GNU_SOURCE
#include "watch-internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens a file below /proc, unless it is open already. */
static void
open_once(const struct sqt_watch *w, int *fd, const char *thread, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%s/%s", w->root, thread, name);
    if (*fd < 0)
        *fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

void
sqt_watch_open(struct sqt_watch *w)
{
    char main_thread[32];
    snprintf(main_thread, sizeof(main_thread), "self/task/%d", (int)w->main_thread);
    open_once(w, &w->queue_fd, main_thread, "schedstat");
    open_once(w, &w->call_fd, main_thread, "syscall");
    if (w->call_fd < 0)
        open_once(w, &w->state_fd, main_thread, "stat"); /* which anybody may read */
    open_once(w, &w->self_fd, "thread-self", "schedstat");
}

/* Reads a small file from its begin.  Returns its length, or -1. */
static long
read_again(int fd, char *text, size_t size)
{
    const long n = fd < 0 ? -1 : syscall(SYS_pread64, fd, text, size - 1, (loff_t)0);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? n : -1;
}

/* The second number of a schedstat file: ns that the thread waited for a processor. */
static int
read_queued(int fd, uint64_t *ns)
{
    char text[128];
    *ns = 0;
    return read_again(fd, text, sizeof(text)) > 0 && sscanf(text, "%*u %" SCNu64, ns) == 1;
}

uint64_t
sqt_watch_queued_ns(struct sqt_watch *w)
{
    uint64_t ns;
    const int known = read_queued(w->self_fd, &ns), first = !w->asked_self_ns;
    const uint64_t grew = known && ns > w->asked_self_ns ? ns - w->asked_self_ns : 0;
    w->asked_self_ns = ns;
    return first ? 0 : grew;
}

uint64_t
sqt_watch_ran(const struct sqt_watch *w)
{
    struct timespec used = {0, 0};
    if (w->main_clock_known)
        clock_gettime(w->main_clock, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

int
sqt_watch_accounts(struct sqt_watch *w, struct sqt_accounts *a)
{
    read_queued(w->self_fd, &a->self);
    return read_queued(w->queue_fd, &a->queued);
}

/* The wait of the event loop: its pass has ended since the flusher looked whether there is one. */
static int
watch_is_loop_wait(int call)
{
#ifdef SYS_epoll_wait
    if (call == SYS_epoll_wait)
        return 1;
#endif
    return call == SYS_epoll_pwait;
}

uint32_t
sqt_watch_call(struct sqt_watch *w, int *runs)
{
    char text[256];
    int call;
    *runs = read_again(w->state_fd, text, sizeof(text)) > 0 && strstr(text, ") R ");
    if (read_again(w->call_fd, text, sizeof(text)) < 0)
        return 0;
    *runs = strncmp(text, "running", 7) == 0;
    const int known = !*runs && sscanf(text, "%d", &call) == 1 && call >= 0 && call < 10000;
    return known && !watch_is_loop_wait(call) ? (uint32_t)call + 1 : 0;
}

static const struct {
    int number;
    const char *name;
} calls[] = {
#define CALL(name) \
    { \
        SYS_##name, #name \
    }
    CALL(read),       CALL(write),  CALL(pread64),   CALL(pwrite64),  CALL(readv),       CALL(writev),
    CALL(openat),     CALL(close),  CALL(fsync),     CALL(ftruncate), CALL(lseek),       CALL(fstat),
    CALL(unlinkat),   CALL(sendto), CALL(sendmsg),   CALL(recvfrom),  CALL(recvmsg),     CALL(connect),
    CALL(accept),     CALL(futex),  CALL(nanosleep), CALL(fdatasync), CALL(getdents64),  CALL(clock_nanosleep),
    CALL(msgsnd),     CALL(msgrcv), CALL(wait4),     CALL(ppoll),     CALL(pselect6),    CALL(epoll_ctl),
    CALL(accept4),    CALL(socket), CALL(bind),      CALL(listen),    CALL(shutdown),    CALL(setsockopt),
    CALL(mmap),       CALL(munmap), CALL(mprotect),  CALL(madvise),   CALL(brk),         CALL(fallocate),
    CALL(sendfile),   CALL(splice), CALL(statfs),    CALL(fstatfs),   CALL(renameat2),   CALL(getsockopt),
    CALL(fcntl),      CALL(ioctl),  CALL(flock),     CALL(clone),     CALL(sched_yield), CALL(getrandom),
    CALL(kill),       CALL(pipe2),  CALL(execve),    CALL(mkdirat),   CALL(getsockname), CALL(msync),
#ifdef SYS_statx
    CALL(statx),
#endif
#ifdef SYS_newfstatat
    CALL(newfstatat),
#endif
#ifdef SYS_open
    CALL(open),       CALL(stat),   CALL(unlink),    CALL(rename),    CALL(poll),        CALL(select),
    CALL(lstat),      CALL(fork),   CALL(vfork),     CALL(mkdir),     CALL(rmdir),       CALL(access),
#endif
#undef CALL
};

const char *
sqt_watch_call_name(uint32_t call, char text[32])
{
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); ++i)
        if (calls[i].number == (int)call - 1)
            return calls[i].name;
    snprintf(text, 32, "system call %d", (int)call - 1);
    return text;
}

/* ---- control groups ---- */

/* Adds the time of one group's cpu.stat: throttled_usec (version 2) or throttled_time, in ns (version 1). */
static int
add_throttled(const char *folder, uint64_t *ns)
{
    char path[PATH_MAX + 16], name[64];
    uint64_t value;
    int found = 0;
    snprintf(path, sizeof(path), "%s/cpu.stat", folder);
    FILE *const file = fopen(path, "re");
    while (file && fscanf(file, "%63s %" SCNu64, name, &value) == 2) {
        const int v2 = strcmp(name, "throttled_usec") == 0;
        if (v2 || strcmp(name, "throttled_time") == 0) {
            *ns += v2 ? value * 1000 : value;
            found = 1;
        }
    }
    if (file)
        fclose(file);
    return found;
}

/* The group below that mount, and those above it.  In a container the path may be one that only the host knows: then
 * those above it are all that is there. */
static int
add_group(const struct sqt_watch *w, const char *mount, const char *group, uint64_t *ns)
{
    char path[PATH_MAX];
    const int root = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s", w->root, *mount ? "/" : "", mount);
    if (root < 0 || (size_t)root + strlen(group) >= sizeof(path))
        return 0;
    strcpy(path + root, strcmp(group, "/") == 0 ? "" : group);
    int found = 0;
    for (;;) {
        found |= add_throttled(path, ns);
        char *const slash = strrchr(path + root, '/');
        if (!slash)
            return found;
        *slash = '\0';
    }
}

static int
has_cpu(const char *controllers)
{
    const size_t n = strlen(controllers);
    for (const char *c = controllers; c < controllers + n; c += strcspn(c, ",") + 1)
        if (strncmp(c, "cpu", 3) == 0 && (c[3] == ',' || !c[3]))
            return 1;
    return 0;
}

int
sqt_watch_throttled(const struct sqt_watch *w, uint64_t *ns)
{
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    int found = 0;
    uint64_t sum = 0;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", w->root);
    FILE *const file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *const controllers = strchr(line, ':'), *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group = '\0';
        if (!controllers[1])
            found |= add_group(w, "", group + 1, &sum) || add_group(w, "unified", group + 1, &sum);
        else if (has_cpu(controllers + 1))
            found |= add_group(w, controllers + 1, group + 1, &sum) || add_group(w, "cpu", group + 1, &sum);
    }
    free(line);
    if (file)
        fclose(file);
    if (found)
        *ns = sum;
    return found;
}
