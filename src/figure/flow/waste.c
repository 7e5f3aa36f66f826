/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waste.c - bytes that Squid read from servers and that no client wanted: around ranges, in place of ranges, and for clients
 * that left.
 *
 * Bytes that a hit sends were not in vain, so all requests of ranges (206) count, not only those that asked a server.  What
 * comes after a client has left, or what it did not ask for, is for whoever else reads that object: Squid reads on for others
 * that wait for it (collapsed forwarding), or that hit it meanwhile or later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/look.h"
#include "figure/finding/spell.h"
#include "figure/stat/names.h"

/* A waste: it has at least that many bytes, that share of all that were fetched, and more than so many times what was
 * sent was fetched. */
#define BYTES 10000000
#define SHARE 25
#define TIMES 2
/* Where servers are slow, so many bytes and that share, in %, is a part of why. */
#define BYTES_SLOW 1000000
#define SHARE_SLOW 50
/* Names of their own. */
#define SERVERS 1024

enum waste_kind { WASTE_RANGES, WASTE_WHOLE, WASTE_LEFT, WASTES };

static const struct waste_words {
    const char *cause, *culprit, *what, *vain, *advice, *command;
} waste_words[WASTES] = {
    [WASTE_RANGES] =
        {"fetched_ranges", "ranges", "for %llu requests of ranges that got %s", "was for nobody",
         "range_offset_limit: where it is none, or larger than where a range begins, Squid reads from the begin of the "
         "object. 0 asks servers for the range alone. Servers that ignore Range send all, too. Where replies may be "
         "stored, it is worth it if clients come "
         "again.",
         "sqtrace-dump --where='status == 206' TRACE"},
    [WASTE_WHOLE] =
        {"whole_for_ranges", "ranges", "for %llu requests of ranges that asked for %s and got the whole object (200)",
         "was not asked for",
         "The server, or something before it, ignores Range: look there whether that is meant, or have it answer with "
         "206. A client that names a version of the object (If-Range) gets a newer one whole, rightly. "
         "range_offset_limit none: Squid stores the whole object at the first request, if it may be stored, and "
         "answers later ranges of it. maximum_object_size must allow that.",
         "sqtrace-dump --columns=time_s,xid,server,range_bytes,sent_bytes,size_bytes --where='range_bytes >= 0' TRACE"},
    [WASTE_LEFT] =
        {"fetched_for_nobody", "clients that left", "for %llu clients that left and got %s", "was for nobody",
         "quick_abort_min, quick_abort_max, quick_abort_pct: from when on Squid reads on after its client has left. "
         "read_ahead_gap: how far it reads ahead of its client.",
         "sqtrace-dump --where='outcome == aborted' TRACE"},
};

struct waste_server {
    struct sqt_name_entry named;
    double fetched[WASTES]; /* bytes */
};

/* A client that left, so that Squid may read on, or that got more than it asked for.  It counts when it is known whether
 * others read what was fetched for it. */
struct waste_left {
    enum waste_kind kind;
    const struct sqt_origin *origin; /* only compared and asked for its identity; NULL: none */
    uint64_t xact, object;
    struct waste_server *server; /* NULL: not known */
    int64_t begin, fetched;
    int64_t sent;    /* of what it asked for */
    int64_t reading; /* ns that it waited for what was fetched */
    int64_t others;  /* bytes that others got of that object and did not fetch, after it had left */
};
#define LEFT 4096

struct waste {
    struct waste_left *left; /* LEFT of them: one takes the place of another; NULL: there is none */
    uint32_t objects[LEFT];  /* place and 1 of the last one that fetched that object; 0: nobody */
    struct waste_sums {
        uint64_t count, wastes; /* those of them that waste */
        uint64_t waited;        /* ns for bytes that nobody got */
        double fetched, sent;   /* bytes */
    } sums[WASTES];
    double fetched;    /* all */
    uint64_t answered; /* ranges that servers answered with the range alone */
    struct sqt_names servers;
    struct sqt_when when; /* series 1: all requests; then each kind's that waste */
};

static int64_t
waste_reading(const struct sqt_request_fact *fact)
{
    return sqt_row_sum(fact->row, SQT_NS(server_reply) | SQT_NS(reply_wait) | SQT_NS(server_wait));
}

static struct waste_server *
waste_server_of(struct waste *w, const struct sqt_xact *xact)
{
    const char *const name =
        xact->server == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_SERVER, xact->server);
    w->servers.size = sizeof(struct waste_server);
    w->servers.most = SERVERS;
    return name ? (struct waste_server *)sqt_names_get(&w->servers, name) : NULL;
}

static struct waste_left *
waste_left_of(struct waste *w, const struct sqt_origin *origin, uint64_t xact)
{
    return &w->left[(xact * UINT64_C(0x9e3779b97f4a7c15) >> 20 ^ (uintptr_t)origin >> 4) % LEFT];
}

