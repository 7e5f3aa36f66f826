/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stage.c - files of batches: sealed in the stage, and moved to their places; see run.h.
 *
 * A step that must last is on the disk before the next one begins.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "run.h"

/* Names of files in the stage. */
struct stage_list {
    char **names;
    size_t count;
};

static int
stage_fail(struct ship *ship, const char *name, const char *what)
{
    const int cause = errno;
    return program_fail(&ship->voice, "%s/%s: %s: %s", ship->request->given[SHIP_to], name, what, strerror(cause));
}

static int
stage_fail_within(struct ship *ship, const char *name, const char *what)
{
    char path[512];
    const int cause = errno;
    snprintf(path, sizeof(path), "%s/%.400s", SHIP_STAGE, name);
    errno = cause;
    return stage_fail(ship, path, what);
}

/* ---- folders ---- */

/* Opens a folder, and makes it if it is not there.  Returns its descriptor, or -1 with errno. */
static int
stage_open_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0777) == 0) {
        if (fsync(parent) != 0)
            return -1;
    } else if (errno != EEXIST)
        return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

int
ship_stage_open(struct ship *ship)
{
    const char *const to = ship->request->given[SHIP_to];
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        return program_fail(&ship->voice, "%s: cannot make this folder: %s", to, strerror(errno));
    ship->out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ship->out < 0)
        return program_fail(&ship->voice, "%s: cannot open this folder: %s", to, strerror(errno));
    ship->stage = stage_open_folder(ship->out, SHIP_STAGE);
    return ship->stage < 0 ? stage_fail(ship, SHIP_STAGE, "cannot make this folder") : 0;
}

/* ---- the list of files ---- */

static void
stage_list_free(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        free(list->names[i]);
    free(list->names);
}

/* Lists the files of batches; ring: only of this one, NULL: of all. */
static int
stage_list(struct ship *ship, const char *ring, struct stage_list *list)
{
    struct ship_name name;
    memset(list, 0, sizeof(*list));
    const int fd = openat(ship->stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const directory = fd < 0 ? NULL : sqt_fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return stage_fail(ship, SHIP_STAGE, "cannot read this folder");
    }
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (!ship_name_parse(&name, entry->d_name) || (ring && strcmp(name.ring, ring) != 0))
            continue;
        list->names = sqt_resized(list->names, (list->count + 1) * sizeof(*list->names));
        list->names[list->count++] = sqt_copied(entry->d_name);
    }
    closedir(directory);
    return 0;
}

/* ---- publishing ---- */

/* Opens the folder that the file belongs to. */
static int
stage_open_place(struct ship *ship, const struct ship_name *name, const char *host)
{
    char parts[3][SHIP_HOST_ROOM + 8];
    snprintf(parts[0], sizeof(parts[0]), "table=%s", name->table);
    snprintf(parts[1], sizeof(parts[1]), "date=%s", strcmp(name->date, "none") == 0 ? SHIP_NONE : name->date);
    snprintf(parts[2], sizeof(parts[2]), "host=%s", host);
    int folder = ship->out;
    for (unsigned i = 0; i < 3 && folder >= 0; ++i) {
        const int next = stage_open_folder(folder, parts[i]);
        const int cause = errno;
        if (folder != ship->out)
            close(folder);
        errno = cause;
        folder = next;
    }
    return folder;
}

static int
stage_publish(struct ship *ship, const char *sealed, const struct ship_name *name, const char *host)
{
    char public[SHIP_NAME_ROOM];
    ship_name_public(public, name);
    const int folder = stage_open_place(ship, name, host);
    if (folder < 0)
        return stage_fail(ship, name->table, "cannot make the folder of this table, date and host");
    const int failed = renameat(ship->stage, sealed, folder, public) != 0 || fsync(folder) != 0;
    if (failed)
        stage_fail_within(ship, sealed, "cannot move this file to its place");
    close(folder);
    return failed ? -1 : 0;
}

