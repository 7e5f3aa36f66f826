/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * event.c - see event.h.
 */
#include "event.h"

/* Begins an event, up to and without its name. */
static void
event_open(struct sqt_events *e, char phase)
{
    const char text[] = {'{', '"', 'p', 'h', '"', ':', '"', phase, '"', '\0'};
    sqt_json_text(e->out, e->some ? ",\n" : "\n");
    sqt_json_text(e->out, text);
    e->some = 1;
}

/* Begins an event, up to and without its closing brace. */
static void
event_begin(struct sqt_events *e, char phase, const char *category, const char *name, struct sqt_chrome_place place,
            int64_t at)
{
    struct sqt_out *const out = e->out;
    event_open(e, phase);
    sqt_json_text(out, ",\"cat\":\"");
    sqt_json_text(out, category);
    sqt_json_text(out, "\",\"name\":");
    sqt_json_string(out, name);
    sqt_json_text(out, ",\"pid\":");
    sqt_json_unsigned(out, place.process);
    sqt_json_text(out, ",\"tid\":");
    sqt_json_unsigned(out, place.thread);
    sqt_json_text(out, ",\"ts\":");
    sqt_json_us(out, at);
}

void
sqt_event_end(struct sqt_events *e)
{
    sqt_json_text(e->out, "}");
}

void
sqt_event_slice(struct sqt_events *e, const char *category, const char *name, const char *colour,
                struct sqt_chrome_place place, int64_t from, int64_t until)
{
    event_begin(e, 'X', category, name, place, from);
    sqt_json_text(e->out, ",\"dur\":");
    sqt_json_us(e->out, until - from);
    if (!colour)
        return;
    sqt_json_text(e->out, ",\"cname\":\"");
    sqt_json_text(e->out, colour);
    sqt_json_text(e->out, "\"");
}

void
sqt_event_instant(struct sqt_events *e, const char *category, const char *name, struct sqt_chrome_place place,
                  int64_t at)
{
    event_begin(e, 'i', category, name, place, at);
    sqt_json_text(e->out, ",\"s\":\"t\"");
}

void
sqt_event_count(struct sqt_events *e, const char *name, unsigned process, int64_t at, const char *const *series,
                const int64_t *values, unsigned count)
{
    struct sqt_out *const out = e->out;
    event_open(e, 'C');
    sqt_json_text(out, ",\"name\":");
    sqt_json_string(out, name);
    sqt_json_text(out, ",\"pid\":");
    sqt_json_unsigned(out, process);
    sqt_json_text(out, ",\"ts\":");
    sqt_json_us(out, at);
    for (unsigned i = 0; i < count; ++i) {
        sqt_json_text(out, i ? ",\"" : ",\"args\":{\"");
        sqt_json_text(out, series[i]);
        sqt_json_text(out, "\":");
        sqt_json_signed(out, values[i]);
    }
    sqt_json_text(out, "}}");
}

void
sqt_event_flow(struct sqt_events *e, const char *name, struct sqt_chrome_place from_place, int64_t from,
               struct sqt_chrome_place until_place, int64_t until)
{
    const uint64_t id = ++e->flows;
    event_begin(e, 's', "flow", name, from_place, from);
    sqt_json_text(e->out, ",\"id\":");
    sqt_json_unsigned(e->out, id);
    sqt_json_text(e->out, "}");
    event_begin(e, 'f', "flow", name, until_place, until);
    sqt_json_text(e->out, ",\"bp\":\"e\",\"id\":");
    sqt_json_unsigned(e->out, id);
    sqt_json_text(e->out, "}");
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
