/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * names.h - methods, result codes and servers of a log as definitions, as those of a trace.
 */
#ifndef SQT_LOG_NAMES_H
#define SQT_LOG_NAMES_H

#include "base/idmap.h"
#include "read/file/dictionary.h"

struct sqt_log_names {
    struct sqt_dictionary dictionary;
    struct sqt_idmap numbers[SQT_DEF_KINDS]; /* hash of a text -> its definition, and 1 */
    uint32_t counts[SQT_DEF_KINDS];
};

/* A hash of bytes that is the same in each process. */
uint64_t sqt_log_hash(const char *text, size_t length);

/* The number of a text: SQT_DEF_METHOD, SQT_DEF_TAG or SQT_DEF_SERVER; UINT32_MAX of an empty one.  The first 64, 256 and
 * 65,536 have numbers of their own, all others are OTHER. */
uint32_t sqt_log_name(struct sqt_log_names *names, enum sqt_def kind, const char *text, size_t length);

void sqt_log_names_free(struct sqt_log_names *names);

#endif