int
ship_stage_clear(struct ship *ship, const char *ring, const struct ship_state *state)
{
    struct stage_list list;
    int failed = stage_list(ship, ring, &list) != 0;
    for (size_t i = 0; i < list.count && !failed; ++i) {
        struct ship_name name;
        ship_name_parse(&name, list.names[i]);
        if (name.sealed && name.end <= state->shipped)
            failed = stage_publish(ship, list.names[i], &name, state->host) != 0;
        else if (unlinkat(ship->stage, list.names[i], 0) != 0)
            failed = stage_fail_within(ship, list.names[i], "cannot remove what a killed run left") != 0;
    }
    stage_list_free(&list);
    return failed ? -1 : 0;
}

/* A ring that somebody else has is left alone, without a word. */
static void
stage_recover_ring(struct ship *ship, const char *id)
{
    struct ship_ring ring = {.lock = -1};
    const int busy = ship->busy;
    snprintf(ring.id, sizeof(ring.id), "%s", id);
    if (ship_ring_open(ship, &ring) == 0)
        ship_ring_close(&ring);
    ship->busy = busy;
}

void
ship_stage_recover(struct ship *ship)
{
    struct stage_list list;
    char last[33] = "";
    if (stage_list(ship, NULL, &list) != 0)
        ship->failed = 1;
    for (size_t i = 0; i < list.count; ++i) {
        struct ship_name name;
        ship_name_parse(&name, list.names[i]);
        if (strcmp(name.ring, last) != 0)
            stage_recover_ring(ship, name.ring);
        snprintf(last, sizeof(last), "%s", name.ring);
    }
    stage_list_free(&list);
}

/* ---- a batch ---- */

static struct ship_ring *
stage_ring(const struct ship *ship, const char *id)
{
    for (size_t i = 0; i < ship->ring_count; ++i)
        if (ship->rings[i] && strcmp(ship->rings[i]->id, id) == 0)
            return ship->rings[i];
    return NULL;
}

void
ship_stage_count(struct ship *ship)
{
    struct stage_list list;
    if (stage_list(ship, NULL, &list) != 0)
        ship->failed = 1;
    for (size_t i = 0; i < list.count; ++i) {
        struct ship_name name;
        struct stat st;
        ship_name_parse(&name, list.names[i]);
        struct ship_ring *const ring = stage_ring(ship, name.ring);
        if (ring && ring->lock >= 0 && fstatat(ship->stage, list.names[i], &st, 0) == 0)
            ring->bytes += (uint64_t)st.st_size;
    }
    stage_list_free(&list);
}

/* Waits until the disk has a file, and gives it the name that says which records it is of. */
static int
stage_seal(struct ship *ship, const char *text, uint64_t first, uint64_t end)
{
    struct ship_name name;
    char sealed[SHIP_NAME_ROOM];
    const int fd = openat(ship->stage, text, O_RDONLY | O_CLOEXEC);
    const int failed = fd < 0 || fsync(fd) != 0;
    if (failed)
        stage_fail_within(ship, text, "cannot write");
    if (fd >= 0)
        close(fd);
    if (failed)
        return -1;
    ship_name_parse(&name, text);
    name.first = first;
    name.end = end;
    ship_name_sealed(sealed, &name);
    return renameat(ship->stage, text, ship->stage, sealed) == 0 ? 0 : stage_fail_within(ship, text, "cannot rename");
}

int
ship_stage_commit(struct ship *ship, struct ship_ring *ring, const struct ship_state *state)
{
    struct stage_list list;
    int failed = stage_list(ship, ring->id, &list) != 0;
    for (size_t i = 0; i < list.count && !failed; ++i)
        failed = stage_seal(ship, list.names[i], ring->state.shipped, state->shipped) != 0;
    ship->files += failed ? 0 : list.count;
    stage_list_free(&list);
    if (!failed && fsync(ship->stage) != 0)
        failed = stage_fail(ship, SHIP_STAGE, "cannot write this folder") != 0;
    if (failed)
        return -1;
    if (ship_state_save(ship, ring->id, state) != 0) {
        ship_ring_close(ring); /* the disk may have either state: the next run looks which, and clears the stage */
        return -1;
    }
    ring->state = *state;
    return ship_stage_clear(ship, ring->id, state);
}
