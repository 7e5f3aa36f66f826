/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compact.c - which files are merged, and when those that were merged are removed; see compact.h.
 */
#include "compact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/memory.h"
#include "base/open.h"
#include "read/file/listing.h"

#define SECOND INT64_C(1000000000)
#define COMPACT_LOCK "compact.lock"
#define COMPACT_PATH 1024

/* Files of one folder, in the order of their rings and records.  Of those that begin alike, the longest one comes first.
 *
 * Anybody who may write to the folder chooses their names and what is in them, while the lock keeps other hosts' runs out.  So
 * there are not any number of files, and no step looks at all of them for each of them. */
struct compact_list {
    struct compact_file *files;
    size_t count, room;
    size_t left_out; /* that come after those */
};

int64_t
compact_now(struct compact *c)
{
    struct stat st;
    if (futimens(c->lock, NULL) == 0 && fstat(c->lock, &st) == 0)
        return st.st_mtim.tv_sec;
    c->failed = c->blind = 1;
    return program_fail(&c->voice, "%s/%s/%s: cannot set its time: %s", c->place.name, SHIP_STAGE, COMPACT_LOCK,
                        strerror(errno));
}

/* ---- the files of a folder ---- */

static int
compact_order(const void *a, const void *b)
{
    const struct ship_name *const one = &((const struct compact_file *)a)->is, *const other =
                                                                                   &((const struct compact_file *)b)
                                                                                        ->is;
    const int rings = strcmp(one->ring, other->ring);
    if (rings)
        return rings;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    if (one->end != other->end)
        return one->end > other->end ? -1 : 1;
    return one->part > other->part ? -1 : one->part < other->part;
}

/* Sorts, and lets those go that come after the first SQT_LISTING_MOST. */
static void
compact_cut(struct compact_list *list)
{
    if (list->count)
        qsort(list->files, list->count, sizeof(*list->files), compact_order);
    if (list->count > SQT_LISTING_MOST) {
        list->left_out += list->count - SQT_LISTING_MOST;
        list->count = SQT_LISTING_MOST;
    }
}

/* Returns 0, or -1 with errno: then nothing is known of the folder. */
static int
compact_note_file(struct compact_list *list, int folder, const char *name)
{
    struct compact_file file = {.gone = 0};
    struct stat st;
    if (!ship_name_parse_public(&file.is, name))
        return 0;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    snprintf(file.name, sizeof(file.name), "%s", name);
    file.size = (uint64_t)st.st_size;
    file.changed = st.st_mtim.tv_sec;
    file.uid = st.st_uid;
    file.gid = st.st_gid;
    file.regular = S_ISREG(st.st_mode);
    if (list->count == 2 * SQT_LISTING_MOST)
        compact_cut(list);
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->files = sqt_resized(list->files, list->room * sizeof(*list->files));
    }
    list->files[list->count++] = file;
    return 0;
}

/* Opens a folder to be listed; NULL after saying why. */
static DIR *
compact_open(struct compact *c, int parent, const char *name, const char *path)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *const directory = fd < 0 ? NULL : sqt_fdopendir(fd);
    if (directory)
        return directory;
    program_fail(&c->voice, "%s: cannot read this folder: %s", path, ship_place_why_no_folder(errno));
    if (fd >= 0)
        close(fd);
    c->failed = 1;
    return NULL;
}

/* The files; none if one of them cannot be looked at, because a file that is not known must not be merged over. */
static struct compact_list
compact_list(struct compact *c, int folder, const char *path)
{
    struct compact_list list = {0};
    DIR *const directory = compact_open(c, folder, ".", path);
    int error = 0;
    while (directory && !error) {
        errno = 0;
        const struct dirent *const entry = readdir(directory);
        if (!entry) {
            error = errno;
            break;
        }
        if (compact_note_file(&list, folder, entry->d_name) != 0)
            error = errno;
    }
    if (error) {
        program_fail(&c->voice, "%s: cannot look at its files: %s", path, strerror(error));
        c->failed = 1;
        list.count = 0;
    }
    if (directory)
        closedir(directory);
    compact_cut(&list);
    return list;
}

/* ---- removing what was merged ---- */