static uint32_t *
waste_object_of(struct waste *w, uint64_t object)
{
    return &w->objects[(object * UINT64_C(0x9e3779b97f4a7c15) >> 20) % LEFT];
}

static int64_t
waste_sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int
waste_is_waste(const struct waste_left *one)
{
    return one->fetched / TIMES > one->sent;
}

static void
waste_count(struct waste *w, const struct waste_left *one)
{
    struct waste_sums *const s = &w->sums[one->kind];
    ++s->count;
    s->fetched += (double)one->fetched;
    s->sent += (double)one->sent;
    if (!waste_is_waste(one))
        return;
    ++s->wastes;
    s->waited += (uint64_t)((1 - (double)one->sent / (double)one->fetched) * (double)one->reading);
    if (one->server)
        one->server->fetched[one->kind] += (double)one->fetched;
    sqt_when_add(&w->when, 2 + one->kind, one->begin, 0, 1);
}

/* No more is to be known of it: it counts, unless others got enough of what was fetched for it. */
static void
waste_settle(struct waste *w, struct waste_left *left)
{
    if (left->origin && (!left->others || left->fetched / TIMES > waste_sum(left->sent, left->others)))
        waste_count(w, left);
    left->origin = NULL;
}

static void
waste_left_add(struct waste *w, const struct waste_left *one, int fetches)
{
    if (!w->left)
        w->left = sqt_zeroed(LEFT, sizeof(*w->left));
    struct waste_left *const left = waste_left_of(w, one->origin, one->xact);
    waste_settle(w, left);
    *left = *one;
    if (fetches && one->object)
        *waste_object_of(w, one->object) = (uint32_t)(left - w->left) + 1;
}

/* Whether both may have the same cache. */
static int
waste_is_same(const struct sqt_origin *a, const struct sqt_origin *b)
{
    return a == b || (memcmp(a->identity.boot_id, b->identity.boot_id, sizeof(a->identity.boot_id)) == 0 &&
                      strcmp(a->identity.service, b->identity.service) == 0);
}

/* What it got and did not fetch itself came from the cache, or from what is fetched for somebody else. */
static void
waste_share(struct waste *w, const struct sqt_xact *xact, int64_t sent)
{
    const uint32_t place = w->left && xact->object ? *waste_object_of(w, xact->object) : 0;
    struct waste_left *const left = place ? &w->left[place - 1] : NULL;
    if (left && left->origin && left->object == xact->object && sent > xact->fetched &&
        waste_is_same(left->origin, xact->origin))
        left->others = waste_sum(left->others, sent - xact->fetched);
}

static void
waste_late_read(void *state, const struct sqt_late_read *row)
{
    struct waste *const w = state;
    struct waste_left *const left = w->left ? waste_left_of(w, row->origin, row->xact) : NULL;
    if (!left || left->origin != row->origin || left->xact != row->xact)
        return;
    w->fetched += (double)row->bytes;
    left->fetched = waste_sum(left->fetched, row->bytes);
}

/* What the request may waste; WASTES: nothing. */
static enum waste_kind
waste_kind_of(const struct sqt_xact *xact)
{
    const int left = xact->outcome == SQT_OUTCOME_ABORTED && !(xact->flags & SQT_XACT_ERROR_PAGE);
    if (xact->flags & SQT_XACT_TUNNEL)
        return WASTES;
    return left                                                         ? WASTE_LEFT
           : xact->status == 206                                        ? WASTE_RANGES
           : xact->status == 200 && sqt_xact_range(xact) != SQT_MISSING ? WASTE_WHOLE
                                                                        : WASTES;
}

static void
waste_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct waste *const w = state;
    const enum waste_kind kind = waste_kind_of(xact);
    const int64_t sent = xact->sent == SQT_MISSING ? 0 : xact->sent;
    w->fetched += (double)xact->fetched;
    sqt_when_add(&w->when, 1, xact->begin, (uint64_t)felt, 1);
    waste_share(w, xact, sent);
    if (kind == WASTES)
        return;
    const struct waste_left one = {.kind = kind,
                                   .origin = xact->origin,
                                   .xact = xact->id,
                                   .object = xact->object,
                                   .server = waste_server_of(w, xact),
                                   .begin = xact->begin,
                                   .fetched = xact->fetched,
                                   .sent = kind == WASTE_WHOLE ? sqt_xact_range(xact) : sent,
                                   .reading = kind == WASTE_LEFT ? 0 : waste_reading(fact)};
    if (kind == WASTE_RANGES)
        waste_count(w, &one);
    else if (kind == WASTE_LEFT || waste_is_waste(&one))
        waste_left_add(w, &one, xact->server != UINT32_MAX || xact->fetched);
    w->answered += kind == WASTE_RANGES && xact->fetched && !waste_is_waste(&one);
}

