/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * state.c - the state of a ring: how far it was shipped; see run.h.
 *
 *   sqtrace-ship 1
 *   host HOST          as in paths
 *   shipped NUMBER
 *   ticks NUMBER
 *   ended 0|1
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define STATE_FORM "sqtrace-ship 1\nhost %s\nshipped %" PRIu64 "\nticks %" PRIu64 "\nended %d\n"
#define STATE_ROOM 512

static int
state_parse(const char *text, struct ship_state *s)
{
    char again[STATE_ROOM];
    if (sscanf(text, "sqtrace-ship 1 host %243s shipped %" SCNu64 " ticks %" SCNu64 " ended %d", s->host, &s->shipped,
               &s->ticks, &s->ended) != 4)
        return -1;
    snprintf(again, sizeof(again), STATE_FORM, s->host, s->shipped, s->ticks, s->ended);
    return strcmp(again, text) == 0 && (s->ended == 0 || s->ended == 1) ? 0 : -1;
}

int
ship_state_load(struct ship *ship, const char *ring, struct ship_state *s)
{
    char text[STATE_ROOM];
    memset(s, 0, sizeof(*s));
    snprintf(s->host, sizeof(s->host), "%s", SHIP_NONE);
    const int fd = openat(ship->stage, ring, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const int cause = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return program_fail(&ship->voice, "%s/%s/%s: cannot read: %s", ship->request->given[SHIP_to], SHIP_STAGE, ring,
                            strerror(cause));
    text[got] = '\0';
    if (state_parse(text, s) == 0)
        return 0;
    return program_fail(&ship->voice,
                        "%s/%s/%s: offset 0: no state of a ring (\"sqtrace-ship 1\", then host, shipped, ticks and "
                        "ended, a line each); nothing of this ring is shipped",
                        ship->request->given[SHIP_to], SHIP_STAGE, ring);
}

static int
state_write(int stage, const char *name, const char *text)
{
    const int fd = openat(stage, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    const size_t size = strlen(text);
    if (fd < 0)
        return -1;
    const ssize_t written = write(fd, text, size);
    const int failed = written != (ssize_t)size || fsync(fd) != 0;
    const int cause = written >= 0 && written != (ssize_t)size ? ENOSPC : errno;
    const int result = close(fd) != 0 || failed ? -1 : 0;
    errno = failed ? cause : errno;
    return result;
}

int
ship_state_save(struct ship *ship, const char *ring, const struct ship_state *s)
{
    char text[STATE_ROOM], name[40];
    snprintf(text, sizeof(text), STATE_FORM, s->host, s->shipped, s->ticks, s->ended);
    snprintf(name, sizeof(name), "%s.new", ring);
    if (state_write(ship->stage, name, text) == 0 && renameat(ship->stage, name, ship->stage, ring) == 0 &&
        fsync(ship->stage) == 0)
        return 0;
    return program_fail(&ship->voice, "%s/%s/%s: cannot write: %s", ship->request->given[SHIP_to], SHIP_STAGE, ring,
                        strerror(errno));
}
