/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * events.h - the tables of events, kinds, groups and stages as data.
 */
#ifndef SQT_EVENTS_H
#define SQT_EVENTS_H

#include <stdio.h>

#include "format.h"

/* What a packed value is expected to be close to. */
enum sqt_predictor {
    SQT_PREDICT_ZERO,  /* 0 */
    SQT_PREDICT_KIND,  /* the last value of this kind in the same column, whatever the event */
    SQT_PREDICT_EVENT, /* the value of the same field in the last record of the same event */
    SQT_PREDICT_TIME   /* the record's time */
};

struct sqt_kind_info {
    const char *name;
    enum sqt_predictor predictor;
    const char *doc;
};

struct sqt_field_info {
    enum sqt_kind kind;
    const char *doc; /* NULL if the kind is SQT_KIND_NONE */
};

struct sqt_event_info {
    const char *name; /* NULL at 0 */
    uint32_t group;   /* one bit */
    struct sqt_field_info id, arg, aux;
    uint32_t opens, closes; /* stages, 1 << SQT_STAGE_... */
    enum sqt_event pair;    /* SQT_EV_NONE_ if none */
    const char *doc;
};

struct sqt_named {
    const char *name;
    const char *doc;
};

struct sqt_sample_info {
    enum sqt_sample_source source;
    const char *name;
    int counter; /* only grows; else a gauge */
    const char *doc;
};

extern const struct sqt_kind_info sqt_kinds[SQT_KINDS];
extern const struct sqt_event_info sqt_events[SQT_EVENTS];
extern const struct sqt_named sqt_group_names[SQT_GROUPS_COUNT];
extern const struct sqt_named sqt_stages[SQT_STAGES];
extern const struct sqt_named sqt_misses[SQT_MISSES_COUNT]; /* the first has no name */
extern const struct sqt_named sqt_unkept[SQT_UNKEPTS];      /* the first has no name */
extern const struct sqt_named sqt_sample_sources[SQT_SAMPLE_SOURCES];
extern const struct sqt_sample_info sqt_samples[SQT_SAMPLES];
/* Stages in the order of the columns of the `requests` table. */
extern const unsigned char sqt_stage_columns[SQT_STAGES];

/* Number of the event, kind or group of that name; 0 (events), SQT_KINDS or SQT_GROUPS_COUNT if there is none. */
unsigned sqt_event_number(const char *name);
unsigned sqt_kind_number(const char *name);
unsigned sqt_group_number(const char *name);

/* Writes the table of events as lines of a text frame into buf: one line an event,
 * "event\t<number>\t<NAME>\t<group>\t<id kind>\t<arg kind>\t<aux kind>\n".
 * Returns the bytes needed, the terminating NUL not counted; nothing is written beyond size. */
size_t sqt_events_text(char *buf, size_t size);

#endif
