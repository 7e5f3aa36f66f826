/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * format.h - the shape of a trace: records, the ring in shared memory, and segments on disk.
 *
 * This is the only place where bytes are laid out.  All integers are little-endian (the writer refuses to start
 * elsewhere).  sqtrace(5) describes the same in prose, with worked bytes.
 *
 * C11, and C++11 with -Wall -Wextra -Werror.
 */
#ifndef SQT_FORMAT_H
#define SQT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SQT_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define SQT_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* ---- numbers made from the tables ---- */

enum sqt_stage {
#define SQT_STAGE(NAME, name, column, doc) SQT_STAGE_##NAME,
#include "stages.def"
    SQT_STAGES /* how many */
};

enum sqt_group_index {
#define SQT_GROUP(NAME, name, on, doc) SQT_GROUP_INDEX_##NAME,
#include "groups.def"
    SQT_GROUPS_COUNT
};

/* Bits of groups, as in sqt_groups. */
enum sqt_group {
#define SQT_GROUP(NAME, name, on, doc) SQT_GROUP_##NAME = 1 << SQT_GROUP_INDEX_##NAME,
#include "groups.def"
    SQT_GROUP_DEFAULT = 0
#define SQT_GROUP(NAME, name, on, doc) | ((on) << SQT_GROUP_INDEX_##NAME)
#include "groups.def"
};

enum sqt_kind {
#define SQT_KIND(NAME, name, predictor, doc) SQT_KIND_##NAME,
#include "kinds.def"
    SQT_KINDS
};

/* What is sampled, and of what: see samples.def.  A value belongs to the source above it. */
enum sqt_sample_source {
#define SQT_SAMPLE_SOURCE(SOURCE, text, doc) SQT_SOURCE_##SOURCE,
#include "samples.def"
    SQT_SAMPLE_SOURCES
};

enum sqt_sample_value {
#define SQT_SAMPLE(SOURCE, name, nature, doc) SQT_SAMPLE_##SOURCE##_##name,
#include "samples.def"
    SQT_SAMPLES
};

/* Events are numbered from 1, so that a zeroed record is no event. */
enum sqt_event {
    SQT_EV_NONE_,
#define SQT_EVENT(NAME, ...) SQT_EV_##NAME,
#include "events.def"
    SQT_EVENTS /* one more than the last */
};
SQT_ASSERT(SQT_EVENTS <= 256, "pack.c codes an event in one byte");

/* Which reading a PART_STAMP holds (its aux).  No hook emits the two OLD ones: a PART_DISKOP_IO holds both readings
 * today.  A reader understands them in old traces, where a PART_STAMP of each follows the end of a swap's I/O. */
enum sqt_stamp {
    SQT_STAMP_OLD_BEGIN = 1,   /* a thread or process took the I/O from its queue */
    SQT_STAMP_OLD_END = 2,     /* that I/O was done */
    SQT_STAMP_SECOND_QUEUE = 3 /* it left the queue that it waited in because a lock was busy */
};

/* What is done to a file (aux of PART_DISKOP). */
enum sqt_disk_op {
    SQT_DISK_OTHER,
    SQT_DISK_OPEN,
    SQT_DISK_CREATE,
    SQT_DISK_READ,
    SQT_DISK_WRITE,
    SQT_DISK_CLOSE,
    SQT_DISK_UNLINK,
    SQT_DISK_OPS
};

/* aux of records of kind IO_BYTES: how an I/O ended that moved nothing. */
#define SQT_IO_FAILED (UINT32_C(1) << 31)
#define SQT_IO_TIMED_OUT (UINT32_C(1) << 30)
#define SQT_IO_CANCELLED (UINT32_C(1) << 29)
#define SQT_IO_BYTES (SQT_IO_CANCELLED - 1)

/* The flusher's heartbeat: how late it must be to be told, and the bit of a field of HEARTBEAT_LATE, whose other bits are
 * microseconds. */
