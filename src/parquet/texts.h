/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * texts.h - the different texts of a column, numbered in the order in which they come.
 *
 * Zeroed at first; one thread.  A hash with a secret of this process keeps a trace from choosing texts that collide.
 */
#ifndef SQT_PARQUET_TEXTS_H
#define SQT_PARQUET_TEXTS_H

#include "bytes.h"

/* Texts, and bytes of them, after which sqt_texts_full() says that there should be no more. */
#define SQT_TEXTS_MOST 32768
#define SQT_TEXTS_BYTES ((size_t)1 << 20)

struct sqt_text_entry {
    uint64_t hash;
    size_t raw;   /* offset of the text as it came, with its NUL */
    size_t plain; /* offset of its length, behind which it stands */
};

struct sqt_texts {
    struct sqt_text_entry *entries;
    unsigned count, room;
    uint32_t *slots; /* 1 + the number of an entry; 0: free */
    unsigned slot_count;
    struct sqt_bytes raw;
    struct sqt_bytes plain; /* all texts as Parquet has them, and as cells of TSV: a length of 4 bytes, and the text */
    unsigned last;          /* the text that came last */
    unsigned least, most;   /* of all, by their bytes */
};

/* The number of a text, which need not live on.  Below 65,536 if the caller heeds sqt_texts_full(). */
unsigned sqt_texts_number(struct sqt_texts *texts, const char *text);

static inline int
sqt_texts_full(const struct sqt_texts *texts)
{
    return texts->count >= SQT_TEXTS_MOST || texts->plain.used >= SQT_TEXTS_BYTES;
}

/* A text as it stands in `plain`. */
const uint8_t *sqt_texts_plain(const struct sqt_texts *texts, unsigned number, size_t *size);

/* Bytes of memory. */
size_t sqt_texts_size(const struct sqt_texts *texts);

/* Forgets all texts. */
void sqt_texts_free(struct sqt_texts *texts);

#endif
