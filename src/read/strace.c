/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * strace.c - see strace.h.
 *
 *     [pid 77] 1700000000.123456 read(5</file>, "text", 100) = 4 <0.000012>
 *     77 1700000000.123456 read(5</file>, <unfinished ...>
 *     77 1700000000.223456 <... read resumed>"text", 100) = 4 <0.100000>
 *
 *       1.234 ( 0.012 ms): squid/77 read(fd: 5</file>, buf: 0x7ffc26ee1748, count: 100)    = 4
 *       2.345 (         ): squid/77 read(fd: 5</file>, buf: 0x7ffc26ee1748, count: 100)    ...
 *       2.345 ( 1.000 ms): squid/77  ... [continued]: read())                              = 4
 */
#include "strace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/memory.h"

/* A call that has begun and not ended, of one thread. */
struct going {
    struct going *next; /* that is free, too */
    struct sqt_traced_call call;
};

struct sqt_strace {
    struct going going[SQT_STRACE_OPEN_MOST];
    size_t used; /* of them */
    struct going *free;
    struct sqt_idmap by_thread;
    uint64_t beyond;
};

struct sqt_strace *
sqt_strace_new(void)
{
    return sqt_zeroed(1, sizeof(struct sqt_strace));
}

void
sqt_strace_free(struct sqt_strace *s)
{
    sqt_idmap_free(&s->by_thread);
    free(s);
}

uint64_t
sqt_strace_beyond(const struct sqt_strace *s)
{
    return s->beyond;
}

/* The thread's call has begun, and does not end in this line. */
static void
going_begin(struct sqt_strace *s, const struct sqt_traced_call *call)
{
    struct going *g = sqt_idmap_get(&s->by_thread, call->thread);
    if (!g && !s->free && s->used == SQT_STRACE_OPEN_MOST) {
        ++s->beyond;
        return;
    }
    if (!g) {
        g = s->free ? s->free : &s->going[s->used++];
        s->free = g == s->free ? g->next : s->free;
        sqt_idmap_put(&s->by_thread, call->thread, g);
    }
    g->call = *call;
}

/* The thread's call ends.  Returns 0, and its line's beginning; -1: the thread has none. */
static int
going_end(struct sqt_strace *s, uint32_t thread, struct sqt_traced_call *call)
{
    struct going *const g = sqt_idmap_take(&s->by_thread, thread);
    if (!g)
        return -1;
    *call = g->call;
    g->next = s->free;
    s->free = g;
    return 0;
}

static const char *
skip_spaces(const char *p)
{
    while (*p == ' ' || *p == '\t')
        ++p;
    return p;
}

/* "12.345678" times `unit` ns; NULL if there is no such number. */
static const char *
take_decimal(const char *p, int64_t unit, int64_t *ns)
{
    if (!isdigit((unsigned char)*p))
        return NULL;
    int64_t whole = 0, part = 0, scale = 1;
    for (; isdigit((unsigned char)*p) && whole < INT64_MAX / 10 / unit; ++p)
        whole = whole * 10 + (*p - '0');
    if (*p == '.')
        for (++p; isdigit((unsigned char)*p); ++p)
            if (scale < unit) {
                part = part * 10 + (*p - '0');
                scale *= 10;
            }
    *ns = whole * unit + part * (unit / scale);
    return p;
}

static const char *
take_name(const char *p, struct sqt_traced_call *call)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        ++n;
    if (!n || n >= sizeof(call->name))
        return NULL;
    memcpy(call->name, p, n);
    call->name[n] = '\0';
    return p + n;
}

/* "5</file>": what stands between the brackets. */
static enum sqt_traced_fd
fd_of(const char *p)
{
    if (!isdigit((unsigned char)*p))
        return SQT_TRACED_NO_FD;
    while (isdigit((unsigned char)*p))
        ++p;
    if (*p++ != '<')
        return SQT_TRACED_NO_FD;
    if (strncmp(p, "pipe:", 5) == 0)
        return SQT_TRACED_PIPE;
    return *p == '/' && strncmp(p, "/dev/", 5) != 0 && strncmp(p, "/proc/", 6) != 0 ? SQT_TRACED_FILE
                                                                                    : SQT_TRACED_OTHER;
}

static void
take_arguments(const char *p, struct sqt_traced_call *call)
{
    call->fd = fd_of(p);
    call->writes = strncmp(call->name, "open", 4) == 0 && (strstr(p, "O_WRONLY") || strstr(p, "O_RDWR"));
}

/* The "<0.000012>" at the end of the line. */
static int
take_duration(const char *line, struct sqt_traced_call *call)
{
    size_t n = strlen(line);
    while (n && isspace((unsigned char)line[n - 1]))
        --n;
    if (!n || line[n - 1] != '>')
        return 0;
    size_t at = n - 1;
    while (at && line[at - 1] != '<')
        --at;
    const char *const end = at ? take_decimal(line + at, 1000000000, &call->ns) : NULL;
    return end == line + n - 1;
}

/* Of a call without a duration: its thread ended in it, or strace left the process. */
static enum sqt_strace_line
without_duration(const char *line)
{
    return strstr(line, " = ?") || strstr(line, "<detached ...>") ? SQT_STRACE_NOTHING : SQT_STRACE_NO_TIME;
}

