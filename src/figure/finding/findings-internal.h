/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-internal.h - what table `findings` keeps of a trace, between its files.
 *
 *     findings.c        requests -> claims of each rule
 *     findings-rules.c  claims -> findings
 *     findings-rows.c   findings -> rows
 *     findings-more.c   what a sentence says beyond its rule: since when, which part, whether all servers
 *     findings-text.c   the rules, and their texts
 */
#ifndef SQT_FINDINGS_INTERNAL_H
#define SQT_FINDINGS_INTERNAL_H

#include "figure/loop/holders.h"
#include "figure/port/ports.h"
#include "figure/stat/mix.h"
#include "figure/stat/names.h"
#include "figure/stat/sparse.h"
#include "findings.h"
#include "figure/stat/ledger.h"
#include "look.h"
#include "pass/family.h"

/* No more causes than that can take a share of SQT_FINDING_SHARE each. */
#define SQT_FINDING_MOST (100 / SQT_FINDING_SHARE)

/* Objects that are known to have been asked for: a new one takes the place of another one with the same rest. */
#define SQT_FINDING_ASKED 65536

/* Rotations and reconfigurations that are remembered. */
#define SQT_FINDING_SETUPS 64

/* The series of all requests, with what their clients waited. */
#define SQT_SERIES_ALL 1

struct sqt_claim {
    uint64_t ns, count; /* count: requests with these stages */
    uint64_t tunnels;   /* of the requests that it counts for */
    uint32_t series;    /* of sqt_findings.when; 0: none yet */
    uint32_t account;   /* of sqt_findings.ledger; 0: none yet */
    struct sqt_distribution totals, rests;
};

/* A host's name of more letters is cut. */
#define SQT_FINDING_HOST 128

/* Whose time is claimed.  Its claims, of the rules that are about such subjects, stand behind it: sqt_finding_claim_of(). */
struct sqt_subject {
    struct sqt_name_entry named;
    uint32_t dir;                 /* of a cache_dir */
    uint64_t blocks;              /* that its requests waited for */
    uint64_t parts[SQT_IO_PARTS]; /* of their time, or of waits for it, ns */
    uint64_t opens_ns;            /* of opening files, of a cache_dir */
    uint64_t answered_ns;         /* of tries that failed, and had an answer */
    struct sqt_distribution waits, connects;
    struct {
        double send, wait, body; /* ns of its requests while a server is asked */
        double bytes;            /* that came from it, of those with a body */
        double ending;           /* ns after the last byte of a body, until Squid knew that it was the last */
        int64_t quickest;        /* to connect to, ns; 0: never */
    } answer;
    uint64_t followed[SQT_FOLLOW_STAGES]; /* ns of leaders while the followers waited */
    uint64_t kept_ns;                     /* of tries that failed on kept connections */
    uint64_t again_ns;                    /* of reads of objects that were asked for before */
    uint64_t put_off;          /* ns of waits for accepts that Squid put off; of a listening port, as the next */
    uint64_t syns;             /* connections that took as long as a SYN that is sent again */
    uint64_t late[2], between; /* first bytes and replies as late as a packet that is sent again; half as late */
    uint64_t connections, drops, backlog, descriptors;
    int64_t kid;                 /* of a worker, as the next */
    double busy;                 /* how much of the time its event loop works, in % */
    char host[SQT_FINDING_HOST]; /* in URLs of a server's requests; "": no log says it */
    int hosts;                   /* 2: there are several */
    uint32_t series;             /* of its requests in sqt_findings.when; 0: none yet */
    uint32_t account;            /* of them in sqt_findings.ledger; 0: none yet */
};

struct sqt_finding {
    const struct sqt_finding_rule *rule;
    struct sqt_subject *subject;
    struct sqt_claim *claim;
};

/* Workers with a higher number are not compared. */
#define SQT_FINDING_KIDS 256

