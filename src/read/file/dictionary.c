/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dictionary.c - see dictionary.h.
 */
#include "dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scatter.h"

struct sqt_definition {
    unsigned kind;
    uint32_t number;
    char text[];
};

/* Bytes of a text that are kept. libsqtrace writes less, and no table, page or metric shows more: see SQT_CELL_TEXT_MAX. */
#define DEFINITION_TEXT_MAX 4096

/* What a definition takes besides its text: its place in the table, and what malloc adds. */
#define DEFINITION_BYTES (sizeof(struct sqt_definition) + 48)

void
sqt_dictionary_init(struct sqt_dictionary *d)
{
    memset(d, 0, sizeof(*d));
}

void
sqt_dictionary_free(struct sqt_dictionary *d)
{
    for (size_t i = 0; i < d->room; ++i)
        free(d->table[i]);
    free(d->table);
    if (d->left)
        *d->left += d->taken;
    for (unsigned i = 0; i < d->unknown_count; ++i)
        free(d->unknown[i]);
    sqt_dictionary_init(d);
}

/* The slot of a definition, or the empty one where it would stand. */
static struct sqt_definition **
slot(const struct sqt_dictionary *d, unsigned kind, uint32_t number)
{
    const uint64_t hash = sqt_scattered((uint64_t)kind << 32 | number, d->scatter);
    size_t i = (size_t)(hash >> d->shift);
    while (d->table[i] && (d->table[i]->kind != kind || d->table[i]->number != number))
        i = (i + 1) & (d->room - 1);
    return &d->table[i];
}

static void
dictionary_grow(struct sqt_dictionary *d)
{
    struct sqt_dictionary larger = *d;
    larger.room = d->room ? d->room * 2 : 64;
    larger.scatter = sqt_scatter();
    larger.shift = 64 - (unsigned)__builtin_ctzll(larger.room);
    larger.table = sqt_zeroed(larger.room, sizeof(struct sqt_definition *));
    for (size_t i = 0; i < d->room; ++i)
        if (d->table[i])
            *slot(&larger, d->table[i]->kind, d->table[i]->number) = d->table[i];
    free(d->table);
    *d = larger;
}

/* Copies a text, undoing the escapes \t \n and \\. */
static void
unescape(char *to, const char *from, size_t size)
{
    for (const char *const end = from + size; from < end; ++from)
        if (*from == '\\' && from + 1 < end) {
            ++from;
            *to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
        } else
            *to++ = *from;
    *to = '\0';
}

/* Whether a definition that is there says the same as another text. */
static int
dictionary_says(const struct sqt_definition *d, const char *text, size_t size)
{
    char *const other = sqt_allocated(size + 1);
    unescape(other, text, size);
    const int same = strcmp(d->text, other) == 0;
    free(other);
    return same;
}

static void
define(struct sqt_dictionary *d, unsigned kind, uint32_t number, const char *text, size_t size)
{
    if (size > DEFINITION_TEXT_MAX)
        size = DEFINITION_TEXT_MAX;
    if ((d->used + 1) * 2 > d->room)
        dictionary_grow(d);
    struct sqt_definition **const at = slot(d, kind, number);
    if (*at) { /* interned once: a later segment says the same again */
        d->two_hosts |= kind == SQT_DEF_HOST && !dictionary_says(*at, text, size);
        return;
    }
    if (d->left && *d->left < size + DEFINITION_BYTES) {
        ++d->refused;
        return;
    }
    struct sqt_definition *const new = sqt_allocated(sizeof(*new) + size + 1);
    new->kind = kind;
    new->number = number;
    unescape(new->text, text, size);
    *at = new;
    ++d->used;
    if (d->left)
        *d->left -= size + DEFINITION_BYTES;
    d->taken += size + DEFINITION_BYTES;
}

void
sqt_dictionary_define(struct sqt_dictionary *d, unsigned kind, uint32_t number, const char *text, size_t size)
{
    define(d, kind, number, text, size);
}

/* Number of an event that this program does not know, by its name; 0 without room. */
static unsigned
unknown_event(struct sqt_dictionary *d, const char *name)
{
    for (unsigned i = 0; i < d->unknown_count; ++i)
        if (strcmp(d->unknown[i], name) == 0)
            return SQT_EVENTS + i;
    if (d->unknown_count == sizeof(d->unknown) / sizeof(d->unknown[0]))
        return 0;
    d->unknown[d->unknown_count] = sqt_copied(name);
    return SQT_EVENTS + d->unknown_count++;
}

static uint16_t
field_slot(const char *kind_name, unsigned event)
{
    const unsigned kind = sqt_kind_number(kind_name);
    return sqt_pack_slot(kind < SQT_KINDS ? sqt_kinds[kind].predictor : SQT_PREDICT_EVENT, kind, event);
}

