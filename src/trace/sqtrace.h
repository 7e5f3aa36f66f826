/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace.h - libsqtrace, the runtime that is linked into Squid.
 *
 * Threads: every function is for the process's main thread, unless it says otherwise.  A process traces into one
 * ring.  Nothing here aborts; a failure turns tracing off, or loses records and counts them, and Squid goes on.
 *
 * A hook looks like this:
 *
 *     if (sqt_on(SQT_GROUP_CLIENT))
 *         sqt_emit(SQT_EV_XACT_BEGIN, id, connection, 0);
 *
 * C11, and C++11 with -Wall -Wextra -Werror.
 */
#ifndef SQTRACE_H
#define SQTRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "../format/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events: the hot path ---- */

/* Bits of the groups (enum sqt_group) that are traced now; 0 when tracing is off, in forked children, and from the
 * first line of Squid's death().  Private to the process.  Read by hooks, written only by libsqtrace. */
extern uint32_t sqt_groups;

/* Whether any of these groups is traced: the one test that a hook costs when it is off.  The compiler is told that
 * either may be, so that a hook stands in line with the code around it, where one that is on costs the least: a part
 * of the function that stands apart is a line of the instruction cache more. */
static inline int
sqt_on(uint32_t groups)
{
    return __builtin_expect_with_probability((sqt_groups & groups) != 0, 0, 0.5);
}

/* Appends one record.  event: enum sqt_event; the other arguments as events.def says for it.
 * Wait-free: no allocation, no lock, and at most one system call, which wakes a flusher that sleeps.  Whether it sleeps is
 * looked at after each quarter of the ring, wherever the flusher is by then, and for each record while the ring is full.
 * A full ring drops the record and counts it.
 * Call only when sqt_on(the event's group). */
void sqt_emit(unsigned event, uint64_t id, uint64_t arg, uint32_t aux);

/* The same at the time of the record before it, which the same hook has just emitted: for several of one moment.  Most
 * of what an event costs is the reading of the clock. */
void sqt_emit_too(unsigned event, uint64_t id, uint64_t arg, uint32_t aux);

/* Appends a unit of n records, 1 <= n <= SQT_UNIT_MAX, whole or not at all.  The caller fills id, arg, aux and event
 * of each; time and flags are set here. */
void sqt_emit_unit(struct sqt_record *records, unsigned n);

/* Appends a unit of two records, the second a part of the first: the same as sqt_emit_unit(), with less to do.
 * events: that of the first in the lower 16 bits, that of the second in the upper ones. */
void sqt_emit_pair(uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id, uint64_t part_arg,
                   uint32_t part_aux);

/* The same, made at a time (ticks of sqt_clock) that the caller has read; if that is before the time of the record
 * before it, it is made at that one's. */
void sqt_emit_pair_at(uint64_t now, uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id,
                      uint64_t part_arg, uint32_t part_aux);
#define SQT_PAIR(event, part) ((uint32_t)(event) | (uint32_t)(part) << 16)

/* The clock that this process stamps with (enum sqt_clock); 0 while nothing is traced.  May be handed to another
 * process of the same machine (diskd, a rock disker), which then reads the same clock with sqt_read_clock(). */
extern uint32_t sqt_clock;

/* One reading of the processor's counter (SQT_CLOCK_TSC), where there is one.  Neither architecture keeps it in order
 * with the instructions around it, and nothing here makes it wait for them: that would cost more than all the rest of an
 * event, for some nanoseconds.  SQT_TEST_CLOCK: tests put a clock of their own here. */
#if defined(SQT_TEST_CLOCK)
#define SQT_HAVE_CYCLES 1
uint64_t sqt_test_cycles(void);
static inline uint64_t
sqt_read_cycles(void)
{
    return sqt_test_cycles();
}
#elif defined(__x86_64__)
#define SQT_HAVE_CYCLES 1
static inline uint64_t
sqt_read_cycles(void)
{
    return __rdtsc();
}
#elif defined(__aarch64__)
#define SQT_HAVE_CYCLES 1
static inline uint64_t
sqt_read_cycles(void)
{
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
}
#else
#define SQT_HAVE_CYCLES 0
#endif

