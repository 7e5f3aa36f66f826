/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * names.c - see names.h.
 */
#include "names.h"

#include <string.h>

#include "base/scatter.h"

/* A longer text is cut. */
#define NAME_MOST 255

static uint32_t
names_most(enum sqt_def kind)
{
    return kind == SQT_DEF_METHOD ? 64 : kind == SQT_DEF_TAG ? 256 : 65536;
}

uint64_t
sqt_log_hash(const char *text, size_t length)
{
    uint64_t hash = length, word;
    for (; length >= sizeof(word); length -= sizeof(word), text += sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, length);
    hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 29;
    hash *= UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 32;
}

uint32_t
sqt_log_name(struct sqt_log_names *names, enum sqt_def kind, const char *text, size_t length)
{
    if (!length)
        return UINT32_MAX;
    length = length < NAME_MOST ? length : NAME_MOST;
    const uint64_t hash = sqt_scattered_text(text, length);
    const void *const known = sqt_idmap_get(&names->numbers[kind], hash);
    if (known)
        return (uint32_t)((uintptr_t)known - 1);
    const uint32_t most = names_most(kind);
    const uint32_t number = names->counts[kind] < most ? names->counts[kind]++ : most;
    const int own = number < most;
    sqt_dictionary_define(&names->dictionary, kind, number, own ? text : "OTHER", own ? length : strlen("OTHER"));
    if (own)
        sqt_idmap_put(&names->numbers[kind], hash, (void *)((uintptr_t)number + 1));
    return number;
}

void
sqt_log_names_free(struct sqt_log_names *names)
{
    for (unsigned kind = 0; kind < SQT_DEF_KINDS; ++kind)
        sqt_idmap_free(&names->numbers[kind]);
    sqt_dictionary_free(&names->dictionary);
}
