/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep.c - see keep-internal.h.
 */
#include "keep-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/segment/run-internal.h"
#include "trace/file/trust-internal.h"

struct closed_segment {
    char base[SQT_BASE_MAX];
    char name[SQT_NAME_MAX];
    uint64_t sequence;
    uint64_t bytes;
    uint32_t run; /* 0: not known */
};

struct closed_list {
    struct closed_segment *segments;
    size_t count, room;
};

static int
keep_by_name(const void *a, const void *b)
{
    const struct closed_segment *const x = a, *const y = b;
    const int by_base = strcmp(x->base, y->base);
    if (by_base)
        return by_base;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int
older_first(const void *a, const void *b)
{
    const struct closed_segment *const x = a, *const y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return keep_by_name(a, b);
}

/* Fills in the run numbers: one header is read for each run, unless it is damaged. */
static void
number_runs(const struct sqt_keep *keep, struct closed_list *list)
{
    const struct sqt_leftovers *const l = keep->leftovers;
    qsort(list->segments, list->count, sizeof(*list->segments), keep_by_name);
    for (size_t i = 0; i < list->count;) {
        const char *const base = list->segments[i].base;
        uint32_t run = strcmp(base, l->base) == 0 ? UINT32_MAX : 0;
        size_t end = i;
        for (; end < list->count && strcmp(list->segments[end].base, base) == 0; ++end)
            if (!run)
                run = sqt_run_of(l->directory, list->segments[end].name, l->owner);
        for (; i < end; ++i)
            list->segments[i].run = run;
    }
}

static int
keep_add(struct closed_list *list, const struct sqt_name *parsed, const char *name, uint64_t bytes)
{
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        struct closed_segment *const more = realloc(list->segments, room * sizeof(*more));
        if (!more)
            return -1;
        list->segments = more;
        list->room = room;
    }
    struct closed_segment *const s = &list->segments[list->count++];
    strcpy(s->base, parsed->base);
    strcpy(s->name, name);
    s->sequence = parsed->sequence;
    s->bytes = bytes;
    return 0;
}

/* The run that was looked at last: its segments often follow one another. */
struct looked {
    char base[SQT_BASE_MAX];
    int lives;
};

static int
is_living(const struct sqt_leftovers *l, const char *base, struct looked *latest)
{
    if (strcmp(base, latest->base) != 0) {
        strcpy(latest->base, base);
        latest->lives = sqt_leftover_lives(l, base);
    }
    return latest->lives;
}

/* Fills in the closed segments that may be deleted.  Returns 0 or -1. */
static int
list_closed(const struct sqt_keep *keep, struct closed_list *list)
{
    const struct sqt_leftovers *const l = keep->leftovers;
    struct looked latest = {"", 0};
    DIR *const dir = sqt_open_list(l->directory);
    if (!dir)
        return -1;
    int result = 0;
    const struct dirent *entry;
    while (result == 0 && (entry = readdir(dir))) {
        struct sqt_name name;
        struct stat st;
        sqt_name_parse(&name, entry->d_name);
        if (name.kind != SQT_NAME_SEGMENT || name.kid != keep->kid || strcmp(name.service, l->service) != 0)
            continue;
        if (strcmp(name.base, l->base) == 0 ? name.sequence == keep->open : is_living(l, name.base, &latest))
            continue;
        if (fstatat(l->directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            sqt_trusted(st.st_uid, l->owner))
            result = keep_add(list, &name, entry->d_name, (uint64_t)st.st_size);
    }
    closedir(dir);
    return result;
}

/* Deletes a segment.  Returns whether it is gone. */
static int
delete_segment(struct sqt_leftovers *l, const char *name)
{
    if (unlinkat(l->directory, name, 0) == 0 || errno == ENOENT)
        return 1;
    if (!l->keep_said)
        sqt_say(l->mailbox, 0, "WARNING: sqtrace: keep= cannot delete %.255s/%s: %s", l->directory_path, name,
                strerror(errno));
    l->keep_said = 1;
    return 0;
}

unsigned
sqt_keep_apply(const struct sqt_keep *keep)
{
    struct closed_list list = {NULL, 0, 0};
    unsigned deleted = 0;
    if (!keep->bytes)
        return 0;
    const int listed = list_closed(keep, &list);
    uint64_t total = 0;
    for (size_t i = 0; i < list.count; ++i)
        total += list.segments[i].bytes;
    if (listed == 0 && total > keep->bytes) {
        number_runs(keep, &list);
        qsort(list.segments, list.count, sizeof(*list.segments), older_first);
        for (size_t i = 0; i < list.count && total > keep->bytes; ++i)
            if (delete_segment(keep->leftovers, list.segments[i].name)) {
                ++deleted;
                total -= list.segments[i].bytes;
            }
    }
    free(list.segments);
    return deleted;
}
