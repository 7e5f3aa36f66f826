/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * notes.c - note= of the sqtrace_log directive.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config-internal.h"

/* Bytes of the name up to the comma; 0: it has a character that no name may have. */
static size_t
notes_name_size(const char *name)
{
    size_t size = 0;
    while (isalnum((unsigned char)name[size]) || (name[size] && strchr("._-", name[size])))
        ++size;
    return name[size] && name[size] != ',' ? 0 : size;
}

/* How a name is quoted in a message: at most so many bytes of it. */
#define SHOWN 40

static int
notes_refuse(const char *item, const char *problem, char *error, size_t error_size)
{
    const size_t size = strcspn(item, ",");
    snprintf(error, error_size,
             "note=: '%.*s%s' %s: allowed are at most %d names with commas between them, each of at most %d letters, "
             "digits, dots, dashes and underlines",
             (int)(size < SHOWN ? size : SHOWN), item, size > SHOWN ? "..." : "", problem, SQT_NOTES, SQT_NOTE_NAME);
    return -1;
}

int
sqt_config_notes(struct sqt_config *config, const char *value, char *error, size_t error_size)
{
    char names[SQT_NOTES][SQT_NOTE_NAME + 1] = {{0}};
    unsigned count = 0;
    for (const char *item = value;; ++item) {
        const size_t size = notes_name_size(item);
        if (!*item || *item == ',')
            return notes_refuse(item, "is empty", error, error_size);
        if (!size)
            return notes_refuse(item, "is not the name of a note", error, error_size);
        if (size > SQT_NOTE_NAME)
            return notes_refuse(item, "is too long", error, error_size);
        if (count == SQT_NOTES)
            return notes_refuse(item, "is one too many", error, error_size);
        memcpy(names[count], item, size);
        for (unsigned i = 0; i < count; ++i)
            if (strcmp(names[i], names[count]) == 0)
                return notes_refuse(item, "stands there twice", error, error_size);
        ++count;
        item += size;
        if (!*item)
            break;
    }
    memcpy(config->notes, names, sizeof(names));
    return 0;
}
