/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model.h - records of a trace put together again: transactions, swaps, blocks, connections, losses.
 *
 * One pass: each thing is handed out when it ends, in the order of the ends, and forgotten.  Memory is bounded by
 * what is in flight, and by SQT_MODEL_BYTES: when that is spent, the oldest thing of a kind is closed as lost before
 * another one begins.  Time is linear in the number of records.  Times are nanoseconds since the start of the stream.
 */
#ifndef SQT_MODEL_H
#define SQT_MODEL_H

#include "../read/window.h"
#include "digest.h"
#include "pool.h"
#include "spans.h"

/* Bytes of all that is open at a time, of all origins together: more than 100,000 transactions with their clients. */
#define SQT_MODEL_BYTES ((size_t)152 << 20)

/* A time, duration or count that is not known. */
#define SQT_MISSING INT64_MIN

enum sqt_outcome {
    SQT_OUTCOME_COMPLETE,
    SQT_OUTCOME_ABORTED,
    SQT_OUTCOME_TIMEOUT,
    SQT_OUTCOME_ERROR,
    SQT_OUTCOME_LOST,       /* records of it are missing */
    SQT_OUTCOME_CLOCK,      /* a clock stepped while it was open: how long it took is not known */
    SQT_OUTCOME_UNFINISHED, /* the trace ended first */
    SQT_OUTCOMES
};
extern const char *const sqt_outcome_names[SQT_OUTCOMES];

/* Whether nobody knows how long something with that outcome took.  Tables print - for each of its durations. */
static inline int
sqt_durations_unknown(enum sqt_outcome outcome)
{
    return outcome == SQT_OUTCOME_LOST || outcome == SQT_OUTCOME_CLOCK;
}

/* What a block's time goes to. */
enum sqt_io_part { SQT_IO_QUEUE, SQT_IO_SERVICE, SQT_IO_NOTICE, SQT_IO_PARTS };

/* Stages that a try to forward a request goes through. */
#define SQT_TRY_STAGES 6
/* Stages in which a transaction waits for somebody who has a name, besides servers. */
enum sqt_named_stage { SQT_NAMED_HELPER, SQT_NAMED_REDIRECT, SQT_NAMED_ADAPT, SQT_NAMED_DNS, SQT_NAMED_STAGES };

/* The longest of several waits. */
struct sqt_longest_wait {
    enum sqt_def def; /* SQT_DEF_WAITED or SQT_DEF_SERVICE; 0: none */
    uint32_t who;     /* definition */
    int64_t ns;
    int64_t queue; /* of ns; SQT_MISSING: not known */
};

/* Microseconds in which the event loop was held, by the stage that was charged meanwhile. */
struct sqt_held {
    struct sqt_pooled pooled;
    uint32_t us[SQT_STAGES + 1];
};

/* Where the client's span stands: what its field traceparent says.  The texts are lower-case hexadecimal digits. */
struct sqt_context {
    struct sqt_pooled pooled;
    uint64_t trace_high, trace_low; /* not both are 0 */
    uint64_t parent;                /* not 0 */
    uint32_t flags;                 /* 1: sampled */
    char trace_text[33], parent_text[17];

    /* for the model: with trace_context=forward, the try that is under way */
    int forwarded;     /* Squid sends spans of its own on */
    uint32_t number;   /* of the try; 0: none is */
    uint64_t conn;     /* of the try, a server connection */
    int64_t try_begin; /* when it was dispatched */
};

/* Neighbours that are kept of those that answered a transaction. */
#define SQT_HEARD 6

/* Room for the names and values of all notes as JSON: the marks of a name and value, and escapes in them. */
#define SQT_NOTES_TEXT (SQT_NOTES * (2 * (SQT_NOTE_NAME + SQT_NOTE_VALUE) + 6) + 4)

/* Notes of a transaction that note= of sqtrace_log names. */
struct sqt_notes {
    struct sqt_pooled pooled;
    unsigned count;
    struct {
        char name[SQT_NOTE_NAME + 1];
        const char *value; /* until the stream is closed */
    } of[SQT_NOTES];
    char text[SQT_NOTES_TEXT]; /* a JSON object of all */
};

