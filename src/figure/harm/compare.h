/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compare.h - requests compared with those that are alike, between the files of that look.
 *
 *     compare.c         requests -> what is kept of them; which names are told
 *     compare-scores.c  what requests of a name took beyond others, and what chance gives
 *     compare-told.c    a name -> a finding
 */
#ifndef SQT_COMPARE_H
#define SQT_COMPARE_H

#include "blame.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* Kinds of requests that are told apart, and names of a kind. */
#define STRATA 512
#define NAMES 1024
/* Fewer requests say nothing: of a name, and of others that are alike. */
#define LEAST_REQUESTS 10

/* What makes requests alike.  A level is asked where the one before has nobody to tell: a server that closes each connection,
 * or has small objects only, has no requests like those of others at first. */
enum compare_level {
    LIKE_ALL,    /* class, method, octave of size, new or kept server connection */
    LIKE_SIZE,   /* any server connection */
    LIKE_METHOD, /* method, and the class of those that ask no server */
    COMPARE_LEVELS
};

/* HOST and the next two are of the line of a request in access.log.  Each name of a note is a kind of its own, from NOTE
 * on. */
enum compare_kind {
    SERVER,
    LISTENER,
    WORKER,
    PLACE,
    REASON,
    ASKED,
    HOST,
    CLIENT,
    USER,
    NOTE,
    KINDS = NOTE + SQT_NOTES
};

/* What a request's time goes to, as a person would say it. */
#define PARTS(X) \
    X(DNS, SQT_NS(dns), "look-ups of its name") \
    X(CONNECT, SQT_NS(connect) | SQT_NS(tls), "connecting") \
    X(WAIT, SQT_NS(request_send) | SQT_NS(server_wait), "waiting for its first byte") \
    X(BODY, SQT_NS(server_reply), "the bodies of its replies") \
    X(UPLOAD, SQT_NS(client_body), \
      "request bodies that clients send late, as if they waited for a 100 Continue that does not come") \
    X(TRIES, SQT_NS(failed_tries) | SQT_NS(peer_select), "tries that fail, and choosing a server") \
    X(ACCESS, SQT_NS(access) | SQT_NS(helper) | SQT_NS(redirect), "access checks and helpers") \
    X(ADAPT, SQT_NS(adapt), "adaptation") \
    X(DISK, SQT_SWAP_IN, "reading from cache_dirs") \
    X(REPLY, SQT_NS(reply_wait) | SQT_NS(proxy_reply) | SQT_NS(held_back), "writing replies to clients") \
    X(ACCEPT, SQT_NS(accept_wait) | SQT_NS(client_tls), "what comes before the request") \
    X(LOG_DNS, SQT_NS(log_dns), "look-ups of names (%dt)") \
    X(LOG_PEER, SQT_NS(log_peer), "the server's answer (%<pt)") \
    X(LOG_ADAPT, SQT_NS(log_adapt), "adaptation") \
    X(LOG_SERVER, SQT_NS(log_server), "forwarding it (%<tt)")
enum compare_part {
#define PART(NAME, stages, words) PART_##NAME,
    PARTS(PART)
#undef PART
        PART_COUNT
};
/* Those from there on are the times of a log, which overlap: they count for requests only of which there is no trace. */
#define PART_OF_LOG PART_LOG_DNS
struct compared {
    uint32_t second;
    uint16_t strata[COMPARE_LEVELS];
    uint16_t names[KINDS]; /* 0: none */
    float felt, size;      /* ns, bytes */
    float parts[PART_COUNT];
};

struct numbered {
    struct sqt_name_entry named;
    uint16_t number;
};

struct compare {
    struct sqt_names names[KINDS], strata[COMPARE_LEVELS];
    const char *texts[KINDS][NAMES + 2];
    char notes[SQT_NOTES][SQT_NOTE_NAME + 1]; /* names, in the order in which they came */
    struct compared *kept;
    size_t room; /* of kept */
    size_t count;
    uint64_t seen, stride;
    int of_log;     /* there are no stages */
    unsigned first; /* kind that is asked for; NOTE: a finding says the rest */
    struct sqt_blames blames;
};

/* Of requests with a name, of one stratum or all. */
struct sums {
    double felt, count;
};

/* What is known of a kind's names, stratum by stratum. */
struct scores {
    struct sums of[NAMES + 2], strata[STRATA + 2];
    struct sums *cells; /* [name][stratum] */
    size_t strata_count, names_count;
    enum compare_level level;
};

struct culprit {
    enum compare_kind kind;
    enum compare_level level;
    size_t name;
    double excess, requests, mean, others; /* of the requests that have others which are alike */
};

/* compare-scores.c: of that kind; shuffled: in place of the names of the requests; NULL: their own. */
void sqt_scores_fill(struct scores *scores, const struct compared *kept, size_t count, enum compare_kind kind,
                     const uint16_t *shuffled);

/* The largest excess of a name, in ns, which name it is, and its requests that could be compared; 0: none. */
double sqt_scores_largest(const struct scores *scores, size_t *name, struct sums *compared);

/* The largest excess after names changed places among requests that are alike: what chance alone gives. */
double sqt_compare_chance(struct compare *compare, enum compare_kind kind, struct scores *scores);

/* compare-told.c: whether its requests can be held against the others. */
int sqt_culprit_is_fair(const struct compare *compare, const struct culprit *culprit);

/* Adds the finding, unless somebody else says the same already. */
void sqt_culprit_tell(const struct compare *compare, const struct culprit *culprit,
                      const struct sqt_look_totals *totals, struct sqt_tolds *tolds);

#endif