static void
compact_remove(struct compact *c, int folder, const char *path, struct compact_file *file)
{
    if (unlinkat(folder, file->name, 0) == 0 || errno == ENOENT) {
        file->gone = 1;
        ++c->removed;
        return;
    }
    c->failed = 1;
    program_fail(&c->voice, "%s/%s: cannot remove: %s", path, file->name, strerror(errno));
}

/* Whether a merged file may say that another one can go: it is of the same owner, or of who merges now. */
static int
compact_may_replace(const struct compact *c, const struct compact_file *merged, const struct compact_file *source)
{
    return merged->uid == source->uid || merged->uid == c->place.owner;
}

/* The file of that name, of `size` bytes; NULL: the list has none. */
static const struct compact_file *
compact_find(const struct compact_list *list, const char *name, size_t size)
{
    struct compact_file wanted;
    snprintf(wanted.name, sizeof(wanted.name), "%.*s", (int)size, name);
    return ship_name_parse_public(&wanted.is, wanted.name)
               ? bsearch(&wanted, list->files, list->count, sizeof(wanted), compact_order)
               : NULL;
}

/* The next file behind `after` that file `at` was made of, by the names of its note, which are in the order of the list, and
 * *names behind its name; list->count: there is none. */
static size_t
compact_next_source(const struct compact *c, const struct compact_list *list, size_t at, size_t after,
                    const char **names)
{
    const struct ship_name *const is = &list->files[at].is;
    for (const char *end; (end = strchr(*names, ' '));) {
        const struct compact_file *const f = compact_find(list, *names, (size_t)(end - *names));
        *names = end + 1;
        if (f && f - list->files > (ptrdiff_t)after && strcmp(f->is.ring, is->ring) == 0 && f->is.end <= is->end &&
            !f->gone && compact_may_replace(c, &list->files[at], f))
            return (size_t)(f - list->files);
    }
    return list->count;
}

/* Whether a merged file can have all rows of those that its note names and that are still there. */
static int
compact_has_rows(struct compact *c, int folder, const char *path, struct compact_list *list, size_t at,
                 const char *names, uint64_t rows)
{
    uint64_t all = 0;
    for (size_t i = at; (i = compact_next_source(c, list, at, i, &names)) < list->count;) {
        if (compact_rows(c, folder, path, &list->files[i]) != 0)
            return 0;
        all += list->files[i].rows;
    }
    if (all <= rows)
        return 1;
    c->failed = 1;
    program_fail(&c->voice, "%s/%s: has fewer rows than the files that it was made of, which stay", path,
                 list->files[at].name);
    return 0;
}

/* Removes the files that file `at` of the list was made of, or counts them as waiting. */
static void
compact_remove_sources(struct compact *c, int folder, const char *path, struct compact_list *list, size_t at,
                       int64_t now)
{
    const struct ship_name *const is = &list->files[at].is;
    const size_t next = at + 1;
    uint64_t rows;
    if (next == list->count || strcmp(list->files[next].is.ring, is->ring) != 0 ||
        list->files[next].is.first >= is->end)
        return;
    char *const names = compact_sources(c, folder, path, &list->files[at], &rows);
    const char *rest = names;
    if (names && compact_has_rows(c, folder, path, list, at, names, rows))
        for (size_t i = at; (i = compact_next_source(c, list, at, i, &rest)) < list->count;) {
            if (c->request->given[SHIP_dry_run] || now < (int64_t)is->part + c->request->grace / SECOND)
                ++c->waiting;
            else
                compact_remove(c, folder, path, &list->files[i]);
        }
    free(names);
}

/* Whether a file of the list was made of others. */
static int
compact_any_merged(const struct compact_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        if (list->files[i].is.part >= COMPACT_PART_TIME)
            return 1;
    return 0;
}

