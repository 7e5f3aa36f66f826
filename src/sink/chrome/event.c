/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * event.c - see event.h.
 */
#include "event.h"

/* Begins an event, up to and without its closing brace. */
static void
event_begin(struct sqt_events *e, char phase, const char *category, const char *name, struct sqt_chrome_place place,
            int64_t at)
{
    sqt_json_print(e->out, "%s{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":", e->some ? ",\n" : "\n", phase, category);
    sqt_json_string(e->out, name);
    sqt_json_print(e->out, ",\"pid\":%u,\"tid\":%u,\"ts\":", place.process, place.thread);
    sqt_json_us(e->out, at);
    e->some = 1;
}

void
sqt_event_end(struct sqt_events *e)
{
    sqt_json_print(e->out, "}");
}

void
sqt_event_slice(struct sqt_events *e, const char *category, const char *name, const char *colour,
                struct sqt_chrome_place place, int64_t from, int64_t until)
{
    event_begin(e, 'X', category, name, place, from);
    sqt_json_print(e->out, ",\"dur\":");
    sqt_json_us(e->out, until - from);
    if (colour)
        sqt_json_print(e->out, ",\"cname\":\"%s\"", colour);
}

void
sqt_event_instant(struct sqt_events *e, const char *category, const char *name, struct sqt_chrome_place place,
                  int64_t at)
{
    event_begin(e, 'i', category, name, place, at);
    sqt_json_print(e->out, ",\"s\":\"t\"");
}

void
sqt_event_count(struct sqt_events *e, const char *name, unsigned process, int64_t at, const char *const *series,
                const int64_t *values, unsigned count)
{
    sqt_json_print(e->out, "%s{\"ph\":\"C\",\"name\":", e->some ? ",\n" : "\n");
    sqt_json_string(e->out, name);
    sqt_json_print(e->out, ",\"pid\":%u,\"ts\":", process);
    sqt_json_us(e->out, at);
    for (unsigned i = 0; i < count; ++i)
        sqt_json_print(e->out, "%s\"%s\":%lld", i ? "," : ",\"args\":{", series[i], (long long)values[i]);
    sqt_json_print(e->out, "}}");
    e->some = 1;
}

void
sqt_event_flow(struct sqt_events *e, const char *name, struct sqt_chrome_place from_place, int64_t from,
               struct sqt_chrome_place until_place, int64_t until)
{
    const unsigned long long id = ++e->flows;
    event_begin(e, 's', "flow", name, from_place, from);
    sqt_json_print(e->out, ",\"id\":%llu}", id);
    event_begin(e, 'f', "flow", name, until_place, until);
    sqt_json_print(e->out, ",\"bp\":\"e\",\"id\":%llu}", id);
}

void
sqt_event_name(struct sqt_events *e, const char *what, struct sqt_chrome_place place, const char *name, unsigned order)
{
    sqt_json_print(e->out, "%s{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
                   e->some ? ",\n" : "\n", what, place.process, place.thread);
    sqt_json_string(e->out, name);
    sqt_json_print(e->out,
                   "}},\n{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%u,\"tid\":%u,"
                   "\"args\":{\"sort_index\":%u}}",
                   what, place.process, place.thread, order);
    e->some = 1;
}