#define SQT_HEARTBEAT_LATE_NS 25000000
#define SQT_HEARTBEAT_AT_WORK (UINT32_C(1) << 31)

/* Samples of the main thread: bits of PART_LOOP_RAN's aux, and where the numbers of system calls begin among those of
 * definitions of kind CALL. */
#define SQT_LOOP_IN_WAIT 1u
#define SQT_LOOP_RUNNABLE 2u
#define SQT_LOOP_QUEUE_UNKNOWN 4u
#define SQT_LOOP_THROTTLING_UNKNOWN 8u
#define SQT_LOOP_BY_PROCESSOR 16u
#define SQT_LOOP_FLAG_BITS 8
#define SQT_LOOP_CALLS 65536u

/* aux of DIGEST_REBUILD and DIGEST_REWRITE. */
enum sqt_digest_step { SQT_DIGEST_BEGUN = 0, SQT_DIGEST_MORE = 1, SQT_DIGEST_DONE = 2 };

/* aux of DIGEST_FETCH_END. */
enum sqt_digest_fetch { SQT_DIGEST_NEW = 0, SQT_DIGEST_SAME = 1, SQT_DIGEST_FAILED = 2 };

/* aux of DIGEST_LOOKUP: the peer, and this if its digest says hit. */
#define SQT_DIGEST_SAYS_HIT (UINT32_C(1) << 31)

/* aux of PART_XACT_FLAGS. */
enum sqt_xact_flags {
    SQT_XACT_ABORTED = 1,    /* Squid's LogTagsErrors::aborted */
    SQT_XACT_TIMEDOUT = 2,   /* Squid's LogTagsErrors::timedout */
    SQT_XACT_COLLAPSED = 4,  /* the tag says _CF */
    SQT_XACT_TUNNEL = 8,     /* a tunnel was set up */
    SQT_XACT_INTERNAL = 16,  /* answered by Squid without asking a server */
    SQT_XACT_ERROR_PAGE = 32 /* the reply is an error page made by Squid */
};
/* Bits 8 to 12 of the same field. */
#define SQT_XACT_MISS_SHIFT 8
#define SQT_XACT_MISS_MASK UINT32_C(31)

/* Why a look-up was no hit. */
enum sqt_miss {
    SQT_MISS_NONE, /* it was one, there was none, or the trace does not say */
#define SQT_MISS(NAME, name, doc) SQT_MISS_##NAME,
#include "misses.def"
    SQT_MISSES_COUNT
};

/* aux of CONNECT_END, TLS_END and CLIENT_TLS_END. */
enum sqt_connect_outcome {
    SQT_CONNECT_OK = 0,
    SQT_CONNECT_FAILED = 1,
    SQT_CONNECT_TIMEOUT = 2,
    SQT_CONNECT_CANCELLED = 3 /* another attempt won, or nobody waits any more; the client left */
};

/* aux of LOST: libsqtrace makes the first and sqtrace-attach SAMPLED; a reader makes the others where it finds record numbers
 * missing. */
enum sqt_loss {
    SQT_LOSS_RING_FULL = 1,   /* found no room in the ring */
    SQT_LOSS_DAMAGED = 2,     /* a part of a file could not be read */
    SQT_LOSS_MISSING = 3,     /* a segment is not there (deleted, or not given) */
    SQT_LOSS_OVERWRITTEN = 4, /* a flight recorder overwrote it before it was read */
    SQT_LOSS_SAMPLED =
        5, /* sqtrace-attach looked away, to keep what it costs within --most, or its memory within bounds */
    SQT_LOSSES
};

/* aux of CLOCK_STEP. */
enum sqt_step_kind {
    SQT_STEP_BACK = 1,         /* the trace's clock fell behind CLOCK_MONOTONIC */
    SQT_STEP_FORWARD = 2,      /* it jumped ahead of it */
    SQT_STEP_SUSPEND = 3,      /* the machine was suspended */
    SQT_STEP_WALL_BACK = 4,    /* the time of day was set back; durations are not concerned */
    SQT_STEP_WALL_FORWARD = 5, /* it was set forward */
    SQT_STEP_KINDS
};