/* A client transaction. */
struct sqt_xact {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin;
    uint64_t id;   /* master transaction; with SQT_UNNAMED if it never got one */
    uint64_t conn; /* client connection, 0 if none */
    int64_t begin, end;
    int64_t client_connect; /* duration before begin */
    int64_t client_tls;     /* how long the client shook hands with Squid, before begin or, if bumped, after it */
    int64_t read_wait;      /* how long its first bytes waited to be read after the poll that reported them */
    int64_t sending; /* from the read of its first bytes to that of the last ones of its header; of one that was never
                              * parsed, to that of the last bytes that came */
    int64_t accept_wait;     /* how long it waited before Squid accepted its connection; of the first of a connection */
    int64_t first_byte;      /* when the first bytes of the reply were written */
    int64_t server_from;     /* when it first turned to a server */
    int64_t server_until;    /* when it was done with servers; SQT_MISSING: never */
    struct sqt_spans stages; /* enum sqt_stage */
    uint32_t method;         /* definition; UINT32_MAX if unknown */
    uint32_t tag;            /* definition; UINT32_MAX if unknown */
    uint32_t status;         /* HTTP status, 0 if none */
    uint32_t tries;
    uint32_t flags; /* enum sqt_xact_flags */
    uint32_t swap_ins, disk_reads;
    uint32_t dir;                     /* cache_dir of its last swap-in; UINT32_MAX: none */
    int64_t read_parts[SQT_IO_PARTS]; /* ns of the blocks that it waited for */
    uint64_t object;                  /* 0 without a look-up */
    int64_t size, sent;               /* bytes */
    int64_t range;   /* bytes that it asks for with Range, or with range_open where they begin; SQT_MISSING: no Range */
    int64_t fetched; /* bytes read from servers until it ended */
    int64_t read_last;      /* when the last of them were; SQT_MISSING: there are none */
    int reply_source;       /* enum sqt_reply_source of the last reply that was ready, -1: none was */
    uint32_t server;        /* definition; the last that it was connected to, or tried; UINT32_MAX if unknown */
    int reused;             /* -1: no server connection, 0: new, 1: reused */
    uint32_t miss;          /* enum sqt_miss */
    uint32_t pool;          /* the delay pool that held it back last; 0: none did */
    uint32_t denied_by;     /* definition (ACL): the last one of the check that denied it; 0: none, or not known */
    uint32_t failed_server; /* definition; of the last try after which another followed; UINT32_MAX if unknown */
    unsigned char failed_answered; /* bytes came in that try, or a whole reply, which Squid did not hand on */
    unsigned char failed_reused;   /* that try was on a kept connection, and nothing came */
    int64_t tunnel_first;  /* ns from the client's first bytes to the server's; SQT_MISSING: none came, or not known */
    int64_t tunnel_held;   /* ns in which tunnel_pool, a delay pool, let nothing come from the server */
    int64_t tunnel_unsent; /* ns in which bytes of the client waited for the server to take them */
    int64_t
        tunnel_uploaded; /* bytes that the client sent; SQT_MISSING if not known, as the ones above and below are then */
    int64_t tunnel_rest; /* ns in which Squid waited for the rest of TLS records from the server */
    int64_t tunnel_came; /* bytes that came then */
    uint32_t tunnel_pool;
    unsigned char not_kept;    /* enum sqt_unkept: why nothing is kept of the object that it fetched */
    unsigned char range_open;  /* its range goes to the end of the object */
    unsigned char not_taken;   /* no cache_dir took the object that it fetched, though it may be stored */
    unsigned char tls_before;  /* client_tls was before begin */
    unsigned char put_off;     /* Squid put off accepts in accept_wait */
    unsigned char turned_away; /* unparsed, and its begin is in the pass of the event loop that read the last bytes */
    unsigned char of_log; /* all that is known of it is a line of access.log: not stages, nor what is not in lines */
    unsigned char handshake_mute;  /* for the model: no byte came in it, of a CONNECT that is bumped */
    unsigned char handshake_ended; /* of the same: it ended in the pass of the event loop that read the hello */
    unsigned char bytes_came;      /* for the model: from servers, since its forwarding began or its last try failed */
    struct sqt_follow *follow;     /* its wait for another transaction; NULL: none, or the trace does not say */
    int64_t unparsed;              /* bytes had come, but no request: ns since the first of them; SQT_MISSING: not so */
    uint32_t neighbor; /* definition (peer): who answered last whether it has the object; UINT32_MAX: nobody */
    uint32_t neighbors_heard[SQT_HEARD]; /* definitions (peer): the first that answered */
    uint32_t neighbors_heard_count;      /* all that did, which may be more */
    uint32_t neighbors_asked;            /* answers that Squid expected */
    int32_t neighbors_missing;           /* answers that did not come until its time was up */
    uint32_t listener;                   /* definition: the port that its client came to; UINT32_MAX if unknown */
    int64_t held;                        /* ns in which the event loop was held, SQT_MISSING if that is not known */
    struct sqt_held *held_in;            /* the same by the stage that was charged meanwhile; NULL: 0, or no room */
    struct sqt_context *context;         /* NULL: the client named no span, or no room */
    struct sqt_notes *notes;             /* NULL: none was recorded, as before its end */
    struct sqt_longest_wait longest[SQT_NAMED_STAGES];
    enum sqt_outcome outcome;
    const struct sqt_logged *logged; /* its line in access.log; NULL: none was given, or it has none */
    void *user;                      /* the consumer's; NULL at first */

