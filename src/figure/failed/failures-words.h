/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-words.h - what is said of requests that failed: sentences and advice.  Whether they matter is known before.
 */
#ifndef SQT_FAILURES_WORDS_H
#define SQT_FAILURES_WORDS_H

#include "failures.h"

/* Fewer are no finding. */
#define SQT_FAILED_LEAST 5

/* Of each kind of failure.  because: in the words after that word; slow: the same after a time-out; nobody: who it is, if it has
 * no name. */
struct sqt_failed_words {
    const char *cause, *because, *slow, *nobody, *advice, *command;
};
extern const struct sqt_failed_words sqt_failed_words[SQT_FAILED_ATS];

/* NULL: of nobody in particular, as of those that share the name "other", and of several together. */
const char *sqt_failed_name(const struct sqt_failure *failure);
/* Whether their clients want no server asked. */
int sqt_failed_is_only_cached(const struct sqt_failure *failure);
/* Whether no local port may be free for connections to it. */
int sqt_failed_may_lack_ports(const struct sqt_failure *failure);

/* The end of a sentence: what became of these requests, and why. */
void sqt_failed_because(const struct sqt_failure *failure, char *text, size_t size);
const char *sqt_failed_advice(const struct sqt_failure *failure);
extern const char sqt_failed_dead_kept_advice[];
/* Which directive of squid.conf is behind a status that Squid gives by itself. */
void sqt_failed_by_squid(const struct sqt_failure *failure, struct sqt_told *told);
/* What such a status of a server asks of Squid. */
const char *sqt_failed_refused_advice(uint32_t status);

#endif
