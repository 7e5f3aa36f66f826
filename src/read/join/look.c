/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * look.c - directories that are followed: which of their files are new.
 *
 * The names of all files that need not be opened again are kept, so a look costs a stat() while nothing changes, and
 * else a listing.  A name that goes away is forgotten: there are as many names as files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "guess.h"
#include "read/file/pointer.h"
#include "sources-internal.h"

#define SECOND INT64_C(1000000000)

/* ---- names ---- */

void
sqt_sources_forget_names(struct sqt_seen *seen)
{
    for (size_t i = 0; i < seen->count; ++i)
        free(seen->names[i]);
    free(seen->names);
    memset(seen, 0, sizeof(*seen));
}

static int
look_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
look_has_seen(const struct sqt_seen *seen, const char *name)
{
    return seen->count && bsearch(&name, seen->names, seen->count, sizeof(char *), look_by_name) != NULL;
}

static void
look_note(struct sqt_seen *seen, const char *name)
{
    if (!(seen->count & (seen->count + 1)))
        seen->names = sqt_resized(seen->names, 2 * (seen->count + 1) * sizeof(char *));
    seen->names[seen->count++] = sqt_copied(name);
}

/* ---- one file ---- */

/* Each returns whether the file need not be looked at again. */
static int
look_at_pointer(struct sqt_source_list *l, const uint8_t *bytes, size_t got, const char *name)
{
    struct sqt_pointer_text text;
    char magic[8] = "";
    if (sqt_pointer_parse(bytes, got, &text) != 0)
        return 0; /* being written */
    const int fd = sqt_open_regular(AT_FDCWD, text.ring, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd < 0 && errno == ENOENT)
        return 0; /* not made yet; or gone, and then the pointer goes soon */
    if (fd < 0) {
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: its ring %s cannot be opened: %s", name, text.ring,
                     strerror(errno));
        return 1;
    }
    const int ready = pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
                      memcmp(magic, SQT_RING_MAGIC, sizeof(magic)) == 0;
    if (ready)
        sqt_sources_add_ring(l, fd, text.ring, name);
    close(fd);
    return ready;
}

static int
look_at_file(struct sqt_source_list *l, const char *name)
{
    struct sqt_input input;
    size_t got;
    const int fd = sqt_open_regular(AT_FDCWD, name, O_RDONLY, NULL);
    if (fd < 0)
        return errno != ENOENT;
    sqt_input_init(&input, fd, 1, 4096);
    const uint8_t *const bytes = sqt_input_at(&input, 0, 4096, &got);
    int done = 0;
    if (bytes && got >= sizeof(struct sqt_segment_header) && sqt_guess_is_segment(bytes, got)) {
        sqt_sources_add_segment(l, fd, 0, name, 0, UINT64_MAX, bytes, got);
        done = 1;
    } else if (bytes && got > 5 && memcmp(bytes, "ring=", 5) == 0)
        done = look_at_pointer(l, bytes, got, name);
    sqt_input_close(&input);
    return done;
}

/* ---- directories ---- */

/* Looks at the files whose names end so. */
static void
look_through(struct sqt_source_list *l, const char *path, const char *suffix, struct sqt_seen *now)
{
    struct sqt_listing names;
    if (sqt_sources_list(l, path, suffix, &names) != 0)
        return;
    for (size_t i = 0; i < names.count; ++i) {
        char file[4096];
        if (snprintf(file, sizeof(file), "%s/%s", path, names.names[i]) < (int)sizeof(file)) {
            if (look_has_seen(&l->seen, file) || look_at_file(l, file))
                look_note(now, file);
            else
                l->look_again = 1;
        }
    }
    sqt_listing_free(&names);
}

/* A directory that changed within the last second may change again without another time. */
int
sqt_sources_changed(struct sqt_source_list *l)
{
    struct timespec now;
    int changed = l->look_again;
    clock_gettime(CLOCK_REALTIME, &now);
    l->look_again = 0;
    for (size_t i = 0; i < l->directory_count; ++i) {
        struct stat st;
        if (stat(l->directories[i], &st) != 0)
            continue;
        const int64_t at = st.st_mtim.tv_sec * SECOND + st.st_mtim.tv_nsec;
        const int64_t ago = now.tv_sec * SECOND + now.tv_nsec - at;
        changed |= at != l->seen.changed[i % SQT_SEEN_DIRECTORIES] || l->directory_count > SQT_SEEN_DIRECTORIES;
        l->seen.changed[i % SQT_SEEN_DIRECTORIES] = at;
        l->look_again |= ago > -SECOND && ago < SECOND;
    }
    return changed;
}

static void
look_all(struct sqt_source_list *l)
{
    struct sqt_seen now = {.names = NULL};
    memcpy(now.changed, l->seen.changed, sizeof(now.changed));
    /* Rings before segments: a left-over ring becomes a segment first and goes away afterwards. */
    for (size_t i = 0; i < l->directory_count; ++i) {
        look_through(l, l->directories[i], ".ring", &now);
        look_through(l, l->directories[i], ".sqt", &now);
    }
    if (now.count)
        qsort(now.names, now.count, sizeof(char *), look_by_name);
    sqt_sources_forget_names(&l->seen);
    l->seen = now;
}

void
sqt_sources_look(struct sqt_source_list *l)
{
    if (sqt_sources_changed(l))
        look_all(l);
}
