/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * object.c - see object.h.
 */
#include "object.h"

#include <string.h>

#include "random.h"

const struct sqt_object_word_info sqt_object_words[SQT_OBJECT_WORDS] = {
#define OBJECT_WORD(name, preset, doc) {#name, doc, preset},
#include "object.def"
};

#define HEAD 16

/* The sequence twice, so that a piece that goes round is in one place. */
static char sequence[2 * SQT_OBJECT_PIECE];

static void
make_sequence(void)
{
    if (sequence[0])
        return;
    struct sqt_random random = sqt_random_of(0, 0);
    for (size_t i = 0; i < SQT_OBJECT_PIECE; ++i)
        sequence[i] = sequence[SQT_OBJECT_PIECE + i] = (char)(sqt_random_bits(&random) | 128);
}

/* ---- paths ---- */

static uint64_t
hash_of(const char *path, size_t length)
{
    uint64_t hash = length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, path, 8);
        hash = sqt_mix(hash ^ word);
        path += 8;
        length -= 8;
    }
    uint64_t rest = 0;
    memcpy(&rest, path, length);
    return sqt_mix(hash ^ rest);
}

/* One "name=number" of length bytes. */
static int
take_word(struct sqt_object *object, const char *text, size_t length)
{
    for (unsigned i = 0; i < SQT_OBJECT_WORDS; ++i) {
        const size_t name = strlen(sqt_object_words[i].name);
        if (length <= name + 1 || length > name + 14 || memcmp(text, sqt_object_words[i].name, name) != 0 ||
            text[name] != '=')
            continue;
        int64_t value = 0;
        for (size_t at = name + 1; at < length; ++at) {
            if (text[at] < '0' || text[at] > '9')
                return -1;
            value = value * 10 + (text[at] - '0');
        }
        object->words[i] = value;
        return 0;
    }
    return -1;
}

int
sqt_object_parse(struct sqt_object *object, const char *path, size_t length)
{
    if (length < 8 || memcmp(path, "/size=", 6) != 0)
        return -1;
    const char *const end = memchr(path + 1, '/', length - 1);
    if (!end)
        return -1;
    for (unsigned i = 0; i < SQT_OBJECT_WORDS; ++i)
        object->words[i] = sqt_object_words[i].preset;
    for (const char *word = path + 1; word < end;) {
        const char *semicolon = memchr(word, ';', (size_t)(end - word));
        if (!semicolon)
            semicolon = end;
        if (take_word(object, word, (size_t)(semicolon - word)) != 0)
            return -1;
        word = semicolon + 1;
    }
    object->hash = hash_of(path, length);
    return 0;
}

/* ---- bodies ---- */

size_t
sqt_object_body(const struct sqt_object *object, uint64_t offset, size_t most, const char **bytes)
{
    static char head[HEAD];
    const uint64_t size = (uint64_t)object->words[SQT_OBJECT_size];
    const uint64_t left = offset < size ? size - offset : 0;
    size_t length = most < left ? most : (size_t)left;
    make_sequence();
    if (offset < HEAD) {
        for (unsigned i = 0; i < HEAD; ++i)
            head[i] = "0123456789abcdef"[object->hash >> 4 * (HEAD - 1 - i) & 15];
        *bytes = head + offset;
        return length < HEAD - offset ? length : (size_t)(HEAD - offset);
    }
    *bytes = sequence + (object->hash % SQT_OBJECT_PIECE + offset) % SQT_OBJECT_PIECE;
    return length < SQT_OBJECT_PIECE ? length : SQT_OBJECT_PIECE;
}

int
sqt_object_matches(const struct sqt_object *object, uint64_t offset, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length) {
        const char *wanted;
        const size_t piece = sqt_object_body(object, offset, length, &wanted);
        if (!piece || memcmp(at, wanted, piece) != 0)
            return 0;
        at += piece;
        offset += piece;
        length -= piece;
    }
    return 1;
}