    /* for the model */
    int64_t held_before;        /* of the loop, up to where it is counted */
    uint32_t epoch;             /* losses before it began */
    enum sqt_outcome handshake; /* of client_tls */
    enum sqt_outcome
        cut_off; /* of the first read from disk that failed after a reply was ready, or TIMEOUT of a tunnel; COMPLETE: none */
    uint32_t reply_closed; /* stage that the first bytes of a response closed */
    int64_t reply_opened;  /* when server_reply opened last */
    int64_t reply_charged; /* ns of server_reply before that; SQT_MISSING: not open */
    struct {
        int64_t until;
        uint32_t seen;
        int64_t ns[SQT_TRY_STAGES];
    } before;                       /* its forwarding began: of the stages of tries */
    int64_t followed_at;            /* when it followed another one last */
    struct sqt_follow *followers;   /* those that wait for it */
    struct sqt_xact *older, *newer; /* other open transactions of the same id */
    struct sqt_client *client;
    struct sqt_xact *client_next, *client_previous;
    const struct sqt_wait *asked; /* of sqt_model_open_requests() */
    struct sqt_wait *waiting;     /* its newest wait, while its serial is the same */
    uint64_t waiting_serial;
};

/* Whether it got an error, a status of 500 or more.  That of a tunnel that was open says nothing: before 6.7, Squid logs 500
 * for a tunnel that its server closes (Squid's bug 5274). */
static inline int
sqt_xact_got_error(const struct sqt_xact *xact)
{
    return xact->status >= 500 && !(xact->flags & SQT_XACT_TUNNEL);
}

/* Bytes that it asks for with Range, of the object that it got; SQT_MISSING: it has no Range, or that is not known, as of
 * a part (206) that goes to the end. */
static inline int64_t
sqt_xact_range(const struct sqt_xact *xact)
{
    const int whole = xact->status == 200 && xact->size != SQT_MISSING;
    if (xact->range == SQT_MISSING || (xact->range_open && !whole))
        return SQT_MISSING;
    if (!whole)
        return xact->range;
    const int64_t rest = xact->size - (xact->range_open ? xact->range : 0);
    const int64_t most = xact->range_open ? INT64_MAX : xact->range;
    return rest < 0 ? 0 : rest < most ? rest : most;
}

/* The wait of a transaction for the reply that another one, its leader, fetches. */
#define SQT_FOLLOW_UNKNOWN (SQT_STAGES + 1)
#define SQT_FOLLOW_STAGES (SQT_STAGES + 2)
struct sqt_follow {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin; /* of the leader; NULL: not known */
    uint32_t server;                 /* of the leader: definition of that origin; UINT32_MAX if unknown */
    int64_t ns[SQT_FOLLOW_STAGES];   /* in each stage of the leader, unaccounted, and without a leader in the trace */

    /* for the model */
    int waits;
    int64_t until;                      /* the wait is counted up to here */
    struct sqt_process_state *process;  /* the leader's */
    struct sqt_xact *leader;            /* NULL: it is over, or not known */
    int64_t charged[SQT_STAGES + 1];    /* to the leader, up to then */
    struct sqt_follow *next, *previous; /* of the same leader */
};

/* What a swap's time goes to, in the order of precedence. */
enum sqt_swap_phase { SQT_SWAP_OPEN, SQT_SWAP_FIRST, SQT_SWAP_REST, SQT_SWAP_CLOSE, SQT_SWAP_IDLE = SQT_UNACCOUNTED };

/* What a record of the store asked for last. */
struct sqt_question {
    uint64_t sio; /* 0: none */
    enum sqt_disk_op op;
    uint32_t dir, epoch;
    int64_t at;
};

struct sqt_swap {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin;
    uint64_t sio;
    uint64_t xact; /* 0 if none */
    int out;       /* 0: swap-in, 1: swap-out */
    int update;    /* rewrites the header of a stored entry */
    uint32_t dir;
    uint64_t file; /* file number */
    uint64_t object;
    int64_t begin, end;
    struct sqt_spans phases; /* enum sqt_swap_phase */
    uint32_t ios;            /* completed */
    int64_t size;            /* bytes moved */
    int64_t image;           /* bytes of the stored image, SQT_MISSING if not told */
    enum sqt_outcome outcome;
    void *user; /* the consumer's; NULL at first */

