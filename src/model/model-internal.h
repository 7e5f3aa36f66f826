/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model-internal.h - what the files of the model share: the state of one origin, and the handlers of events.
 */
#ifndef SQT_MODEL_INTERNAL_H
#define SQT_MODEL_INTERNAL_H

#include "base/idmap.h"
#include "base/whole.h"
#include "model.h"

/* Ids whose transaction was given up after a loss; a late end of one makes no second row. */
#define SQT_GIVEN_UP 64

/* Listening ports whose put-off accepts are followed: a process has no others. */
#define SQT_MODEL_LISTENERS 129
struct sqt_put_off {
    int open; /* its accepts are put off */
    uint32_t epoch, limit;
    int64_t begin, ended; /* ended: of the last one that is over; SQT_MISSING: none */
    uint64_t descriptors;
};

/* The pass of the event loop that is under way. */
struct sqt_loop_state {
    int waits, works;
    uint32_t epoch;
    struct sqt_loop_row row;
    struct sqt_stops *stops; /* NULL until there is something to remember */
    struct {
        int64_t total;      /* ns of the waits that are over */
        int64_t begin, end; /* of the last one */
    } waits_over;
    int64_t whole; /* no wait from then on is missing; INT64_MIN: none is */
    struct {
        uint64_t ticks; /* of the last sample; 0: none */
        int64_t waited; /* waits_over.total then */
        int64_t lent;   /* ns of waiting for a processor that the kernel had not told yet */
        int64_t lasted; /* sqt_loop_long() then */
        uint32_t epoch;
    } sampled;
    int64_t lasted;    /* ns of the work of long passes that are over */
    int64_t held_else; /* ns in which samples told that it was held in other passes and in waits */
};

enum sqt_thing_number {
#define SQT_THING(name) SQT_THING_##name,
    SQT_THING_KINDS(SQT_THING)
#undef SQT_THING
        SQT_THING_COUNT
};

/* Those of one kind that are open in a process. */
struct sqt_open_things {
    const struct sqt_thing_kind *kind;
    struct sqt_pool pool; /* the oldest first */
    struct sqt_idmap ids; /* finds them */
};

/* What all origins share. */
#define SQT_MODEL_KIDS 64
struct sqt_model_room {
    size_t left;                                    /* bytes */
    int told[SQT_THING_COUNT];                      /* that there was no room for another one */
    struct sqt_process_state *kids[SQT_MODEL_KIDS]; /* by kid number, modulo: the one that came last */
    sqt_logged_function *logged;                    /* gives transactions their lines of an access.log, */
    void *log;                                      /* with this context; NULL: there is none */
    sqt_accepted_function *accepted;                /* knows connections that are older than what is read; NULL: none */
    void *accepted_context;
    int64_t accepted_since, accepted_until; /* only requests that begin then need it */
};

/* What the model knows of one origin, which is one process: the name space of its ids. */
struct sqt_process_state {
    const struct sqt_consumer *consumer;
    const struct sqt_origin *origin;
    struct sqt_model_room *room;
    struct sqt_line line;             /* of the run being read */
    int64_t now;                      /* ns; never goes back */
    uint64_t accepted_least;          /* the lowest client connection whose accept was read */
    uint64_t last_id;                 /* of the first record of its last unit */
    uint64_t first_xact, first_named; /* ids of the first transaction that began, and that was named; 0: none */
    unsigned last_event;              /* of that record; 0: there is none */
    uint32_t epoch;                   /* LOST records so far */
    int unsure;                       /* the records are from around a step of a clock */
    int64_t calls_told;               /* when all system calls so far had been told */
    struct sqt_jump jump;             /* the last one */
    int64_t stepped;                  /* when the last one was told; INT64_MIN: never */
    union {
        struct sqt_open_things open[SQT_THING_COUNT];
        struct {
#define SQT_THING(name) struct sqt_open_things name;
            SQT_THING_KINDS(SQT_THING)
#undef SQT_THING
        };
    };
    struct sqt_idmap services; /* waits for adaptation services, by transaction; waits.ids has the others */
    struct sqt_pool held_pool, context_pool, notes_pool;
    struct sqt_loop_state loop;
    struct {
        uint64_t dir;
        int64_t begin; /* 0: no file is being removed */
    } unlink;
    struct sqt_question question;
    struct {
        uint64_t conn; /* 0: none */
        int64_t ns;
        enum sqt_closer closer;
    } idle; /* the server connection that closes next: how long it was idle */
    struct {
        uint64_t sio; /* 0: none */
        uint32_t epoch;
        struct sqt_record service; /* PART_DISKOP_IO */
    } told;                        /* the service that a record of a swap told last */
    struct sqt_put_off *put_off;   /* by listening port, SQT_MODEL_LISTENERS of them; NULL: none was put off */
    uint64_t unheard; /* ends of disk operations up to this one of the pool are not told: the group was off */
    uint64_t given_up[SQT_GIVEN_UP];
    unsigned given_up_next;
};