/* Whether a duration that goes across such a step is not known. */
static inline int
sqt_step_hides_durations(uint32_t kind)
{
    return kind != SQT_STEP_WALL_BACK && kind != SQT_STEP_WALL_FORWARD;
}

/* arg of CHILD_DIED: an exit status, or one of these. */
#define SQT_EXIT_SIGNAL 256u /* and the signal */
#define SQT_EXIT_UNKNOWN 1024u

/* aux of CHILD_DIED: which helper, and this if the child had not answered one question. */
#define SQT_CHILD_SILENT (UINT32_C(1) << 31)

/* aux of SERVICE_STATE. */
enum sqt_service_state { SQT_SERVICE_DOWN = 0, SQT_SERVICE_UP = 1, SQT_SERVICE_SUSPENDED = 2 };

/* aux of TRACE_CONTEXT: added to the field's flags if the server gets the field with a span of Squid's own. */
#define SQT_CONTEXT_FORWARDED UINT32_C(0x100)

/* aux of REPLY_READY. */
enum sqt_reply_source { SQT_REPLY_STORE = 0, SQT_REPLY_SERVER = 1, SQT_REPLY_MADE = 2 };

/* Kinds of definitions: numbers in records whose texts are interned once.  Kept in text frames as
 * "def\t<kind>\t<number>\t<text>\n". */
enum sqt_def {
    SQT_DEF_DIR = 1,       /* cache_dir: "<type> <path>" */
    SQT_DEF_TAG = 2,       /* result code as in %Ss */
    SQT_DEF_METHOD = 3,    /* request method */
    SQT_DEF_PEER_KIND = 4, /* "direct", "parent", "sibling", "pinned", ... */
    SQT_DEF_ACTIVITY = 5,  /* what the event loop did: the name of a call or of a handler */
    SQT_DEF_PEER =
        6, /* neighbour: its name in squid.conf; with names=off "cache_peer" and its place among them, from 1 */
    SQT_DEF_SERVICE = 7,   /* adaptation service: its id in squid.conf; with names=off a keyed number */
    SQT_DEF_CALL = 8,      /* class of system calls */
    SQT_DEF_THREAD = 9,    /* name of a thread */
    SQT_DEF_SAMPLE = 11,   /* a value that is sampled: "<source> <name>" */
    SQT_DEF_SERVER = 12,   /* server: a cache_peer's name, an origin's keyed number, or its address and port */
    SQT_DEF_WAITED = 13,   /* helper or name server: its kind and its name, as "auth basic" */
    SQT_DEF_LISTENER = 14, /* listening port: its directive and address in squid.conf; with names=off its number */
    SQT_DEF_ACL = 15,      /* an ACL: its name in squid.conf */
    SQT_DEF_HOST = 16,     /* number 0: the name of the host; host= of sqtrace_log, or a keyed number */
    SQT_DEF_ENDING = 17,   /* why a process ends: what Squid says of it in cache.log; with names=off "fatal error" */
    SQT_DEF_SETTING = 18,  /* a setting, as a line of squid.conf: "cache_mem 268435456 bytes" */
    SQT_DEF_ATTACHED = 19, /* number 0: the build id of the program that sqtrace-attach watched */
    SQT_DEF_NOTE = 20,     /* a note of a transaction: its name, a blank, and its value or "other" */
    SQT_DEF_KINDS
};

/* Who can be waited for besides servers.  The first numbers of SQT_DEF_WAITED are "<kind> other". */
enum sqt_waited {
#define SQT_WAITED(NAME, name, doc) SQT_WAITED_##NAME,
#include "waits.def"
    SQT_WAITED_KINDS
};