    /* for the model */
    uint32_t epoch;
    uint32_t asked;               /* I/Os asked for so far */
    uint32_t waiting;             /* of which are not completed */
    int indexed;                  /* its I/Os are found through the process's index of offsets */
    int64_t slot_header;          /* bytes that each write has besides those of the stored image (rock) */
    struct sqt_question question; /* the last one of this swap */
    uint32_t elsewhere;           /* bits of operations (enum sqt_disk_op) that another thread or process does */
    int opening;
    int64_t close_asked;               /* 0: not yet */
    enum sqt_outcome failure;          /* SQT_OUTCOME_COMPLETE: none so far */
    struct sqt_io *first_io, *last_io; /* asked and not completed, in the order of asking */
    struct sqt_xact *reader;           /* charged while its serial is the same */
    uint64_t reader_serial;
};

/* A block of a swap. */
struct sqt_io {
    struct sqt_pooled pooled;
    struct sqt_swap *swap;
    uint32_t index;  /* from 0 in the order of asking */
    uint64_t offset; /* bytes from the start of the stored image */
    int64_t size;    /* bytes moved */
    int64_t asked, done;
    int64_t queue, service, notice; /* add up to done - asked; SQT_MISSING if its time was up */
    enum sqt_outcome outcome;

    /* for the model */
    uint64_t wanted; /* bytes */
    uint32_t stage;  /* of the reader: SQT_STAGE_SWAP_IN_FIRST or SQT_STAGE_SWAP_IN_REST */
    struct sqt_io *next, *previous;
    struct sqt_io *same, *same_last; /* the next at the same offset; of the first there: the last */
};

/* A client connection that was accepted. */
struct sqt_accept_row {
    const struct sqt_origin *origin;
    int64_t at;
    uint32_t listener; /* definition; UINT32_MAX if unknown */
    int64_t waited;    /* before that, ns; SQT_MISSING if unknown */
    int put_off;       /* Squid put off accepts in that time */
};

/* A client connection was closed. */
struct sqt_client_closed_row {
    const struct sqt_origin *origin;
    int64_t at;
};

/* Squid accepted nothing from a port, because too few descriptors were free. */
struct sqt_put_off_row {
    const struct sqt_origin *origin;
    int64_t begin, end;
    int known;            /* 0: records are missing, or a clock stepped: how long it was is not known */
    uint32_t listener;    /* definition */
    uint64_t descriptors; /* that were open */
    uint32_t limit;       /* of descriptors */
};

/* An attempt to get a server connection. */
struct sqt_attempt {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin;
    uint64_t conn;
    uint64_t xact;
    uint32_t peer_kind; /* definition */
    uint32_t server;    /* definition; UINT32_MAX if unknown */
    int spare, reused;
    unsigned version;    /* of IP: 4 or 6; 0: not told */
    unsigned error;      /* of the system, of one that failed; 0: none, or not told */
    unsigned local_port; /* of one that failed; 0: it had none, or not told */
    int64_t begin;
    int64_t connected; /* SQT_MISSING if it never was */
    int64_t tls;       /* when a TLS handshake began; SQT_MISSING if there was none */
    int64_t end;       /* failed, secured, or put to use without TLS */
    enum sqt_outcome outcome;
    uint32_t epoch; /* for the model */
};

/* A server connection that is open. */
struct sqt_server_conn {
    struct sqt_pooled pooled;
    uint64_t conn;
    uint32_t server; /* definition; UINT32_MAX if unknown */
    unsigned version;
    int64_t begin; /* connected */
    uint32_t epoch;
};

/* Who closed a server connection: aux of SERVER_IDLE. */
enum sqt_closer { SQT_CLOSER_SQUID, SQT_CLOSER_SERVER, SQT_CLOSER_RESET, SQT_CLOSERS };
extern const char *const sqt_closer_names[SQT_CLOSERS];

/* A server connection that was closed, and what TCP knew of it.  What is SQT_MISSING is not known. */
struct sqt_closed_row {
    const struct sqt_origin *origin;
    int64_t at;
    uint64_t conn;
    uint32_t server;        /* definition; UINT32_MAX if unknown */
    unsigned version;       /* of IP: 4 or 6; 0: not told */
    int64_t begin;          /* connected */
    int64_t received;       /* bytes */
    int64_t rtt, least_rtt; /* ns */
    int64_t sent_again;     /* segments */
    int64_t out_of_order;   /* segments that came before others that were sent earlier */
    int64_t idle;           /* ns since the server's last bytes; SQT_MISSING: less than a second, or not known */
    enum sqt_closer closer; /* who closed it; where idle is known */
};