/* 64 PB. */
#define SQT_BYTES_MAX (INT64_C(1) << 56)

/* A client connection. */
#define SQT_CLIENT_READS 8
struct sqt_client {
    struct sqt_pooled pooled;
    uint64_t id;
    uint32_t epoch;
    int64_t touched;   /* when it was looked up last */
    int unasked;       /* it is older than what is read, and nobody has asked what is known of it */
    int unsure;        /* whether it has had a request before that is not known */
    int64_t accepted;  /* SQT_MISSING if not seen, or once a request was parsed */
    int64_t parsed;    /* when the last request was parsed; SQT_MISSING before */
    int64_t waiting;   /* client_connect of the request just parsed, until its transaction begins */
    int64_t read_wait; /* of the request just parsed, until its transaction begins; SQT_MISSING if unknown */
    int64_t sending;   /* the same: from the read of its first bytes to that of the last of its header, less what Squid
                        * itself worked meanwhile, in long passes and before the last read */
    int64_t first_read, last_read; /* when bytes of the next request were read first, while none is open; and last */
    int64_t first_held, last_held; /* how long Squid had worked in long passes by then */
    int more_came;                 /* bytes behind the header of the request that was parsed last */
    uint64_t first_offset;         /* of the first byte of first_read */
    int64_t accept_wait;           /* before it was accepted, until a request was parsed; SQT_MISSING if unknown */
    int put_off;                   /* Squid put off accepts in that time */
    uint32_t listener;             /* definition; UINT32_MAX if unknown */
    int64_t tls_begin;             /* of the handshake under way; SQT_MISSING if there is none */
    int64_t tls;                   /* how long it lasted, until a transaction begins; SQT_MISSING if there was none */
    enum sqt_outcome handshake;    /* of tls */
    uint64_t bytes;                /* read so far */
    struct {
        uint64_t offset; /* of the first byte that it brought */
        int64_t time;
        int64_t held;          /* as first_held */
        int64_t wait;          /* since the poll of that pass returned; SQT_MISSING if unknown */
    } reads[SQT_CLIENT_READS]; /* those that may have brought bytes still in the buffer, the oldest first */
    unsigned read_count;
    uint32_t swept;         /* losses up to which its transactions were given up */
    struct sqt_xact *xacts; /* open */
};

/* Handles a unit: its first record at `now`, and `more` records behind it. */
typedef void sqt_handler(struct sqt_process_state *process, int64_t now, const struct sqt_record *record,
                         unsigned more);

struct sqt_subscription {
    unsigned event;
    sqt_handler *handler; /* NULL ends a list */
};

/* A kind of thing.  Its file defines sqt_thing_NAME, for the NAME of SQT_THING_KINDS. */
struct sqt_thing_kind {
    /* What it listens to.  If several kinds listen to an event, they are called in the order of SQT_THING_KINDS.  Stages that the
     * event opens or closes (events.def) are opened and closed before. */
    const struct sqt_subscription *events;
    /* The same, but the handler opens and closes the stages of the event itself. */
    const struct sqt_subscription *charges;
    /* Of a kind that can be open. */
    const char *words; /* what they are called: "transactions" */
    size_t size;       /* bytes of one, which begins with a struct sqt_pooled; 0: none is ever open */
    size_t begin;      /* where in it its begin is, an int64_t; 0: it becomes no row, or that of something else */
    size_t epoch;      /* where in it the losses before it began are counted, a uint32_t; 0: losses leave few behind */
    /* Ends one that has not ended.  SQT_OUTCOME_LOST: it makes room for another one, or losses left it behind;
     * SQT_OUTCOME_UNFINISHED: the trace ends, which only those with a begin are told. */
    void (*cut_off)(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome);
};
#define SQT_THING(name) extern const struct sqt_thing_kind sqt_thing_##name;
SQT_THING_KINDS(SQT_THING)
#undef SQT_THING

/* When one of a kind began. */
static inline int64_t
sqt_thing_begin(const struct sqt_thing_kind *kind, const void *thing)
{
    return *(const int64_t *)((const char *)thing + kind->begin);
}

/* Whether a clock stepped since then, or may have: how long that is ago is not known. */
static inline int
sqt_stepped_since(const struct sqt_process_state *process, int64_t begin)
{
    return process->unsure || begin < process->stepped;
}

/* How it really ended, what began then, after so many losses. */
static inline enum sqt_outcome
sqt_outcome_of(const struct sqt_process_state *process, uint32_t epoch, int64_t begin, enum sqt_outcome outcome)
{
    if (outcome == SQT_OUTCOME_LOST || epoch != process->epoch)
        return SQT_OUTCOME_LOST;
    return sqt_stepped_since(process, begin) ? SQT_OUTCOME_CLOCK : outcome;
}

