/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ctf.c - the records of each process as a stream of CTF packets.
 *
 * A loss ends a packet, and the LOST record has one for itself, so that a reader finds what was discarded where it
 * was, between the ends of two packets:
 *
 *     events_discarded   0                         7002   7002
 *                        | packet           |......|LOST| | packet ...
 *                                     first lost   room again
 */
#include "ctf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/visible.h"

#define PACKET_BYTES 32768
#define TEXT_MAX 256 /* bytes of a definition; more is cut off */
#define EVENT_MAX (14 + 3 * SQT_VISIBLE_ROOM(TEXT_MAX))
#define EVENTS_MAX 1024 /* the last stands for all others */

struct ctf_stream {
    const struct sqt_origin *origin;
    char name[48];
    struct ctf_packet packet; /* the one being filled, and what of it goes on in the next */
    int64_t now;              /* ns; never goes back, though the lines of two blocks may where they meet */
    uint16_t strange[256];    /* numbers of the origin's events that this program does not know; 0: not met yet */
    size_t used;              /* bytes of the packet; 0: none is begun */
    unsigned char bytes[PACKET_BYTES];
};

/* ---- packets ---- */

static void
begin_packet(struct ctf_stream *s, int64_t begin)
{
    s->packet.timestamp_begin = (uint64_t)begin;
    s->used = sizeof(s->packet);
}

