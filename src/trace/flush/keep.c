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
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "trace/segment/run-internal.h"
#include "trace/file/trust-internal.h"

#define GB (UINT64_C(1) << 30)
#define SECOND UINT64_C(1000000000) /* ns */
#define LOOKS 4                     /* a process writes this part of its share before it looks again */

struct kept_segment {
    char base[SQT_BASE_MAX];
    char name[SQT_NAME_MAX];
    uint64_t sequence;
    uint64_t bytes;
    uint64_t written_ns; /* since the epoch: last change; once ordered, of this or an older one of the kid */
    uint32_t kid;
    uint32_t run; /* 0: not known */
    int lives;    /* of another process that traces */
    int open;     /* being written, as far as that can be known */
    int gone;
};

struct kept_list {
    struct kept_segment *segments;
    size_t count, room;
    uint64_t bytes;   /* of all that are there */
    unsigned writers; /* runs that are being traced, this one included */
    int ordered;
    unsigned deleted;
    uint64_t freed; /* bytes */
};

/* CLOCK_REALTIME, in ns. */
static uint64_t
keep_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* ---- the order ---- */

static int
keep_by_name(const void *a, const void *b)
{
    const struct kept_segment *const x = a, *const y = b;
    const int by_base = strcmp(x->base, y->base);
    if (by_base)
        return by_base;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int
keep_by_run(const void *a, const void *b)
{
    const struct kept_segment *const x = a, *const y = b;
    if (x->kid != y->kid)
        return x->kid < y->kid ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return keep_by_name(a, b);
}

static int
keep_by_age(const void *a, const void *b)
{
    const struct kept_segment *const x = a, *const y = b;
    if (x->written_ns != y->written_ns)
        return x->written_ns < y->written_ns ? -1 : 1;
    return keep_by_run(a, b);
}

/* Fills in the run numbers: one header is read for each run, unless it is damaged.  The list is ordered by names. */
static void
keep_number_runs(const struct sqt_keep *keep, struct kept_list *list)
{
    const struct sqt_leftovers *const l = keep->leftovers;
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

/* Oldest first.  A clock that was wrong puts no segment of a kid before an older one of the same kid; one with
 * a time that is yet to come is as old as the next. */
static void
keep_order(const struct sqt_keep *keep, struct kept_list *list)
{
    if (list->ordered || !list->count)
        return;
    const uint64_t now_ns = keep_now();
    keep_number_runs(keep, list);
    qsort(list->segments, list->count, sizeof(*list->segments), keep_by_run);
    for (size_t i = list->count; i-- > 0;) {
        struct kept_segment *const s = &list->segments[i];
        if (s->written_ns > now_ns)
            s->written_ns = i + 1 < list->count && s[1].kid == s->kid ? s[1].written_ns : now_ns;
    }
    for (size_t i = 1; i < list->count; ++i) {
        struct kept_segment *const s = &list->segments[i];
        if (s[-1].kid == s->kid && s[-1].written_ns > s->written_ns)
            s->written_ns = s[-1].written_ns;
    }
    qsort(list->segments, list->count, sizeof(*list->segments), keep_by_age);
    list->ordered = 1;
}

/* ---- the list ---- */

static int
keep_add(struct kept_list *list, const struct sqt_name *parsed, const char *name, const struct stat *st)
{
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        struct kept_segment *const more = realloc(list->segments, room * sizeof(*more));
        if (!more)
            return -1;
        list->segments = more;
        list->room = room;
    }
    struct kept_segment *const s = &list->segments[list->count++];
    memset(s, 0, sizeof(*s));
    strcpy(s->base, parsed->base);
    strcpy(s->name, name);
    s->sequence = parsed->sequence;
    s->kid = parsed->kid;
    s->bytes = (uint64_t)st->st_size;
    s->written_ns = (uint64_t)st->st_mtim.tv_sec * SECOND + (uint64_t)st->st_mtim.tv_nsec;
    list->bytes += s->bytes;
    return 0;
}

/* Finds out which segments are being written: of this run what the caller says, of another that lives the last one.  The
 * list is ordered by names. */
static void
keep_find_open(const struct sqt_keep *keep, struct kept_list *list)
{
    const struct sqt_leftovers *const l = keep->leftovers;
    for (size_t i = 0; i < list->count;) {
        const char *const base = list->segments[i].base;
        const int own = strcmp(base, l->base) == 0, lives = !own && sqt_leftover_lives(l, base);
        for (; i < list->count && strcmp(list->segments[i].base, base) == 0; ++i) {
            struct kept_segment *const s = &list->segments[i];
            const int last = i + 1 == list->count || strcmp(s[1].base, base) != 0;
            s->lives = lives;
            s->open = own ? s->sequence == keep->open : lives && last;
        }
    }
}

/* Fills in the segments of the service, and who writes.  Returns 0 or -1. */
static int
keep_list(const struct sqt_keep *keep, struct kept_list *list)
{
    const struct sqt_leftovers *const l = keep->leftovers;
    DIR *const dir = sqt_open_list(l->directory);
    if (!dir)
        return -1;
    int result = 0;
    const struct dirent *entry;
    list->writers = 1;
    while (result == 0 && (entry = readdir(dir))) {
        struct sqt_name name;
        struct stat st;
        sqt_name_parse(&name, entry->d_name);
        if (name.kind == SQT_NAME_FOREIGN || strcmp(name.service, l->service) != 0)
            continue;
        if (name.kind == SQT_NAME_POINTER && strcmp(name.base, l->base) != 0)
            list->writers += sqt_leftover_lives(l, name.base) != 0;
        if (name.kind == SQT_NAME_SEGMENT && fstatat(l->directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && sqt_trusted(st.st_uid, l->owner))
            result = keep_add(list, &name, entry->d_name, &st);
    }
    closedir(dir);
    if (list->count)
        qsort(list->segments, list->count, sizeof(*list->segments), keep_by_name);
    keep_find_open(keep, list);
    return result;
}

/* ---- deleting ---- */

static void
keep_delete(struct sqt_leftovers *l, struct kept_list *list, struct kept_segment *s)
{
    if (unlinkat(l->directory, s->name, 0) == 0 || errno == ENOENT) {
        s->gone = 1;
        list->bytes -= s->bytes;
        list->freed += s->bytes;
        ++list->deleted;
        return;
    }
    if (!l->keep_said)
        sqt_say(l->mailbox, 0, "WARNING: sqtrace: cannot delete %.255s/%s: %s", l->directory_path, s->name,
                strerror(errno));
    l->keep_said = 1;
}

/* Whether keep= counts it, and may delete it. */
static int
keep_is_own(const struct sqt_keep *keep, const struct kept_segment *s)
{
    return s->kid == keep->kid && !s->open && !s->lives && !s->gone;
}

static void
keep_by_count(const struct sqt_keep *keep, struct kept_list *list)
{
    uint64_t own = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const struct kept_segment *const s = &list->segments[i];
        own += keep_is_own(keep, s) ? s->bytes : 0;
    }
    if (!keep->limits.keep || own <= keep->limits.keep)
        return;
    keep_order(keep, list);
    for (size_t i = 0; i < list->count && own > keep->limits.keep; ++i) {
        struct kept_segment *const s = &list->segments[i];
        if (!keep_is_own(keep, s))
            continue;
        keep_delete(keep->leftovers, list, s);
        own -= s->gone ? s->bytes : 0;
    }
}

/* What keep_order() makes of the times only makes segments younger. */
static int
keep_is_any_older(const struct kept_list *list, uint64_t than_ns)
{
    size_t i = 0;
    while (i < list->count && list->segments[i].written_ns >= than_ns)
        ++i;
    return i < list->count;
}

static void
keep_by_time(const struct sqt_keep *keep, struct kept_list *list)
{
    const uint64_t now_ns = keep_now(), age_ns = keep->limits.age_ns;
    if (!age_ns || now_ns < age_ns || !keep_is_any_older(list, now_ns - age_ns))
        return;
    keep_order(keep, list);
    for (size_t i = 0; i < list->count && list->segments[i].written_ns < now_ns - age_ns; ++i)
        if (!list->segments[i].open && !list->segments[i].gone)
            keep_delete(keep->leftovers, list, &list->segments[i]);
}

/* Deletes until so many bytes were freed. */
static void
keep_free(const struct sqt_keep *keep, struct kept_list *list, uint64_t bytes)
{
    const uint64_t until = list->freed + bytes;
    if (bytes)
        keep_order(keep, list);
    for (size_t i = 0; i < list->count && list->freed < until; ++i)
        if (!list->segments[i].open && !list->segments[i].gone)
            keep_delete(keep->leftovers, list, &list->segments[i]);
}

/* ---- the bounds that the disk gives ---- */

struct kept_disk {
    uint64_t size;          /* bytes; UINT64_MAX: not known */
    uint64_t total;         /* UINT64_MAX: no bound */
    uint64_t free, reserve; /* reserve 0: no bound */
};

static uint64_t
keep_share(uint64_t size, uint64_t part, uint64_t most)
{
    return size / part < most ? size / part : most;
}

static struct kept_disk
keep_disk(const struct sqt_keep *keep)
{
    const struct sqt_limits *const limits = &keep->limits;
    struct kept_disk disk = {UINT64_MAX, UINT64_MAX, 0, 0};
    struct statvfs fs;
    const int known = fstatvfs(keep->leftovers->directory, &fs) == 0 && fs.f_blocks;
    if (known)
        disk.size = (uint64_t)fs.f_blocks * fs.f_frsize;
    if (limits->total)
        disk.total = limits->total; /* SQT_NO_LIMIT is none, too */
    else if (known)
        disk.total = keep_share(disk.size, 10, 10 * GB);
    if (known && limits->reserve != SQT_NO_LIMIT) {
        disk.free = (uint64_t)fs.f_bavail * fs.f_frsize;
        disk.reserve = limits->reserve ? limits->reserve : keep_share(disk.size, 20, GB);
    }
    return disk;
}

static uint64_t
above(uint64_t value, uint64_t least)
{
    return value > least ? value - least : 0;
}

/* What must be free so that each that writes may write something. */
static uint64_t
keep_least(const struct kept_list *list)
{
    return (uint64_t)list->writers * LOOKS;
}

/* What is left of both bounds, in equal shares for all that write. */
static void
keep_room(const struct kept_list *list, const struct kept_disk *disk, struct sqt_room *room)
{
    const uint64_t of_total = disk->total == UINT64_MAX ? UINT64_MAX : above(disk->total, list->bytes),
                   of_disk = disk->reserve ? above(disk->free + list->freed, disk->reserve) : UINT64_MAX,
                   left = of_total < of_disk ? of_total : of_disk;
    room->total = disk->reserve && disk->size < disk->total ? disk->size : disk->total;
    room->left = left == UINT64_MAX ? left : left / keep_least(list);
    room->shortage = room->left ? SQT_ENOUGH : of_total < of_disk ? SQT_SHORT_OF_TOTAL : SQT_SHORT_OF_RESERVE;
}

uint64_t
sqt_keep_spare(const struct sqt_keep *keep)
{
    const struct kept_disk disk = keep_disk(keep);
    return disk.reserve ? above(disk.free, disk.reserve) : UINT64_MAX;
}

static void
keep_account(const struct kept_list *list, uint64_t for_disk, struct sqt_room *room)
{
    const uint64_t now_ns = keep_now();
    room->bytes = list->bytes;
    room->freed = list->freed;
    room->for_disk = for_disk;
    room->deleted = list->deleted;
    room->reach_ns = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const struct kept_segment *const s = &list->segments[i];
        const uint64_t ago = now_ns > s->written_ns ? now_ns - s->written_ns : 0;
        if (!s->gone && ago > room->reach_ns)
            room->reach_ns = ago;
    }
}

unsigned
sqt_keep_apply(const struct sqt_keep *keep, struct sqt_room *room)
{
    const struct kept_disk disk = keep_disk(keep);
    struct kept_list list;
    memset(&list, 0, sizeof(list));
    if (keep_list(keep, &list) == 0) {
        keep_by_time(keep, &list);
        keep_by_count(keep, &list);
        keep_free(keep, &list, disk.total == UINT64_MAX ? 0 : above(list.bytes + keep_least(&list), disk.total));
        const uint64_t freed = list.freed;
        if (disk.reserve)
            keep_free(keep, &list, above(disk.reserve + keep_least(&list), disk.free + list.freed));
        keep_room(&list, &disk, room);
        keep_account(&list, list.freed - freed, room);
    }
    free(list.segments);
    return list.deleted;
}