static void
compact_remove_merged(struct compact *c, int folder, const char *path, struct compact_list *list)
{
    if (!compact_any_merged(list))
        return;
    const int64_t now = compact_now(c);
    const uint64_t before = c->removed;
    /* A run that was killed may have left the names of merged files unwritten. */
    if (now >= 0 && fsync(folder) != 0) {
        c->failed = 1;
        program_fail(&c->voice, "%s: cannot write this folder: %s", path, strerror(errno));
        return;
    }
    for (size_t i = 0; i < list->count && now >= 0; ++i)
        if (list->files[i].is.part >= COMPACT_PART_TIME && !list->files[i].gone && list->files[i].regular)
            compact_remove_sources(c, folder, path, list, i, now);
    if (c->removed != before && fsync(folder) != 0) {
        c->failed = 1;
        program_fail(&c->voice, "%s: cannot write this folder: %s", path, strerror(errno));
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->count; ++i)
        if (!list->files[i].gone)
            list->files[kept++] = list->files[i];
    list->count = kept;
}

/* ---- merging ---- */

/* Whether a file has records that another one in the folder has, too, by their names; if the next one was left out, it may.
 * end: the largest end of those before. */
static int
compact_overlaps(const struct compact_list *list, size_t at, uint64_t end)
{
    const struct ship_name *const is = &list->files[at].is;
    const struct ship_name *const next = at + 1 < list->count ? &list->files[at + 1].is : NULL;
    return is->first < end || (next ? strcmp(next->ring, is->ring) == 0 && next->first < is->end : list->left_out != 0);
}

/* Whether the same user and group own two files: else the merged one could be read, or replaced, by others than these. */
static int
compact_same_owner(const struct compact_file *a, const struct compact_file *b)
{
    return a->uid == b->uid && a->gid == b->gid;
}

/* How many files from `at` on are small, old and of one ring and owner, follow each other without a gap or an overlap, and reach the
 * size together or end before; not more than can be one file, so that a caller may ask at each file of a long run.  What is in
 * a gap may come later.  end: the largest end of the ring's files before them. */
static size_t
compact_run(const struct compact *c, const struct compact_list *list, size_t at, int64_t now, uint64_t end)
{
    const struct ship_request *const r = c->request;
    uint64_t size = 0;
    size_t count = 0;
    for (size_t i = at; i < list->count && count < COMPACT_GROUPS; ++i, ++count) {
        const struct compact_file *const f = &list->files[i];
        if (strcmp(f->is.ring, list->files[at].is.ring) != 0 || !f->regular || (i > at && f->is.first != end) ||
            !compact_same_owner(f, &list->files[at]) || f->size >= (uint64_t)r->least_size ||
            now - f->changed < r->least_age / SECOND || compact_overlaps(list, i, end) ||
            size >= (uint64_t)r->least_size)
            break;
        size += f->size;
        end = f->is.end;
    }
    return count;
}

static void
compact_merge_some(struct compact *c, int folder, const char *path, const struct compact_file *files, size_t count)
{
    if (c->request->given[SHIP_dry_run])
        program_say(&c->voice, "would merge %zu files in %s, from %s on", count, path, files[0].name);
    else if (compact_merge(c, folder, path, files, count) != 0)
        return;
    for (size_t i = 0; i < count; ++i)
        c->bytes += files[i].size;
    c->merged += count;
    ++c->made;
}

static void
compact_merge_small(struct compact *c, int folder, const char *path, const struct compact_list *list)
{
    if (!list->count)
        return;
    const int64_t now = compact_now(c);
    uint64_t end = 0;
    for (size_t i = 0; i < list->count && now >= 0 && !c->stop;) {
        if (i && strcmp(list->files[i].is.ring, list->files[i - 1].is.ring) != 0)
            end = 0;
        size_t count = compact_run(c, list, i, now, end);
        if (count >= 2) {
            count = compact_fitting(c, folder, path, &list->files[i], count);
            if (count >= 2)
                compact_merge_some(c, folder, path, &list->files[i], count);
        }
        count = count ? count : 1;
        if (list->files[i + count - 1].is.end > end)
            end = list->files[i + count - 1].is.end;
        i += count;
    }
}

/* ---- folders ---- */

static void
compact_folder(struct compact *c, int folder, const char *path)
{
    struct compact_list list = compact_list(c, folder, path);
    if (list.left_out) {
        c->failed = 1;
        program_fail(&c->voice, "%s: more than %zu files; the last %zu of them are left out", path, SQT_LISTING_MOST,
                     list.left_out);
    }
    compact_remove_merged(c, folder, path, &list);
    const uint64_t before = c->made;
    if (!c->stop)
        compact_merge_small(c, folder, path, &list);
    free(list.files);
    if (c->made == before || c->request->given[SHIP_dry_run] || c->request->grace >= SECOND)
        return;
    list = compact_list(c, folder, path);
    compact_remove_merged(c, folder, path, &list);
    free(list.files);
}

