/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * load.h - what the files of sqtrace-load share.
 *
 *   sqtrace-load.c   main: the origin, a child of its own, and the run
 *   options.c        the command line
 *   place.c          addresses of proxy and servers
 *   tls.c            contexts for both ends
 *   origin.c         the origin server
 *   run.c            phases: who sends the next request, and when
 *   due.c            times of the requests of a rate
 *   client.c         connections: a request out, its response in
 *   urls.c ...       workloads: what the next request is
 *   stats.c          counts and latencies by phase
 *   print.c          the results
 */
#ifndef SQT_LOAD_H
#define SQT_LOAD_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <openssl/ssl.h>

#include "base/distribution.h"
#include "base/whole.h"
#include "object/head.h"
#include "object/object.h"
#include "object/random.h"
#include "../program/options.h"
#include "../program/voice.h"

#define LOAD_SECOND INT64_C(1000000000)
#define LOAD_NEVER (INT64_MAX / 2) /* ns: later than anything, and can be added to a time of a clock */
#define LOAD_PATH_MAX 128

enum load_status { LOAD_DONE = 0, LOAD_FAILED = 1, LOAD_USAGE = 2, LOAD_INVALID = 3 };

enum load_option {
#define LOAD_OPTION(id, name, letter, kind, value, preset, least, doc) LOAD_##id,
#include "options.def"
    LOAD_OPTIONS
};
extern const struct option_info load_option_infos[LOAD_OPTIONS];

enum load_error {
#define LOAD_ERROR(id, words, doc) LOAD_ERROR_##id,
#include "errors.def"
    LOAD_ERRORS,
    LOAD_FINE = LOAD_ERRORS
};
struct load_error_info {
    const char *name, *words, *doc;
};
extern const struct load_error_info load_errors[LOAD_ERRORS];

struct load;

/* ---- where requests go ---- */

struct place {
    char *authority; /* HOST:PORT, as in URLs */
    struct sockaddr_storage address;
    socklen_t length;
    int tls;
};

struct places {
    struct place *place;
    size_t count;
};

/* "[http://|https://]HOST:PORT[,...]"; a host is looked up here, once.  Returns 0, or -1 with a line in error. */
int places_take(struct places *places, const char *text, char *error, size_t error_size);
/* One of them; length bytes of text. */
int places_take_one(struct places *places, const char *text, size_t length, char *error, size_t error_size);
void places_free(struct places *places);

/* ---- requests ---- */

enum request_kind { REQUEST_PLAIN, REQUEST_SINCE_SAME, REQUEST_SINCE_OLDER, REQUEST_RELOAD };

struct request {
    const struct place *place;
    char made[LOAD_PATH_MAX]; /* a path that was made for it */
    const char *path;
    enum request_kind kind;
    unsigned phase, client;
    int64_t due; /* when it should be sent; when it was given to its client, in a closed loop */
};

/* ---- workloads ---- */

/* A time from the start of a phase; LOAD_NEVER at most. */
static inline int64_t
load_ns(double ns)
{
    const int64_t whole = sqt_whole(ns);
    return whole < LOAD_NEVER ? whole : LOAD_NEVER;
}

/* With a rate, requests are due at times that change evenly from one rate to the other; else each client sends its
 * next request when the last one ended. */
struct phase {
    const char *name;
    double rate, end_rate; /* a second */
    int64_t duration;      /* ns; 0: no limit */
    uint64_t requests;     /* of each client, in all if there is a rate; 0: no limit */
    uint64_t miss_bytes;   /* ends when so much was no hit; 0: no limit */
    int scheduled;         /* each request says itself when it is due, in ns from the start of the phase */
};
#define LOAD_PHASES 16

static inline int
phase_is_open(const struct phase *phase)
{
    return phase->rate > 0 || phase->end_rate > 0 || phase->scheduled;
}

/* ns from the start of a phase with a rate until its request number `index`, from 0, is due; with a fraction, until that
 * part of the time to the next one is over, too. */
int64_t phase_due_time(const struct phase *phase, double index);
/* How many are due within so many ns of the start. */
uint64_t phase_due_count(const struct phase *phase, int64_t ns);

struct workload {
    const char *name, *doc;
    /* Fills in load->phases.  Returns 0, or -1 with a line in error. */
    int (*plan)(struct load *load, char *error, size_t error_size);
    /* The next request of a client in the phase that is on.  Returns 0 if there is none. */
    int (*next)(struct load *load, struct request *request);
    void (*end)(struct load *load);
};
enum load_workload {
#define LOAD_WORKLOAD(name, doc) WORKLOAD_##name,
#include "workloads.def"
    WORKLOADS
};
extern const struct workload load_workloads[WORKLOADS];
#define LOAD_WORKLOAD(name, doc) \
    int name##_plan(struct load *, char *, size_t); \
    int name##_next(struct load *, struct request *); \
    void name##_end(struct load *);
#include "workloads.def"

/* ---- results ---- */

enum load_class { LOAD_ALL, LOAD_HIT, LOAD_MISS, LOAD_CLASSES };
extern const char *const load_class_names[LOAD_CLASSES];

/* Of responses that came whole and right; in ns. */
struct class_stats {
    uint64_t bytes;                            /* of bodies */
    struct sqt_distribution total, first_byte; /* from when the request was due */
};

