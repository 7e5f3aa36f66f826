/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * claim.c - what a trace is shipped as; see run.h.
 *
 * A ring's id stands in the names of all its files, so anybody can give it to a trace of his own.  The first trace that
 * is shipped under an id has it from then on: its state says which one that is.  Another one gets an id that is made of
 * all that it says of itself, always the same.  So neither overwrites or hides files of the other.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/open.h"
#include "read/files.h"

#include "../program/readers.h"
#include "run.h"

/* Records that may be in one tick of the clock, besides one for each: those of a ring at its largest. */
#define CLAIM_SLACK (UINT64_C(1) << 26)

/* ---- before a trace is read ---- */

/* Who may read the files that the command line names; for a ring that has no segment. */
static struct stat
claim_default_readers(const struct ship *ship)
{
    struct stat all = {.st_mode = 0}, one;
    for (size_t i = 0; i < ship->request->directory_count; ++i) {
        if (stat(ship->request->directories[i], &one) != 0)
            one = (struct stat){.st_mode = 0};
        if (i == 0)
            all = one;
        else
            program_share_readers(&all, &one);
    }
    all.st_mode &= ~(mode_t)S_IROTH; /* a folder may be open to all, but no ring is */
    return all;
}

static struct ship_trace *
claim_trace_of(struct ship *ship, const struct sqt_origin *origin)
{
    for (size_t i = ship->trace_count; i; --i)
        if (ship->traces[i - 1].origin == origin)
            return &ship->traces[i - 1];
    return NULL;
}

static struct ship_trace *
claim_new_trace(struct ship *ship, const struct sqt_file *file)
{
    ship->traces = sqt_resized(ship->traces, (ship->trace_count + 1) * sizeof(*ship->traces));
    struct ship_trace *const t = &ship->traces[ship->trace_count++];
    *t = (struct ship_trace){.origin = file->origin};
    return t;
}

static void
claim_note_file(void *context, const struct sqt_file *file)
{
    struct ship *const ship = context;
    struct stat st;
    int fd = sqt_open_regular(AT_FDCWD, file->name, O_RDONLY, NULL);
    if (fd >= 0 && program_look_readers(fd, &st) != 0) {
        close(fd);
        fd = -1;
    }
    struct ship_trace *t = claim_trace_of(ship, file->origin);
    if (!t)
        t = claim_new_trace(ship, file);
    if (fd >= 0) {
        if (t->looked)
            program_share_readers(&t->readers, &st);
        else
            t->readers = st;
        t->looked = 1;
        close(fd);
    }
    t->end = file->end > t->end ? file->end : t->end;
    t->ticks = file->ticks > t->ticks ? file->ticks : t->ticks;
    t->damaged |= fd < 0 || file->whole == UINT64_MAX;
}

void
ship_claim_look(struct ship *ship)
{
    sqt_stream_files(ship->stream, ship, claim_note_file);
}

/* ---- which trace a state is of ---- */

static void
claim_hex(char *to, const uint8_t bytes[16])
{
    for (unsigned i = 0; i < 16; ++i)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static void
claim_host(char host[SHIP_HOST_ROOM], const struct ship_ring *ring)
{
    ship_name_host(host, sqt_origin_text(ring->origin, SQT_DEF_HOST, 0));
}

void
ship_claim_sign(const struct ship_ring *ring, struct ship_state *state)
{
    state->version = 2;
    claim_hex(state->boot, ring->origin->identity.boot_id);
    state->start = ring->origin->identity.start;
    if (strcmp(state->host, SHIP_NONE) == 0) /* else it keeps its name */
        claim_host(state->host, ring);
}

/* Whether a trace cannot have so many more records than a state says: one takes longer than a tick of the clock. */
static int
claim_leaps(const struct ship_trace *t, const struct ship_state *s)
{
    if (!t || t->end <= s->shipped)
        return 0;
    const uint64_t ticks = t->ticks > s->ticks ? t->ticks - s->ticks : 0;
    return (t->end - s->shipped) / 2 > ticks / 2 + CLAIM_SLACK;
}

/* Why a state is of another trace than the ring; NULL if it may be of this one. */
static const char *
claim_differs(const struct ship_ring *ring, const struct ship_state *s)
{
    struct ship_state mine = {.host = SHIP_NONE};
    ship_claim_sign(ring, &mine);
    if (s->version >= 2 && strcmp(s->boot, mine.boot) != 0)
        return "of another boot";
    if (s->version >= 2 && memcmp(&s->start, &mine.start, sizeof(mine.start)) != 0)
        return "of a ring that was made at another time";
    if (s->version && strcmp(s->host, SHIP_NONE) != 0 && strcmp(mine.host, SHIP_NONE) != 0 &&
        strcmp(s->host, mine.host) != 0)
        return "of another host";
    return s->version && claim_leaps(ring->trace, s) ? "with numbers of records that this one cannot have reached"
                                                     : NULL;
}

/* Whether a state says more than the trace has.  If it changed since this run began, another run has read more. */
static int
claim_is_ahead(const struct ship *ship, const struct ship_ring *ring)
{
    const struct timespec *const changed = &ring->state.changed, *const since = &ship->place.since;
    const int before =
        changed->tv_sec != since->tv_sec ? changed->tv_sec < since->tv_sec : changed->tv_nsec < since->tv_nsec;
    return ring->trace && ring->trace->end && !ring->trace->damaged && before &&
           ring->state.shipped > ring->trace->end + 1;
}

/* Whether the machine has been started anew since the ring was made, which takes what the disk did not have yet. */
static int
claim_is_of_earlier_boot(const struct ship_ring *ring)
{
    char text[64] = "", now[33], boot[33];
    size_t used = 0;
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    (void)!read(fd, text, sizeof(text) - 1);
    close(fd);
    for (const char *c = text; *c && used < 32; ++c)
        if (strchr("0123456789abcdef", *c))
            now[used++] = *c;
    now[used] = '\0';
    claim_hex(boot, ring->origin->identity.boot_id);
    return used == 32 && strcmp(boot, now) != 0;
}

static void
claim_say_ahead(struct ship *ship, struct ship_ring *ring)
{
    ship_ring_close(ring);
    if (claim_is_of_earlier_boot(ring)) {
        program_say(
            &ship->voice,
            "warning: %s/%s/%s: says that %" PRIu64 " records were shipped, but the trace ends at %" PRIu64
            ": the machine was started anew, and the trace has lost its end; there is nothing more of this ring",
            ship->place.name, SHIP_STAGE, ring->id, ring->state.shipped, ring->trace->end);
        return;
    }
    program_fail(&ship->voice,
                 "%s/%s/%s: says that %" PRIu64 " records were shipped, but the trace ends at %" PRIu64
                 ": it was forged, or the trace has lost its end; nothing of this ring is shipped",
                 ship->place.name, SHIP_STAGE, ring->id, ring->state.shipped, ring->trace->end);
    ship->failed = 1;
}

/* ---- another id ---- */

static uint64_t
claim_hash(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3); /* FNV-1a's prime */
    return hash ^ hash >> 29;
}

