/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * object.h - the objects of the origin: all that there is to know of one is in the path of its URL.
 *
 *     /size=4096;wait=250/any-name
 *
 * The first 16 bytes of a body are the hash of the path in hexadecimal digits.  The rest is a stretch of a fixed
 * sequence of bytes that begins where the hash says and goes round.
 */
#ifndef SQT_LOAD_OBJECT_H
#define SQT_LOAD_OBJECT_H

#include <stddef.h>
#include <stdint.h>

enum sqt_object_word {
#define OBJECT_WORD(name, preset, doc) SQT_OBJECT_##name,
#include "object.def"
    SQT_OBJECT_WORDS
};

struct sqt_object_word_info {
    const char *name, *doc;
    int64_t preset;
};
extern const struct sqt_object_word_info sqt_object_words[SQT_OBJECT_WORDS];

struct sqt_object {
    int64_t words[SQT_OBJECT_WORDS];
    uint64_t hash;
};

/* What a path of length bytes says.  Returns 0, or -1 if it is none of an origin's. */
int sqt_object_parse(struct sqt_object *object, const char *path, size_t length);

/* Most that sqt_object_body() gives at once; all of a body from an offset of 16 on, if it is not longer. */
#define SQT_OBJECT_PIECE 65521

/* The bytes of a body from an offset on: sets *bytes to them, which stay as they are until the next call, and returns
 * how many there are, at most `most`. */
size_t sqt_object_body(const struct sqt_object *object, uint64_t offset, size_t most, const char **bytes);

/* Whether these are the bytes of the body from an offset on.  What lies behind its end is not. */
int sqt_object_matches(const struct sqt_object *object, uint64_t offset, const void *bytes, size_t length);

#endif