struct phase_stats {
    int64_t begin, end; /* when the phase was on; ns of CLOCK_MONOTONIC */
    uint64_t due, sent; /* requests that should have been, and were, sent */
    uint64_t late;      /* of them, later than --late after their time */
    uint64_t retries;
    uint64_t heads;      /* responses whose head came, */
    uint64_t hits, told; /* those of them that say hit, and that say anything */
    uint64_t body_bytes; /* of bodies, also of those that were broken off */
    uint64_t verified;   /* bodies that were compared */
    uint64_t errors[LOAD_ERRORS];
    int64_t lag; /* ns that a request was sent after its time at most */
    struct class_stats classes[LOAD_CLASSES];
};

/* What became of a request. */
struct outcome {
    const struct request *request;
    int64_t sent, first, end; /* 0: it did not come to that */
    unsigned status;          /* 0: no head came */
    enum sqt_cache_status cache;
    uint64_t bytes; /* of the body */
    unsigned retries;
    int verified;
    enum load_error error;
};
void stats_take(struct load *load, const struct outcome *outcome);
void stats_free(struct load *load);
/* Requests that were not sent on time or not at all; whether that are too many, or our own origin has ended. */
uint64_t stats_unsent(const struct phase_stats *stats);
int stats_invalid(const struct load *load);
/* Whether there were responses, and each had a bad status. */
int stats_all_refused(const struct load *load);
uint64_t stats_errors(const struct phase_stats *stats);

/* ---- the origin ---- */

/* Shared with the child that is the origin. */
struct origin_counts {
    uint64_t requests, bytes, aborts, errors, refused;
};

struct origin;
/* Listens at each place of load->listen, and fills in the ports. */
struct origin *origin_open(struct load *load, char *error, size_t error_size);
void origin_run(struct origin *origin);
void origin_free(struct origin *origin);

/* ---- all ---- */

/* Bytes of header fields of the command line, and of a body that is sent. */
#define LOAD_FIELDS_MOST 8192
#define LOAD_POST_MOST (16 << 20)

/* Bytes of a line of a file of requests. */
#define LOAD_LINE_MOST (256 << 10)

struct load {
    const char *given[LOAD_OPTIONS]; /* what the command line says */
    const char *value[LOAD_OPTIONS]; /* the same, with presets */
    int64_t number[LOAD_OPTIONS];    /* of those that are numbers, times, sizes */
    double real[LOAD_OPTIONS];
    const char **words;
    size_t word_count;
    const char **fields; /* header fields that each request has */
    size_t field_count;
    const struct workload *workload;
    struct places listen, servers, proxy;
    unsigned minor; /* of HTTP/1.x */
    int keep;       /* connections last for several requests */

    SSL_CTX *client_tls, *server_tls; /* made when they are needed */
    pid_t origin_pid;                 /* its process; 0: none; -1: it has ended */
    struct origin_counts *counts;     /* NULL: the origin is none of ours */

    struct phase phases[LOAD_PHASES];
    unsigned phase_count, phase; /* phase: the one that is on */
    struct phase_stats stats[LOAD_PHASES];
    struct sqt_distributions distributions;
    void *state; /* of the workload */

    FILE *rows;
    int64_t start; /* of the first phase; ns of CLOCK_MONOTONIC */
    int rows_failed;
    struct program_voice voice;
    int connected, broken; /* a connection came about; the run was given up, since none does any more */
    char first_error[160]; /* the first error of a connection in words */
};

/* The program was asked to end. */
extern volatile sig_atomic_t load_stop;

int load_parse(struct load *load, int argc, char **argv, char *error, size_t error_size);
void load_help(FILE *to);

/* What it says on the standard error: see voice.h. */
#define load_fail(load, ...) program_fail(&(load)->voice, __VA_ARGS__)
#define load_say(load, ...) program_say(&(load)->voice, __VA_ARGS__)
#define load_progress(load, ...) program_progress(&(load)->voice, __VA_ARGS__)

/* Reads a line without its newline; line has LOAD_LINE_MOST + 1 bytes.  Returns its length, or -1 at the end, after an error
 * and if the line is longer: then *too_long is 1. */
ssize_t load_line(FILE *from, char *line, int *too_long);

int64_t load_now(void); /* ns of CLOCK_MONOTONIC */
struct event_base *load_base(void);

/* Whether our own origin has ended, which it does for want of memory after it has said so. */
int load_lost_origin(struct load *load);

/* Has OpenSSL end the program for want of memory.  Call it before anything else of OpenSSL. */
void tls_memory(void);

/* Makes the context that is needed for one end.  Returns 0, or -1 with a line in error. */
int tls_client(struct load *load, char *error, size_t error_size);
int tls_server(struct load *load, char *error, size_t error_size);
/* For a connection with a place, whose certificate must be for its host if --ca is given. */
SSL *tls_to(const struct load *load, const struct place *place);

/* All phases.  Returns 0, or -1 after a line on the standard error. */
int run_all(struct load *load);

/* The results: text or TSV on the standard output, TSV in a file.  Returns 0, or -1 after a line on the standard
 * error. */
int print_results(struct load *load);

/* ---- clients ---- */

struct clients;
struct client;

/* Called when a client is free again. */
struct clients *clients_new(struct load *load, struct event_base *base, void (*freed)(void *context, unsigned client),
                            void *context);
void clients_free(struct clients *clients);
/* Sends it; clients_busy() tells how many are on their way. */
void clients_send(struct clients *clients, const struct request *request);
unsigned clients_busy(const struct clients *clients);
/* Ends those that are on their way, which count as timed out. */
void clients_give_up(struct clients *clients);

#endif
