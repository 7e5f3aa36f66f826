/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * beside.c - see beside.h.
 */
#include "beside.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Lines are read up to that long behind the end of a transaction, because Squid's processes write them in pieces; and a line
 * that is farther from the end is not that transaction's.  ns */
#define AHEAD INT64_C(5000000000)
#define FAR INT64_C(60000000000)
/* A line from so much later does not say how far the log is read; a clock that is so much apart is not believed.  ns */
#define LATER INT64_C(86400000000000)
#define APART INT64_C(3600000000000)
/* Lines of one kid and xid that are kept. */
#define ALIKE 8
/* Bytes of lines that are kept.  The model may have 152 MiB of open things beside them, and the files of the log 40 MiB. */
#define KEPT ((size_t)32 << 20)

/* A line, and the texts that it points to. */
struct beside_line {
    struct sqt_logged logged;
    struct beside_line *older, *newer; /* of all */
    struct beside_line *same;          /* of the same kid and xid, or else of the same key */
    uint64_t key;
    size_t size;
    char texts[];
};

struct sqt_beside {
    struct sqt_log *log;
    struct sqt_diagnostics *diagnostics;
    int told;               /* that lines were left out; said once */
    struct sqt_idmap lines; /* the first of a key */
    struct beside_line *oldest, *newest, *found;
    size_t bytes;
    int64_t read;  /* when the last line that was read was written */
    int64_t shift; /* how much later the log's clock is than the trace's: of the last line that was found */
    int ended;
    int follow;
    uint64_t count;
};

struct sqt_beside *
sqt_beside_new(struct sqt_log *log, struct sqt_diagnostics *diagnostics)
{
    struct sqt_beside *const b = sqt_zeroed(1, sizeof(*b));
    b->log = log;
    b->diagnostics = diagnostics;
    b->read = INT64_MIN;
    return b;
}

void
sqt_beside_follow(struct sqt_beside *b)
{
    b->follow = 1;
}

static uint64_t
beside_key(int64_t kid, int64_t xid)
{
    return (uint64_t)xid * 4096 + (uint64_t)kid;
}

/* ---- lines that are kept ---- */

static const char *
beside_copy(char **to, const char *text)
{
    if (!text)
        return NULL;
    char *const copy = *to;
    const size_t length = strlen(text) + 1;
    memcpy(copy, text, length);
    *to += length;
    return copy;
}