/* How a use of a helper, a service or a name server ended. */
enum sqt_wait_outcome {
#define SQT_WAIT_OUTCOME(NAME, name, doc) SQT_WAIT_##NAME,
#include "waits.def"
    SQT_WAIT_OUTCOMES
};

/* Names that note= of sqtrace_log may have, bytes of a name, and bytes of a value that are kept. */
#define SQT_NOTES 8
#define SQT_NOTE_NAME 32
#define SQT_NOTE_VALUE 64

/* aux of NOT_KEPT. */
enum sqt_unkept {
    SQT_UNKEPT_NONE, /* it is kept, may not be, or the trace does not say */
#define SQT_UNKEPT(NAME, name, doc) SQT_UNKEPT_##NAME,
#include "unkept.def"
    SQT_UNKEPTS
};

/* Transactions that have no master transaction id yet carry a serial with this bit. */
#define SQT_UNNAMED (UINT64_C(1) << 63)

/* ---- a record ---- */

/* An event that needs more than one record is a unit of up to SQT_UNIT_MAX consecutive records: the first says in
 * `flags` how many follow it, each of those has SQT_FLAG_PART.  A unit is published by one store of the ring's head,
 * so it is whole or absent, in a ring and in a block. */
struct sqt_record {
    uint64_t time;  /* raw reading of the trace's clock; never less than in the record before it in its ring */
    uint64_t id;    /* what the record is about; see events.def */
    uint64_t arg;   /* see events.def */
    uint32_t aux;   /* see events.def */
    uint16_t event; /* enum sqt_event, in the writer's numbering */
    uint16_t flags; /* bits 0-2: records of the same unit that follow; SQT_FLAG_PART */
};
#define SQT_FLAG_MORE 0x0007u
#define SQT_FLAG_PART 0x0008u
#define SQT_UNIT_MAX 8

SQT_ASSERT(sizeof(struct sqt_record) == 32, "a record is 32 bytes");
SQT_ASSERT(offsetof(struct sqt_record, id) == 8, "id");
SQT_ASSERT(offsetof(struct sqt_record, arg) == 16, "arg");
SQT_ASSERT(offsetof(struct sqt_record, aux) == 24, "aux");
SQT_ASSERT(offsetof(struct sqt_record, event) == 28, "event");
SQT_ASSERT(offsetof(struct sqt_record, flags) == 30, "flags");

/* ---- who wrote it ---- */

/* The processor's own counter is the time stamp counter of x86-64 and the generic timer of arm64. */
enum sqt_clock { SQT_CLOCK_TSC = 1, SQT_CLOCK_MONOTONIC = 2 };
enum sqt_kid_kind { SQT_KID_SINGLE = 0, SQT_KID_WORKER = 1, SQT_KID_DISKER = 2, SQT_KID_COORDINATOR = 3 };

/* A moment on three clocks.  ticks is the trace's clock; the other two are nanoseconds. */
struct sqt_anchor {
    uint64_t ticks;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC */
    uint64_t realtime_ns;  /* CLOCK_REALTIME, since the epoch */
};
SQT_ASSERT(sizeof(struct sqt_anchor) == 24, "an anchor is 24 bytes");

/* One process's life as a writer: the same in its ring and in all of its segments. */
struct sqt_identity {
    uint8_t ring_id[16]; /* random */
    uint8_t boot_id[16]; /* of the machine's boot; ticks of different boots cannot be compared */
    uint32_t clock;      /* enum sqt_clock */
    uint32_t kid;        /* Squid's kid number; 0 without SMP */
    uint32_t kid_kind;   /* enum sqt_kid_kind */
    uint32_t pid;
    uint64_t ticks_per_second; /* nominal; the anchors are more exact */
    uint32_t sampling_rate;    /* reserved: 1 */
    uint32_t run;              /* numbers the runs of a service and kid in a directory, from 1; 0: not known */
    struct sqt_anchor start;   /* when the ring was made */
    char squid_version[32];    /* NUL-terminated */
    char service[32];          /* Squid's service name, NUL-terminated */
};
SQT_ASSERT(sizeof(struct sqt_identity) == 152, "identity");