/* A file is open only while a packet is appended to it: there may be more processes than descriptors. */
static void
ctf_append(struct sqt_sink *sink, const struct ctf_stream *s)
{
    struct sqt_out out = sink->out;
    if (sink->out.error)
        return;
    out.fd = openat(sink->out.fd, s->name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    out.buffer = (char *)s->bytes;
    out.used = s->used;
    if (out.fd >= 0)
        sqt_out_flush(&out);
    if (out.fd < 0 || (close(out.fd) != 0 && !out.error))
        out.error = errno;
    sink->out.error = out.error;
}

static void
end_packet(struct sqt_sink *sink, struct ctf_stream *s, int64_t end)
{
    if (!s->used)
        return;
    s->packet.timestamp_end = (uint64_t)end;
    s->packet.content_size = s->packet.packet_size = 8 * (uint64_t)s->used;
    memcpy(s->bytes, &s->packet, sizeof(s->packet));
    ctf_append(sink, s);
    ++s->packet.packet_seq_num;
    s->used = 0;
}

/* ---- streams and events ---- */

static struct ctf_stream *
stream_of(struct sqt_ctf *ctf, const struct sqt_origin *origin)
{
    if (origin->index >= ctf->stream_count) {
        ctf->streams = sqt_resized(ctf->streams, (origin->index + 1) * sizeof(*ctf->streams));
        while (ctf->stream_count <= origin->index)
            ctf->streams[ctf->stream_count++] = NULL;
    }
    struct ctf_stream *s = ctf->streams[origin->index];
    if (s)
        return s;
    s = ctf->streams[origin->index] = sqt_zeroed(1, sizeof(*s));
    s->origin = origin;
    s->packet.magic = CTF_MAGIC;
    s->packet.stream_instance_id = origin->index;
    snprintf(s->name, sizeof(s->name), "kid-%u-%u", origin->identity.kid, origin->index);
    if (!ctf->squid_version[0])
        memcpy(ctf->squid_version, origin->identity.squid_version, sizeof(ctf->squid_version));
    return s;
}

static struct sqt_ctf *
ctf_of(struct sqt_sink *sink)
{
    if (!sink->ctf) {
        struct sqt_ctf *const ctf = sink->ctf = sqt_zeroed(1, sizeof(*ctf));
        ctf->events = sqt_zeroed(SQT_EVENTS, sizeof(*ctf->events));
        ctf->event_count = SQT_EVENTS;
        for (unsigned i = 1; i < SQT_EVENTS; ++i)
            ctf_event_of(&ctf->events[i], &sqt_events[i]);
    }
    return sink->ctf;
}

/* The number in CTF of an event that this program does not know. */
static unsigned
strange_event(struct sqt_ctf *ctf, const char *name)
{
    static const struct sqt_event_info strange = {.doc = "an event that the program which wrote this does not know",
                                                  .id = {SQT_KIND_SERIAL, "-"},
                                                  .arg = {SQT_KIND_SERIAL, "-"},
                                                  .aux = {SQT_KIND_COUNT, "-"}};
    unsigned i = SQT_EVENTS;
    while (i < ctf->event_count && strcmp(ctf->events[i].name, name) != 0)
        ++i;
    if (i == EVENTS_MAX) {
        ctf->events[i - 1].name = "OTHER";
        return i - 1;
    }
    if (i == ctf->event_count) {
        ctf->events = sqt_resized(ctf->events, (i + 1) * sizeof(*ctf->events));
        ++ctf->event_count;
        ctf_event_of(&ctf->events[i], &strange);
        ctf->events[i].name = name; /* lives until the stream is closed */
    }
    return i;
}

static unsigned char *
ctf_put(unsigned char *p, const void *value, size_t size)
{
    memcpy(p, value, size);
    return p + size;
}

static unsigned char *
ctf_put_text(unsigned char *p, const struct sqt_origin *origin, unsigned definition, uint64_t value)
{
    const char *const text = sqt_origin_text(origin, definition, (uint32_t)value & ~(UINT32_C(1) << 31));
    if (text) {
        p = (unsigned char *)sqt_visible((char *)p, text, TEXT_MAX);
        *p++ = '\0';
        return p;
    }
    return p + snprintf((char *)p, TEXT_MAX + 1, "%llu", (unsigned long long)value) + 1;
}

static unsigned char *
ctf_put_field(unsigned char *p, const struct sqt_run *run, const struct ctf_field *field, uint64_t value)
{
    switch (field->type) {
    case CTF_NOTHING:
        return p;
    case CTF_UINT32:
        return ctf_put(p, &(uint32_t){(uint32_t)value}, 4);
    case CTF_UINT64:
    case CTF_HASH:
        return ctf_put(p, &value, 8);
    case CTF_INT64:
        return ctf_put(p, &(int64_t){sqt_line_ns(&run->line, value)}, 8);
    case CTF_STRING:
        return ctf_put_text(p, run->origin, field->definition, value);
    }
    return p;
}

static void
put_record(struct sqt_sink *sink, struct ctf_stream *s, const struct sqt_run *run, const struct sqt_record *r)
{
    unsigned number = r->event;
    if (number >= SQT_EVENTS) {
        uint16_t *const known = &s->strange[(number - SQT_EVENTS) & 255];
        if (!*known)
            *known = (uint16_t)strange_event(sink->ctf, sqt_origin_event_name(run->origin, r->event));
        number = *known;
    }
    const struct ctf_event *const event = &sink->ctf->events[number];
    if (s->used > sizeof(s->bytes) - EVENT_MAX)
        end_packet(sink, s, s->now);
    if (!s->used)
        begin_packet(s, s->now);
    unsigned char *p = s->bytes + s->used;
    p = ctf_put(p, &(uint16_t){(uint16_t)number}, 2);
    p = ctf_put(p, &(uint64_t){(uint64_t)s->now}, 8);
    p = ctf_put(p, &run->origin->identity.kid, 4);
    p = ctf_put_field(p, run, &event->fields[0], r->id);
    p = ctf_put_field(p, run, &event->fields[1], r->arg);
    p = ctf_put_field(p, run, &event->fields[2], r->aux);
    s->used = (size_t)(p - s->bytes);
}

/* The packets around a LOST record. */
static void
ctf_take_loss(struct sqt_sink *sink, struct ctf_stream *s, const struct sqt_run *run, const struct sqt_record *r,
              int64_t before)
{
    const int64_t from = sqt_line_ns(&run->line, r->id);
    const int64_t end = from < before ? before : from < s->now ? from : s->now;
    if (!s->used && !s->packet.packet_seq_num)
        begin_packet(s, end); /* an empty one: readers cannot count what is lost before the first */
    end_packet(sink, s, end);
    s->packet.events_discarded += r->arg;
    put_record(sink, s, run, r);
    end_packet(sink, s, s->now);
}

void
sqt_ctf_events(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until)
{
    struct ctf_stream *const s = stream_of(ctf_of(sink), run->origin);
    for (size_t i = 0; i < run->count; ++i) {
        const struct sqt_record *const r = &run->records[i];
        const int64_t at = sqt_line_ns(&run->line, r->time);
        if (at < since || at >= until)
            continue;
        const int64_t before = s->now;
        s->now = at > before ? at : before;
        if (r->event == SQT_EV_LOST)
            ctf_take_loss(sink, s, run, r, before);
        else
            put_record(sink, s, run, r);
        ++sink->rows;
    }
}

/* ---- the end ---- */

static void
write_metadata(struct sqt_sink *sink)
{
    struct sqt_out out;
    const int fd = openat(sink->out.fd, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    sqt_out_init(&out, fd);
    if (fd < 0) {
        sink->out.error = errno;
    } else {
        ctf_metadata(&out, sink->ctf, sink->start_ns);
        sqt_out_flush(&out);
        if (close(fd) != 0 && !out.error)
            out.error = errno;
        sink->out.error = out.error;
    }
    sqt_out_free(&out);
}

void
sqt_ctf_finish(struct sqt_sink *sink)
{
    struct sqt_ctf *const ctf = ctf_of(sink);
    for (size_t i = 0; i < ctf->stream_count; ++i)
        if (ctf->streams[i])
            end_packet(sink, ctf->streams[i], ctf->streams[i]->now);
    if (!sink->out.error)
        write_metadata(sink);
    for (size_t i = 0; i < ctf->stream_count; ++i) {
        if (ctf->streams[i] && sink->out.error)
            unlinkat(sink->out.fd, ctf->streams[i]->name, 0); /* half a trace is none */
        free(ctf->streams[i]);
    }
    if (sink->out.error)
        unlinkat(sink->out.fd, "metadata", 0);
    free(ctf->streams);
    free(ctf->events);
    free(ctf);
    sink->ctf = NULL;
}