/* One reading of a clock, in its ticks; 0 for an unknown or zero clock.  Any thread, any process. */
static inline uint64_t
sqt_read_clock(uint32_t clock)
{
#if SQT_HAVE_CYCLES
    if (__builtin_expect(clock == SQT_CLOCK_TSC, 1))
        return sqt_read_cycles();
#endif
    if (clock == SQT_CLOCK_MONOTONIC) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
    }
    return 0;
}

/* What is known of each kind of definitions (enum sqt_def): a bit for each number below 64.  Written only by
 * libsqtrace. */
#define SQT_KNOWN_KINDS 16
extern uint64_t sqt_known[SQT_KNOWN_KINDS];

/* The same for other numbers. */
int sqt_defined_large(unsigned kind, uint32_t number);

/* Whether (kind, number) is known already; lets a caller avoid making the text. */
static inline int
sqt_defined(unsigned kind, uint32_t number)
{
    if (__builtin_expect(kind < SQT_KNOWN_KINDS && number < 64, 1))
        return (int)(sqt_known[kind] >> number & 1);
    return sqt_defined_large(kind, number);
}

/* Interns a text under (kind, number) that is not known yet.  Returns number. */
uint32_t sqt_define_new(unsigned kind, uint32_t number, const char *text);

/* Interns a text under (kind, number) unless it is known already.  Returns number, so that it can stand where the
 * number is needed. */
static inline uint32_t
sqt_define(unsigned kind, uint32_t number, const char *text)
{
    return sqt_defined(kind, number) ? number : sqt_define_new(kind, number, text);
}

/* Interns a text that a client chose under (kind, number) unless it is known already: its first SQT_INVENTED_TEXT bytes,
 * and only the first SQT_INVENTED texts of a kind in a trace, for clients can invent more than a trace should hold.
 * Returns number, which is not 0, or 0 if there were too many. */
#define SQT_INVENTED 64
#define SQT_INVENTED_TEXT 32
uint32_t sqt_define_invented(unsigned kind, uint32_t number, const char *text);

/* The same for the name of a server or of an adaptation service (kind): its first SQT_SERVER_TEXT bytes, and only the
 * first SQT_SERVERS of each.  Returns number, or 0 for all others, which is "other". */
#define SQT_SERVERS 1000
#define SQT_SERVER_TEXT 64
uint32_t sqt_define_named(unsigned kind, uint32_t number, const char *text);

/* The number of a helper or name server: interns "<kind> <name>" unless it is known already.  names= decides what the
 * name is.  Only the first SQT_WAITED_NAMES of a kind have a number of their own, the others are "<kind> other". */
#define SQT_WAITED_NAMES 100
uint32_t sqt_waited_number(enum sqt_waited kind, const char *name);

/* The number of an ACL's name: its first SQT_SERVER_TEXT bytes, and only the first SQT_ACLS of them; 1: others.  Of the
 * name that Squid gives to a list of ACLs nothing is told that a directive sets, such as the value of a header field. */
#define SQT_ACLS 1000
uint32_t sqt_define_acl(const char *name, size_t length);

/* The numbers of ACLs by the addresses of their names, and where live readers see which one is being checked: a word of the
 * ring, NULL while group loop is off.  Whoever checks stores its number there, and what was there before when it is done.
 * Main thread.  libsqtrace empties the table when Squid is reconfigured, and when the ring is another one. */
struct sqt_known_acl {
    const void *name; /* NULL: free */
    uint32_t number;
};
#define SQT_KNOWN_ACLS 64
extern struct sqt_known_acl sqt_known_acls[SQT_KNOWN_ACLS];
extern uint32_t *sqt_acl_now;

/* Which names a trace may hold: names= of sqtrace_log. */
enum sqt_names {
    SQT_NAMES_OFF,        /* none of servers, and neighbours and services by their place or a number */
    SQT_NAMES_CONFIGURED, /* those that stand in squid.conf; an origin server is a keyed number */
    SQT_NAMES_SERVERS     /* addresses and ports of origin servers, too */
};
/* The names that the present trace may hold (enum sqt_names).  Main thread; written only by libsqtrace. */
extern int sqt_names;

/* The number of a text that lives as long as the process, of a kind whose numbers are not given elsewhere.  Numbers go
 * by the text's address; once there are 1,000 of them the rest share the number 0, "other". */
uint32_t sqt_name(unsigned kind, const char *text);

/* Keyed 64-bit hash (SipHash-1-3 with the key of the trace directory) of size bytes; never 0. */
uint64_t sqt_hash(const void *data, size_t size);

