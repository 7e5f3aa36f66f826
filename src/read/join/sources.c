/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sources.c - what the user names: files, directories and pipes.  See sources.h.
 */
#include "sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "guess.h"
#include "read/file/clock.h"
#include "read/file/pointer.h"
#include "sources-internal.h"
#include "spool.h"

/* ---- pointers ---- */

/* The ring that a pointer file names. */
static void
add_pointer(struct sqt_source_list *l, const uint8_t *bytes, size_t got, const char *name)
{
    struct sqt_pointer_text text;
    uint8_t magic[8] = {0};
    static const uint8_t none[8];
    if (sqt_pointer_parse(bytes, got, &text) != 0) {
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: names no ring (it has no lines ring= and id=)", name);
        return;
    }
    const int fd = sqt_open_regular(AT_FDCWD, text.ring, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd < 0 && errno != ENOENT) {
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: its ring %s cannot be opened: %s", name, text.ring,
                     strerror(errno));
        return;
    }
    if (fd < 0) {
        l->gone = sqt_resized(l->gone, (l->gone_count + 1) * sizeof(*l->gone));
        l->gone[l->gone_count].name = sqt_copied(name);
        memcpy(l->gone[l->gone_count++].ring_id, text.ring_id, sizeof(text.ring_id));
        return;
    }
    const ssize_t got_magic = pread(fd, magic, sizeof(magic), 0);
    if (got_magic >= 0 && memcmp(magic, none, sizeof(magic)) == 0) /* the magic is written last */
        sqt_diagnose(l->diagnostics, SQT_NOTE,
                     "%s: its ring %s is being made, or its maker died; there is nothing in it", name, text.ring);
    else if (memcmp(magic, SQT_RING_MAGIC, sizeof(magic)) != 0)
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: %s is not a ring", name, text.ring);
    else
        sqt_sources_add_ring(l, fd, text.ring, name);
    close(fd);
}

/* Its writer may be there still, and its pointer tells how long. */
static void
sources_note_gone(struct sqt_origin_reader *o, const char *pointer)
{
    o->pointer = pointer;
    if (!o->named_by)
        o->named_by = sqt_copied(pointer);
}

/* A pointer comes before its ring: for so many seconds its maker may be about to make that. */
#define POINTER_NEW_SECONDS 2

/* No segment is of a ring that is not there.  A pointer that has gone since had nothing to point to. */
static void
sources_tell_gone(const struct sqt_source_list *l, const char *pointer)
{
    struct stat st;
    struct timespec now;
    if (stat(pointer, &st) != 0 && errno == ENOENT)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec - st.st_mtim.tv_sec >= 0 && now.tv_sec - st.st_mtim.tv_sec <= POINTER_NEW_SECONDS)
        sqt_diagnose(l->diagnostics, SQT_NOTE, "%s: its ring is not there yet, so there is nothing to read", pointer);
    else
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: its ring is gone, and there is no segment of it", pointer);
}

/* A ring that is gone became a segment, as a rule.  Whether all of it did is known at the end of the origin. */
void
sqt_sources_complete(struct sqt_source_list *l)
{
    for (size_t i = 0; i < l->gone_count; ++i) {
        struct sqt_origin_reader *const o = sqt_sources_find(l, l->gone[i].ring_id);
        if (o)
            sources_note_gone(o, l->gone[i].name);
        else
            sources_tell_gone(l, l->gone[i].name);
    }
}

/* ---- files ---- */

enum where { NAMED, IN_DIRECTORY, AGAIN };

/* Adds what a file holds.  fd stays the caller's.  Returns how many segments were new. */
static size_t
add_file(struct sqt_source_list *l, int fd, const char *name, enum where where)
{
    struct sqt_input input;
    char what[128];
    size_t got, added = 0;
    sqt_input_init(&input, fd, 0, where == AGAIN ? 4096 : UINT64_MAX);
    const uint8_t *const bytes = sqt_input_at(&input, 0, 4096, &got);

    if (input.error)
        sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: cannot be read: %s", name, strerror(input.error));
    else if (!bytes)
        /* In a directory that is being written to, a file may just have been made. */
        sqt_diagnose(l->diagnostics, where == NAMED ? SQT_ERROR : SQT_NOTE, "%s: empty, there is no trace in it", name);
    else if (sqt_guess_is_segment(bytes, got))
        added = sqt_sources_add_segment(l, fd, 0, name, 0, UINT64_MAX, bytes, got);
    else if (where == AGAIN)
        ; /* rings and whatever else was there were seen the first time */
    else if (got >= 8 && memcmp(bytes, SQT_RING_MAGIC, 8) == 0)
        sqt_sources_add_ring(l, fd, name, name);
    else if (got > 5 && memcmp(bytes, "ring=", 5) == 0)
        add_pointer(l, bytes, got, name);
    else
        sqt_diagnose(l->diagnostics, where == NAMED ? SQT_ERROR : SQT_WARNING, "%s: not a trace: it looks like %s",
                     name, sqt_guess(bytes, got, what, sizeof(what)));
    sqt_input_close(&input);
    return added;
}

/* Adds the files of a directory whose names end in `suffix`.  Returns how many segments were new. */
static size_t
add_directory_files(struct sqt_source_list *l, const char *path, const char *suffix, enum where where, size_t *seen)
{
    struct sqt_listing names;
    size_t added = 0;
    if (sqt_sources_list(l, path, suffix, &names) != 0) {
        if (where != AGAIN)
            sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: cannot be read: %s", path, strerror(errno));
        return 0;
    }
    for (size_t i = 0; i < names.count; ++i) {
        char file[4096];
        if (snprintf(file, sizeof(file), "%s/%s", path, names.names[i]) < (int)sizeof(file)) {
            const int fd = sqt_open_regular(AT_FDCWD, file, O_RDONLY, NULL);
            ++*seen;
            if (fd >= 0) {
                added += add_file(l, fd, file, where);
                close(fd);
            } else if (where != AGAIN && errno == EINVAL)
                sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: is not a regular file", file);
            else if (where != AGAIN && errno != ENOENT) /* deleted meanwhile */
                sqt_diagnose(l->diagnostics, SQT_WARNING, SQT_CANNOT_OPEN(errno), file, strerror(errno));
        }
    }
    sqt_listing_free(&names);
    return added;
}

