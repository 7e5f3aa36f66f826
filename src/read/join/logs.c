/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * logs.c - an access.log as a stream: each kid that its lines name is an origin.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "read/stream.h"
#include "stream-internal.h"

/* Kids of a log: the lines of more are those of a kid that is not known, which is one more. */
#define KIDS_MOST 256

static struct sqt_origin_reader *
logs_new_origin(struct sqt_stream *s, int64_t kid)
{
    struct sqt_origin_reader *const o = sqt_zeroed(1, sizeof(*o));
    o->log_dictionary = sqt_log_dictionary(s->log);
    o->public.index = (unsigned)s->waiting_count;
    o->public.identity.kid = (uint32_t)kid;
    o->public.identity.kid_kind = kid > 0 ? SQT_KID_WORKER : SQT_KID_SINGLE;
    o->public.identity.start.realtime_ns = s->start_ns;
    s->waiting[s->waiting_count++] = o;
    return o;
}

/* The origin of a kid.  A number that no kid has is not known. */
static const struct sqt_origin *
logs_origin(struct sqt_stream *s, int64_t kid)
{
    kid = kid < 0 || kid > INT32_MAX ? UINT32_MAX : kid;
    for (size_t i = 0; i < s->waiting_count; ++i)
        if (s->waiting[i]->public.identity.kid == kid)
            return &s->waiting[i]->public;
    if (s->waiting_count >= KIDS_MOST && kid != UINT32_MAX)
        return logs_origin(s, -1);
    return &logs_new_origin(s, kid)->public;
}

struct sqt_stream *
sqt_stream_open_log(const struct sqt_log_request *request, sqt_diagnosis_function *report, void *context)
{
    struct sqt_stream *const s = sqt_zeroed(1, sizeof(*s));
    s->diagnostics.function = report;
    s->diagnostics.context = context;
    s->log = sqt_log_open(request, &s->diagnostics);
    if (!s->log) {
        free(s);
        return NULL;
    }
    s->waiting = sqt_zeroed(KIDS_MOST + 1, sizeof(struct sqt_origin_reader *));
    s->start_ns = s->wall_ns = (uint64_t)sqt_log_start_ns(s->log);
    if (!sqt_log_account(s->log)->has_kid)
        logs_origin(s, -1);
    return s;
}

int
sqt_stream_join_log(struct sqt_stream *s, const struct sqt_log_request *request)
{
    struct sqt_log *const log = sqt_log_open(request, &s->diagnostics);
    if (!log)
        return -1;
    const struct sqt_log_account *const account = sqt_log_account(log);
    if (!account->has_kid || !account->has_xid) {
        sqt_diagnose(&s->diagnostics, SQT_ERROR,
                     "--access-log: the format %.60s does not join: it needs %%master_xaction and ${process_number}; "
                     "sqtrace-dump --list has formats that do",
                     account->format);
        sqt_log_close(log);
        return -1;
    }
    s->log = log;
    s->beside = sqt_beside_new(log, &s->diagnostics);
    if (request->follow)
        sqt_beside_follow(s->beside);
    return 0;
}

const struct sqt_logged *
sqt_stream_logged(void *context, const struct sqt_origin *origin, uint64_t xid, int64_t end_ns)
{
    struct sqt_stream *const s = context;
    int64_t end = s->beside ? sqt_origin_wall_ns(origin) : INT64_MIN;
    if (end == INT64_MIN || __builtin_add_overflow(end, end_ns, &end) || end < 0 || end > INT64_MAX / 2 ||
        xid > INT64_MAX)
        return NULL;
    return sqt_beside_find(s->beside, origin->identity.kid, xid, end);
}

uint64_t
sqt_stream_joined(const struct sqt_stream *s)
{
    return s->beside ? sqt_beside_found(s->beside) : 0;
}

int
sqt_stream_is_log(const struct sqt_stream *s)
{
    return s->log && !s->beside;
}

const struct sqt_log_account *
sqt_stream_log(const struct sqt_stream *s)
{
    return s->log ? sqt_log_account(s->log) : NULL;
}

/* Takes what is asked for of a batch. */
static size_t
logs_choose(struct sqt_stream *s, struct sqt_logged *logged, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        struct sqt_logged *const l = &logged[i];
        l->origin = logs_origin(s, l->kid);
        if (!sqt_stream_wants(s, (const struct sqt_origin_reader *)l->origin))
            continue;
        l->at -= (int64_t)s->start_ns;
        l->begin -= (int64_t)s->start_ns;
        if (kept != i)
            logged[kept] = *l;
        ++kept;
    }
    return kept;
}

int
sqt_stream_next_logged(struct sqt_stream *s, struct sqt_run *run)
{
    struct sqt_logged *logged;
    size_t count, kept = 0;
    while (!kept && (count = sqt_log_next(s->log, &logged)))
        kept = logs_choose(s, logged, count);
    if (!kept)
        return 0;
    *run = (struct sqt_run){
        .origin = (struct sqt_origin *)logged->origin, .first = UINT64_MAX, .logged = logged, .logged_count = kept};
    return 1;
}

void
sqt_stream_log_extent(const struct sqt_stream *s, struct sqt_extent *extent)
{
    const int64_t last = sqt_log_last_ns(s->log);
    extent->records = sqt_log_lines(s->log);
    extent->last_ns = last < 0 ? -1 : last - (int64_t)s->start_ns;
}

void
sqt_stream_log_close(struct sqt_stream *s)
{
    if (s->beside) {
        sqt_beside_free(s->beside);
        return;
    }
    for (size_t i = 0; i < s->waiting_count; ++i)
        free(s->waiting[i]);
    sqt_log_close(s->log);
}