/* Calls a ring by an id of its own. */
static void
claim_rename(struct ship *ship, struct ship_ring *ring)
{
    const struct sqt_identity *const who = &ring->origin->identity;
    uint64_t halves[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};
    char host[SHIP_HOST_ROOM];
    claim_host(host, ring);
    for (unsigned i = 0; i < 2; ++i) {
        halves[i] = claim_hash(halves[i], who->ring_id, sizeof(who->ring_id));
        halves[i] = claim_hash(halves[i], who->boot_id, sizeof(who->boot_id));
        halves[i] = claim_hash(halves[i], &who->start, sizeof(who->start));
        halves[i] = claim_hash(halves[i], host, strlen(host));
    }
    sqt_stream_show_ring(ship->stream, ring->origin, (const uint8_t *)halves);
    claim_hex(ring->id, ring->origin->shown_ring);
}

/* Whether another trace of this run has the id. */
static int
claim_is_taken(const struct ship *ship, const struct ship_ring *ring)
{
    for (size_t i = 0; i < ship->ring_count; ++i)
        if (ship->rings[i] && ship->rings[i] != ring && strcmp(ship->rings[i]->id, ring->id) == 0)
            return 1;
    return 0;
}

/* Opens the ring under its present id.  Returns NULL, or why the id is of another trace. */
static const char *
claim_try(struct ship *ship, struct ship_ring *ring)
{
    if (claim_is_taken(ship, ring))
        return "in this run";
    if (ship_state_load(ship, ring->id, &ring->state) != 0) {
        ship->failed = 1;
        return NULL;
    }
    const char *why = claim_differs(ring, &ring->state);
    if (why || ring->state.ended || ship_ring_open(ship, ring) != 0)
        return why;
    why = claim_differs(ring, &ring->state); /* another run may have written it just now */
    if (why || ring->state.ended)
        ship_ring_close(ring);
    return why;
}

void
ship_claim(struct ship *ship, struct ship_ring *ring)
{
    char first[33];
    claim_hex(ring->id, ring->origin->identity.ring_id);
    memcpy(first, ring->id, sizeof(first));
    ring->trace = claim_trace_of(ship, ring->origin);
    ring->readers = ring->trace && ring->trace->looked ? ring->trace->readers : claim_default_readers(ship);
    const char *const why = claim_try(ship, ring);
    if (why) {
        ship->failed = 1;
        claim_rename(ship, ring);
        if (claim_try(ship, ring)) {
            program_fail(&ship->voice, "%s: stands for several traces; one of them is not shipped", first);
            return;
        }
        program_fail(&ship->voice, "%s: is the ring of this trace and of another one, %s; this one is shipped as %s",
                     first, why, ring->id);
    }
    if (claim_is_ahead(ship, ring))
        claim_say_ahead(ship, ring);
    else if (ring->lock >= 0 && ship_stage_clear(ship, ring->id, &ring->state) != 0) {
        ship->failed = 1;
        ship_ring_close(ring);
    }
}
