/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * footer.h - the metadata behind the row groups of a file that file.h wrote, and files made of the row groups of others.
 *
 * Row groups are copied as they are, so cells cannot change.  Only files of the same columns can be put together.
 */
#ifndef SQT_PARQUET_FOOTER_H
#define SQT_PARQUET_FOOTER_H

#include "bytes.h"

/* A part of the metadata. */
struct sqt_footer_span {
    const uint8_t *at;
    size_t size;
    uint64_t count; /* elements of a list, without its header */
};

/* Zeroed at first; one thread. */
struct sqt_footer {
    uint8_t *data;
    uint64_t groups_end; /* offset in the file: so far row groups go, behind 4 bytes of magic */
    uint64_t rows;
    struct sqt_footer_span schema, groups, notes, orders;
};

/* Reads the metadata of an open file.  Returns 0, or -1 with a text in *why that says what was expected, or what failed; a
 * constant, or one of strerror().  Call sqt_footer_free() in either case. */
int sqt_footer_read(struct sqt_footer *footer, int fd, const char **why);

/* The text of a note, copied for the caller to free; NULL if there is none. */
char *sqt_footer_note(const struct sqt_footer *footer, const char *key);

/* The least and the largest number of a column of numbers, by the statistics of row groups; rows where it is missing do not
 * count.  Returns 0, or -1 if no row has one or statistics are missing. */
int sqt_footer_range(const struct sqt_footer *footer, const char *column, int64_t *least, int64_t *most);

/* Whether two files have the same columns. */
int sqt_footer_same_columns(const struct sqt_footer *one, const struct sqt_footer *other);

/* Appends the row groups' metadata, for row groups that were copied `shift` bytes further on.  Returns 0, or -1 if an offset
 * is not one of a row group. */
int sqt_footer_put_groups(const struct sqt_footer *footer, int64_t shift, struct sqt_bytes *to);

/* Appends all that stands behind the row groups of a new file.  like: a footer of the same columns, whose notes are taken;
 * groups: metadata of group_count row groups; key, text: a note instead of those of that key. */
void sqt_footer_put(const struct sqt_footer *like, const struct sqt_bytes *groups, uint64_t group_count, uint64_t rows,
                    const char *key, const char *text, struct sqt_bytes *to);

void sqt_footer_free(struct sqt_footer *footer);

#endif
