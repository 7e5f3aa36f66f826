/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * event.h - single events of the Trace Event Format, as text.
 *
 * An event is begun here, gets its further members from its caller, and is ended with sqt_event_end().
 */
#ifndef SQT_CHROME_EVENT_H
#define SQT_CHROME_EVENT_H

#include <stdint.h>

#include "../json.h"

/* Where an event stands: a thread of a process of the viewer.  thread 0: nowhere. */
struct sqt_chrome_place {
    unsigned process;
    unsigned thread;
};

struct sqt_events {
    struct sqt_out *out;
    int some;       /* an event is out */
    uint64_t flows; /* so far: they number the next one */
};

/* A slice that lasts from..until.  colour: one of the viewer's reserved names; NULL: the viewer chooses. */
void sqt_event_slice(struct sqt_events *events, const char *category, const char *name, const char *colour,
                     struct sqt_chrome_place place, int64_t from, int64_t until);
/* Something of which only the moment is known. */
void sqt_event_instant(struct sqt_events *events, const char *category, const char *name, struct sqt_chrome_place place,
                       int64_t at);
/* The values of a counter's series from then on. */
void sqt_event_count(struct sqt_events *events, const char *name, unsigned process, int64_t at,
                     const char *const *series, const int64_t *values, unsigned count);
/* An arrow from a slice to another one; from <= until. */
void sqt_event_flow(struct sqt_events *events, const char *name, struct sqt_chrome_place from_place, int64_t from,
                    struct sqt_chrome_place until_place, int64_t until);
/* Names a process or a thread, and says where it stands among the others; what: "process" or "thread". */
void sqt_event_name(struct sqt_events *events, const char *what, struct sqt_chrome_place place, const char *name,
                    unsigned order);
/* Ends a slice or an instant. */
void sqt_event_end(struct sqt_events *events);

#endif