/* Nanoseconds so far that the loop spent in the work of long passes. */
static inline int64_t
sqt_loop_long(const struct sqt_loop_state *loop, int64_t now)
{
    const int64_t here = loop->works ? now - loop->row.work : 0;
    return loop->lasted + (here >= SQT_LOOP_LONG ? here : 0);
}

/* The time in which the loop was held goes to the stage that is charged, as far as it fits.  The rest may go to the next:
 * a sample tells it some milliseconds later. */
static inline void
sqt_xact_hold(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    const int64_t held = sqt_loop_long(&process->loop, now) + process->loop.held_else - xact->held_before;
    const int64_t length = now - xact->stages.last, ns = held < length ? held : length;
    if (xact->held == SQT_MISSING || ns <= 0)
        return;
    const int64_t us = ns / 1000;
    xact->held += ns;
    xact->held_before += ns;
    if (!xact->held_in && !sqt_pool_full(&process->held_pool))
        xact->held_in = sqt_pool_get(&process->held_pool);
    if (!xact->held_in)
        return;
    uint32_t *const sum = &xact->held_in->us[sqt_spans_charged(&xact->stages)];
    *sum = us < (int64_t)(UINT32_MAX - *sum) ? *sum + (uint32_t)us : UINT32_MAX;
}

/* Charges the transaction's time up to now. */
static inline void
sqt_xact_charge(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    struct sqt_spans *const s = &xact->stages;
    sqt_xact_hold(process, xact, now);
    if (__builtin_expect(process->consumer->charge != NULL, 0) && now > s->last)
        process->consumer->charge(
            process->consumer->context,
            &(struct sqt_charge){.xact = xact, .stage = sqt_spans_charged(s), .from = s->last, .until = now});
    sqt_spans_charge(s, now);
}

/* Bytes that a record speaks of; more than any object has are as many as that. */
static inline int64_t
sqt_bytes(uint64_t bytes)
{
    return bytes < SQT_BYTES_MAX ? (int64_t)bytes : SQT_BYTES_MAX;
}

/* open.c */
/* Says, the first time, that there is no room for another thing of that kind. */
void sqt_bound_met(struct sqt_process_state *process, const struct sqt_open_things *open);
/* Another thing of that kind, zeroed.  Without room for it, the oldest ones are cut off. */
void *sqt_thing_new(struct sqt_process_state *process, struct sqt_open_things *open);
/* The thing is over, and the id, if that still means it. */
void sqt_thing_forget(struct sqt_open_things *open, uint64_t id, void *thing);

/* A duration that a record has in ticks, as ns; not below 0. */
static inline int64_t
sqt_ticks_ns(const struct sqt_process_state *process, uint64_t ticks)
{
    const int64_t ns = sqt_line_ns(&process->line, process->line.base_ticks + ticks) - process->line.base_ns;
    return ns < 0 ? 0 : ns;
}

/* How an I/O ended, from a field of kind IO_BYTES. */
static inline enum sqt_outcome
sqt_io_outcome(uint32_t io_bytes)
{
    return io_bytes & SQT_IO_TIMED_OUT && io_bytes & SQT_IO_FAILED ? SQT_OUTCOME_TIMEOUT
           : io_bytes & SQT_IO_FAILED                              ? SQT_OUTCOME_ERROR
           : io_bytes & SQT_IO_CANCELLED                           ? SQT_OUTCOME_ABORTED
                                                                   : SQT_OUTCOME_COMPLETE;
}

/* How a connect or a TLS handshake ended, from a field of kind OUTCOME. */
static inline enum sqt_outcome
sqt_connect_outcome(uint32_t aux)
{
    static const enum sqt_outcome outcomes[] = {
        [SQT_CONNECT_OK] = SQT_OUTCOME_COMPLETE,
        [SQT_CONNECT_FAILED] = SQT_OUTCOME_ERROR,
        [SQT_CONNECT_TIMEOUT] = SQT_OUTCOME_TIMEOUT,
        [SQT_CONNECT_CANCELLED] = SQT_OUTCOME_ABORTED,
    };
    return aux < sizeof(outcomes) / sizeof(*outcomes) ? outcomes[aux] : SQT_OUTCOME_ERROR;
}

#define SQT_SUBSCRIBERS 3 /* of one event, at most */