/* The same of a store key; one that is asked for again is not hashed again.  Main thread. */
uint64_t sqt_hash_key(const unsigned char key[16]);

/* ---- an I/O that runs in a helper thread or process ----
 *
 * Its stamps travel with the operation.  Just before the completion is delivered, the main thread says so with
 * sqt_io_done(); the hook of the completion takes them with sqt_io_take() and is of the same moment.  The chain in
 * between is synchronous. */

struct sqt_io_stamps {
    uint64_t service_begin; /* ticks; 0: did not run elsewhere */
    uint64_t service_end;   /* ticks */
    uint64_t noticed;       /* ticks: the main thread has the answer */
    uint32_t copy;          /* ticks from then until its answer was put where the main thread finds it */
    uint16_t timed_out;     /* no answer came in time */
    uint16_t taken;         /* a hook has the stamps */
};
extern struct sqt_io_stamps sqt_io_pending;

static inline void
sqt_io_done(uint64_t service_begin, uint64_t service_end, uint32_t copy, uint64_t noticed)
{
    sqt_io_pending.service_begin = service_begin;
    sqt_io_pending.service_end = service_end;
    sqt_io_pending.noticed = noticed;
    sqt_io_pending.copy = copy;
    sqt_io_pending.timed_out = sqt_io_pending.taken = 0;
}

static inline void
sqt_io_timed_out(void)
{
    sqt_io_pending.service_begin = 0;
    sqt_io_pending.timed_out = 1;
    sqt_io_pending.taken = 0;
}

/* Whether there is something to take. */
static inline int
sqt_io_is_pending(void)
{
    return (sqt_io_pending.service_begin | sqt_io_pending.timed_out) != 0;
}

static inline struct sqt_io_stamps
sqt_io_take(void)
{
    struct sqt_io_stamps stamps = sqt_io_pending;
    sqt_io_pending.service_begin = 0;
    sqt_io_pending.timed_out = 0;
    if (stamps.service_begin)
        sqt_io_pending.taken = 1;
    return stamps;
}

/* The completion has been delivered. */
static inline void
sqt_io_is_over(void)
{
    sqt_io_pending.service_begin = 0;
    sqt_io_pending.timed_out = sqt_io_pending.taken = 0;
}

/* ---- what the event loop does ----
 *
 * Each activity of a pass (a handler, a call, a poll of the stores) begins where the one before it ended, so that one
 * reading of the clock is enough for each; the last one, "event loop", ends where the wait begins. */

/* The event loop is about to wait for msec at most, or for ever if that is negative: tells the longest activity since
 * sqt_loop_works(), and the system calls that all threads made since this was called last.
 * Call when sqt_on(SQT_GROUP_LOOP | SQT_GROUP_SYSCALL). */
void sqt_loop_waits(int msec);

/* The wait is over, with that many descriptors ready, or with an error if that is negative; the first activity begins.
 * Call when sqt_on(SQT_GROUP_LOOP). */
void sqt_loop_works(int ready);

/* An activity is over, and another begins.  name lives as long as the process.  Call when sqt_on(SQT_GROUP_LOOP). */
void sqt_activity_ends(const char *name);

/* ---- what the main thread was sampled at ----
 *
 * The flusher's thread samples the main thread some 100 times a second while it works.  What ends next says what was
 * sampled.  A part of an activity is told apart if it says where it begins, too. */

/* Written by libsqtrace, from its own thread, too. */
enum sqt_sample_state {
    SQT_NO_SAMPLE,
    SQT_NEW_SAMPLE,    /* one waits to be told, and may belong to the part that ends next */
    SQT_PLACED_SAMPLE, /* one waits to be told, and it is known which part it belongs to, if any */
};
extern int sqt_sample_waits;

/* Whether what ends next has a sample to tell: all that an activity's end costs otherwise. */
static inline int
sqt_has_sample(void)
{
    return __builtin_expect(__atomic_load_n(&sqt_sample_waits, __ATOMIC_RELAXED) != SQT_NO_SAMPLE, 0);
}

/* The same of a part's begin or end. */
static inline int
sqt_has_new_sample(void)
{
    return __builtin_expect(__atomic_load_n(&sqt_sample_waits, __ATOMIC_RELAXED) == SQT_NEW_SAMPLE, 0);
}

/* A part begins: what was sampled until now was none.  This and the following: call if sqt_has_new_sample(). */
void sqt_part_begins(void);

