/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * standstill.h - times in which nobody was served, and whom they met: between the files of the look `standstill`.
 *
 *     standstill.c       passes of the event loop, and stops of the process
 *     restart.c          the time between a shutdown and a start, and processes that died
 *     standing.c         which requests each of them met
 *     standing-work.c    what Squid was busy with meanwhile, and why it ended
 *     standstill-told.c  findings
 */
#ifndef SQT_STANDSTILL_H
#define SQT_STANDSTILL_H

#include "figure/loop/holders.h"
#include "figure/stat/names.h"
#include "figure/finding/look.h"

enum sqt_standing_kind {
    SQT_STANDING_PASS,
    SQT_STANDING_STOPPED,
    SQT_STANDING_RECONFIGURE,
    SQT_STANDING_ROTATE,
    SQT_STANDING_RESTART,
    SQT_STANDING_DIED,
    SQT_STANDING_KINDS
};

/* A long list that Squid read for an ACL. */
struct sqt_standing_list {
    char acl[SQT_TOLD_NAME]; /* "": none, or the trace does not name it */
    const struct sqt_origin *origin;
    int64_t at, took; /* took: ns */
    uint64_t values;
};

/* Why a kid ended itself, and children of its helpers that died before. */
struct sqt_standing_ending {
    char why[SQT_TOLD_NAME]; /* Squid's own words; "": it did not, or not known */
    char helper[SQT_TOLD_NAME];
    int64_t at;
    unsigned died; /* children of that helper */
};

/* All standstills of one kind and name. */
struct sqt_standing_group {
    struct sqt_name_entry named; /* the kind's number, a space, and what held Squid */
    enum sqt_standing_kind kind;
    unsigned count;
    int64_t ns, longest, since, until;
    int sampled;                   /* of passes: samples in them say what held Squid, and it has that name */
    int64_t queued;                /* of passes: ns of them in which it waited for a processor */
    int64_t shutdown;              /* of a restart: ns for which it was shut down before it ended */
    uint64_t clients;              /* of a restart: requests and tunnels that it waited for */
    uint64_t requests, waited_ns;  /* that they met: ns of their clients in them */
    double missed;                 /* requests that would have come while no port was open, at the rate before */
    uint64_t failures;             /* requests that a process that died left open */
    int gone;                      /* nobody is served from then on */
    int early;                     /* a process died so shortly before the end that it may be started again yet */
    unsigned again;                /* of processes that died: how many were started again */
    double rate;                   /* of that: requests a second before */
    struct sqt_standing_list list; /* the longest that was read meanwhile */
    uint64_t entries;              /* of a rotation: the most that it wrote to swap.state; 0: not told */
    struct {
        unsigned count;
        int64_t ns;
        char name[SQT_TOLD_NAME]; /* of the helper; "": of several, or not known */
    } children; /* of helpers that it started, at most; ns: from the first to the last, of all standstills */
    struct sqt_standing_ending ending;
};

/* A standstill that requests may still turn out to have met. */
struct sqt_standing {
    struct sqt_standing_group *group; /* NULL: none */
    const struct sqt_origin *origin;
    int64_t since, until;
};

/* A request that is over. */
struct sqt_stood {
    const struct sqt_origin *origin;
    int64_t from, begin, until; /* its client came, or its bytes were seen; it begins, it ends */
    int kept;                   /* on a kept connection */
};

#define SQT_STANDINGS 64
#define SQT_STOOD 4096
#define SQT_STANDING_KIDS 256

/* A kid that runs.  Its origin may be gone, and is only compared. */
struct sqt_standing_kid {
    const struct sqt_origin *origin; /* NULL: it does not run */
    int known;                       /* something of it was read */
    int untraced;                    /* it went on when its trace ended, and perhaps still runs */
    uint32_t kind;                   /* enum sqt_kid_kind */
    int64_t seen;                    /* the last time that it showed life */
    struct sqt_standing_ending ending;
    uint64_t left_open; /* requests of it that have no end */
};

