/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep.c - see keep.h.
 */
#include "keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void
keep_link(struct sqt_otlp_entries *list, struct sqt_otlp_entry *entry)
{
    entry->next = NULL;
    entry->previous = list->last;
    if (list->last)
        list->last->next = entry;
    else
        list->first = entry;
    list->last = entry;
    ++list->count;
}

static void
keep_unlink(struct sqt_otlp_entries *list, struct sqt_otlp_entry *entry)
{
    if (entry->previous)
        entry->previous->next = entry->next;
    else
        list->first = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
    else
        list->last = entry->previous;
    --list->count;
}

struct sqt_otlp_entry *
sqt_otlp_find(const struct sqt_otlp_keep *keep, uint64_t key)
{
    return sqt_idmap_get(&keep->map, key);
}

struct sqt_otlp_entry *
sqt_otlp_enter(struct sqt_otlp_keep *keep, uint64_t key, struct sqt_otlp_resource *resource)
{
    struct sqt_otlp_entry *const entry = sqt_zeroed(1, sizeof(*entry));
    entry->key = key;
    entry->resource = resource;
    ++resource->users;
    keep_link(&keep->open, entry);
    sqt_idmap_put(&keep->map, key, entry);
    return entry;
}

void
sqt_otlp_goes_on(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry)
{
    keep_unlink(&keep->open, entry);
    keep_link(&keep->open, entry);
}

void
sqt_otlp_end(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry)
{
    keep_unlink(&keep->open, entry);
    keep_link(&keep->ended, entry);
    if (keep->ended.count > SQT_OTLP_ENDED)
        sqt_otlp_drop(keep, keep->ended.first);
}

void
sqt_otlp_wait(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry, const struct sqt_otlp_child *child,
              const struct sqt_otlp_text *text)
{
    struct sqt_otlp_child *const kept = sqt_zeroed(1, sizeof(*kept) + text->size);
    *kept = *child;
    kept->next = NULL;
    kept->size = text->size;
    memcpy(kept->text, text->bytes, text->size);
    if (entry->last)
        entry->last->next = kept;
    else
        entry->children = kept;
    entry->last = kept;
    keep->bytes += sizeof(*kept) + kept->size;
}

void
sqt_otlp_drop_children(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry)
{
    for (struct sqt_otlp_child *child = entry->children, *next; child; child = next) {
        next = child->next;
        keep->bytes -= sizeof(*child) + child->size;
        free(child);
    }
    entry->children = entry->last = NULL;
}

void
sqt_otlp_drop(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry)
{
    sqt_otlp_drop_children(keep, entry);
    keep_unlink(entry->verdict == SQT_OTLP_WAITS ? &keep->open : &keep->ended, entry);
    sqt_idmap_take(&keep->map, entry->key);
    --entry->resource->users;
    free(entry);
}

struct sqt_otlp_entry *
sqt_otlp_too_many(const struct sqt_otlp_keep *keep)
{
    return keep->open.count >= SQT_OTLP_OPEN || keep->bytes >= SQT_OTLP_BYTES ? keep->open.first : NULL;
}

/* ---- resources ---- */

struct sqt_otlp_resource *
sqt_otlp_find_resource(const struct sqt_otlp_keep *keep, const uint8_t ring[16])
{
    struct sqt_otlp_resource *resource = keep->resources;
    while (resource && memcmp(resource->ring, ring, sizeof(resource->ring)) != 0)
        resource = resource->next;
    return resource;
}

struct sqt_otlp_resource *
sqt_otlp_new_resource(struct sqt_otlp_keep *keep, const uint8_t ring[16])
{
    sqt_otlp_sweep_resources(keep);
    struct sqt_otlp_resource *const resource = sqt_zeroed(1, sizeof(*resource));
    memcpy(resource->ring, ring, sizeof(resource->ring));
    resource->next = keep->resources;
    return keep->resources = resource;
}

void
sqt_otlp_sweep_resources(struct sqt_otlp_keep *keep)
{
    for (struct sqt_otlp_resource **at = &keep->resources; *at;) {
        struct sqt_otlp_resource *const resource = *at;
        if (resource->users) {
            at = &resource->next;
            continue;
        }
        *at = resource->next;
        sqt_otlp_text_free(&resource->text);
        free(resource);
    }
}

void
sqt_otlp_keep_free(struct sqt_otlp_keep *keep)
{
    while (keep->open.first)
        sqt_otlp_drop(keep, keep->open.first);
    while (keep->ended.first)
        sqt_otlp_drop(keep, keep->ended.first);
    sqt_otlp_sweep_resources(keep);
    sqt_idmap_free(&keep->map);
}
