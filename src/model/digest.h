/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * digest.h - activities of cache digests and their results, by number and name.
 */
#ifndef SQT_DIGEST_H
#define SQT_DIGEST_H

enum sqt_digest_activity {
#define SQT_DIGEST(NAME, name, doc) SQT_DIGEST_##NAME,
#include "digests.def"
    SQT_DIGEST_ACTIVITIES
};

enum sqt_digest_result {
#define SQT_DIGEST_RESULT(NAME, name, doc) SQT_DIGEST_RESULT_##NAME,
#include "digests.def"
    SQT_DIGEST_RESULTS
};

struct sqt_digest_word {
    const char *name;
    const char *doc;
};
extern const struct sqt_digest_word sqt_digest_activities[SQT_DIGEST_ACTIVITIES];
extern const struct sqt_digest_word sqt_digest_results[SQT_DIGEST_RESULTS];

#endif