/* Bytes came from a server for a transaction that is over: its client left, and Squid reads on. */
struct sqt_late_read {
    const struct sqt_origin *origin;
    int64_t at;
    uint64_t xact;
    int64_t bytes;
};

/* A try to send a request to a server, of one whose server gets a span of Squid's own: trace_context=forward. */
struct sqt_try_row {
    const struct sqt_xact *xact;
    uint32_t number;    /* from 1 */
    uint64_t conn;      /* server connection */
    uint32_t server;    /* definition; UINT32_MAX if unknown */
    int64_t begin, end; /* dispatched; the response was complete, or failed, or nobody waited any more */
    enum sqt_outcome outcome;
};

/* Something that happened to Squid as a whole, or to its helpers and services. */
struct sqt_incident_row {
    const struct sqt_origin *origin;
    int64_t at;
    enum sqt_event event;
    uint64_t count;   /* process id of a child; values, or entries; segments that were sent again */
    uint64_t code;    /* children that run; how a child ended; enum sqt_service_state; an error */
    int64_t took;     /* ns; SQT_MISSING: not known */
    int silent;       /* a child that had not answered one question */
    enum sqt_def def; /* of who; 0: nobody in particular */
    uint32_t who;     /* definition: helper, service, neighbour, ACL, cache_dir, or why Squid ends */
    /* Of a client connection with segments that were sent again. */
    uint64_t sent;    /* segments in all */
    uint64_t unacked; /* bytes that the client has not acknowledged */
    int64_t rtt;      /* ns */
};
/* "fatal", and so on; NULL: the event is no incident. */
const char *sqt_incident_name(enum sqt_event event);
/* The name of whom it is about, or Squid's words; NULL: the trace does not say. */
const char *sqt_incident_who(const struct sqt_incident_row *row);

extern const char *const sqt_disk_op_names[SQT_DISK_OPS];

/* What a disk operation's time goes to, one after the other. */
enum sqt_diskop_stage {
    SQT_DISKOP_ENQUEUED, /* asked -> in the queue of who does it */
    SQT_DISKOP_DEQUEUED, /* -> taken up */
    SQT_DISKOP_IO,       /* -> done */
    SQT_DISKOP_COPY,     /* -> the answer is where the main thread finds it; not told by diskd */
    SQT_DISKOP_COMPLETE, /* -> noticed */
    SQT_DISKOP_FINISHED, /* -> whoever waited has been served */
    SQT_DISKOP_STAGES
};

/* How a disk operation was queued. */
enum sqt_diskop_queue {
    SQT_QUEUE_NONE, /* the main thread did it */
    SQT_QUEUE_FIRST,
    SQT_QUEUE_SECOND /* the first was locked */
};

/* An operation of a file of a cache_dir. */
struct sqt_diskop {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin;
    uint64_t serial; /* 0: the main thread did it */
    uint64_t sio;    /* 0 if none */
    enum sqt_disk_op op;
    uint32_t dir;                      /* UINT32_MAX if not known */
    int64_t begin, end;                /* asked; finished */
    int64_t stages[SQT_DISKOP_STAGES]; /* ns; SQT_MISSING: not known; the others add up to end - begin */
    enum sqt_diskop_queue queue;
    int64_t depth;            /* operations before it in the queue that were not answered */
    int64_t size;             /* bytes moved */
    int late;                 /* this is the answer to one that had timed out, and had its row then */
    enum sqt_outcome outcome; /* UNFINISHED: end is that of the trace */

    /* for the model */
    uint32_t epoch;
    int64_t queued;
    int timed_out;
};

/* A use of a helper or of an adaptation service, or a query to a name server. */
struct sqt_wait {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin;
    uint64_t xact;    /* the transaction that waits; 0: none */
    enum sqt_def def; /* SQT_DEF_WAITED, or SQT_DEF_SERVICE */
    uint32_t who;     /* definition */
    int again;        /* asked before, without an answer that was of use */
    unsigned repeats; /* times that an adaptation service did not answer in time, and was asked again */
    int64_t begin, end;
    int64_t given;  /* when a child, or the service, took it; SQT_MISSING: never, or not known */
    int64_t depth;  /* questions before it in the queue; SQT_MISSING: not known */
    uint32_t query; /* type of a query to a name server, as in the DNS; 0: not told */
    uint32_t acl;   /* definition: the ACL whose check asks a name server; 0: none does, or not told */
    enum sqt_wait_outcome outcome;

    /* for the model */
    uint64_t key;
    uint32_t epoch;
    enum sqt_named_stage stage;
};

extern const char *const sqt_waited_names[SQT_WAITED_KINDS];
extern const char *const sqt_wait_outcome_names[SQT_WAIT_OUTCOMES];