enum sqt_strace_line
sqt_strace_take(struct sqt_strace *s, const char *line, struct sqt_traced_call *call)
{
    const char *p = skip_spaces(line);
    int64_t number = 0;
    memset(call, 0, sizeof(*call));
    if (!*p)
        return SQT_STRACE_NOTHING;
    if (strncmp(p, "strace: ", 8) == 0)
        return SQT_STRACE_NOTHING;
    if (strncmp(p, "[pid", 4) == 0)
        p = skip_spaces(p + 4);
    /* A number without a fraction is the thread. */
    const char *after = take_decimal(p, 1, &number);
    if (after && !memchr(p, '.', (size_t)(after - p))) {
        call->thread = (uint32_t)number;
        p = skip_spaces(*after == ']' ? after + 1 : after);
    }
    p = take_decimal(p, 1000000000, &call->begin);
    if (!p || *p != ' ')
        return SQT_STRACE_STRANGE;
    p = skip_spaces(p);
    struct sqt_traced_call begun;
    if (strncmp(p, "+++", 3) == 0)
        going_end(s, call->thread, &begun); /* the thread is over */
    if (strncmp(p, "---", 3) == 0 || strncmp(p, "+++", 3) == 0)
        return SQT_STRACE_NOTHING;
    if (strncmp(p, "<... ", 5) == 0) {
        const int open = going_end(s, call->thread, &begun) == 0;
        if (!strstr(p, " resumed>"))
            return SQT_STRACE_STRANGE;
        if (!open)
            return SQT_STRACE_NOTHING; /* its begin is not in the file */
        *call = begun;
        return take_duration(p, call) ? SQT_STRACE_CALL : without_duration(p);
    }
    p = take_name(p, call);
    if (!p || *p != '(')
        return SQT_STRACE_STRANGE;
    take_arguments(p + 1, call);
    const size_t length = strlen(p);
    static const char unfinished[] = "<unfinished ...>";
    if (length >= sizeof(unfinished) - 1 && strcmp(p + length - (sizeof(unfinished) - 1), unfinished) == 0) {
        going_begin(s, call);
        return SQT_STRACE_NOTHING;
    }
    if (take_duration(p, call))
        return SQT_STRACE_CALL;
    return without_duration(p);
}

/* ---- perf trace ---- */

/* "squid/77 ": behind it; NULL if it is none.  A program's name may hold anything. */
static const char *
strace_take_thread(const char *p, uint32_t *thread)
{
    for (const char *slash = strchr(p, '/'); slash; slash = strchr(slash + 1, '/')) {
        char *end;
        const unsigned long number = strtoul(slash + 1, &end, 10);
        if (end > slash + 1 && *end == ' ') {
            *thread = (uint32_t)number;
            return skip_spaces(end);
        }
    }
    return NULL;
}

enum sqt_strace_line
sqt_perf_take(struct sqt_strace *s, const char *line, struct sqt_traced_call *call)
{
    static const char continued[] = "... [continued]: ";
    int64_t took = -1;
    memset(call, 0, sizeof(*call));
    const char *p = skip_spaces(line);
    if (!*p || strncmp(p, "LOST ", 5) == 0)
        return SQT_STRACE_NOTHING;
    p = take_decimal(p, 1000000, &call->begin);
    if (!p || strncmp(p, " (", 2) != 0)
        return SQT_STRACE_STRANGE;
    const char *const duration = take_decimal(skip_spaces(p + 2), 1000000, &took);
    p = strstr(duration ? duration : p, "): ");
    if (!p || !(p = strace_take_thread(p + 3, &call->thread)))
        return SQT_STRACE_STRANGE;
    struct sqt_traced_call begun;
    if (strncmp(p, continued, sizeof(continued) - 1) == 0) {
        if (going_end(s, call->thread, &begun) != 0 || took < 0)
            return SQT_STRACE_NOTHING;
        *call = begun;
        call->ns = took;
        return SQT_STRACE_CALL;
    }
    p = take_name(p, call);
    if (!p || *p != '(')
        return SQT_STRACE_STRANGE;
    call->fd = strncmp(p, "(fd: ", 5) == 0 ? fd_of(p + 5) : SQT_TRACED_NO_FD;
    const char *const flags = strncmp(call->name, "open", 4) == 0 ? strstr(p, "flags: ") : NULL;
    call->writes = flags && (strncmp(flags + 7, "WRONLY", 6) == 0 || strncmp(flags + 7, "RDWR", 4) == 0);
    if (took < 0) {
        going_begin(s, call);
        return SQT_STRACE_NOTHING;
    }
    call->ns = took;
    return SQT_STRACE_CALL;
}

const struct sqt_tracer *
sqt_tracer_find(const char *name)
{
    static const struct sqt_tracer tracers[] = {
        {"strace", "strace -f -ttt -T -yy", sqt_strace_take},
        {"perf", "perf trace", sqt_perf_take},
    };
    for (size_t i = 0; i < sizeof(tracers) / sizeof(*tracers); ++i)
        if (strcmp(tracers[i].name, name) == 0)
            return &tracers[i];
    return NULL;
}
