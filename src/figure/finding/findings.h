/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings.h - the rules of table `findings`, and what their texts are made of.
 */
#ifndef SQT_FINDINGS_H
#define SQT_FINDINGS_H

#include <stddef.h>

#include "row/facts.h"

/* In place of healthy, in a trace from outside and in a log alone: these do not show all that can be wrong. */
#define SQT_FINDING_NONE_SEEN "none_seen"
/* Fewer requests say nothing. */
#define SQT_FINDING_LEAST 10
/* A cause that takes less of the time of all requests, in %, is not told. */
#define SQT_FINDING_SHARE 20
/* Where there are such causes, one that takes as much of what these leave is told, too, if that is at least so many % of
 * the time of all requests. */
#define SQT_FINDING_BEHIND 5
/* A server is slow if its median wait is that many times that of the others. */
#define SQT_FINDING_TIMES 3

/* A worker is too busy from that share of the time on, in %, and if another one is that many times less busy. */
#define SQT_FINDING_BUSY 30
#define SQT_FINDING_UNEVEN 4
/* What a dropped connection is taken to cost: TCP tries again after a second. */
#define SQT_FINDING_DROP_NS INT64_C(1000000000)

/* Whose time a rule claims. */
enum sqt_finding_by {
    SQT_FINDING_ALL,
    SQT_FINDING_SERVER,
    SQT_FINDING_PLACE,
    SQT_FINDING_REASON,   /* of a miss */
    SQT_FINDING_LEADER,   /* the server that the leader of a follower asks */
    SQT_FINDING_POOL,     /* a delay pool */
    SQT_FINDING_FAILED,   /* the server of a try after which another followed */
    SQT_FINDING_NEIGHBOR, /* that answered last whether it has the object */
    SQT_FINDING_LISTENER,
    SQT_FINDING_WORKER,
    /* in the order of enum sqt_named_stage */
    SQT_FINDING_HELPER,
    SQT_FINDING_REWRITER,
    SQT_FINDING_ADAPTER,
    SQT_FINDING_NAME_SERVER,
    SQT_FINDING_BYS
};

enum sqt_finding_when {
#define SQT_FINDING_WHEN(NAME, doc) SQT_FINDING_##NAME,
#include "findings.def"
    SQT_FINDING_WHENS
};
extern const char *const sqt_finding_whens[SQT_FINDING_WHENS]; /* in words, with {each} */

enum sqt_finding_number {
#define SQT_FINDING(cause, ...) SQT_FINDING_NUMBER_##cause,
#include "findings.def"
    SQT_FINDINGS
};

/* A rule: see findings.def. */
struct sqt_finding_rule {
    const char *cause;
    enum sqt_finding_by by;
    enum sqt_finding_when when;
    uint64_t stages;
    int64_t mean, each; /* ns */
    const char *part, *sentence, *advice, *command;
};
extern const struct sqt_finding_rule sqt_finding_rules[SQT_FINDINGS];

/* What stands for the words in braces of a rule's texts.  Durations in ns. */
struct sqt_finding_values {
    const char *culprit; /* NULL: "-" */
    const char *stage;   /* in which leaders were longest while their followers waited */
    uint32_t dir;
    double share, reads; /* in % */
    int64_t each, mean, wait, others, connect;
    uint64_t syns, late;
    int64_t kid, other_kid;               /* of a worker, and of the least busy one */
    double busy, other_busy;              /* how much of the time their event loops work, in % */
    uint64_t drops, backlog, descriptors; /* of a listening port: what was dropped, and its limits */
};

/* Writes the text with its values, cut where it does not fit.  Returns buffer. */
char *sqt_finding_text(char *buffer, size_t size, const char *text, const struct sqt_finding_values *values);

/* For those who make the table again and again: frees a job's state without telling anything. */
struct sqt_job;
void sqt_findings_drop(struct sqt_job *job);

/* A job that begins later than another one takes over what must be known of the time before. */
void sqt_findings_inherit(struct sqt_job *job, const struct sqt_job *from);

#endif
