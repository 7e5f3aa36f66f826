/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * note.c - values of notes as numbers.
 *
 * A value comes from whoever made the note: squid.conf, a helper, perhaps a client.  So a name has few values in a trace,
 * and a value few bytes.  Numbers are parts of keyed hashes, so nobody can make two values share one.
 */
#include <stdio.h>
#include <string.h>

#include "define-internal.h"

unsigned sqt_note_count;
struct sqt_note sqt_notes[SQT_NOTES];

static struct sqt_note
note_make(const char *name)
{
    struct sqt_note note = {.size = (uint32_t)strlen(name)};
    memcpy(note.name, name, note.size + 1);
    note.salt = (uint32_t)sqt_hash(name, note.size);
    return note;
}

void
sqt_notes_use(const struct sqt_config *config, int is_new)
{
    struct sqt_note old[SQT_NOTES];
    const unsigned old_count = is_new ? 0 : sqt_note_count;
    memcpy(old, sqt_notes, sizeof(old));
    for (sqt_note_count = 0; sqt_note_count < SQT_NOTES && config->notes[sqt_note_count][0]; ++sqt_note_count) {
        struct sqt_note *const note = &sqt_notes[sqt_note_count];
        *note = note_make(config->notes[sqt_note_count]);
        for (unsigned i = 0; i < old_count; ++i)
            if (strcmp(old[i].name, note->name) == 0)
                note->values = old[i].values;
    }
}

/* A number that is not below 64, so that no value is taken for one of the first definitions. */
static uint32_t
note_number_of(uint32_t hash, const struct sqt_note *note)
{
    return ((hash ^ note->salt) & INT32_MAX) | 64;
}

static __attribute__((noinline)) uint32_t
note_define(struct sqt_note *note, uint32_t number, const char *value, size_t size)
{
    char text[SQT_NOTE_NAME + 1 + SQT_NOTE_VALUE + 1];
    if (note->values == SQT_NOTE_VALUES) {
        number = note_number_of(0, note);
        value = "other";
        size = 5;
        if (sqt_defined(SQT_DEF_NOTE, number))
            return number;
    } else {
        ++note->values;
    }
    snprintf(text, sizeof(text), "%s %.*s", note->name, (int)size, value);
    return sqt_define_new(SQT_DEF_NOTE, number, text);
}

/* The value without what is too long for it, of which no part of a character of UTF-8 stays. */
static size_t
note_size_of(const char *value, size_t size)
{
    if (size <= SQT_NOTE_VALUE)
        return size;
    size = SQT_NOTE_VALUE;
    for (unsigned i = 0; i < 3 && (value[size] & 0xc0) == 0x80; ++i)
        --size;
    return size;
}

uint32_t
sqt_note_number(unsigned place, const char *value, size_t size)
{
    struct sqt_note *const note = &sqt_notes[place];
    size = note_size_of(value, size);
    if (size == note->last_size && memcmp(value, note->last_value, size) == 0)
        return note->last;
    const uint32_t number = note_number_of((uint32_t)sqt_hash(value, size), note);
    memcpy(note->last_value, value, size);
    note->last_size = (uint32_t)size;
    note->last = sqt_defined(SQT_DEF_NOTE, number) ? number : note_define(note, number, value, size);
    return note->last;
}
