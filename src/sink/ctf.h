/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ctf.h - what the files ctf*.c share: how records look in the Common Trace Format, version 1.8.
 *
 *     DIRECTORY/metadata        the description of all that follows, as text
 *     DIRECTORY/kid-1-0, ...    a stream of packets for each process
 *
 *     packet    struct ctf_packet | event | event | ...
 *     event     number (16 bits) | time (64) | kid (32) | what its id, arg and aux hold
 *
 * All integers are little-endian and begin at a whole byte.  Times are nanoseconds since the start of the trace, whose
 * wall time is the clock's offset.
 */
#ifndef SQT_CTF_H
#define SQT_CTF_H

#include "sink.h"

/* How a field is written; a field that holds nothing is not. */
enum ctf_type { CTF_NOTHING, CTF_UINT32, CTF_UINT64, CTF_HASH, CTF_INT64, CTF_STRING };

struct ctf_field {
    const char *role; /* "id", "arg" or "aux" */
    enum sqt_kind kind;
    enum ctf_type type;
    unsigned definition; /* of a CTF_STRING: enum sqt_def */
    const char *doc;
};

struct ctf_event {
    const char *name, *doc;
    struct ctf_field fields[3];
};

#define CTF_MAGIC UINT32_C(0xC1FC1FC1)

struct ctf_packet {
    uint32_t magic;
    uint32_t stream_id;          /* 0: all streams are of one kind */
    uint64_t stream_instance_id; /* which of them */
    uint64_t timestamp_begin;
    uint64_t timestamp_end;
    uint64_t content_size; /* bits, this header's among them */
    uint64_t packet_size;
    uint64_t packet_seq_num;
    uint64_t events_discarded; /* lost so far */
};
SQT_ASSERT(sizeof(struct ctf_packet) == 64, "no padding");

struct ctf_stream;

struct sqt_ctf {
    struct ctf_event *events; /* by number: first those of events.def, then others that were met */
    unsigned event_count;
    struct ctf_stream **streams; /* by the origin's index; NULL: nothing came from it */
    size_t stream_count;
    char squid_version[32];
};

/* ctf-metadata.c: fills one event of the table of events; writes the metadata. */
void ctf_event_of(struct ctf_event *event, const struct sqt_event_info *info);
void ctf_metadata(struct sqt_out *out, const struct sqt_ctf *ctf, uint64_t start_ns);

#endif
