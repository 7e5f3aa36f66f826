/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pointer.c - see pointer.h.
 */
#include "pointer.h"

#include <stdio.h>
#include <string.h>

/* The value of the line `key=value`; empty if there is none. */
static void
pointer_value_of(const char *text, const char *key, char *value, size_t size)
{
    const size_t key_size = strlen(key);
    value[0] = '\0';
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, key_size) == 0 && line[key_size] == '=') {
            const size_t length = strcspn(line + key_size + 1, "\r\n");
            if (length < size) {
                memcpy(value, line + key_size + 1, length);
                value[length] = '\0';
            }
            return;
        }
}

int
sqt_pointer_parse(const uint8_t *bytes, size_t got, struct sqt_pointer_text *p)
{
    char text[4096], id[64];
    if (got >= sizeof(text))
        got = sizeof(text) - 1;
    memcpy(text, bytes, got);
    text[got] = '\0';
    pointer_value_of(text, "ring", p->ring, sizeof(p->ring));
    pointer_value_of(text, "id", id, sizeof(id));
    if (!p->ring[0] || strlen(id) != 2 * sizeof(p->ring_id) ||
        strspn(id, "0123456789abcdefABCDEF") != 2 * sizeof(p->ring_id))
        return -1;
    for (size_t i = 0; i < sizeof(p->ring_id); ++i) {
        unsigned byte;
        sscanf(id + 2 * i, "%2x", &byte);
        p->ring_id[i] = (uint8_t)byte;
    }
    return 0;
}