/* Whether the run of a Squid that `later` is of began after that of `o`: by their numbers, which a clock that is set does not
 * change, or where one has none by the clock. */
static inline int
sqt_identity_is_later(const struct sqt_identity *later, const struct sqt_identity *o)
{
    return later->run && o->run ? later->run > o->run : later->start.realtime_ns > o->start.realtime_ns;
}

/* ---- segment files ----
 *
 *   segment header | frame | frame | ...
 *
 * The first frame is TEXT and holds the table of events and all definitions known so far.  Frames stand alone: one
 * that is damaged is skipped by looking for the next SQT_FRAME_MAGIC whose CRC holds. */

#define SQT_SEGMENT_MAGIC "SQTRACE\x1a" /* 8 bytes, no terminator */
#define SQT_VERSION 1

/* `compatible` of a ring and of a segment: a flight recorder made it.  The ring has the last records, and records before
 * the tail are in no segment: they were overwritten.  An ANCHOR record comes about once a second. */
#define SQT_RECORDER 2u

/* `compatible` of a segment: another process watched the traced one from outside (sqtrace-attach).  Fields that could not be
 * seen are 0. */
#define SQT_ATTACHED 4u

/* Bits of `incompatible`. */
#define SQT_NEEDS_ZSTD 1u /* blocks may be compressed with zstd */
#define SQT_NEEDS_KNOWN SQT_NEEDS_ZSTD

struct sqt_segment_header {
    char magic[8];
    uint32_t version;      /* SQT_VERSION */
    uint32_t header_size;  /* the first frame begins here */
    uint32_t compatible;   /* flags a reader may ignore */
    uint32_t incompatible; /* a reader that does not know one of these must refuse */
    uint64_t sequence;     /* number of the segment within its ring id, from 0 */
    struct sqt_identity identity;
    uint32_t reserved;
    uint32_t crc; /* crc32 of the header_size bytes of the header with this field 0 */
};
SQT_ASSERT(sizeof(struct sqt_segment_header) == 192, "segment header");

#define SQT_FRAME_MAGIC UINT32_C(0x46545153) /* "SQTF" */

enum sqt_frame_type {
    SQT_FRAME_TEXT = 1,  /* lines: "event\t...", "def\t...", "key\t..." */
    SQT_FRAME_BLOCK = 2, /* struct sqt_block, then packed records */
    SQT_FRAME_END = 3    /* struct sqt_totals: the segment was closed */
};
#define SQT_FRAME_ZLIB 1u    /* the packed records of a BLOCK are deflated */
#define SQT_FRAME_ZSTD 4u    /* the packed records of a BLOCK are compressed with zstd, and not deflated */
#define SQT_FRAME_SUSPECT 2u /* a BLOCK's anchors disagree with the nominal rate by more than 50 us */

struct sqt_frame {
    uint32_t magic;
    uint16_t type;
    uint16_t flags;
    uint32_t size; /* bytes that follow this header */
    uint32_t crc;  /* crc32 of this header with crc 0, then of the bytes that follow */
};
SQT_ASSERT(sizeof(struct sqt_frame) == 16, "frame");

/* Largest frame that a writer makes; a reader treats a larger size as damage. */
#define SQT_FRAME_MAX (8u << 20)
/* Most records in a block. */
#define SQT_BLOCK_RECORDS 65536u

struct sqt_block {
    uint8_t ring_id[16];
    uint64_t first;       /* number of the first record within its ring, from 0; LOST records count too */
    uint32_t count;       /* records */
    uint32_t packed_size; /* bytes of packed records before compression */
    uint64_t time_first;  /* ticks */
    uint64_t time_last;
    /* Anchors around the block: the previous flush and this one.  If the clock stepped between the two, they stand in
     * reverse order, the later one in `from`. */
    struct sqt_anchor from, to;
};
SQT_ASSERT(sizeof(struct sqt_block) == 96, "block");