static int
declare_event(struct sqt_dictionary *d, unsigned number, const char *name, const char *id, const char *arg,
              const char *aux)
{
    unsigned event = sqt_event_number(name);
    if (!event)
        event = unknown_event(d, name);
    if (!event)
        return -1;
    d->event[number] = (uint16_t)event;
    ++d->events;
    d->pack.id[number] = field_slot(id, number);
    d->pack.arg[number] = field_slot(arg, number);
    d->pack.aux[number] = field_slot(aux, number);
    return 0;
}

/* A number of decimal digits up to max; returns 0 if it is not one. */
static int
number_of(const char *text, uint32_t max, uint32_t *number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    const unsigned long value = strtoul(text, &end, 10);
    *number = (uint32_t)value;
    return *end == '\0' && value <= max;
}

#define FIELDS_MAX 8
#define EVENT_LINE_MAX 512

/* "event <number> <name> <group> <id kind> <arg kind> <aux kind>", and whatever a later version adds.
 * Returns 1 if the line is not that. */
static int
event_line(struct sqt_dictionary *d, const char *line, size_t size)
{
    char copy[EVENT_LINE_MAX], *field[FIELDS_MAX], *next = copy;
    unsigned fields = 0;
    uint32_t number;

    if (size >= sizeof(copy))
        return 1;
    memcpy(copy, line, size);
    copy[size] = '\0';
    while (next && fields < FIELDS_MAX) {
        field[fields++] = next;
        next = strchr(next, '\t');
        if (next)
            *next++ = '\0';
    }
    if (fields < 7 || !number_of(field[1], 255, &number) || number == 0 || field[2][0] == '\0')
        return 1;
    return declare_event(d, number, field[2], field[4], field[5], field[6]);
}

/* "def <kind> <number> <text>".  Returns 1 if the line is not that. */
static int
definition_line(struct sqt_dictionary *d, const char *line, size_t size)
{
    char digits[16];
    uint32_t value[2];
    const char *const end = line + size;
    const char *at = line + strlen("def\t");

    for (unsigned i = 0; i < 2; ++i) {
        const char *const tab = memchr(at, '\t', (size_t)(end - at));
        if (!tab || (size_t)(tab - at) >= sizeof(digits))
            return 1;
        memcpy(digits, at, (size_t)(tab - at));
        digits[tab - at] = '\0';
        if (!number_of(digits, UINT32_MAX, &value[i]))
            return 1;
        at = tab + 1;
    }
    if (memchr(at, '\0', (size_t)(end - at)))
        return 1;
    define(d, value[0], value[1], at, (size_t)(end - at));
    return 0;
}

int
sqt_dictionary_take(struct sqt_dictionary *d, const char *text, size_t size)
{
    const char *const end = text + size;
    int wrong = 0;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            newline = end;
        const size_t length = (size_t)(newline - text);
        int result = 0;
        if (length > 6 && memcmp(text, "event\t", 6) == 0)
            result = event_line(d, text, length);
        else if (length > 4 && memcmp(text, "def\t", 4) == 0)
            result = definition_line(d, text, length);
        if (result < 0)
            return -1;
        wrong += result;
        text = newline + (newline < end);
    }
    return wrong;
}

void
sqt_dictionary_assume(struct sqt_dictionary *d)
{
    sqt_pack_table_init(&d->pack);
    for (unsigned i = 1; i < SQT_EVENTS; ++i)
        d->event[i] = (uint16_t)i;
    d->events = SQT_EVENTS - 1;
    d->assumed = 1;
}

unsigned
sqt_dictionary_event(struct sqt_dictionary *d, unsigned number)
{
    char name[32];
    number &= 255;
    if (!d->event[number]) {
        snprintf(name, sizeof(name), "EVENT_%u", number);
        const unsigned event = unknown_event(d, name);
        /* The last name stands for all that there is no place for. */
        d->event[number] = (uint16_t)(event ? event : SQT_EVENTS + sizeof(d->unknown) / sizeof(d->unknown[0]) - 1);
    }
    return d->event[number];
}

const char *
sqt_dictionary_text(const struct sqt_dictionary *d, unsigned kind, uint32_t number)
{
    if (!d->room)
        return NULL;
    const struct sqt_definition *const found = *slot(d, kind, number);
    return found ? found->text : NULL;
}

const char *
sqt_dictionary_event_name(const struct sqt_dictionary *d, unsigned event)
{
    if (event > 0 && event < SQT_EVENTS)
        return sqt_events[event].name;
    if (event >= SQT_EVENTS && event - SQT_EVENTS < d->unknown_count)
        return d->unknown[event - SQT_EVENTS];
    return "-";
}
