/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * listing.c - see listing.h.
 */
#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int
listing_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, and lets those go that come after the first `most`. */
static void
listing_cut(struct sqt_listing *l, size_t most)
{
    if (l->count)
        qsort(l->names, l->count, sizeof(*l->names), listing_by_name);
    for (; l->count > most; ++l->left_out)
        free(l->names[--l->count]);
}

static void
listing_add(struct sqt_listing *l, size_t *room, const char *name, size_t most)
{
    if (l->count == 2 * most)
        listing_cut(l, most);
    if (l->count == *room) {
        *room = *room ? 2 * *room : 64;
        l->names = sqt_resized(l->names, *room * sizeof(*l->names));
    }
    l->names[l->count++] = sqt_copied(name);
}

int
sqt_listing_read(struct sqt_listing *l, const char *path, int (*wants)(const char *name, const char *what),
                 const char *what, size_t most)
{
    size_t room = 0;
    *l = (struct sqt_listing){.names = NULL};
    DIR *const folder = sqt_opendir(path);
    if (!folder)
        return -1;
    for (;;) {
        errno = 0;
        const struct dirent *const entry = readdir(folder);
        if (!entry)
            break;
        if (wants(entry->d_name, what))
            listing_add(l, &room, entry->d_name, most);
    }
    const int error = errno;
    closedir(folder);
    listing_cut(l, most);
    if (!error)
        return 0;
    sqt_listing_free(l);
    errno = error;
    return -1;
}

int
sqt_listing_ends(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

void
sqt_listing_free(struct sqt_listing *l)
{
    for (size_t i = 0; i < l->count; ++i)
        free(l->names[i]);
    free(l->names);
    *l = (struct sqt_listing){.names = NULL};
}
