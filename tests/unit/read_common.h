/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_common.h - reads a trace whole and keeps what a test asks about.
 */
#ifndef READ_COMMON_H
#define READ_COMMON_H

#include "../../src/read/stream.h"
#include "make_trace.h"

struct read_result {
    int opened;
    size_t count, room; /* records, those made by the reader included */
    struct sqt_record *records;
    int64_t *ns;
    uint64_t *number; /* UINT64_MAX for those made by the reader */
    uint32_t *kid;
    size_t runs;
    int went_back; /* a time was less than the one before it */
    int split;     /* a run began within a unit */
    uint64_t start_ns;
    unsigned problems;
    char *messages; /* "N ", "W " or "E " and a line each, without the directory of the test's files */
    size_t messages_size;
    struct sqt_stream *stream;       /* open until read_free */
    const struct sqt_origin *origin; /* of the last run */
};

/* A new empty directory; removed with all that is in it by read_directory_remove. */
const char *read_directory(void);
void read_directory_remove(void);
/* Name of a file in it; of the directory, if name is empty.  Valid until 16 more were asked for. */
const char *read_path(const char *name);

/* Lent to each stream that is read whole; NULL at first. */
extern struct sqt_crew *read_crew;

/* Reads the paths, a NULL ends them.  Frees what the result held before. */
void read_all(struct read_result *result, const char *path, ...) __attribute__((sentinel));
/* The same, only these kids. */
void read_kid(struct read_result *result, uint32_t kid, const char *path);
void read_free(struct read_result *result);

/* Cmocka checks. */
/* The records are exactly these, numbered from first, and nothing was made by the reader. */
void read_expect_records(const struct read_result *result, const struct sqt_record *records, size_t count,
                         uint64_t first);
/* The result's i-th record was made by the reader. */
void read_expect_lost(const struct read_result *result, size_t i, unsigned reason, uint64_t count);
/* The messages are exactly this text. */
#define read_expect_messages(result, text) assert_string_equal((result)->messages ? (result)->messages : "", text)

/* n records of one event each, a microsecond apart, ids from 1; none is part of a unit. */
void read_simple(struct sqt_record *records, size_t n);

#endif