static const char *
waste_server(const struct waste *w, enum waste_kind kind)
{
    const struct waste_server *most = NULL;
    for (const struct sqt_name_entry *named = w->servers.first; named; named = named->next) {
        const struct waste_server *const server = (const struct waste_server *)named;
        if (!most || server->fetched[kind] > most->fetched[kind])
            most = server;
    }
    /* One that has most of it. */
    return most && !sqt_names_is_others(&most->named) && 2 * most->fetched[kind] > w->sums[kind].fetched
               ? most->named.name
               : NULL;
}

static const char *
waste_bytes(char text[32], double bytes)
{
    snprintf(text, 32, bytes < 1e7 ? "%.1f MB" : "%.0f MB", bytes / 1e6);
    return text;
}

static void
waste_tell_one(const struct waste *w, enum waste_kind kind, const struct sqt_look_totals *totals,
               struct sqt_tolds *tolds)
{
    const struct waste_sums *const s = &w->sums[kind];
    const struct waste_words *const words = &waste_words[kind];
    const double vain = s->fetched - s->sent;
    char fetched[32], sent[32], what[128], answered[96] = "", from[SQT_TOLD_NAME + 8] = "";
    if (vain < BYTES || s->fetched <= TIMES * s->sent || 100 * vain < SHARE * w->fetched)
        return;
    struct sqt_told *const told = sqt_tolds_add(tolds, words->cause, SQT_HARM_WASTE, s->waited);
    if (!told)
        return;
    const char *const server = waste_server(w, kind);
    sqt_spell_tell(told, &w->when, 2 + kind, 1);
    told->requests = s->count;
    told->waiting = s->waited;
    told->share = s->waited ? sqt_percent((double)s->waited, (double)totals->total_ns) : SQT_CELL_MISSING;
    snprintf(told->culprit, sizeof(told->culprit), "%s", server ? server : words->culprit);
    snprintf(what, sizeof(what), words->what, (unsigned long long)s->count, waste_bytes(sent, s->sent));
    if (kind == WASTE_WHOLE && w->answered)
        snprintf(answered, sizeof(answered), " %llu other requests of ranges got the range alone (206).",
                 (unsigned long long)w->answered);
    snprintf(from, sizeof(from), server ? " from %s" : "%s", server ? server : "");
    sqt_told_print(told->sentence, "Squid fetched %s%s %s: %.0f %% of all that it fetched %s.%s",
                   waste_bytes(fetched, s->fetched), from, what, 100 * vain / w->fetched, words->vain, answered);
    sqt_told_print(told->advice, "%s", words->advice);
    sqt_told_print(told->command, "%s", words->command);
}

/* Bytes for nobody take the room of others on a line that is slow: that is said where its slowness is. */
static void
waste_add(const struct waste *w, struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"slow_servers", "far_servers", "full_line"};
    const struct waste_sums *const s = &w->sums[WASTE_LEFT];
    const double vain = s->fetched - s->sent;
    if (vain < BYTES_SLOW || 100 * vain < SHARE_SLOW * w->fetched)
        return;
    for (unsigned i = 0; i < tolds->count * (sizeof(causes) / sizeof(*causes)); ++i) {
        struct sqt_told *const told = tolds->told[i % tolds->count];
        const size_t used = strlen(told->sentence), advised = strlen(told->advice);
        if (strcmp(told->cause, causes[i / tolds->count]) != 0)
            continue;
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %.0f %% of all bytes from servers were for nobody: %llu clients had left, and Squid read on.",
                 100 * vain / w->fetched, (unsigned long long)s->wastes);
        snprintf(told->advice + advised, sizeof(told->advice) - advised, " %s", waste_words[WASTE_LEFT].advice);
        if (!*told->culprit)
            snprintf(told->culprit, sizeof(told->culprit), "line to servers");
    }
}

static void
waste_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct waste *const w = state;
    for (unsigned i = 0; w->left && i < LEFT; ++i)
        waste_settle(w, &w->left[i]);
    sqt_when_sort(&w->when);
    for (unsigned kind = 0; kind < WASTES; ++kind)
        waste_tell_one(w, kind, totals, tolds);
    waste_add(w, tolds);
    sqt_when_free(&w->when);
}

static void
waste_end(void *state)
{
    struct waste *const w = state;
    sqt_freed(w->left);
    sqt_names_free(&w->servers);
    sqt_when_free(&w->when);
}

const struct sqt_look sqt_look_waste = {.size = sizeof(struct waste),
                                        .request = waste_request,
                                        .late_read = waste_late_read,
                                        .tell = waste_tell,
                                        .end = waste_end};
