/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * told.h - findings that are told, however they were found: ranked by the harm that people suffered.
 *
 * Each file that looks for harm of one kind (findings-rules.c, failures.c, standstill.c ...) fills in a struct sqt_told
 * and hands it over.  The weight that ranks them is the client-seconds beyond what alike requests take, and
 * SQT_FAILURE_NS for each failure.  A resource that is about to end has no weight: it never outranks what people feel.
 */
#ifndef SQT_TOLD_H
#define SQT_TOLD_H

#include <stdint.h>

#include "base/whole.h"
#include "pass/family.h"

/* What a request that failed, or a connection that was refused, counts beside requests that wait. */
#define SQT_FAILURE_NS INT64_C(5000000000)

/* The longest sentence with the longest name of a culprit. */
#define SQT_TOLD_TEXT 1024
#define SQT_TOLD_NAME 256
/* Findings of a trace: those with least weight go. */
#define SQT_TOLD_MOST 64

/* What people suffered.  Names in sqt_harm_names. */
enum sqt_harm { SQT_HARM_WAITING, SQT_HARM_FAILURE, SQT_HARM_STANDSTILL, SQT_HARM_WASTE, SQT_HARM_RESOURCE, SQT_HARMS };
extern const char *const sqt_harm_names[SQT_HARMS];

/* When they did.  Names in sqt_pattern_names. */
enum sqt_pattern {
    SQT_PATTERN_THROUGHOUT,
    SQT_PATTERN_ONCE,
    SQT_PATTERN_RECURRING,
    SQT_PATTERN_SINCE, /* from then on, to the end */
    SQT_PATTERN_GROWING,
    SQT_PATTERNS
};
extern const char *const sqt_pattern_names[SQT_PATTERNS];

struct sqt_told {
    const char *cause;           /* a word, static */
    char culprit[SQT_TOLD_NAME]; /* "": nobody in particular */
    enum sqt_harm harm;
    enum sqt_pattern pattern;
    int64_t since, until; /* ns of the trace */
    int64_t share;        /* of the time of all requests, in thousandths of a percent; SQT_CELL_MISSING: not known */
    int64_t p50, p99;     /* costs in ns; SQT_CELL_MISSING: not known */
    uint64_t requests;    /* that it met */
    uint64_t failures;    /* of them, or connections refused or dropped */
    uint64_t waiting;     /* client-ns beyond what alike requests take */
    uint64_t weight;      /* ns, for the rank: 0 for a resource that nobody feels yet, and for healthy */
    unsigned order;       /* among those of the same weight */
    uint32_t account;     /* of ledger.h: says in which minutes it was; 0: that of its culprit, or of all requests */
    int now;              /* it lasts, and people wait for it: it goes before all that is over */
    int not_by_way;       /* most of it is not on the way to its server, nor at it: a name's look-up, a client's body */
    int apart;            /* it is about requests that no other finding of its culprit is about */
    char sentence[SQT_TOLD_TEXT], advice[SQT_TOLD_TEXT], command[SQT_TOLD_TEXT];
};

struct sqt_tolds {
    struct sqt_told *told[SQT_TOLD_MOST];
    unsigned count;
    char meant[SQT_TOLD_TEXT]; /* what looks like harm and is meant: a sentence, with a space before it, or "" */
};

/* A new finding, zeroed, with nothing known of its share and costs.  It belongs to the list; the pointer is valid until
 * the next call.  NULL: the list is full of findings of more weight. */
struct sqt_told *sqt_tolds_add(struct sqt_tolds *tolds, const char *cause, enum sqt_harm harm, uint64_t weight);

/* Gives a finding of the list all that the other one has but cause, harm, weight and order. */
void sqt_told_fill(struct sqt_told *told, const struct sqt_told *from);

/* The first finding of that cause that names that culprit, with so many ns of waiting or more; NULL as cause or culprit:
 * whichever.  NULL: there is none. */
struct sqt_told *sqt_tolds_find(const struct sqt_tolds *tolds, const char *cause, const char *culprit,
                                uint64_t waiting);

/* A finding about waiting of that culprit, with more than so many ns of it; NULL: there is none. */
struct sqt_told *sqt_tolds_larger(struct sqt_tolds *tolds, const char *culprit, uint64_t waiting);

/* A duration as a finding keeps it: ns, not below 0, and cut at what fits. */
static inline uint64_t
sqt_told_ns(double ns)
{
    return ns < 0 ? 0 : (uint64_t)sqt_whole(ns);
}

/* Whether the name stands in the text as words of its own; "" does not. */
int sqt_told_names(const char *text, const char *name);

/* Prints a text into one of its three texts: as printf. */
__attribute__((format(printf, 2, 3))) void sqt_told_print(char text[SQT_TOLD_TEXT], const char *format, ...);

/* The largest weight; 0: the list is empty. */
uint64_t sqt_tolds_most(const struct sqt_tolds *tolds);

/* Since when, until when and how often, as a sentence begins: "From 10 s to 20 s", "3 s long, again and again, ...". */
const char *sqt_told_when(char *text, size_t size, const struct sqt_told *told);

/* The finding says better what others say that are about waiting: those of the same culprit with at most twice its
 * waiting go, and those without a culprit and with about as much.  It must be of the list. */
void sqt_tolds_supersede(struct sqt_tolds *tolds, const struct sqt_told *better);

/* Findings of that cause and culprit go. */
void sqt_tolds_drop(struct sqt_tolds *tolds, const char *cause, const char *culprit);

/* Findings of that cause go whose waiting is at most a quarter more. */
void sqt_tolds_spare(struct sqt_tolds *tolds, const char *cause, uint64_t waiting);

/* Drops the findings of these causes, up to NULL, of whose waiting a finding with so many ns explains that many percent. */
void sqt_instead(struct sqt_tolds *tolds, const char *const *causes, uint64_t ns, unsigned percent);

/* The usual share: most of it. */
#define SQT_INSTEAD 75

/* What people waited for while nobody was served is part of the standstill: findings about the event loop and about accepts
 * that lie within the time of one go, and it weighs as much as the largest of them. */
void sqt_tolds_in_standstills(struct sqt_tolds *tolds);

/* Windows are cut where the part of the trace ends that is asked for, but those of what lasts. */
void sqt_tolds_cut(struct sqt_tolds *tolds, int64_t begin, int64_t end);

/* Those that last go on instead of others of the same culprit, as by sqt_tolds_supersede(). */
void sqt_tolds_now(struct sqt_tolds *tolds);

/* Those that last first, then most weight first. */
void sqt_tolds_sort(struct sqt_tolds *tolds);

/* Findings about waiting go of which at least half must be in those before them that have a culprit, because there are
 * only so many ns of waiting.  one_worker, which may claim what others do, stays.  After sqt_tolds_sort(). */
void sqt_tolds_spend(struct sqt_tolds *tolds, uint64_t ns);

/* Hands out the rows. */
void sqt_tolds_rows(const struct sqt_tolds *tolds, struct sqt_job *job);

void sqt_tolds_free(struct sqt_tolds *tolds);

#endif