struct sqt_totals {
    uint8_t ring_id[16];
    uint64_t head;      /* records written to the ring so far, LOST records included */
    uint64_t lost;      /* records dropped so far */
    uint64_t marks;     /* LOST records among head */
    uint64_t lost_from; /* ticks of the first lost record that no LOST record speaks of, 0 if none */
    uint64_t lost_open; /* how many those are */
    uint32_t clean;     /* 1: tracing ended in order; 0: the ring went on in another segment, or was a leftover */
    uint32_t lost_us;   /* microseconds from lost_from to the last of these, rounded down; 0 also if it is not known */
};
SQT_ASSERT(sizeof(struct sqt_totals) == 64, "totals");

/* ---- the ring ----
 *
 *   offset 0          header (SQT_RING_HEADER bytes)
 *   text_offset       text area: the same lines as a TEXT frame, append-only, text_used bytes of it valid
 *   records_offset    capacity records; record number n is at n & (capacity - 1)
 *
 *        tail            head
 *   .....|###############|.........    # holds records not yet in a segment
 *
 * The traced process's main thread owns `writer`, the flusher owns `flusher`; each is read by others with acquire
 * loads.  head and tail never wrap: they are record numbers. */

#define SQT_RING_MAGIC "SQTRING\x1a"
#define SQT_RING_HEADER 4096u

/* What a writer makes at most: bytes of records, which is the most that ring= can ask for, and bytes of the text area. A
 * reader refuses more. */
#define SQT_RING_RECORDS_MAX (UINT64_C(4) << 30)
#define SQT_RING_TEXT_MAX (UINT64_C(64) << 10)
#define SQT_RING_FILE_MAX (SQT_RING_HEADER + SQT_RING_TEXT_MAX + SQT_RING_RECORDS_MAX)

/* A stretch of lost records, as the writer knows it.  Two slots take turns, so that a kill at any instruction leaves
 * an exact account: a stretch begins when `episodes` is stored, grows when `lost` is, ends when `head` is. */
struct sqt_ring_loss {
    uint64_t at;   /* head when the stretch began; the stretch is open while head is still that */
    uint64_t from; /* ticks of its first lost record */
    uint64_t base; /* `lost` before it */
};

struct sqt_ring_writer {
    uint64_t head;       /* records published, LOST records included */
    uint64_t lost;       /* records dropped */
    uint64_t marks;      /* LOST records among head */
    uint64_t lost_from;  /* ticks of the first record dropped since the last LOST record, 0 if none */
    uint64_t lost_open;  /* records dropped since then */
    uint64_t text_used;  /* valid bytes of the text area */
    uint64_t high_water; /* most records that were waiting at once; the flusher notes it */
    uint64_t closed;     /* 1: the writer ended in order and will write no more */
    /* marks, lost_from and lost_open are stored after head and can lag one step behind it; sqt_ring_totals() takes
     * the account from these instead. */
    uint64_t episodes; /* stretches begun; the last is in loss[episodes & 1] */
    struct sqt_ring_loss loss[2];
    uint64_t lost_until; /* ticks of the last record dropped; 0: none, or a writer that does not say */
    uint32_t acl; /* definition of the ACL that the main thread checks now; 0: none, or a writer that does not say */
    uint32_t pad;
};

struct sqt_ring_flusher {
    uint64_t tail;          /* records before this one are in segments; of a flight recorder: were overwritten */
    uint64_t heartbeat_ns;  /* CLOCK_MONOTONIC of the flusher's last round */
    uint64_t sequence;      /* of the segment that is being written */
    uint64_t bytes;         /* written to segments */
    uint64_t errors;        /* failed attempts to write */
    struct sqt_anchor last; /* anchor of the last block */
};

