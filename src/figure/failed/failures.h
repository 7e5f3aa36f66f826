/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures.h - requests that failed, by what they failed at: between failures.c, which counts them, and failures-told.c.
 */
#ifndef SQT_FAILURES_H
#define SQT_FAILURES_H

#include "figure/stat/names.h"
#include "figure/finding/look.h"
#include "figure/why/errors.h"
#include "figure/why/limit.h"

/* A neighbour that Squid takes for dead, and to which it cannot connect. */
struct sqt_failed_peer {
    char name[64];  /* "": free */
    unsigned error; /* the last one */
    int lives;      /* the last try succeeded */
    int64_t at;     /* when Squid tried last */
};
#define SQT_FAILED_PEERS 16

/* Bytes of the name of a method. */
#define SQT_FAILED_METHOD 16

/* Workers with a higher number are not told apart. */
#define SQT_FAILED_WORKERS 256

/* Replies are counted by their bytes, from 1 KB on: 16 steps to each octave, 20 octaves. */
#define SQT_FAILED_SIZES 320

/* What requests have in common with the first of them. */
struct sqt_failed_apart {
    char method[SQT_FAILED_METHOD]; /* "": not known */
    int worker;                     /* -1: not known */
    uint64_t of_method, of_worker;
    uint32_t sizes[SQT_FAILED_SIZES]; /* by the bytes that came from servers */
};

/* How often Squid stopped to use a service. */
struct sqt_failed_suspensions {
    unsigned count;
    int64_t since, ns; /* since: now; 0: it uses it */
};

/* Statuses with which servers may refuse requests alike. */
#define SQT_FAILED_ODD 5

/* In the order of the rows of failures-told.c. */
enum sqt_failed_at {
    SQT_FAILED_SERVICE,
    SQT_FAILED_CONNECT,
    SQT_FAILED_TLS,
    SQT_FAILED_LOOK_UP,
    SQT_FAILED_HELPER,
    SQT_FAILED_ANSWER,
    SQT_FAILED_PEER, /* of which one or several are dead */
    SQT_FAILED_NO_SERVER,
    SQT_FAILED_BY_SERVER,  /* which itself answered with an error */
    SQT_FAILED_CUT,        /* the server closed the connection before the end of the body */
    SQT_FAILED_DENIED,     /* by access rules */
    SQT_FAILED_TIMED_OUT,  /* by a time-out of Squid, in the middle of the reply: of the client, or of the server */
    SQT_FAILED_NO_ADDRESS, /* of the server that it names */
    SQT_FAILED_ADAPTED,    /* an adaptation service answered in place of a server */
    SQT_FAILED_REDIRECTED, /* to somewhere else, by Squid itself */
    SQT_FAILED_BY_SQUID,   /* with a status of 4xx, for what the client sent */
    SQT_FAILED_HANDSHAKE,  /* of the client with Squid */
    SQT_FAILED_NO_REQUEST, /* bytes came to that port, but no whole request */
    SQT_FAILED_KEPT,       /* with an error that the cache keeps */
    SQT_FAILED_REFUSED,    /* by the server, with 4xx, one after the other */
    SQT_FAILED_ONE_METHOD, /* the same, of one method, whose name is behind the server's */
    SQT_FAILED_HALF,       /* an adaptation service ended in the middle of its answer */
    SQT_FAILED_TUNNEL,     /* a time-out closed the tunnel soon after it was opened */
    SQT_FAILED_CUT_HIT,    /* the file in a cache_dir ended before the object did */
    SQT_FAILED_REPLY,      /* the server answered, and rules on replies denied that */
    SQT_FAILED_OWN_NAME,   /* of a host in squid.conf, which Squid looked up for itself */
    SQT_FAILED_ATS
};

