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
#include "base/open.h"

#include "../program/readers.h"
#include "run.h"

/* Names of files in the stage. */
struct stage_list {
    struct stage_file {
        char *name;
        uint64_t size;
    } * files;
    size_t count;
};

static int
stage_fail(struct ship *ship, const char *name, const char *what)
{
    return program_fail(&ship->voice, "%s/%s: %s: %s", ship->place.name, name, what, sqt_open_refusal(errno));
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

/* ---- the list of files ---- */

static void
stage_list_free(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        free(list->files[i].name);
    free(list->files);
}

/* A file of a ring of this run that is not of its owner is left alone, and said once. */
static void
stage_say_foreign(struct ship *ship, const char *name)
{
    if (!ship->told_foreign)
        program_fail(&ship->voice,
                     "%s/%s/%s: is no file of this run's user, or has other names (links); it and others like it are "
                     "left alone",
                     ship->place.name, SHIP_STAGE, name);
    ship->told_foreign = ship->failed = 1;
}

/* Whether it may be a file of a batch that sqtrace-ship made. */
static int
stage_takes(struct ship *ship, const char *text, struct ship_name *name, const char *ring, struct stat *st)
{
    if (!ship_name_parse(name, text) || (ring && strcmp(name->ring, ring) != 0) ||
        fstatat(ship->place.stage, text, st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    const int own = ship_place_is_own(&ship->place, st);
    if (!own && ring) /* else another host may be at work there, as another user */
        stage_say_foreign(ship, text);
    return own;
}

/* Lists the files of batches; ring: only of this one, NULL: of all. */
static int
stage_list(struct ship *ship, const char *ring, struct stage_list *list)
{
    struct ship_name name;
    struct stat st;
    memset(list, 0, sizeof(*list));
    const int fd = openat(ship->place.stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const directory = fd < 0 ? NULL : sqt_fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return stage_fail(ship, SHIP_STAGE, "cannot read this folder");
    }
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, SHIP_PROBE, strlen(SHIP_PROBE)) == 0)
            unlinkat(ship->place.stage, entry->d_name, 0);
        if (!stage_takes(ship, entry->d_name, &name, ring, &st))
            continue;
        list->files = sqt_resized(list->files, (list->count + 1) * sizeof(*list->files));
        list->files[list->count++] = (struct stage_file){sqt_copied(entry->d_name), (uint64_t)st.st_size};
    }
    closedir(directory);
    return 0;
}

/* ---- publishing ---- */

/* Opens the folder that the file belongs to, step by step, or says why it cannot. */
static int
stage_open_place(struct ship *ship, const struct ship_name *name, const char *host)
{
    char parts[3][SHIP_HOST_ROOM + 8], path[1024] = "";
    snprintf(parts[0], sizeof(parts[0]), "table=%s", name->table);
    snprintf(parts[1], sizeof(parts[1]), "date=%s", strcmp(name->date, "none") == 0 ? SHIP_NONE : name->date);
    snprintf(parts[2], sizeof(parts[2]), "host=%s", host);
    int folder = ship->place.out;
    for (unsigned i = 0; i < 3 && folder >= 0; ++i) {
        const int next = ship_place_folder(folder, parts[i]);
        const int cause = errno;
        const size_t used = strlen(path);
        snprintf(path + used, sizeof(path) - used, "%s%s", i ? "/" : "", parts[i]);
        if (folder != ship->place.out)
            close(folder);
        folder = next;
        if (next < 0)
            program_fail(&ship->voice, "%s/%s: cannot make this folder: %s", ship->place.name, path,
                         ship_place_why_no_folder(cause));
    }
    return folder;
}