/* Whether how long it took is not known. */
static inline int
sqt_wait_unknown(const struct sqt_wait *wait)
{
    return wait->outcome == SQT_WAIT_LOST || wait->outcome == SQT_WAIT_CLOCK;
}

/* The event loop is held while the work of a pass lasts for at least that long, in ns, and while the main thread is
 * blocked or does not run. */
#define SQT_LOOP_LONG INT64_C(5000000)

/* What the time of a main thread goes to. */
enum sqt_loop_part {
    SQT_LOOP_COMPUTING,
    SQT_LOOP_BLOCKED, /* in a call, though it had work */
    SQT_LOOP_QUEUED,  /* waiting for a processor */
    SQT_LOOP_STOPPED, /* with the whole process */
    SQT_LOOP_IDLE,    /* waiting for descriptors */
    SQT_LOOP_PARTS
};

/* A pass of the event loop. */
struct sqt_loop_row {
    const struct sqt_origin *origin;
    int64_t begin, work, end; /* the wait begins; it ends; the next one begins */
    uint64_t ready;           /* descriptors */
    uint32_t activity;        /* the longest: definition; UINT32_MAX: none */
    int64_t activity_ns;
    int unknown;     /* a clock stepped meanwhile: no duration is known */
    int64_t disk_ns; /* the longest disk call in the main thread, 0: none */
    enum sqt_disk_op disk_call;
    uint32_t dir; /* its cache_dir */

    int64_t parts[SQT_LOOP_PARTS]; /* ns of the work, by samples; all 0: not known */

    /* for the model */
    int64_t sampled; /* up to when the parts are from samples; 0: none yet */
    int64_t timeout; /* ns, of the wait; INT64_MAX: none */
    int interrupted; /* what ended the wait was a signal */
};

/* What became of the main thread's time between two samples, and what it did at the second. */
struct sqt_loop_sample_row {
    const struct sqt_origin *origin;
    int64_t from, until;
    int64_t parts[SQT_LOOP_PARTS]; /* ns; they add up to until - from */
    int64_t throttled;             /* ns of QUEUED and STOPPED, of samples before it, too, that its control group was
                        * throttled; SQT_MISSING: not known */
    int64_t held;                  /* ns of from..until in which the loop was held, see SQT_LOOP_LONG */
    int64_t since;                 /* ns for which it stands; 0: it only tells what there was since `from` */
    int by_processor;              /* it stands for processor time: the main thread computed */
    int waits;                     /* at until: for descriptors; nothing below is known then */
    uint32_t activity;             /* definition */
    uint32_t acl;                  /* definition; 0: none */
    uint32_t call;                 /* system call that it was blocked in: definition; 0: none, or not known */
    enum sqt_disk_op disk_call;    /* of the main thread; SQT_DISK_OTHER: none */
    uint32_t dir;                  /* its cache_dir */
};

/* A stretch of a pass of the event loop in which the process did not run, though it should have. */
struct sqt_stop_row {
    int64_t begin, end;
    int64_t ns; /* for which it did not run in that stretch */
    const struct sqt_loop_row *pass;
    int waited; /* the stretch is of the pass's wait; else of its work */
};

/* System calls of one class that one thread made, or that all until then have been told. */
struct sqt_calls_row {
    const struct sqt_origin *origin;
    int64_t at;
    uint32_t call;   /* class: definition; UINT32_MAX: all calls that ended before `at` have been told */
    int begins;      /* with UINT32_MAX: the account begins then */
    uint32_t thread; /* definition */
    uint64_t count;
    int64_t ns, longest_ns;
};

/* A resource sample. */
struct sqt_sample_row {
    const struct sqt_origin *origin;
    int64_t at;    /* when it was sampled */
    uint32_t what; /* definition */
    uint64_t value;
};

/* Something that cache digests were busy with. */
struct sqt_digest {
    struct sqt_pooled pooled;
    const struct sqt_origin *origin;
    enum sqt_digest_activity activity;
    enum sqt_digest_result result; /* SQT_DIGEST_RESULTS: nothing to say */
    uint64_t xact;                 /* 0 if none */
    uint32_t peer;                 /* definition; UINT32_MAX: none */
    int64_t begin, end;
    int64_t busy;   /* ns */
    int64_t bytes;  /* SQT_MISSING: nothing moved */
    uint64_t count; /* entries of an update, else 1 */

    /* for the model */
    uint32_t epoch;
    int parent;      /* the peer of a hit is one */
    uint32_t status; /* HTTP status of its reply */
};

struct sqt_loss_row {
    const struct sqt_origin *origin;
    int64_t from, until;
    uint64_t records;
    uint32_t reason; /* enum sqt_loss */
};
/* "ring full", and so on. */
const char *sqt_loss_reason(uint32_t reason);