/* Requests that failed at one of them. */
struct sqt_failure {
    struct sqt_name_entry named; /* its number, a space, and the name of whom they failed at, if it is known */
    enum sqt_failed_at at;
    uint32_t series;
    uint64_t made, kept; /* new connections to a server, and uses of kept ones, of up to a minute before the first */
    int64_t made_since;
    uint64_t count, felt;        /* felt: ns that their clients waited */
    uint64_t timed_out, at_once; /* of them, where there was no answer in time, and where it failed at once */
    uint64_t before;             /* requests before the first of them, of all */
    int64_t reconfigured;        /* when Squid was last reconfigured before the first; 0: never */
    uint64_t data;               /* of them, where a connection failed that is not the server's own: data of FTP */
    uint64_t fetched;            /* bytes that came for them */
    struct {
        uint64_t count;
        double sum, squares;       /* s */
    } late;                        /* of them, where Squid gave up waiting, and after how long */
    uint64_t kept_failure;         /* of them, that asked nobody, because Squid keeps that a name cannot be looked up */
    int64_t sent_least, sent_most; /* bytes that the client with fewest got, and the one with most */
    uint64_t with_status;          /* of them, with the status of the first */
    uint32_t status;
    uint64_t reused;         /* of them, on persistent connections that were reused */
    int64_t first, last;     /* when the first of them began, and the last */
    uint64_t kept_answers;   /* between the two, the server's answers on such connections; known when all is told */
    uint64_t whys[SQT_WHYS]; /* of them, by the system's error */
    struct sqt_failed_suspensions suspended;
    uint64_t broken;      /* of them, where a helper said that it is broken */
    uint64_t mute;        /* of handshakes that clients did not end: in these they sent no byte for long */
    uint64_t left;        /* the same: in these clients closed the connection */
    uint64_t hello;       /* the same: in these they sent something, as far as that is known */
    uint64_t coming;      /* of those that were no whole request: bytes came to the end */
    uint64_t turned_away; /* the same: Squid closed the connection as soon as it had read them */
    struct sqt_failed_run {
        uint64_t count;
        int64_t since, until;
        uint32_t status;
        uint64_t after;           /* other answers before it */
        uint64_t odd;             /* of them, with a status that is no ordinary answer */
    } run, longest;               /* answers of a server in a row that are 4xx: the last, and the longest */
    uint64_t answered;            /* other answers of that server */
    uint64_t replies;             /* of a server: all its answers but those with 5xx */
    uint64_t odd[SQT_FAILED_ODD]; /* the same: those with each status of failures-refused.c */
    int peer;                     /* of a server: it is a cache_peer */
    struct {
        char method[SQT_FAILED_METHOD]; /* "": none */
        uint64_t count, most;           /* of 5xx in a row: the last ones, and the longest row of any method */
        uint64_t well, others; /* good answers to other methods since the last row, or the longest one, began */
    } errors;                  /* answers of that server to one method */
    uint64_t writing;          /* ns of them, in which Squid wrote the reply to the client */
    uint64_t connected;        /* connections to it since the first of them, or since others' failed at once */
    uint64_t well;             /* of a server: other requests that asked it, up to the last of them */
    struct sqt_failed_apart apart;
    uint64_t between; /* of them, before which it was asked in another request since the one before */
    uint64_t asked;   /* of all requests, those that asked that server last, or tried to */
};

/* Series of sums by time: all requests, those whose connections failed at once, those whose replies were cut, those whose
 * connections failed, those that got no answer, those that servers refused, and each failure's from there on. */
enum {
    SQT_FAILURES_ALL = 1,
    SQT_FAILURES_AT_ONCE,
    SQT_FAILURES_CUT,
    SQT_FAILURES_CONNECT,
    SQT_FAILURES_ANSWER,
    SQT_FAILURES_ODD,
    SQT_FAILURES_SERIES
};

struct sqt_failed_requests {
    struct sqt_names names; /* of struct sqt_failure */
    struct sqt_when when;
    struct sqt_when kept;       /* answers on reused connections, by the series of SQT_FAILED_REFUSED */
    struct sqt_failure at_once; /* all together whose connections failed at once */
    struct sqt_failure cut;     /* all together whose replies were cut */
    struct sqt_failed_peer dead[SQT_FAILED_PEERS];
    struct sqt_names peers; /* that were connected to, or tried */
    int direct;             /* whether a server was, directly */
    int64_t reconfigured;   /* when Squid was reconfigured last; 0: never */
    struct sqt_limit spans;
    unsigned limit;                       /* how many are under way when others are denied; 0: it is not for that */
    struct sqt_names methods;             /* of all requests: how many have each */
    uint64_t workers[SQT_FAILED_WORKERS]; /* the same */
    uint32_t sizes[SQT_FAILED_SIZES];     /* of requests that do not fail, as sqt_failed_apart has it */
    char rewriter[SQT_TOLD_NAME];         /* who was asked last whether a URL is rewritten; "": nobody */
    uint64_t requests;
};

struct sqt_blame;

/* failures-other.c: a server answered a request; error: with a 5xx. */
void sqt_failure_answered(struct sqt_failed_requests *all, const struct sqt_xact *xact, int error);

/* Requests that fail at that, and at whom; name may be NULL. */
struct sqt_failure *sqt_failure_get(struct sqt_failed_requests *all, enum sqt_failed_at at, const char *name);

/* Whether the server of that name is a cache_peer. */
int sqt_failed_is_peer(struct sqt_failed_requests *all, const char *name);

/* The name of the server that it asked last; NULL: none. */
const char *sqt_failure_server(const struct sqt_xact *xact);