static int
compact_wants_table(const struct ship_request *r, const char *name)
{
    if (!r->given[SHIP_table])
        return 1;
    for (unsigned i = 0; i < r->table_count; ++i)
        if (strcmp(r->tables[i]->name, name) == 0)
            return 1;
    return 0;
}

/* Goes through table=, date= and host=, the folders of which there are three levels. */
static void
compact_walk(struct compact *c, int parent, const char *name, const char *path,
             unsigned level) /* NOLINT(misc-no-recursion) */
{
    static const char *const levels[] = {"table=", "date=", "host="};
    DIR *const directory = compact_open(c, parent, name, path);
    if (!directory)
        return;
    if (level == 3)
        compact_folder(c, dirfd(directory), path);
    for (const struct dirent *entry; level < 3 && !c->blind && (entry = readdir(directory));) {
        const size_t size = strlen(levels[level]);
        char inner[COMPACT_PATH];
        if (strncmp(entry->d_name, levels[level], size) != 0 ||
            (level == 0 && !compact_wants_table(c->request, entry->d_name + size)))
            continue;
        snprintf(inner, sizeof(inner), "%.700s/%.255s", path, entry->d_name);
        compact_walk(c, dirfd(directory), entry->d_name, inner, level + 1);
    }
    closedir(directory);
}

static void
compact_say(struct compact *c)
{
    char merged[32], made[32], bytes[32], removed[32];
    const int dry = c->request->given[SHIP_dry_run] != NULL;
    program_say(&c->voice, "%s %s files of %s bytes into %s; removed %s that were merged",
                dry ? "would merge" : "merged", sqt_grouped(c->merged, merged), sqt_grouped(c->bytes, bytes),
                sqt_grouped(c->made, made), sqt_grouped(c->removed, removed));
    if (c->made && !dry && c->request->grace >= SECOND)
        c->waiting += c->merged;
    if (c->waiting)
        program_say(&c->voice, "%s files that were merged wait until a run after --grace removes them",
                    sqt_grouped(c->waiting, merged));
}

/* Removes what killed runs had not finished.  Where locks do not exclude, the other run then says that its file is gone. */
static void
compact_clean(struct compact *c)
{
    DIR *const directory = compact_open(c, c->place.stage, ".", SHIP_STAGE);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        const size_t size = strlen(entry->d_name);
        if (strncmp(entry->d_name, "merge.", 6) == 0 && size > 5 && strcmp(entry->d_name + size - 5, ".part") == 0)
            unlinkat(c->place.stage, entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}

static enum ship_status
compact_locked(struct compact *c)
{
    compact_clean(c);
    compact_walk(c, c->place.out, ".", c->place.name, 0);
    compact_say(c);
    return c->failed ? SHIP_FAILED : SHIP_DONE;
}

static enum ship_status
compact_open_and_run(struct compact *c)
{
    if (ship_place_open(&c->place, &c->voice, c->request->given[SHIP_to], 0) != 0)
        return SHIP_FAILED;
    c->lock = ship_place_lock(&c->place, COMPACT_LOCK);
    if (c->lock >= 0)
        return compact_locked(c);
    if (errno == EAGAIN) {
        program_say(&c->voice, "another sqtrace-ship --compact works on this folder");
        return SHIP_BUSY;
    }
    program_fail(&c->voice, "%s/%s/%s: cannot lock: %s", c->place.name, SHIP_STAGE, COMPACT_LOCK,
                 sqt_open_refusal(errno));
    return SHIP_FAILED;
}

enum ship_status
ship_compact(const struct ship_request *request)
{
    struct compact c = {.request = request,
                        .voice = {.program = "sqtrace-ship", .quiet = request->given[SHIP_quiet] != NULL},
                        .lock = -1};
    const enum ship_status status = compact_open_and_run(&c);
    if (c.lock >= 0)
        close(c.lock);
    ship_place_close(&c.place);
    return status;
}