/* The first time that there was no room for another thing of a kind. */
struct sqt_bound_row {
    const struct sqt_origin *origin;
    int64_t at;
    const char *what; /* "transactions", and so on */
    uint64_t open;    /* how many of them are open in this origin */
};

/* A step of a clock. */
struct sqt_step_row {
    const struct sqt_origin *origin;
    int64_t from, until; /* it was between the two */
    uint32_t kind;       /* enum sqt_step_kind */
    uint64_t size_ns;
};
/* The last jump of a process's clock.  Zeroed at first. */
struct sqt_jump {
    const struct sqt_origin *origin;
    uint64_t from; /* ticks of the look before it */
    uint64_t size_ns;
};
/* The row of a record CLOCK_STEP.  line: of the ticks behind the step.  jump is kept from one call to the next: where one
 * look found a jump and a step of the time of day, both begin at the same moment. */
struct sqt_step_row sqt_step_of(const struct sqt_origin *origin, const struct sqt_line *line,
                                const struct sqt_record *record, struct sqt_jump *jump);
/* "back", and so on. */
const char *sqt_step_kind_name(uint32_t kind);
/* Its size, below 0 if the clock went back. */
int64_t sqt_step_ns(const struct sqt_step_row *step);

/* Tracing began, changed or ended: Squid started, was reconfigured, rotated its logs or stopped. */
struct sqt_setup_row {
    const struct sqt_origin *origin;
    int64_t at;
    enum sqt_event event; /* START, RECONFIGURE, ROTATE or STOP */
    uint64_t groups;      /* enabled groups of events, as bits; of START and RECONFIGURE */
    uint32_t ring_kb;     /* size of the ring; 0: not told again */
    int goes_on;          /* of STOP: only tracing ended */
};

/* Time of a transaction that goes to a stage. */
struct sqt_charge {
    struct sqt_xact *xact;
    unsigned stage;      /* SQT_UNACCOUNTED: none */
    int64_t from, until; /* not empty */
    unsigned was;        /* recharge: what it was charged to before */
};

/* Kinds of things that are put together, and who else listens to events: each has a file, which defines sqt_thing_NAME, see
 * model-internal.h.  Where several began at the same time, what the trace leaves open comes in this order. */
#define SQT_THING_KINDS(X) \
    X(xacts) \
    X(clients) \
    X(swaps) \
    X(ios) \
    X(attempts) \
    X(diskops) \
    X(digests) \
    X(follows) \
    X(waits) \
    X(conns) \
    X(tries) \
    X(incidents) \
    X(loops) \
    X(stops) \
    X(calls) \
    X(samples) \
    X(losses) \
    X(steps) \
    X(setups)

/* What a consumer is told of.
 * charge:   the transaction's time from..until was charged; from its begin to its end without a gap
 * unlogged: the transaction is over and has no row
 * recharge: all that went to the stage `was` from..until goes to another one after all
 * stop:     after the loop() of its pass, up to seconds later, and perhaps several times for one wait */
#define SQT_CONSUMER_FUNCTIONS(X) \
    X(charge, const struct sqt_charge) \
    X(recharge, const struct sqt_charge) \
    X(request, const struct sqt_xact) \
    X(unlogged, const struct sqt_xact) \
    X(swap, struct sqt_swap) \
    X(io, const struct sqt_io) \
    X(diskop, const struct sqt_diskop) \
    X(connection, const struct sqt_attempt) \
    X(sent, const struct sqt_try_row) \
    X(wait, const struct sqt_wait) \
    X(accept, const struct sqt_accept_row) \
    X(client_closed, const struct sqt_client_closed_row) \
    X(put_off, const struct sqt_put_off_row) \
    X(loss, const struct sqt_loss_row) \
    X(step, const struct sqt_step_row) \
    X(loop, const struct sqt_loop_row) \
    X(stop, const struct sqt_stop_row) \
    X(loop_sample, const struct sqt_loop_sample_row) \
    X(calls, const struct sqt_calls_row) \
    X(sample, const struct sqt_sample_row) \
    X(digest, const struct sqt_digest) \
    X(setup, const struct sqt_setup_row) \
    X(closed, const struct sqt_closed_row) \
    X(late_read, const struct sqt_late_read) \
    X(incident, const struct sqt_incident_row) \
    X(bound, const struct sqt_bound_row)

/* Who is told.  A NULL function is not called.  What is handed over is valid during the call only, but a swap lives
 * until swap() has been called with it, and a transaction until request() or unlogged() has. */