static size_t
beside_length(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static void beside_drop(struct sqt_beside *b, struct beside_line *line);

/* No log makes searches long: of too many lines of a key the oldest goes. */
static void
beside_thin(struct sqt_beside *b, uint64_t key)
{
    struct beside_line *line = sqt_idmap_get(&b->lines, key);
    unsigned count = 0;
    for (; line && line->same; line = line->same)
        ++count;
    if (count + 1 >= ALIKE)
        beside_drop(b, line);
}

/* Of lines for which there is no room, the oldest go. */
static void
beside_make_room(struct sqt_beside *b, size_t size)
{
    while (b->oldest && b->bytes + size > KEPT) {
        if (!b->told++)
            sqt_diagnose(
                b->diagnostics, SQT_NOTE,
                "--access-log: lines that wait for their requests take more than %zu MiB; the oldest are left out",
                KEPT >> 20);
        beside_drop(b, b->oldest);
    }
}

static void
beside_keep(struct sqt_beside *b, const struct sqt_logged *l)
{
    beside_thin(b, beside_key(l->kid, l->xid));
    const size_t texts = beside_length(l->client) + beside_length(l->url) + beside_length(l->host) +
                         beside_length(l->user) + beside_length(l->hierarchy);
    beside_make_room(b, sizeof(struct beside_line) + texts + 16);
    struct beside_line *const line = sqt_allocated(sizeof(*line) + texts);
    char *to = line->texts;
    *line = (struct beside_line){.logged = *l, .key = beside_key(l->kid, l->xid), .size = sizeof(*line) + texts + 16};
    line->logged.client = beside_copy(&to, l->client);
    line->logged.url = beside_copy(&to, l->url);
    line->logged.host = beside_copy(&to, l->host);
    line->logged.user = beside_copy(&to, l->user);
    line->logged.hierarchy = beside_copy(&to, l->hierarchy);
    line->same = sqt_idmap_get(&b->lines, line->key);
    sqt_idmap_put(&b->lines, line->key, line);
    line->older = b->newest;
    if (b->newest)
        b->newest->newer = line;
    else
        b->oldest = line;
    b->newest = line;
    b->bytes += line->size;
}

/* Takes it out of those of its key. */
static void
beside_unlink_same(struct sqt_beside *b, struct beside_line *line)
{
    struct beside_line *other = sqt_idmap_get(&b->lines, line->key);
    if (other == line) {
        if (line->same)
            sqt_idmap_put(&b->lines, line->key, line->same);
        else
            sqt_idmap_take(&b->lines, line->key);
        return;
    }
    while (other->same != line)
        other = other->same;
    other->same = line->same;
}

static void
beside_take_out(struct sqt_beside *b, struct beside_line *line)
{
    beside_unlink_same(b, line);
    if (line->older)
        line->older->newer = line->newer;
    else
        b->oldest = line->newer;
    if (line->newer)
        line->newer->older = line->older;
    else
        b->newest = line->older;
    b->bytes -= line->size;
}

static void
beside_drop(struct sqt_beside *b, struct beside_line *line)
{
    beside_take_out(b, line);
    free(line);
}

/* ---- reading ---- */

/* More lines, those of some while; 0: there are none. */
static int
beside_read(struct sqt_beside *b, int64_t end)
{
    struct sqt_logged *logged;
    const size_t count = b->ended ? 0 : sqt_log_next(b->log, &logged);
    b->ended = !count && !b->follow;
    for (size_t i = 0; i < count; ++i) {
        if (logged[i].at > b->read && logged[i].at < end + LATER)
            b->read = logged[i].at;
        if (logged[i].xid != SQT_LOG_UNKNOWN && logged[i].kid != SQT_LOG_UNKNOWN)
            beside_keep(b, &logged[i]);
    }
    return count != 0;
}

static void
beside_go_on(struct sqt_beside *b, int64_t end)
{
    while (b->read < end + AHEAD && beside_read(b, end))
        while (b->oldest && b->oldest->logged.at < end - FAR)
            beside_drop(b, b->oldest);
}

static int64_t
beside_apart(const struct beside_line *line, int64_t end)
{
    return line->logged.at > end ? line->logged.at - end : end - line->logged.at;
}

const struct sqt_logged *
sqt_beside_find(struct sqt_beside *b, uint32_t kid, uint64_t xid, int64_t end)
{
    struct beside_line *best = NULL;
    free(b->found);
    b->found = NULL;
    end += b->shift;
    beside_go_on(b, end);
    for (struct beside_line *line = sqt_idmap_get(&b->lines, beside_key(kid, (int64_t)xid)); line; line = line->same)
        if (line->logged.kid == kid && line->logged.xid == (int64_t)xid && beside_apart(line, end) <= FAR &&
            (!best || beside_apart(line, end) < beside_apart(best, end)))
            best = line;
    if (!best)
        return NULL;
    beside_take_out(b, best);
    const int64_t shift = b->shift + best->logged.at - end;
    b->shift = shift < -APART || shift > APART ? b->shift : shift;
    b->found = best;
    ++b->count;
    return &best->logged;
}

uint64_t
sqt_beside_found(const struct sqt_beside *b)
{
    return b->count;
}

void
sqt_beside_free(struct sqt_beside *b)
{
    if (!b)
        return;
    while (b->oldest)
        beside_drop(b, b->oldest);
    free(b->found);
    sqt_idmap_free(&b->lines);
    sqt_log_close(b->log);
    free(b);
}
