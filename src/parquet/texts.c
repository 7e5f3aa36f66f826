/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * texts.c - see texts.h.
 */
#include "texts.h"

#include "base/scatter.h"
#include "row/cell-text.h"

/* The slot of a text, or the free one where it would stand. */
static uint32_t *
texts_slot(const struct sqt_texts *t, const char *text, uint64_t hash)
{
    unsigned i = (unsigned)hash & (t->slot_count - 1);
    while (t->slots[i]) {
        const struct sqt_text_entry *const e = &t->entries[t->slots[i] - 1];
        if (e->hash == hash && strcmp((const char *)&t->raw.data[e->raw], text) == 0)
            break;
        i = (i + 1) & (t->slot_count - 1);
    }
    return &t->slots[i];
}

static void
texts_grow(struct sqt_texts *t)
{
    free(t->slots);
    t->slot_count = t->slot_count ? t->slot_count * 2 : 16;
    t->room = t->slot_count / 2;
    t->slots = sqt_zeroed(t->slot_count, sizeof(*t->slots));
    t->entries = sqt_resized(t->entries, t->room * sizeof(*t->entries));
    for (unsigned n = 0; n < t->count; ++n) {
        unsigned i = (unsigned)t->entries[n].hash & (t->slot_count - 1);
        while (t->slots[i])
            i = (i + 1) & (t->slot_count - 1);
        t->slots[i] = n + 1;
    }
}

/* Below 0 if text a comes first. */
static int
texts_compare(const struct sqt_texts *t, unsigned a, unsigned b)
{
    size_t a_size, b_size;
    const uint8_t *const x = sqt_texts_plain(t, a, &a_size), *const y = sqt_texts_plain(t, b, &b_size);
    const int order = memcmp(x, y, a_size < b_size ? a_size : b_size);
    return order ? order : a_size < b_size ? -1 : a_size > b_size;
}

static unsigned
texts_add(struct sqt_texts *t, const char *text, size_t size, uint64_t hash)
{
    const unsigned number = t->count++;
    t->entries[number] = (struct sqt_text_entry){hash, t->raw.used, t->plain.used};
    sqt_bytes_put(&t->raw, text, size + 1);
    sqt_bytes_four(&t->plain, 0);
    const size_t shown = size < SQT_CELL_TEXT_MAX ? size : SQT_CELL_TEXT_MAX;
    char *const to = (char *)sqt_bytes_room(&t->plain, SQT_VISIBLE_MOST * (shown + 4));
    const uint32_t length = (uint32_t)(sqt_put_cell_text(to, text) - to);
    t->plain.used += length;
    for (unsigned i = 0; i < 4; ++i)
        t->plain.data[t->entries[number].plain + i] = (uint8_t)(length >> 8 * i);
    if (texts_compare(t, number, t->least) < 0)
        t->least = number;
    if (texts_compare(t, number, t->most) > 0)
        t->most = number;
    return number;
}

unsigned
sqt_texts_number(struct sqt_texts *t, const char *text)
{
    if (t->count && strcmp((const char *)&t->raw.data[t->entries[t->last].raw], text) == 0)
        return t->last;
    if (t->count == t->room)
        texts_grow(t);
    const size_t size = strlen(text);
    const uint64_t hash = sqt_scattered_text(text, size);
    uint32_t *const slot = texts_slot(t, text, hash);
    if (!*slot)
        *slot = texts_add(t, text, size, hash) + 1;
    return t->last = *slot - 1;
}

const uint8_t *
sqt_texts_plain(const struct sqt_texts *t, unsigned number, size_t *size)
{
    const uint8_t *const p = &t->plain.data[t->entries[number].plain];
    *size = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    return p + 4;
}

size_t
sqt_texts_size(const struct sqt_texts *t)
{
    return t->room * sizeof(*t->entries) + t->slot_count * sizeof(*t->slots) + t->raw.room + t->plain.room;
}

void
sqt_texts_free(struct sqt_texts *t)
{
    free(t->entries);
    free(t->slots);
    sqt_bytes_free(&t->raw);
    sqt_bytes_free(&t->plain);
    memset(t, 0, sizeof(*t));
}