/* failures-other.c: a request whose status is no 5xx; NULL: it does not fail. */
struct sqt_failure *sqt_failure_other(struct sqt_failed_requests *all, const struct sqt_xact *xact,
                                      const struct sqt_request_fact *fact, const struct sqt_blame *blame);

/* failures-more.c: what clients that are denied get: "403", or "302, to another URL, by deny_info". */
#define SQT_FAILED_WITH 64
void sqt_failed_denied_with(const struct sqt_failure *failure, char text[SQT_FAILED_WITH]);

/* failures-more.c: what most of them failed for; UNKNOWN: nothing stands out, or it is not known. */
enum sqt_why sqt_failed_mostly(const struct sqt_failure *failure);
/* Which neighbours are dead, and the rest of a sentence that says so. */
void sqt_failed_dead(const struct sqt_failed_requests *all, char names[SQT_TOLD_NAME], char because[SQT_TOLD_TEXT]);
/* Squid gave up waiting for one of them after so many ns. */
void sqt_failed_late(struct sqt_failure *failure, int64_t ns);
/* Whether Squid gave up waiting after about the same time whenever it did. */
int sqt_failed_is_alike(const struct sqt_failure *failure);
/* Adds after how long Squid gives up, and which time-out that is. */
void sqt_failed_timeout(const struct sqt_failure *failure, struct sqt_told *told);
/* Adds that Squid keeps the failure of a look-up. */
void sqt_failed_kept(const struct sqt_failure *failure, struct sqt_told *told);
/* Adds why a service failed that was not asked. */
void sqt_failed_unasked(const struct sqt_failure *failure, struct sqt_told *told);
/* Adds after how many bytes replies were cut. */
void sqt_failed_cut(const struct sqt_failure *failure, struct sqt_told *told);
/* Adds, there and to what is told of slow clients, that replies were cut while Squid wrote to clients. */
void sqt_failed_writing(const struct sqt_failure *failure, struct sqt_told *told, struct sqt_tolds *tolds);
/* How many servers cut replies, if no single one does it: 0 if one has more than half of them. */
unsigned sqt_failed_cutters(const struct sqt_failed_requests *all);
/* Adds how often Squid did not use the service, and for how long. */
void sqt_failed_suspended(const struct sqt_failure *failure, int64_t end, struct sqt_told *told);

/* failures-apart.c: one more request, of all, of those that failed, and of those that did not. */
void sqt_failed_apart_all(struct sqt_failed_requests *all, const struct sqt_xact *xact);
void sqt_failed_apart_add(struct sqt_failure *failure, const struct sqt_xact *xact);
void sqt_failed_apart_well(struct sqt_failed_requests *all, const struct sqt_xact *xact);
/* The only worker in which they are, though others have requests, too; -1: there is none. */
int sqt_failed_worker(const struct sqt_failed_requests *all, const struct sqt_failure *failure);
/* Adds what sets them apart. */
void sqt_failed_apart_tell(const struct sqt_failed_requests *all, const struct sqt_failure *failure,
                           struct sqt_told *told);

/* Servers that are named of several. */
#define SQT_FAILED_NAMED 4
/* How many servers fail alike, of which none has more than half of the failures; 0: they do not.  at: SQT_FAILED_CONNECT, or
 * SQT_FAILED_ANSWER: those on whose kept connections nothing came.  sum: of all of them; names: of some. */
unsigned sqt_failed_several(const struct sqt_failed_requests *all, enum sqt_failed_at at, struct sqt_failure *sum,
                            char names[SQT_TOLD_NAME]);
/* Whether it is one of those that may be several. */
int sqt_failed_is_one_of_several(const struct sqt_failure *failure, enum sqt_failed_at at);
/* How many answers came on reused connections to each server while others failed.  Once, before what follows is asked. */
void sqt_failed_count_kept(struct sqt_failed_requests *all);
/* Whether nothing came on kept connections on which requests were sent, until a time-out, and hardly an answer meanwhile. */
int sqt_failed_is_dead_kept(const struct sqt_failure *failure);

/* failures-refused.c: adds a finding if servers refuse a good part of their requests alike.  Returns the status, or 0. */
uint32_t sqt_failed_refused_alike(struct sqt_failed_requests *all, struct sqt_tolds *tolds);
/* A server answered.  Its status counts if it is 403, or one that no server that is well gives to many, and if it is no
 * cache_peer, which hands on what others answer. */
void sqt_failed_odd(struct sqt_failed_requests *all, struct sqt_failure *server, const struct sqt_xact *xact);

/* failures-told.c: adds a finding for each that matters.  end: of the trace. */
void sqt_failures_tell(struct sqt_failed_requests *failed, int64_t end, struct sqt_tolds *tolds);

#endif