struct sqt_findings {
    struct {
        uint64_t work, all; /* ns of its passes */
    } loops[SQT_FINDING_KIDS];
    struct sqt_distributions set;
    struct sqt_holders holders;                  /* of the event loop */
    unsigned char stage_of[SQT_CELLS(requests)]; /* of a column, and 1; 0: it has none */
    struct sqt_names names[SQT_FINDING_BYS], ports;
    struct sqt_subject all, *name_server;        /* name_server: the last that a request waited for; NULL: none */
    struct sqt_claim of_all[SQT_FINDINGS];       /* the claims of `all` */
    const struct sqt_origin *name_server_origin; /* and in which process; only compared */
    struct sqt_distribution totals;
    uint64_t total_ns;
    uint64_t plain[SQT_FINDINGS];      /* of it, in the stages of rules BY ALL, also while the event loop was held */
    uint64_t slow_ns;                  /* of it, beyond what the bytes of the replies need at SQT_FINDING_RATE */
    struct sqt_sparse asked;           /* SQT_FINDING_ASKED numbers of objects that were asked for, by their hashes */
    struct sqt_connecting *connecting; /* requests that connect; several proxies may share one */
    unsigned first[SQT_FINDINGS];      /* the first rule of the same subjects and stages */
    unsigned claim[SQT_FINDINGS];      /* where a subject has the claim of that rule */
    unsigned claims[SQT_FINDING_BYS];  /* how many claims a subject of that kind has */
    unsigned firsts[SQT_FINDINGS];     /* rules that are the first of theirs, but connect_server */
    unsigned first_count;
    uint64_t stages; /* columns of all rules */
    struct sqt_finding found[SQT_FINDING_MOST];
    unsigned count;
    struct sqt_finding episodes[SQT_FINDING_MOST]; /* of which an episode is told */
    unsigned episode_count;
    uint64_t tolds_most; /* the largest weight of what was told before episodes */
    struct sqt_tolds tolds;
    struct {
        int64_t at[SQT_FINDING_SETUPS];
        enum sqt_event event[SQT_FINDING_SETUPS];
        unsigned count;
    } setups;                    /* rotations and reconfigurations, the first ones */
    struct sqt_when when;        /* series: SQT_SERIES_ALL, a subject's, and a claim's own */
    uint32_t series;             /* the last one that was given */
    struct sqt_ledger *ledger;   /* where and when requests were; NULL: nobody asks */
    struct sqt_look_totals felt; /* of all requests that count, tunnels and open ones, too */
    void **looking;              /* the state of each look of sqt_looks */
    struct {
        uint64_t requests, tunnels, untimed; /* untimed: without a duration */
    } logged;                                /* that only a log knows */
    const struct sqt_origin *met;            /* the process of the last request; only compared */
    int attached;                            /* some of it was traced from outside */
};

/* The claim's share of all time, in %. */
double sqt_finding_share(const struct sqt_findings *findings, const struct sqt_claim *claim);

/* The waits for servers of all requests but those of the subject. */
struct sqt_mix sqt_finding_others(struct sqt_findings *findings, struct sqt_subject *subject);

/* The median wait of the subject's requests for servers. */
int64_t sqt_finding_wait(struct sqt_subject *subject);

/* The median time to connect of the subject's requests; 0 if none connects. */
int64_t sqt_finding_connect(struct sqt_subject *subject);

/* The name of the stage in which leaders were longest. */
const char *sqt_finding_stage(const struct sqt_subject *subject);

/* The part that most of the time of the subject's blocks goes to; -1 if they took none. */
int sqt_finding_part(const struct sqt_subject *subject);

/* A claim of so many ns on a request that took that long. */
void sqt_finding_claim(struct sqt_findings *findings, struct sqt_claim *claim, int64_t ns, int64_t total);

/* The same in the window of that time.  ns: without what a reply takes at SQT_FINDING_RATE. */
void sqt_finding_claim_at(struct sqt_findings *findings, struct sqt_claim *claim, int64_t ns, int64_t begin);

