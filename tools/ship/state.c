/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * state.c - the state of a ring: how far it was shipped; see run.h.
 *
 *   sqtrace-ship 2
 *   host HOST          as in paths
 *   boot ID            32 hexadecimal digits: of the machine's boot
 *   start TICKS MONOTONIC REALTIME     when the ring was made
 *   shipped NUMBER
 *   ticks NUMBER
 *   ended 0|1
 *
 * Version 1 has no lines boot and start.  The text is exactly what sqtrace-ship writes, or it is no state.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/open.h"
#include "run.h"

/* An earlier sqtrace-ship made states with the user's umask. */
#define STATE_HINT \
    "; an earlier version made it so with umask 002; if nobody else has written to it, chmod go-w makes it count"

#define STATE_ROOM 512
#define STATE_SHIPPED_MOST (UINT64_MAX / 2 + (UINT64_C(1) << 17)) /* the last block that a reader takes, and the end */
#define STATE_REST "shipped %" PRIu64 "\nticks %" PRIu64 "\nended %d\n"
#define STATE_FIRST "sqtrace-ship 1\nhost %s\n" STATE_REST
#define STATE_SECOND "sqtrace-ship 2\nhost %s\nboot %s\nstart %" PRIu64 " %" PRIu64 " %" PRIu64 "\n" STATE_REST

static void
state_text(char text[STATE_ROOM], const struct ship_state *s)
{
    if (s->version == 1)
        snprintf(text, STATE_ROOM, STATE_FIRST, s->host, s->shipped, s->ticks, s->ended);
    else
        snprintf(text, STATE_ROOM, STATE_SECOND, s->host, s->boot, s->start.ticks, s->start.monotonic_ns,
                 s->start.realtime_ns, s->shipped, s->ticks, s->ended);
}

static int
state_scan(const char *text, struct ship_state *s)
{
    if (sscanf(text, "sqtrace-ship %u host %243s", &s->version, s->host) != 2)
        return -1;
    if (s->version == 1)
        return sscanf(text, "sqtrace-ship 1 host %*s shipped %" SCNu64 " ticks %" SCNu64 " ended %d", &s->shipped,
                      &s->ticks, &s->ended) == 3
                   ? 0
                   : -1;
    return sscanf(text,
                  "sqtrace-ship 2 host %*s boot %32[0-9a-f] start %" SCNu64 " %" SCNu64 " %" SCNu64 " shipped %" SCNu64
                  " ticks %" SCNu64 " ended %d",
                  s->boot, &s->start.ticks, &s->start.monotonic_ns, &s->start.realtime_ns, &s->shipped, &s->ticks,
                  &s->ended) == 7
               ? 0
               : -1;
}

static int
state_parse(const char *text, struct ship_state *s)
{
    char again[STATE_ROOM];
    if (state_scan(text, s) != 0)
        return -1;
    state_text(again, s);
    return strcmp(again, text) == 0 && (s->version == 1 || strlen(s->boot) == 32) && ship_name_is_host(s->host) &&
                   s->shipped <= STATE_SHIPPED_MOST && (s->ended == 0 || (s->ended == 1 && s->shipped))
               ? 0
               : -1;
}

int
ship_state_load(struct ship *ship, const char *ring, struct ship_state *s)
{
    char text[STATE_ROOM];
    struct stat st;
    memset(s, 0, sizeof(*s));
    snprintf(s->host, sizeof(s->host), "%s", SHIP_NONE);
    const int fd = ship_place_believed(&ship->place, ring, &st);
    if (fd < 0 && errno == ENOENT)
        return 0;
    const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const int cause = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return program_fail(&ship->voice, "%s/%s/%s: cannot be believed, so nothing of this ring is shipped: %s%s",
                            ship->place.name, SHIP_STAGE, ring, sqt_open_refusal(cause),
                            sqt_open_others_write(cause) ? STATE_HINT : "");
    text[got] = '\0';
    s->changed = st.st_mtim;
    if (state_parse(text, s) == 0)
        return 0;
    return program_fail(&ship->voice,
                        "%s/%s/%s: offset 0: no state of a ring (\"sqtrace-ship 2\", then host, boot, start, shipped, "
                        "ticks and ended, a line each); nothing of this ring is shipped",
                        ship->place.name, SHIP_STAGE, ring);
}

static int
state_write(const struct ship_place *place, const char *name, const char *text)
{
    const int fd = ship_place_new(place, name);
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
    const int stage = ship->place.stage;
    char text[STATE_ROOM], name[40];
    state_text(text, s);
    snprintf(name, sizeof(name), "%s.new", ring);
    if (state_write(&ship->place, name, text) == 0 && renameat(stage, name, stage, ring) == 0 && fsync(stage) == 0)
        return 0;
    return program_fail(&ship->voice, "%s/%s/%s: cannot write: %s", ship->place.name, SHIP_STAGE, name,
                        strerror(errno));
}
