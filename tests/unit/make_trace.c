/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_trace.c - see make_trace.h.
 */
#include "make_trace.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef SQT_HAVE_ZSTD
#include <zstd.h>
#endif

#include "format/compress.h"

static void
die(const char *what)
{
    perror(what);
    exit(99);
}

void
make_append(struct make_bytes *bytes, const void *data, size_t size)
{
    if (bytes->size + size > bytes->room) {
        bytes->room = (bytes->size + size) * 2;
        bytes->data = realloc(bytes->data, bytes->room);
        if (!bytes->data)
            die("make_trace");
    }
    if (size)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void
make_free(struct make_bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof(*bytes));
}

void
make_file(const char *path, const struct make_bytes *bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || (bytes->size && fwrite(bytes->data, bytes->size, 1, f) != 1) || fclose(f) != 0)
        die(path);
}

void
make_identity(struct sqt_identity *identity, unsigned seed, uint32_t kid)
{
    memset(identity, 0, sizeof(*identity));
    for (unsigned i = 0; i < sizeof(identity->ring_id); ++i)
        identity->ring_id[i] = (uint8_t)(seed * 37 + i * 11 + 1);
    memset(identity->boot_id, 0xb0, sizeof(identity->boot_id));
    identity->clock = SQT_CLOCK_TSC;
    identity->kid = kid;
    identity->kid_kind = kid ? SQT_KID_WORKER : SQT_KID_SINGLE;
    identity->pid = 1000 + kid;
    identity->ticks_per_second = MAKE_TICKS_PER_SECOND;
    identity->sampling_rate = 1;
    identity->start.ticks = MAKE_START;
    identity->start.monotonic_ns = MAKE_MONOTONIC_NS;
    identity->start.realtime_ns = MAKE_REALTIME_NS;
    strcpy(identity->squid_version, "7.7");
    strcpy(identity->service, "squid");
}

struct sqt_anchor
make_anchor(const struct sqt_identity *identity, uint64_t ticks)
{
    struct sqt_anchor a = identity->start;
    const double ns = (double)(int64_t)(ticks - a.ticks) * 1e9 / (double)identity->ticks_per_second;
    a.ticks = ticks;
    a.monotonic_ns += (uint64_t)(int64_t)ns;
    a.realtime_ns += (uint64_t)(int64_t)ns;
    return a;
}

void
make_unit(struct sqt_record *records, unsigned n)
{
    records[0].flags = (uint16_t)(n - 1);
    for (unsigned i = 1; i < n; ++i)
        records[i].flags = SQT_FLAG_PART;
}

static int
zstd_wanted(unsigned flags)
{
    return (flags & MAKE_ZSTD) && sqt_compression_is_known(SQT_COMPRESSION_ZSTD);
}

void
make_header(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t sequence)
{
    make_header_for(bytes, identity, sequence, 0);
}

void
make_header_for(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t sequence, unsigned flags)
{
    struct sqt_segment_header h;
    memset(&h, 0, sizeof(h));
    memcpy(h.magic, SQT_SEGMENT_MAGIC, sizeof(h.magic));
    h.version = SQT_VERSION;
    h.header_size = sizeof(h);
    h.incompatible = zstd_wanted(flags) ? SQT_NEEDS_ZSTD : 0;
    h.sequence = sequence;
    h.identity = *identity;
    h.crc = (uint32_t)crc32(0, (const Bytef *)&h, sizeof(h));
    make_append(bytes, &h, sizeof(h));
}

void
make_frame(struct make_bytes *bytes, unsigned type, unsigned flags, const void *payload, size_t size)
{
    struct sqt_frame f = {SQT_FRAME_MAGIC, (uint16_t)type, (uint16_t)flags, (uint32_t)size, 0};
    f.crc = (uint32_t)crc32(crc32(0, (const Bytef *)&f, sizeof(f)), payload, (uInt)size);
    make_append(bytes, &f, sizeof(f));
    make_append(bytes, payload, size);
}

/* The table of events and more lines, as in a TEXT frame or the text area of a ring. */
static struct make_bytes
text_lines(const char *more)
{
    struct make_bytes text = {NULL, 0, 0};
    const size_t size = sqt_events_text(NULL, 0);
    char *events = malloc(size + 1);
    if (!events)
        die("make_trace");
    sqt_events_text(events, size + 1);
    make_append(&text, events, size);
    free(events);
    if (more)
        make_append(&text, more, strlen(more));
    return text;
}

void
make_text(struct make_bytes *bytes, const char *more)
{
    struct make_bytes text = text_lines(more);
    make_frame(bytes, SQT_FRAME_TEXT, 0, text.data, text.size);
    make_free(&text);
}

static void
append_deflated(struct make_bytes *bytes, const uint8_t *packed, size_t size, int level)
{
    uLongf deflated_size = compressBound(size);
    uint8_t *const deflated = malloc(deflated_size);
    if (!deflated || compress2(deflated, &deflated_size, packed, size, level) != Z_OK)
        die("make_trace");
    make_append(bytes, deflated, deflated_size);
    free(deflated);
}

/* A block of few records would not get smaller, and be written as it is: so the room is what it may grow to. */
static void
append_zstd(struct make_bytes *bytes, const uint8_t *packed, size_t size)
{
#ifdef SQT_HAVE_ZSTD
    const size_t room = ZSTD_compressBound(size);
    uint8_t *const to = malloc(room);
    const size_t used = to ? ZSTD_compress(to, room, packed, size, 1) : 0;
    if (!to || ZSTD_isError(used))
        die("make_trace");
    make_append(bytes, to, used);
    free(to);
#else
    (void)bytes, (void)packed, (void)size;
#endif
}