/* Moves a file to its place, unless somebody puts another one under its name meanwhile. */
static int
stage_move(struct ship *ship, const char *sealed, int folder, const char *public)
{
    struct stat st, moved;
    const int fd = ship_place_own(&ship->place, sealed, O_RDONLY, &st);
    if (fd < 0)
        return stage_fail_within(ship, sealed, "cannot be shipped");
    close(fd);
    if (renameat(ship->place.stage, sealed, folder, public) != 0 || fsync(folder) != 0)
        return stage_fail_within(ship, sealed, "cannot move this file to its place");
    if (fstatat(folder, public, &moved, AT_SYMLINK_NOFOLLOW) == 0 && moved.st_dev == st.st_dev &&
        moved.st_ino == st.st_ino)
        return 0;
    unlinkat(folder, public, 0);
    errno = ESTALE;
    return stage_fail_within(ship, sealed, "somebody put another file there meanwhile");
}

static int
stage_publish(struct ship *ship, const char *sealed, const struct ship_name *name, const char *host)
{
    char public[SHIP_NAME_ROOM];
    ship_name_public(public, name);
    const int folder = stage_open_place(ship, name, host);
    if (folder < 0)
        return -1;
    const int failed = stage_move(ship, sealed, folder, public);
    close(folder);
    return failed;
}

int
ship_stage_clear(struct ship *ship, const char *ring, const struct ship_state *state)
{
    struct stage_list list;
    int failed = stage_list(ship, ring, &list) != 0;
    for (size_t i = 0; i < list.count && !failed; ++i) {
        struct ship_name name;
        ship_name_parse(&name, list.files[i].name);
        if (name.sealed && name.end <= state->shipped)
            failed = stage_publish(ship, list.files[i].name, &name, state->host) != 0;
        else if (unlinkat(ship->place.stage, list.files[i].name, 0) != 0)
            failed = stage_fail_within(ship, list.files[i].name, "cannot remove what a killed run left") != 0;
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
    if (ship_ring_begin(ship, &ring) == 0)
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
        ship_name_parse(&name, list.files[i].name);
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
        ship_name_parse(&name, list.files[i].name);
        struct ship_ring *const ring = stage_ring(ship, name.ring);
        if (ring && ring->lock >= 0)
            ring->bytes += list.files[i].size;
    }
    stage_list_free(&list);
}

/* Who may read the trace may read the file. */
static int
stage_give_readers(struct ship *ship, int fd, const struct ship_ring *ring)
{
    if (program_give_readers(fd, &ring->readers, ship->place.named) == 0)
        return 0;
    if (errno != EPERM && errno != EINVAL)
        return -1;
    if (!ship->told_group && ring->readers.st_mode & S_IRGRP)
        program_fail(&ship->voice, "warning: %s: files cannot get the trace's group (%u), which could read them: %s",
                     ship->place.name, (unsigned)ring->readers.st_gid, strerror(errno));
    ship->told_group = 1;
    return 0;
}

/* Waits until the disk has a file, and gives it the name that says which records it is of. */
static int
stage_seal(struct ship *ship, const struct ship_ring *ring, const char *text, uint64_t end)
{
    struct ship_name name;
    struct stat st;
    char sealed[SHIP_NAME_ROOM];
    const int fd = ship_place_own(&ship->place, text, O_RDONLY, &st);
    const int failed = fd < 0 || stage_give_readers(ship, fd, ring) != 0 || fsync(fd) != 0;
    if (failed)
        stage_fail_within(ship, text, "cannot write");
    if (fd >= 0)
        close(fd);
    if (failed)
        return -1;
    ship_name_parse(&name, text);
    name.first = ring->state.shipped;
    name.end = end;
    ship_name_sealed(sealed, &name);
    return renameat(ship->place.stage, text, ship->place.stage, sealed) == 0
               ? 0
               : stage_fail_within(ship, text, "cannot rename");
}

int
ship_stage_commit(struct ship *ship, struct ship_ring *ring, const struct ship_state *state)
{
    struct stage_list list;
    int failed = stage_list(ship, ring->id, &list) != 0;
    for (size_t i = 0; i < list.count && !failed; ++i)
        failed = stage_seal(ship, ring, list.files[i].name, state->shipped) != 0;
    ship->files += failed ? 0 : list.count;
    stage_list_free(&list);
    if (!failed && fsync(ship->place.stage) != 0)
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