struct sqt_model {
    struct sqt_consumer consumer;
    sqt_handler *handlers[SQT_EVENTS][SQT_SUBSCRIBERS + 1]; /* NULL ends them: most events mean little here */
    struct sqt_process_state **processes;                   /* by the origin's index */
    size_t count;
    struct sqt_model_room room;
    int settled;                     /* only records of what is known are looked at */
    unsigned char names[SQT_EVENTS]; /* enum sqt_event_names */
    const struct sqt_origin *origin; /* of what is handed out */
    const struct sqt_run *run;       /* from which it is; NULL: from none, at the end */
    size_t at;                       /* the record of it that ends what is handed out */
};

/* forwarded.c: a try to send a request to a server begins, or ends. */
void sqt_forward_begins(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now,
                        const struct sqt_record *record);
void sqt_forward_ends(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now, enum sqt_outcome outcome);

/* xacts.c */
sqt_handler sqt_xact_stages;
/* Closes what a loss left without an end. */
void sqt_xact_give_up(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now);

/* stage/tries.c */
/* The try is over, another follows: its stages become failed_tries. */
void sqt_tries_fail(const struct sqt_process_state *process, struct sqt_xact *xact);

/* stage/follows.c */
void sqt_follow_begin(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now, uint64_t leader,
                      uint32_t kid);
/* Something of the follower opened or closed: perhaps its wait is over. */
void sqt_follow_check(const struct sqt_xact *xact, int64_t now);
/* Its reply is ready, or its look-up over. */
void sqt_follow_old(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now);
/* The transaction ends, and so do its wait, and what others learn of it. */
void sqt_follow_leave(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now);
/* It was handed out. */
void sqt_follow_drop(struct sqt_process_state *process, struct sqt_xact *xact);

/* clients.c */
/* The trace has ended: hands out the accepts that are still put off. */
void sqt_put_off_finish(struct sqt_process_state *process);
void sqt_client_add(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now);
void sqt_client_remove(struct sqt_xact *xact);
void sqt_client_drop(struct sqt_process_state *process, struct sqt_client *client);

/* blocks.c: the I/Os of a swap that are asked for and not completed, in the order of asking */
struct sqt_io *sqt_block_ask(struct sqt_process_state *process, struct sqt_swap *swap, uint64_t offset);
/* Unlinks the first one at that offset and returns it; NULL if none was asked for there. */
struct sqt_io *sqt_block_take(struct sqt_process_state *process, struct sqt_swap *swap, uint64_t offset);
/* Unlinks that one. */
void sqt_block_unlink(struct sqt_process_state *process, struct sqt_io *io);

/* thing/closed.c */
/* The attempt has connected. */
void sqt_conn_opens(struct sqt_process_state *process, const struct sqt_attempt *attempt, int64_t now);
void sqt_conn_closes(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more);

/* loops.c */
/* The group is off: the pass that is known last does not end with the next wait. */
void sqt_loop_switched_off(struct sqt_process_state *process);
/* Nanoseconds from the return of the poll until now, in the pass that is under way; SQT_MISSING if there is none, or if a
 * loss or a step of a clock makes that uncertain. */
int64_t sqt_loop_since_poll(const struct sqt_process_state *process, int64_t now);
/* The main thread did that to a file from begin to end. */
void sqt_loop_io(struct sqt_process_state *process, enum sqt_disk_op op, uint32_t dir, int64_t begin, int64_t end);

/* thing/diskops.c */
/* The group is off: ends are not told any more. */
void sqt_diskop_switched_off(struct sqt_process_state *process);
/* A record of the store asks for an operation; one that is queued next is that. */
void sqt_diskop_asked(struct sqt_process_state *process, struct sqt_swap *swap, enum sqt_disk_op op, int64_t now);
/* A record of a swap, and those behind it; the end of an operation that follows may leave the stamps to it. */
void sqt_diskop_told(struct sqt_process_state *process, const struct sqt_record *record, unsigned more);
/* The main thread did that to the swap's file from begin to end, unless it is known to run elsewhere. */
void sqt_diskop_inline(struct sqt_process_state *process, const struct sqt_swap *swap, enum sqt_disk_op op,
                       int64_t begin, int64_t end, int64_t size, enum sqt_outcome outcome);

/* stops.c */
/* That pass is over, and was told. */
void sqt_stops_pass(struct sqt_process_state *process, const struct sqt_loop_row *pass);
/* The trace has ended. */
void sqt_stops_finish(struct sqt_process_state *process);

/* thing/waits.c */
/* The trace has ended before the wait has. */
void sqt_wait_cut_off(const struct sqt_process_state *process, struct sqt_xact *xact, int64_t now);

/* notes.c: adds "NAME VALUE".  It is left out if it is malformed, or if there is a note of that name, or SQT_NOTES of them.  The
 * text must stay until the stream is closed. */
void sqt_notes_add(struct sqt_notes *notes, const char *text);

/* logged.c: a line of access.log, as a transaction that is over. */
void sqt_logged_hand_out(const struct sqt_consumer *consumer, const struct sqt_logged *logged);

#endif
