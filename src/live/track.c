/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * track.c - see track.h.
 */
#include "track.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *const sqt_track_state_names[SQT_TRACK_STATES] = {"begins", "changes", "ends"};

struct sqt_tracked {
    struct sqt_live_finding finding; /* as it was found last */
    int64_t since;                   /* when it was new, ns */
    int64_t seen;                    /* when it was found last */
    int64_t waiting, failures;       /* as they were told last */
};

static int
track_same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static struct sqt_tracked *
track_find(const struct sqt_track *track, const struct sqt_live_finding *finding)
{
    for (unsigned i = 0; i < track->count; ++i) {
        const struct sqt_live_finding *const known = &track->all[i]->finding;
        if (track_same_text(SQT_LIVE_TEXT(known, cause), SQT_LIVE_TEXT(finding, cause)) &&
            track_same_text(SQT_LIVE_TEXT(known, culprit), SQT_LIVE_TEXT(finding, culprit)))
            return track->all[i];
    }
    return NULL;
}

/* A copy, whose texts are its own. */
static void
track_copy(struct sqt_live_finding *to, const struct sqt_live_finding *from)
{
    const struct sqt_table *const table = &sqt_tables[SQT_TABLE_findings];
    memcpy(to, from, sizeof(*to));
    for (unsigned i = 0; i < table->column_count; ++i)
        if (table->columns[i].type == SQT_TYPE_TEXT && to->row[i].text)
            to->row[i].text = to->texts[i];
}

static int
track_has_changed(const struct sqt_tracked *known, const struct sqt_live_finding *finding)
{
    const int64_t waiting = SQT_LIVE_NUMBER(finding, waiting_s), failures = SQT_LIVE_NUMBER(finding, failures);
    return waiting / 2 > known->waiting || failures / 2 > known->failures ||
           !track_same_text(SQT_LIVE_TEXT(&known->finding, pattern), SQT_LIVE_TEXT(finding, pattern));
}

typedef void track_function(void *context, const struct sqt_live_finding *finding, enum sqt_track_state state);

static void
track_tell(struct sqt_tracked *known, enum sqt_track_state state, track_function *tell, void *context)
{
    const struct sqt_live_finding *const finding = &known->finding;
    known->waiting = SQT_LIVE_NUMBER(finding, waiting_s);
    known->failures = SQT_LIVE_NUMBER(finding, failures);
    tell(context, finding, state);
}

static void
track_one(struct sqt_track *track, const struct sqt_live_finding *finding, int64_t now, track_function *tell,
          void *context)
{
    struct sqt_tracked *known = track_find(track, finding);
    const int is_new = !known, changed = known && track_has_changed(known, finding);
    if (is_new && track->count == SQT_TRACK_MOST)
        return;
    if (is_new) {
        known = track->all[track->count++] = sqt_zeroed(1, sizeof(*known));
        known->since = SQT_LIVE_NUMBER(finding, time_s);
    }
    track_copy(&known->finding, finding);
    known->seen = now;
    known->since = SQT_LIVE_NUMBER(finding, time_s) < known->since ? SQT_LIVE_NUMBER(finding, time_s) : known->since;
    SQT_LIVE_NUMBER(&known->finding, time_s) = known->since;
    if (is_new || changed)
        track_tell(known, is_new ? SQT_TRACK_BEGINS : SQT_TRACK_CHANGES, tell, context);
}

static void
track_ends(struct sqt_track *track, int64_t now, track_function *tell, void *context)
{
    unsigned left = 0;
    for (unsigned i = 0; i < track->count; ++i) {
        struct sqt_tracked *const known = track->all[i];
        if (now - known->seen < SQT_TRACK_GONE) {
            track->all[left++] = known;
            continue;
        }
        SQT_LIVE_NUMBER(&known->finding, rank) = 0;
        track_tell(known, SQT_TRACK_ENDS, tell, context);
        free(known);
    }
    track->count = left;
}

void
sqt_track_take(struct sqt_track *track, const struct sqt_live_finding *found, unsigned count, int64_t now,
               track_function *tell, void *context)
{
    for (unsigned i = 0; i < count; ++i)
        track_one(track, &found[i], now, tell, context);
    track_ends(track, now, tell, context);
}

void
sqt_track_hold(struct sqt_track *track, const char *cause, int64_t now)
{
    for (unsigned i = 0; i < track->count; ++i)
        if (track_same_text(SQT_LIVE_TEXT(&track->all[i]->finding, cause), cause) &&
            track_same_text(SQT_LIVE_TEXT(&track->all[i]->finding, pattern), "since"))
            track->all[i]->seen = now;
}

void
sqt_track_free(struct sqt_track *track)
{
    for (unsigned i = 0; i < track->count; ++i)
        free(track->all[i]);
    track->count = 0;
}