/* It is over, and was the check of an ACL; with names=off the name is left out. */
void sqt_part_was_acl(const char *name, size_t length);

/* It was a disk call (enum sqt_disk_op) of the main thread, on that cache_dir. */
void sqt_part_was_disk_call(uint32_t op, uint32_t dir);

/* It was something else: that name, which lives as long as the process, stands in place of the activity's. */
void sqt_part_was(const char *name);

/* ---- resource samples ----
 *
 * The flusher's thread samples the process, the machine and disks once a second; what only Squid knows the main thread
 * samples itself.  sqt_poll() tells both. */

/* Tells a value as it is now.  number: of the cache_dir that it is of, else 0.  Call when sqt_on(SQT_GROUP_SAMPLE). */
void sqt_sample(enum sqt_sample_value what, unsigned number, uint64_t value);

/* This process tells the numbers of that cache_dir: the device below it is sampled from now on.  Cheap when it is known
 * already. */
void sqt_sample_dir(unsigned number, const char *path);

/* ---- listening ports ---- */

/* The number of a listening port, from 1, by its text.  The same text has the same number for as long as the process
 * lives.  Once there are SQT_LISTENERS of them the rest share the number 0. */
#define SQT_LISTENERS 128
uint32_t sqt_listener(const char *text);

/* How long a connection that was just accepted had waited, in ms: since its last bytes came, or since the connection was
 * established if no bytes came.  As exact as the kernel's tick, 1 ms to 10 ms.  UINT64_MAX: the kernel does not say. */
uint64_t sqt_accept_wait(int fd);

/* Tells backlog, limit and drops of a listening socket.  Call when sqt_on(SQT_GROUP_SAMPLE). */
void sqt_sample_listener(uint32_t listener, int fd);

/* The same because a connection had waited that long before its accept, in ms; not more often than every 100 ms. */
#define SQT_ACCEPT_LATE_MS 10
void sqt_sample_late(uint32_t listener, int fd);

/* ---- connections that close ---- */

/* What TCP knows of a connection. */
struct sqt_tcp {
    uint64_t received;     /* bytes */
    uint32_t rtt_us;       /* round trip, in the mean of the last */
    uint32_t least_rtt_us; /* the shortest */
    uint32_t sent_again;   /* segments */
    uint32_t out_of_order; /* segments that came before others that had been sent earlier */
    uint32_t sent;         /* segments with data, those that were sent again, too */
    uint64_t unacked;      /* bytes that were sent, or are to be, and that the other end has not acknowledged */
    uint64_t busy_us;      /* in which bytes were on their way, but those in which the other end had no room */
    uint32_t idle_ms;      /* since the other end's last bytes, or since the connection was established */
    uint32_t closed_by;    /* 0: nobody yet, 1: the other end, 2: it sent a reset, or answers no more */
};

/* Asks the kernel.  What an older kernel does not say is 0.  Returns 0, or -1 if fd is no connected TCP socket. */
int sqt_tcp_of(int fd, struct sqt_tcp *tcp);

/* ---- the caller's trace ---- */

/* What the header field traceparent of W3C's Trace Context (levels 1 and 2) says. */
struct sqt_traceparent {
    uint64_t trace_high; /* the first 16 digits of the trace id */
    uint64_t trace_low;  /* the other 16; not both are 0 */
    uint64_t parent;     /* the id of the caller's span; not 0 */
    uint32_t flags;      /* 0 to 255; 1: sampled; of versions after 00 only that one is taken */
};

/* Reads the value of one field traceparent, without the blanks around it: size bytes at text, with any content.  What
 * the recommendation does not allow is refused.  Of a version after 00 the part that version 00 has is read.  A request
 * with several fields traceparent has no valid one: the caller looks for that.  Takes no memory; any thread.  Returns 0,
 * or -1 and leaves *to as it was. */
int sqt_traceparent_parse(const char *text, size_t size, struct sqt_traceparent *to);

/* Writes the same field with the id of a span of Squid's own in place of the caller's: that of a try to send the request of
 * this transaction to a server (1: the first), as the readers of the present trace make it.  All else of the field stays.
 * Returns 0, or -1 if the field is not valid, or has no room with its NUL; `to` is then as it was.  Main thread. */
