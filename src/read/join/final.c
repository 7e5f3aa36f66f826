/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * final.c - see final.h.
 */
#include "read/final.h"

#include <string.h>

#include "stream-internal.h"

void
sqt_stream_limit(struct sqt_stream *s, int64_t now, struct sqt_origin_reader *const *origins, size_t count)
{
    s->limit = INT64_MIN;
    for (size_t i = 0; i < count; ++i)
        if (sqt_ring_is_open(&origins[i]->ring) && (!s->final || origins[i]->ring.owned) &&
            now + origins[i]->offset_ns > s->limit)
            s->limit = now + origins[i]->offset_ns - SQT_FOLLOW_BACK_MS * INT64_C(1000000);
    if (s->limit == INT64_MIN)
        s->limit = INT64_MAX; /* nobody writes */
}

void
sqt_stream_only_final(struct sqt_stream *s, void *context,
                      void (*ended)(void *context, const struct sqt_origin *origin))
{
    s->final = 1;
    s->following.context = context;
    s->following.ended = ended;
    sqt_stream_limit(s, s->looked_now, s->waiting, s->waiting_count);
}

int
sqt_stream_is_final(const struct sqt_stream *s, const struct sqt_origin_reader *o)
{
    return o->key <= s->limit && !(o->from_ring && o->ring.owned) && !o->placed_by_ring;
}

/* Whether `later` is a later run of what wrote `o`. */
static int
final_comes_after(const struct sqt_identity *later, const struct sqt_identity *o)
{
    if (later->kid != o->kid || strcmp(later->service, o->service) != 0)
        return 0;
    return sqt_identity_is_later(later, o);
}

static int
final_has_ended(const struct sqt_stream *s, const struct sqt_origin_reader *o)
{
    if (sqt_ring_is_open(&o->ring) || o->pointer)
        return 0;
    if (o->totals_valid && o->totals.clean)
        return 1;
    for (size_t i = 0; i < s->sources.origin_count; ++i)
        if (final_comes_after(&s->sources.origins[i]->public.identity, &o->public.identity))
            return 1;
    return 0;
}

void
sqt_stream_tell_final(const struct sqt_stream *s, const struct sqt_origin_reader *o)
{
    if (final_has_ended(s, o))
        s->following.ended(s->following.context, &o->public);
}
