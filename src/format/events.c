/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * events.c - the tables of the .def files as data.
 */
#include "events.h"

#include <string.h>

const struct sqt_kind_info sqt_kinds[SQT_KINDS] = {
#define SQT_KIND(NAME, name, predictor, doc) [SQT_KIND_##NAME] = {#name, SQT_PREDICT_##predictor, doc},
#include "kinds.def"
};

#define ID(KIND, text) .id = {SQT_KIND_##KIND, text}
#define ARG(KIND, text) .arg = {SQT_KIND_##KIND, text}
#define AUX(KIND, text) .aux = {SQT_KIND_##KIND, text}
#define OPENS(stages) .opens = stages
#define CLOSES(stages) .closes = stages
#define ENDS_WITH(EVENT) .pair = SQT_EV_##EVENT
const struct sqt_event_info sqt_events[SQT_EVENTS] = {
#define SQT_EVENT(NAME, GROUP, ...) [SQT_EV_##NAME] = {.name = #NAME, .group = SQT_GROUP_##GROUP, .doc = __VA_ARGS__},
#include "events.def"
};
#undef ID
#undef ARG
#undef AUX
#undef OPENS
#undef CLOSES
#undef ENDS_WITH

const struct sqt_named sqt_group_names[SQT_GROUPS_COUNT] = {
#define SQT_GROUP(NAME, name, on, doc) {#name, doc},
#include "groups.def"
};

const struct sqt_named sqt_stages[SQT_STAGES] = {
#define SQT_STAGE(NAME, name, column, doc) {#name, doc},
#include "stages.def"
};

const struct sqt_named sqt_misses[SQT_MISSES_COUNT] = {
    {NULL, NULL},
#define SQT_MISS(NAME, name, doc) {#name, doc},
#include "misses.def"
};

const struct sqt_named sqt_unkept[SQT_UNKEPTS] = {
    {NULL, NULL},
#define SQT_UNKEPT(NAME, name, doc) {#name, doc},
#include "unkept.def"
};

const struct sqt_named sqt_sample_sources[SQT_SAMPLE_SOURCES] = {
#define SQT_SAMPLE_SOURCE(SOURCE, text, doc) [SQT_SOURCE_##SOURCE] = {text, doc},
#include "samples.def"
};

enum { GAUGE, COUNTER };
const struct sqt_sample_info sqt_samples[SQT_SAMPLES] = {
#define SQT_SAMPLE(SOURCE, name, nature, doc) \
    [SQT_SAMPLE_##SOURCE##_##name] = {SQT_SOURCE_##SOURCE, #name, nature, doc},
#include "samples.def"
};

const unsigned char sqt_stage_columns[SQT_STAGES] = {
#define SQT_STAGE(NAME, name, column, doc) [column] = SQT_STAGE_##NAME,
#include "stages.def"
};

unsigned
sqt_event_number(const char *name)
{
    for (unsigned i = 1; i < SQT_EVENTS; ++i)
        if (strcmp(sqt_events[i].name, name) == 0)
            return i;
    return 0;
}

unsigned
sqt_kind_number(const char *name)
{
    unsigned i = 0;
    while (i < SQT_KINDS && strcmp(sqt_kinds[i].name, name) != 0)
        ++i;
    return i;
}

unsigned
sqt_group_number(const char *name)
{
    unsigned i = 0;
    while (i < SQT_GROUPS_COUNT && strcmp(sqt_group_names[i].name, name) != 0)
        ++i;
    return i;
}

static const char *
group_name(uint32_t bit)
{
    return sqt_group_names[__builtin_ctz(bit)].name;
}

size_t
sqt_events_text(char *buf, size_t size)
{
    size_t used = 0;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        const struct sqt_event_info *e = &sqt_events[i];
        used += (size_t)snprintf(used < size ? buf + used : NULL, used < size ? size - used : 0,
                                 "event\t%u\t%s\t%s\t%s\t%s\t%s\n", i, e->name, group_name(e->group),
                                 sqt_kinds[e->id.kind].name, sqt_kinds[e->arg.kind].name, sqt_kinds[e->aux.kind].name);
    }
    return used;
}
