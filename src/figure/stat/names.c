/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * names.c - see names.h.
 */
#include "names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scatter.h"

#define OTHERS "other"

/* A trace says what it likes: its names must not choose their chain. */
static unsigned
names_hash(const char *name)
{
    return (unsigned)(sqt_scattered_text(name, strlen(name)) % SQT_NAMES_CHAINS);
}

void *
sqt_names_get(struct sqt_names *names, const char *name)
{
    struct sqt_name_entry **const chain = &names->chains[names_hash(name)];
    for (struct sqt_name_entry *thing = *chain; thing; thing = thing->chain)
        if (strcmp(thing->name, name) == 0)
            return thing;
    if (names->count >= names->most && strcmp(name, OTHERS) != 0)
        return sqt_names_get(names, OTHERS);
    struct sqt_name_entry *const thing = sqt_zeroed(1, names->size);
    thing->name = sqt_copied(name);
    thing->chain = *chain;
    thing->next = names->first;
    ++names->count;
    return *chain = names->first = thing;
}

int
sqt_names_has(const struct sqt_names *names, const char *name)
{
    const struct sqt_name_entry *thing = names->chains[names_hash(name)];
    while (thing && strcmp(thing->name, name) != 0)
        thing = thing->chain;
    return thing != NULL;
}

void
sqt_names_drop(struct sqt_names *names, struct sqt_name_entry *entry)
{
    struct sqt_name_entry **link = &names->chains[names_hash(entry->name)];
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
    for (link = &names->first; *link != entry;)
        link = &(*link)->next;
    *link = entry->next;
    --names->count;
    sqt_freed(entry->name);
    sqt_freed(entry);
}

int
sqt_names_is_others(const struct sqt_name_entry *entry)
{
    return strcmp(entry->name, OTHERS) == 0;
}

void
sqt_names_free(struct sqt_names *names)
{
    while (names->first) {
        struct sqt_name_entry *const thing = names->first;
        names->first = thing->next;
        sqt_freed(thing->name);
        sqt_freed(thing);
    }
}