int sqt_traceparent_forward(const char *text, size_t size, uint64_t xact, uint32_t tries, char *to, size_t to_size);
/* The id of the present trace's ring, for that; written only by libsqtrace. */
extern uint8_t sqt_span_ring[16];

/* What trace_context= of sqtrace_log says. */
enum sqt_trace_contexts {
    SQT_CONTEXT_OFF,
    SQT_CONTEXT_ON,     /* valid fields traceparent of requests are recorded */
    SQT_CONTEXT_FORWARD /* and sent on with Squid's own span */
};
/* What the present trace does with valid fields traceparent of requests (enum sqt_trace_contexts).  Main thread;
 * written only by libsqtrace. */
extern int sqt_trace_context;

/* ---- notes of transactions ---- */

/* A name that note= of sqtrace_log has. */
struct sqt_note {
    char name[SQT_NOTE_NAME + 1];
    uint32_t size;   /* of the name */
    uint32_t salt;   /* the same value of another name has another number */
    uint32_t values; /* that have a number of their own */
    uint32_t last;   /* number of the value that came last, which is often the next one, too */
    uint32_t last_size;
    char last_value[SQT_NOTE_VALUE];
};
/* What the present trace takes of each transaction that is logged; 0: nothing.  Main thread; written only by libsqtrace. */
extern unsigned sqt_note_count;
extern struct sqt_note sqt_notes[SQT_NOTES];

/* The number of a value, any bytes, of the note at that place of sqt_notes: interns its first SQT_NOTE_VALUE bytes, and only
 * the first SQT_NOTE_VALUES values of a name; the others are "other".  A changed squid.conf that names the note again counts
 * on.  Main thread. */
#define SQT_NOTE_VALUES 64
uint32_t sqt_note_number(unsigned place, const char *value, size_t size);

/* ---- configuration ---- */

/* A bound that is switched off. */
#define SQT_NO_LIMIT UINT64_MAX

/* The parameters of one sqtrace_log directive. */
struct sqt_config {
    char directory[256]; /* empty: tracing is off */
    char ringdir[256];   /* empty: /dev/shm */
    uint64_t ring;       /* bytes of records; 0: 32 MiB for workers, 1 MiB for diskers and the coordinator */
    uint64_t segment;    /* bytes after which a new segment begins; 0: the default (1 GiB) */
    uint64_t keep;       /* bytes of closed segments that each kid keeps; 0: no bound */
    uint64_t total;      /* bytes of all segments of the service; 0: a tenth of the file system, at most 10 GiB */
    uint64_t reserve;    /* bytes of the file system that stay free; 0: a twentieth of it, at most 1 GiB */
    uint64_t age_ns;     /* closed segments that are older are deleted; 0: none */
    uint64_t every_ns;   /* a new segment begins after that time; 0: only by size */
    uint32_t groups;     /* enum sqt_group bits */
    int compression;     /* enum sqt_compression (format/compress.h) */
    int names;           /* enum sqt_names */
    int trace_context;   /* enum sqt_trace_contexts */
    char notes[SQT_NOTES][SQT_NOTE_NAME + 1]; /* names; behind the last an empty one */
    int recorder;   /* 1: a flight recorder; the ring keeps the last records, and nothing is written before the end */
    char host[256]; /* its name in traces; empty: a number made with the key of the directory */
};

void sqt_config_init(struct sqt_config *config);

/* Takes the directive's words one by one: the first is DIRECTORY, the others name=value.  Returns 0, or -1 with one
 * line in error that names the value and what is allowed. */
int sqt_config_word(struct sqt_config *config, const char *word, char *error, size_t error_size);

/* Checks the whole.  Returns as above. */
int sqt_config_check(const struct sqt_config *config, char *error, size_t error_size);

/* Writes the directive's words, as they would be in squid.conf, without the directive's name.  Returns the bytes
 * needed, like snprintf. */
size_t sqt_config_print(const struct sqt_config *config, char *buf, size_t size);

/* The directive may stand in this file, in the folder of squid.conf, instead.  A Squid without the hooks, which would end
 * at a directive that it does not know, does not read it. */
#define SQT_CONF_FILE "sqtrace.conf"

struct sqt_conf_directive {
    char place[4352]; /* of the directive, for messages: "/etc/squid/sqtrace.conf:3" */
    char words[2048]; /* behind its name, with Squid's macros and quotes */
};