/* Rings before segments: a left-over ring becomes a segment first and goes away afterwards. */
static void
add_directory(struct sqt_source_list *l, const char *path)
{
    size_t seen = 0;
    const unsigned problems = l->diagnostics->problems;
    add_directory_files(l, path, ".ring", IN_DIRECTORY, &seen);
    add_directory_files(l, path, ".sqt", IN_DIRECTORY, &seen);
    if (!seen && l->diagnostics->problems == problems)
        sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: there is no trace (*.sqt, *.ring) in this directory", path);
    l->directories = sqt_resized(l->directories, (l->directory_count + 1) * sizeof(*l->directories));
    l->directories[l->directory_count++] = sqt_copied(path);
}

size_t
sqt_sources_rescan(struct sqt_source_list *l, int live)
{
    size_t seen = 0, added = 0;
    const size_t before = l->segment_count, listed = l->listed;
    const int64_t now = l->followed ? sqt_monotonic_ns() : 0;
    if (now - l->rescanned_since >= SQT_RESCANNED_NS) {
        l->rescanned_since = now;
        l->rescanned[0] = l->rescanned[1] = 0;
    }
    if (l->rescanned[live] >= (l->followed ? SQT_RESCANNED_FOLLOW_MOST : SQT_RESCANNED_MOST) || !sqt_sources_changed(l))
        return 0;
    if (l->followed) {
        l->look_again = 1;
        sqt_sources_look(l);
        added = l->segment_count > before ? l->segment_count - before : 0;
    } else {
        l->rescanning = 1;
        for (size_t i = 0; i < l->directory_count; ++i)
            added += add_directory_files(l, l->directories[i], ".sqt", AGAIN, &seen);
        l->rescanning = 0;
    }
    l->rescanned[live] += (l->listed - listed + SQT_RESCANNED_LEAST) / (added ? SQT_RESCANNED_FRUITFUL : 1);
    l->rescanned_since += l->followed ? sqt_monotonic_ns() - now : 0;
    return added;
}

/* ---- pipes ---- */

/* Segments joined on a pipe may come in any order, so the pipe is first copied to a file. */
static void
add_pipe(struct sqt_source_list *l, int fd, const char *name)
{
    const int spool = sqt_spool(fd, name, l->diagnostics);
    if (spool < 0)
        return;
    l->spools = sqt_resized(l->spools, (l->spool_count + 1) * sizeof(*l->spools));
    l->spools[l->spool_count++] = spool;

    struct sqt_input input;
    size_t got;
    char what[128];
    sqt_input_init(&input, spool, 0, UINT64_MAX);
    const uint8_t *bytes = sqt_input_at(&input, 0, 4096, &got);
    if (!bytes)
        sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: empty, there is no trace in it", name);
    else if (got >= 8 && memcmp(bytes, SQT_RING_MAGIC, 8) == 0)
        sqt_sources_add_ring(l, spool, name, name);
    else if (!sqt_guess_is_segment(bytes, got))
        sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: not a trace: it looks like %s", name,
                     sqt_guess(bytes, got, what, sizeof(what)));
    else
        for (uint64_t begin = 0, end; begin < UINT64_MAX; begin = end) {
            end = sqt_spool_next_segment(&input, begin + 1);
            bytes = sqt_input_at(&input, begin, 4096, &got);
            if (bytes)
                sqt_sources_add_segment(l, spool, 1, name, begin, end, bytes, got);
        }
    sqt_input_close(&input);
}

/* A pipe with a name, which may have no writer yet. */
static void
add_fifo(struct sqt_source_list *l, int fd, const char *name)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (poll(&wait, 1, -1) < 0 && errno == EINTR)
        ;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    add_pipe(l, fd, name);
}

/* ---- paths ---- */

void
sqt_sources_add(struct sqt_source_list *l, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        add_pipe(l, STDIN_FILENO, "standard input");
        return;
    }
    /* A directory can be opened, too; a pipe without waiting. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        sqt_diagnose(l->diagnostics, SQT_ERROR, errno == EACCES ? SQT_CANNOT_OPEN(errno) : "%s: %s", path,
                     strerror(errno));
        if (fd >= 0)
            close(fd);
        return;
    }
    if (S_ISDIR(st.st_mode))
        add_directory(l, path);
    else if (S_ISFIFO(st.st_mode))
        add_fifo(l, fd, path);
    else if (sqt_open_is_regular(fd, &st))
        add_file(l, fd, path, NAMED);
    else
        sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: neither a regular file nor a directory nor a pipe", path);
    close(fd);
}

void
sqt_sources_free(struct sqt_source_list *l)
{
    for (size_t i = 0; i < l->origin_count; ++i)
        sqt_origin_reader_free(l->origins[i]);
    for (size_t i = 0; i < l->spool_count; ++i)
        close(l->spools[i]);
    for (size_t i = 0; i < l->directory_count; ++i)
        free(l->directories[i]);
    for (size_t i = 0; i < l->gone_count; ++i)
        free(l->gone[i].name);
    sqt_sources_forget_names(&l->seen);
    free(l->gone);
    free(l->origins);
    free(l->boots);
    free(l->directories);
    free(l->spools);
    memset(l, 0, sizeof(*l));
}