/* Whether any kid serves clients. */
enum sqt_serving { SQT_SERVING, SQT_SERVING_STOPPED, SQT_SERVING_STARTED /* and no client has come */ };

struct sqt_standstill {
    struct sqt_names groups; /* of struct sqt_standing_group */
    struct sqt_standing standings[SQT_STANDINGS];
    uint64_t standing_count;
    struct sqt_stood stood[SQT_STOOD];
    uint64_t stood_count;
    int64_t latest; /* the end of the last standstill */

    /* standstill.c */
    const struct sqt_origin *setup; /* which was reconfigured or rotated last */
    enum sqt_event setup_event;
    int64_t setup_at;
    struct sqt_standing stop;                       /* of the process, as far as it is known; origin NULL: none */
    char stop_name[32];                             /* which process that is; "": the only one */
    struct sqt_holders holders;                     /* of the event loop, by samples; with a size of 0: none yet */
    struct sqt_holders *in_pass[SQT_STANDING_KIDS]; /* the same of the pass that a kid is in; NULL: no samples */
    uint64_t objects;                               /* on disk, by the last sample */
    struct sqt_standing_list list;                  /* the longest of the last start or reconfiguration */
    struct {
        const struct sqt_origin *origin;
        int64_t at;
        uint64_t entries;
    } written; /* swap.state, last */
    struct {
        const struct sqt_origin *origin;
        int64_t since, until;
        unsigned count;
        char name[SQT_TOLD_NAME];
    } children;                        /* that were started one after the other, last */
    struct sqt_standing_ending ending; /* of who ended last */
    const struct sqt_origin *ended;    /* who that is; only compared */
    uint64_t ended_open;               /* requests of it that have no end */

    /* restart.c */
    struct sqt_standing_kid kids[SQT_STANDING_KIDS];
    int64_t listened; /* the last time that a port was sampled, 0: never */
    int64_t last;     /* the last time that a client came, 0: never */
    enum sqt_serving serving;
    int64_t closed, stopped, started; /* no port is open since then; nobody runs; somebody does again */
};

/* standing.c: the standstill is over.  Counts the requests that are over and that it met, and remembers it for those that
 * are not. */
struct sqt_standing_group *sqt_standing_add(struct sqt_standstill *s, enum sqt_standing_kind kind, const char *name,
                                            const struct sqt_origin *origin, int64_t since, int64_t until);
void sqt_standing_request(struct sqt_standstill *s, const struct sqt_xact *xact);

/* Requests that began in each second of the ten before that time. */
double sqt_standing_rate(const struct sqt_standstill *s, int64_t at);

/* Requests that had begun by one time, and were not over before another one. */
uint64_t sqt_standing_open(const struct sqt_standstill *s, int64_t begun, int64_t until);

/* standing-work.c: keeps what happened. */
void sqt_standing_incident(struct sqt_standstill *s, const struct sqt_incident_row *row);
/* The standstill took in what Squid read or wrote from `since` to `until`. */
void sqt_standing_worked(const struct sqt_standstill *s, struct sqt_standing_group *group,
                         const struct sqt_origin *origin, int64_t since, int64_t until);

/* restart.c */
/* The trace has ended: a kid that ended itself was not started again. */
void sqt_restart_finish(struct sqt_standstill *s, int64_t end);
void sqt_restart_setup(struct sqt_standstill *s, const struct sqt_setup_row *row);
void sqt_restart_sample(struct sqt_standstill *s, const struct sqt_sample_row *sample);
void sqt_restart_client(struct sqt_standstill *s, const struct sqt_origin *origin, int64_t at);
void sqt_restart_life(struct sqt_standstill *s, const struct sqt_origin *origin, int64_t at);
void sqt_restart_left_open(struct sqt_standstill *s, const struct sqt_xact *xact);

/* standstill-told.c */
void sqt_standstill_tell(struct sqt_standstill *s, struct sqt_tolds *tolds);

#endif