/* Looks for the file beside squid_conf, the name of squid.conf as Squid has it, and for the directive in it.  The file is
 * a regular one of at most 64 KB, and no link; file and folder belong to root, squid_user or the real user, and nobody else
 * may write to them, but for root's group.  Comments, blank lines and lines that go on are as in squid.conf; nothing but
 * one sqtrace_log is allowed.  Never waits for a pipe.  Returns 1 if *found is set, 0 if there is no file or no directive in
 * it, or -1 with one line in error that names file and line. */
int sqt_conf_file(const char *squid_conf, uid_t squid_user, struct sqt_conf_directive *found, char *error,
                  size_t error_size);

/* ---- life ---- */

struct sqt_process {
    uint32_t kid;
    uint32_t kid_kind;         /* enum sqt_kid_kind */
    const char *service;       /* Squid's service name */
    const char *squid_version; /* "7.7" */
    const char *host; /* name of the machine for traces without host= and with names; NULL: squid.conf gives none */
};

/* How libsqtrace speaks: one line without newline, for cache.log.  level 0: important (a WARNING or ERROR is part of
 * the text), 1: worth a line, 2: debugging.  Called from the main thread only. */
typedef void sqt_log_function(int level, const char *text);

/* Begins tracing.  Call once the process has its final user, root directory and helpers.  With an empty directory
 * nothing happens: no thread, no file, no ring.  Returns 0, or -1 after one line through log; then tracing is off and
 * stays off until the next sqt_start. */
int sqt_start(const struct sqt_config *config, const struct sqt_process *process, sqt_log_function *log);

/* Applies a changed configuration: groups, compress, segment and the bounds at once; an added or removed directive starts
 * or stops.  A changed directory, ring, ringdir or host (process->host, too) needs a restart: one WARNING says so.
 * process and log as for sqt_start, which this calls if tracing was off. */
void sqt_reconfigure(const struct sqt_config *config, const struct sqt_process *process, sqt_log_function *log);

/* Begins a new segment; for squid -k rotate. */
void sqt_rotate(void);

/* Squid is about to end itself because of an error; why: what it says of it in cache.log.  Quotations of squid.conf and
 * what helpers answered are left out, and with names=off all of it.  Goes on tracing. */
void sqt_gives_up(const char *why);

/* Ends tracing in order: everything in the ring is written, the segment closed, the ring removed. */
void sqt_stop(void);

/* Turns tracing off at once and for good, without touching anything else: for signal handlers that report a crash,
 * and for forked children.  Async-signal-safe, any thread.  What the ring holds stays there for the next start, or
 * for sqtrace-dump. */
void sqt_off(void);

/* Hands what the flusher has to say (disk full, written again, ...) to the log function, and tells what was sampled.
 * Call about once a second. */
void sqt_poll(void);

/* Whether there is a trace, perhaps one that cannot be written at the moment. */
int sqt_has_trace(void);

/* What mgr:sqtrace shows. */
#define SQT_GROUPS_TEXT 128
struct sqt_status {
    const char *state;                 /* "off", "starting: <why>", "tracing", "not writing: <why>" */
    const char *reason;                /* why it is off, until the next call; empty: it is on */
    char group_names[SQT_GROUPS_TEXT]; /* "client,server" */
    char directory[256];
    char file[512]; /* segment that is being written; empty if none */
    char ring[512];
    uint64_t emitted; /* records: written to the ring + lost */
    uint64_t written; /* LOST records not counted; of a flight recorder: overwritten + waiting */
    uint64_t lost;
    int recorder;            /* whether it is one: then the next two count */
    uint64_t overwritten;    /* records that the ring has no more */
    uint64_t reaches_ns;     /* how long ago the oldest record was made that the ring has */
    uint64_t flushed;        /* records that are in segments */
    uint64_t bytes;          /* written to segments */
    uint64_t capacity;       /* records */
    uint64_t waiting;        /* records in the ring, not yet in a segment */
    uint64_t high_water;     /* most that ever waited */
    uint64_t flusher_lag_ns; /* since the flusher's last round */
    uint64_t errors;         /* failed writes */
    uint32_t groups;
    uint32_t flusher;      /* its thread's id; 0: none */
    uint32_t left_behind;  /* earlier traces whose flusher has not ended yet */
    uint32_t flusher_disk; /* id of the process that does its disk work; 0: the thread does it */
};
void sqt_get_status(struct sqt_status *status);

#ifdef __cplusplus
}
#endif
#endif