struct sqt_consumer {
    void *context;
#define SQT_CONSUMER_MEMBER(name, type) void (*name)(void *context, type *thing);
    SQT_CONSUMER_FUNCTIONS(SQT_CONSUMER_MEMBER)
#undef SQT_CONSUMER_MEMBER
};

/* The transaction that waits for the swap-in; NULL: none does, or it is gone. */
struct sqt_xact *sqt_swap_reader(const struct sqt_swap *swap);

struct sqt_model;

struct sqt_model *sqt_model_new(const struct sqt_consumer *consumer);

/* From now on transactions get their lines of an access.log: from that function, with that context. */
void sqt_model_join(struct sqt_model *model, sqt_logged_function *logged, void *context);

/* From now on requests of connections that were accepted before reading began learn what that function knows of them, if they
 * begin at `since` or later, and before `until`. */
void sqt_model_look_back(struct sqt_model *model, sqt_accepted_function *accepted, void *context, int64_t since,
                         int64_t until);

/* Takes the records of a run of the stream. */
void sqt_model_run(struct sqt_model *model, const struct sqt_run *run);

/* While a consumer is told of something: of which process it is, and the number in its ring of the record that ended it,
 * UINT64_MAX if none did: the trace ended, or the reader made the record. */
const struct sqt_origin *sqt_model_origin(const struct sqt_model *model);
uint64_t sqt_model_record(const struct sqt_model *model);

/* A transaction that is not over.  All of it is valid during the call only. */
struct sqt_open_request {
    const struct sqt_xact *xact;   /* as it was at its last record; its end and outcome are not known */
    unsigned stage;                /* that is charged now; SQT_UNACCOUNTED: none */
    int64_t since;                 /* when it came to that stage */
    const struct sqt_wait *wait;   /* in which it waits for a helper or service; NULL: it does not, or not known */
    const struct sqt_xact *leader; /* whose reply it waits for; NULL: it does not, or not known */
    int sure;                      /* 0: records were lost since it began, or a clock stepped */
};

/* A main thread, and its process's event loop. */
struct sqt_open_loop {
    const struct sqt_origin *origin;
    int works;                   /* 1: the work of a pass, 0: a wait for descriptors, -1: not known */
    int64_t since;               /* when that began */
    int64_t told;                /* time of its last record */
    unsigned event;              /* of that record, or of the unit that it ends; 0: not known */
    enum sqt_disk_op disk_call;  /* that the record announces, and the main thread itself makes; OTHER: none */
    uint32_t dir;                /* of that call; UINT32_MAX: not known */
    const struct sqt_xact *xact; /* whose record it is; NULL: not known, or nobody's */
};

/* Whether something is open that began at since or later, and before until: its row is still to come.  So may be that of a
 * loss, of a process of which nothing later was read.  What is open in a process of which all records were read stays
 * so, and does not count. */
int sqt_model_is_open(const struct sqt_model *model, int64_t since, int64_t until);

/* Call it where reading goes on only for what is open and began then.  Once that is only tunnels, and transactions whose reply is
 * ready, the model takes no new things up any more: they could not change those rows.  So reading on costs less. */
void sqt_model_settle(struct sqt_model *model, int64_t since, int64_t until);

/* Tells what is open, of each process, the oldest transactions first.  It changes nothing of what is handed out. */
void sqt_model_open_requests(struct sqt_model *model, void (*tell)(void *context, const struct sqt_open_request *open),
                             void *context);
void sqt_model_open_loops(const struct sqt_model *model, void (*tell)(void *context, const struct sqt_open_loop *loop),
                          void *context);

/* The trace has ended: hands out what is still open. */
void sqt_model_finish(struct sqt_model *model);

/* The time now, and who lives, of a trace that is still being written. */
struct sqt_now {
    int64_t ns;                                         /* since the start of the stream */
    int64_t (*silent)(const struct sqt_origin *origin); /* sqt_origin_silent() of read/follow.h */
    uint32_t (*acl)(const struct sqt_origin *origin);   /* sqt_origin_acl() of it */
};
/* A process that has shown no sign of life for longer, in ns, is taken for dead. */
#define SQT_NOW_SILENT INT64_C(60000000000)

/* The same now: what processes that live have open lasts until now, and not only until their last record. */
void sqt_model_finish_now(struct sqt_model *model, const struct sqt_now *now);

/* The origin has ended, and no record of it comes: hands out what is still open in it. */
void sqt_model_end(struct sqt_model *model, const struct sqt_origin *origin);

/* The origin is about to be freed; sqt_model_end came before.  Others' waits for it no longer know whom they waited for. */
void sqt_model_forget(struct sqt_model *model, const struct sqt_origin *origin);

void sqt_model_free(struct sqt_model *model);

#endif
