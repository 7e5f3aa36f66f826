/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * notes.c - the notes of a transaction: their names and values, and all of them as an object of JSON.
 */
#include <string.h>

#include "base/visible.h"
#include "model-internal.h"

/* Writes a string of JSON that every output prints as it is: what visible.h would escape becomes "?".  That can be the last
 * character of a long value, of which the end is cut away; and nothing in a trace has to be as Squid would have written it. */
static char *
notes_put_string(char *to, const char *text, size_t size)
{
    const char *const end = text + size;
    *to++ = '"';
    while (text < end) {
        char seen[SQT_VISIBLE_MOST * SQT_VISIBLE_MOST];
        const char *const from = text;
        const size_t length = (size_t)(sqt_visible_next(seen, &text) - seen);
        const size_t taken = (size_t)(text - from);
        if (*from == '"' || *from == '\\')
            *to++ = '\\';
        if (length == taken) {
            memcpy(to, from, taken);
            to += taken;
        } else
            *to++ = '?';
    }
    *to++ = '"';
    return to;
}

void
sqt_notes_add(struct sqt_notes *notes, const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"; /* as note= has them */
    const size_t name_size = strspn(text, allowed);
    const char *const value = text + name_size + 1;
    if (text[name_size] != ' ' || !name_size || name_size > SQT_NOTE_NAME || !*value ||
        strlen(value) > SQT_NOTE_VALUE || notes->count == SQT_NOTES)
        return;
    for (unsigned i = 0; i < notes->count; ++i)
        if (strlen(notes->of[i].name) == name_size && memcmp(notes->of[i].name, text, name_size) == 0)
            return;
    char *end = notes->count ? notes->text + strlen(notes->text) - 1 : notes->text;
    *end++ = notes->count ? ',' : '{';
    end = notes_put_string(end, text, name_size);
    *end++ = ':';
    end = notes_put_string(end, value, strlen(value));
    memcpy(end, "}", 2);
    memcpy(notes->of[notes->count].name, text, name_size);
    notes->of[notes->count++].value = value;
}