struct sqt_ring_header {
    char magic[8]; /* written last */
    uint32_t version;
    uint32_t header_size; /* SQT_RING_HEADER */
    uint32_t compatible;
    uint32_t incompatible;
    uint64_t capacity; /* records, a power of two */
    uint64_t text_offset;
    uint64_t text_size;
    uint64_t records_offset;
    struct sqt_identity identity;
    char directory[256]; /* trace directory, resolved, NUL-terminated; for messages */
    uint8_t pad0[1024 - 56 - 152 - 256];
    struct sqt_ring_writer writer; /* at 1024 */
    uint8_t pad1[1024 - sizeof(struct sqt_ring_writer)];
    struct sqt_ring_flusher flusher; /* at 2048 */
    uint8_t pad2[2048 - sizeof(struct sqt_ring_flusher)];
};
SQT_ASSERT(sizeof(struct sqt_ring_header) == SQT_RING_HEADER, "ring header");
SQT_ASSERT(offsetof(struct sqt_ring_header, writer) == 1024, "ring writer");
SQT_ASSERT(offsetof(struct sqt_ring_header, flusher) == 2048, "ring flusher");

/* `compatible` of a ring: its owner holds an OFD write lock on the whole ring file for as long as it lives.  Without
 * it, an owner lives if its heartbeat is younger than SQT_RING_STALE_NS. */
#define SQT_RING_LOCKED 1u
#define SQT_RING_STALE_NS UINT64_C(10000000000)

/* What lost_us is.  Words of another process: they may be anything. */
static inline uint32_t
sqt_ring_lost_us(const struct sqt_ring_header *ring, uint64_t from)
{
    const uint64_t until = __atomic_load_n(&ring->writer.lost_until, __ATOMIC_RELAXED);
    const uint64_t rate = ring->identity.ticks_per_second;
    const double us = rate && until > from ? (double)(until - from) / (double)rate * 1e6 : 0;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* A consistent account of a ring, living or dead: head, lost, marks, lost_from, lost_open and lost_us; the other fields
 * of totals stay as they are.  After a kill it is exact. */
static inline void
sqt_ring_totals(const struct sqt_ring_header *ring, struct sqt_totals *totals)
{
    const struct sqt_ring_writer *const w = &ring->writer;
    uint64_t episodes = __atomic_load_n(&w->episodes, __ATOMIC_ACQUIRE), again;
    for (;;) {
        const struct sqt_ring_loss *const loss = &w->loss[episodes & 1];
        const uint64_t at = __atomic_load_n(&loss->at, __ATOMIC_RELAXED);
        const uint64_t from = __atomic_load_n(&loss->from, __ATOMIC_RELAXED);
        const uint64_t base = __atomic_load_n(&loss->base, __ATOMIC_RELAXED);
        totals->head = __atomic_load_n(&w->head, __ATOMIC_ACQUIRE);
        totals->lost = __atomic_load_n(&w->lost, __ATOMIC_ACQUIRE);
        if (episodes) {
            const int open = at == totals->head && totals->lost > base;
            totals->marks = at == totals->head ? episodes - 1 : episodes;
            totals->lost_from = open ? from : 0;
            totals->lost_open = open ? totals->lost - base : 0;
        } else { /* nothing was lost yet */
            totals->marks = __atomic_load_n(&w->marks, __ATOMIC_RELAXED);
            totals->lost_from = __atomic_load_n(&w->lost_from, __ATOMIC_RELAXED);
            totals->lost_open = __atomic_load_n(&w->lost_open, __ATOMIC_RELAXED);
        }
        totals->lost_us = totals->lost_open ? sqt_ring_lost_us(ring, totals->lost_from) : 0;
        again = __atomic_load_n(&w->episodes, __ATOMIC_ACQUIRE);
        if (again == episodes)
            return;
        episodes = again; /* a stretch began meanwhile */
    }
}

#ifdef __cplusplus
}
#endif
#endif
