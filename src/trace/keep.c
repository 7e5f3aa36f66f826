/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep.c - see keep-internal.h.
 */
#include "keep-internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file-internal.h"

struct closed_segment {
    char base[SQT_BASE_MAX];
    char name[SQT_NAME_MAX];
    uint64_t sequence;
    uint64_t bytes;
};

struct closed_list {
    struct closed_segment *segments;
    size_t count, room;
};

/* Bases of one service and kid differ by their start time first, so their order is that of time. */
static int
older_first(const void *a, const void *b)
{
    const struct closed_segment *const x = a, *const y = b;
    const int by_run = strcmp(x->base, y->base);
    if (by_run)
        return by_run;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int
has_ring(int directory, const char *base)
{
    char name[SQT_NAME_MAX];
    struct stat st;
    sqt_pointer_name(name, base);
    return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int
add(struct closed_list *list, const struct sqt_name *parsed, const char *name, uint64_t bytes)
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

/* Fills in the closed segments that may be deleted.  Returns 0 or -1. */
static int
list_closed(const struct sqt_keep *keep, struct closed_list *list)
{
    const int fd = openat(keep->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int result = 0;
    const struct dirent *entry;
    while (result == 0 && (entry = readdir(dir))) {
        struct sqt_name name;
        struct stat st;
        sqt_name_parse(&name, entry->d_name);
        if (name.kind != SQT_NAME_SEGMENT || name.kid != keep->kid || strcmp(name.service, keep->service) != 0)
            continue;
        if (strcmp(name.base, keep->base) == 0 ? name.sequence == keep->open : has_ring(keep->directory, name.base))
            continue;
        if (fstatat(keep->directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            result = add(list, &name, entry->d_name, (uint64_t)st.st_size);
    }
    closedir(dir);
    return result;
}

unsigned
sqt_keep_apply(const struct sqt_keep *keep)
{
    struct closed_list list = {NULL, 0, 0};
    unsigned deleted = 0;
    if (!keep->bytes)
        return 0;
    if (list_closed(keep, &list) == 0 && list.count) {
        uint64_t total = 0;
        for (size_t i = 0; i < list.count; ++i)
            total += list.segments[i].bytes;
        qsort(list.segments, list.count, sizeof(*list.segments), older_first);
        for (size_t i = 0; i < list.count && total > keep->bytes; ++i) {
            if (unlinkat(keep->directory, list.segments[i].name, 0) == 0)
                ++deleted;
            total -= list.segments[i].bytes;
        }
    }
    free(list.segments);
    return deleted;
}