void
make_block_with(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t first,
                const struct sqt_record *records, size_t count, unsigned flags, unsigned frame_flags,
                const struct sqt_anchor *from, const struct sqt_anchor *to, const struct sqt_pack_table *table)
{
    struct sqt_block b;
    uint8_t *packed = malloc(sqt_pack_bound(count));
    if (!packed)
        die("make_trace");
    const size_t size = sqt_pack(table, records, count, packed);
    memset(&b, 0, sizeof(b));
    memcpy(b.ring_id, identity->ring_id, sizeof(b.ring_id));
    b.first = first;
    b.count = (uint32_t)count;
    b.packed_size = (uint32_t)size;
    b.time_first = records[0].time;
    b.time_last = records[count - 1].time;
    b.from = *from;
    b.to = *to;

    struct make_bytes payload = {NULL, 0, 0};
    make_append(&payload, &b, sizeof(b));
    if (zstd_wanted(flags)) {
        frame_flags |= SQT_FRAME_ZSTD;
        append_zstd(&payload, packed, size);
    } else if (flags) {
        frame_flags |= SQT_FRAME_ZLIB;
        append_deflated(&payload, packed, size, flags & MAKE_SMALL ? 9 : 1);
    } else
        make_append(&payload, packed, size);
    make_frame(bytes, SQT_FRAME_BLOCK, frame_flags, payload.data, payload.size);
    make_free(&payload);
    free(packed);
}

void
make_block(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t first,
           const struct sqt_record *records, size_t count, unsigned flags)
{
    const struct sqt_anchor from = make_anchor(identity, records[0].time);
    const struct sqt_anchor to = make_anchor(identity, records[count - 1].time);
    struct sqt_pack_table table;
    sqt_pack_table_init(&table);
    make_block_with(bytes, identity, first, records, count, flags, 0, &from, &to, &table);
}

void
make_blocks(struct make_bytes *bytes, const struct sqt_identity *identity, uint64_t first,
            const struct sqt_record *records, size_t count, size_t per_block, unsigned flags)
{
    while (count) {
        size_t n = per_block < count ? per_block : count;
        while (n < count && (records[n].flags & SQT_FLAG_PART) && n > 1)
            --n;
        make_block(bytes, identity, first, records, n, flags);
        first += n;
        records += n;
        count -= n;
    }
}

void
make_end(struct make_bytes *bytes, const struct sqt_identity *identity, const struct sqt_totals *totals)
{
    struct sqt_totals t = *totals;
    memcpy(t.ring_id, identity->ring_id, sizeof(t.ring_id));
    make_frame(bytes, SQT_FRAME_END, 0, &t, sizeof(t));
}

void
make_segment_file(const char *path, const struct sqt_identity *identity, uint64_t sequence, uint64_t first,
                  const struct sqt_record *records, size_t count, const char *text, unsigned flags)
{
    struct make_bytes bytes = {NULL, 0, 0};
    struct sqt_totals totals;
    memset(&totals, 0, sizeof(totals));
    totals.head = first + count;
    totals.clean = 1;
    make_header_for(&bytes, identity, sequence, flags);
    make_text(&bytes, text);
    make_blocks(&bytes, identity, first, records, count, 4096, flags);
    make_end(&bytes, identity, &totals);
    make_file(path, &bytes);
    make_free(&bytes);
}

void
make_ring_file(const char *path, const struct sqt_identity *identity, uint64_t capacity, uint64_t first, uint64_t tail,
               const struct sqt_record *records, size_t count, const char *text, const struct sqt_ring_writer *writer)
{
    struct make_bytes lines = text_lines(text);
    const uint64_t text_size = (lines.size + 4096) & ~(uint64_t)4095;
    const size_t size = SQT_RING_HEADER + text_size + capacity * sizeof(struct sqt_record);
    struct make_bytes bytes = {calloc(1, size), size, size};
    struct sqt_ring_header *h = (struct sqt_ring_header *)bytes.data;
    if (!h)
        die("make_trace");

    memcpy(h->magic, SQT_RING_MAGIC, sizeof(h->magic));
    h->version = SQT_VERSION;
    h->header_size = SQT_RING_HEADER;
    h->capacity = capacity;
    h->text_offset = SQT_RING_HEADER;
    h->text_size = text_size;
    h->records_offset = SQT_RING_HEADER + text_size;
    h->identity = *identity;
    strcpy(h->directory, "/var/log/squid/trace");
    if (writer)
        h->writer = *writer;
    h->writer.head = first + count;
    h->writer.text_used = lines.size;
    h->writer.high_water = count;
    h->flusher.tail = tail;
    h->flusher.last = make_anchor(identity, count ? records[0].time : identity->start.ticks);
    memcpy(bytes.data + h->text_offset, lines.data, lines.size);
    struct sqt_record *slots = (struct sqt_record *)(bytes.data + h->records_offset);
    for (size_t i = 0; i < count; ++i)
        slots[(first + i) & (capacity - 1)] = records[i];
    make_file(path, &bytes);
    make_free(&bytes);
    make_free(&lines);
}

void
make_pointer_file(const char *path, const struct sqt_identity *identity, const char *ring)
{
    FILE *f = fopen(path, "w");
    if (!f)
        die(path);
    fprintf(f, "ring=%s\nid=", ring);
    for (unsigned i = 0; i < sizeof(identity->ring_id); ++i)
        fprintf(f, "%02x", identity->ring_id[i]);
    fprintf(f, "\nboot=");
    for (unsigned i = 0; i < sizeof(identity->boot_id); ++i)
        fprintf(f, "%02x", identity->boot_id[i]);
    fprintf(f, "\n");
    if (fclose(f) != 0)
        die(path);
}