/* The claim of that rule on the subject's time. */
struct sqt_claim *sqt_finding_claim_of(struct sqt_findings *findings, struct sqt_subject *subject, unsigned rule);

/* findings-subjects.c: for whom the time of a request counts; NULL: for nobody of that kind. */
void sqt_findings_subjects(struct sqt_findings *findings, const struct sqt_xact *xact, const union sqt_cell *row,
                           struct sqt_subject *subjects[SQT_FINDING_BYS]);
struct sqt_subject *sqt_findings_worker(struct sqt_findings *findings, const struct sqt_identity *identity);

/* findings-connects.c: keeps what a request waits for while it connects, until it ends; then claims it.  Who makes findings of
 * several proxies frees them and what they share together. */
struct sqt_connecting *sqt_connecting_new(void);
void sqt_connecting_forget(struct sqt_connecting *all, const struct sqt_findings *findings);
void sqt_findings_connection(struct sqt_findings *findings, const struct sqt_attempt *attempt);
/* total: of the request; below 0: it does not count. */
void sqt_findings_connected(struct sqt_findings *findings, const struct sqt_xact *xact, int64_t total);

/* What a listening port's connections before they existed are taken to have cost. */
uint64_t sqt_finding_dropped(const struct sqt_subject *subject);

/* The worker whose event loop works least; NULL: there is no other one than that. */
const struct sqt_subject *sqt_finding_idle(const struct sqt_findings *findings, const struct sqt_subject *worker);

/* Whether a finding has claimed some of these stages already: of the same subject, of all, or now of all. */
int sqt_finding_is_told(const struct sqt_findings *findings, const struct sqt_finding_rule *rule,
                        const struct sqt_subject *subject);

/* Whether the rule is about that part of the subject's time to which most of it goes: its queue, its service ...; 1 for rules
 * that are about no part.  It is all that the condition of a rule says of an episode. */
int sqt_finding_in_part(struct sqt_findings *findings, const struct sqt_finding *finding);

/* What the words in braces stand for. */
struct sqt_finding_values sqt_findings_values(struct sqt_findings *findings, const struct sqt_finding *finding);

/* The rule's advice; of an origin that is a number, also how to learn its name. */
void sqt_findings_advice(char text[SQT_TOLD_TEXT], const struct sqt_finding *finding, const char *culprit);

/* findings-more.c: sets since, until and pattern of a finding whose culprit is set, and adds to its sentence.  Returns
 * ROTATE or RECONFIGURE if it begins with one each time, else SQT_EV_NONE_. */
enum sqt_event sqt_findings_more(struct sqt_findings *findings, const struct sqt_finding *finding,
                                 struct sqt_told *told);

/* findings-episodes.c: tells what is bad for some time only. */
void sqt_findings_episodes(struct sqt_findings *findings);

/* Finds what the rules tell, most time first. */
void sqt_findings_find(struct sqt_findings *findings);

/* owners.c: servers of which a rule tells the same are told together, if they are most of those that are asked. */
void sqt_findings_together(struct sqt_findings *findings);
/* Adds to a finding about connecting to servers how many connections lost their first packet. */
void sqt_findings_add_syns(const struct sqt_findings *findings, const struct sqt_finding *finding,
                           struct sqt_told *told);
/* A finding without a culprit gets whose wait it is. */
void sqt_findings_own(struct sqt_tolds *tolds);

/* Tells what was found, or that nothing was, into sqt_findings.tolds. */
void sqt_findings_tell(struct sqt_job *job);

/* findings.c: the same at the end of the job's trace, once all requests have been counted. */
void sqt_findings_conclude(struct sqt_job *job);

/* findings-logged.c: of requests that only a log knows.  Whether it is a tunnel, or asks for one. */
int sqt_logged_tunnel(const struct sqt_request_fact *fact);
/* Tells that nothing stands out, and what a log cannot say. */
void sqt_findings_logged(struct sqt_findings *findings);

#endif
