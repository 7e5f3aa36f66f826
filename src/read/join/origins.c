/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * origins.c - the origins of the segments and rings that were found: known ones, or new ones.  See sources.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "read/file/damage.h"
#include "sources-internal.h"

/* ---- origins and boots ---- */

/* From the boot's monotonic clock to the time of day; the first origin of a boot decides. */
static int64_t
boot_offset(struct sqt_source_list *l, const struct sqt_identity *who)
{
    for (size_t i = 0; i < l->boot_count; ++i)
        if (memcmp(l->boots[i].id, who->boot_id, sizeof(who->boot_id)) == 0)
            return l->boots[i].offset_ns;
    const int64_t offset = (int64_t)(who->start.realtime_ns - who->start.monotonic_ns);
    l->boots = sqt_resized(l->boots, (l->boot_count + 1) * sizeof(*l->boots));
    memcpy(l->boots[l->boot_count].id, who->boot_id, sizeof(who->boot_id));
    l->boots[l->boot_count++].offset_ns = offset;
    return offset;
}

/* Forgets a boot that no origin is of any more. */
static void
boot_forget(struct sqt_source_list *l, const uint8_t *id)
{
    for (size_t i = 0; i < l->origin_count; ++i)
        if (memcmp(l->origins[i]->public.identity.boot_id, id, sizeof(l->boots->id)) == 0)
            return;
    for (size_t i = 0; i < l->boot_count; ++i)
        if (memcmp(l->boots[i].id, id, sizeof(l->boots->id)) == 0)
            l->boots[i--] = l->boots[--l->boot_count];
}

struct sqt_origin_reader *
sqt_sources_find(const struct sqt_source_list *l, const uint8_t *ring_id)
{
    for (size_t i = 0; i < l->origin_count; ++i)
        if (memcmp(l->origins[i]->public.identity.ring_id, ring_id, 16) == 0)
            return l->origins[i];
    return NULL;
}

static void
set_identity(struct sqt_source_list *l, struct sqt_origin_reader *o, const struct sqt_identity *who, int damaged)
{
    const struct sqt_identity before = o->public.identity;
    o->public.identity = *who;
    memcpy(o->public.shown_ring, who->ring_id, sizeof(who->ring_id));
    o->public.identity.squid_version[sizeof(who->squid_version) - 1] = '\0';
    o->public.identity.service[sizeof(who->service) - 1] = '\0';
    o->identity_damaged = damaged;
    boot_forget(l, before.boot_id);
    o->offset_ns = boot_offset(l, who);
}

/* Whether two whole identities are of one ring.  Somebody may give his own trace the ring id of another. */
static int
sources_is_same(const struct sqt_identity *a, const struct sqt_identity *b)
{
    return memcmp(a->ring_id, b->ring_id, sizeof(a->ring_id)) == 0 &&
           memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) == 0 &&
           memcmp(&a->start, &b->start, sizeof(a->start)) == 0;
}

/* The same as sqt_sources_find(), but by all that an identity says, as far as it is whole. */
static struct sqt_origin_reader *
sources_find_same(const struct sqt_source_list *l, const struct sqt_identity *who, int damaged)
{
    for (size_t i = 0; i < l->origin_count && !damaged; ++i) {
        struct sqt_origin_reader *const o = l->origins[i];
        if (!o->identity_damaged && sources_is_same(&o->public.identity, who))
            return o;
    }
    struct sqt_origin_reader *const o = sqt_sources_find(l, who->ring_id);
    return o && (damaged || o->identity_damaged) ? o : NULL;
}

/* The origin of that identity, new if it must be.  An identity that is whole replaces one that is damaged. */
static struct sqt_origin_reader *
origin_of(struct sqt_source_list *l, const struct sqt_identity *who, int damaged)
{
    struct sqt_origin_reader *o = sources_find_same(l, who, damaged);
    if (o) {
        if (o->identity_damaged && !damaged)
            set_identity(l, o, who, 0);
        return o;
    }
    if (l->origin_count == SQT_ORIGINS_MOST)
        return NULL;
    l->origins = sqt_resized(l->origins, (l->origin_count + 1) * sizeof(*l->origins));
    o = l->origins[l->origin_count++] = sqt_zeroed(1, sizeof(*o));
    set_identity(l, o, who, damaged);
    o->diagnostics = l->diagnostics;
    o->unpacker = l->unpacker;
    o->sources = l;
    o->followed = l->followed;
    o->first_ns = INT64_MIN;
    sqt_dictionary_init(&o->dictionary);
    if (l->origin_count == 1)
        l->definition_bytes = SQT_DEFINITION_BYTES;
    o->dictionary.left = &l->definition_bytes;
    sqt_origin_reader_rewind(o);
    return o;
}

/* Says, once, that there is more than is read. */
static void
tell_too_many(struct sqt_source_list *l, const char *name, int *told, unsigned most, const char *what)
{
    if (!*told)
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: more than %u %s; it and others are left out", name, most, what);
    *told = 1;
}

int
sqt_sources_list(struct sqt_source_list *l, const char *path, const char *suffix, struct sqt_listing *names)
{
    if (sqt_listing_read(names, path, sqt_listing_ends, suffix, SQT_LISTING_MOST) != 0)
        return -1;
    l->listed += names->count;
    if (names->left_out && !l->told_names++)
        sqt_diagnose(l->diagnostics, SQT_WARNING, "%s: more than %zu files *%s; the last %zu of them are left out",
                     path, SQT_LISTING_MOST, suffix, names->left_out);
    return 0;
}

/* ---- segments ---- */

size_t
sqt_sources_add_segment(struct sqt_source_list *l, int fd, int keep_fd, const char *name, uint64_t begin, uint64_t end,
                        const uint8_t *bytes, size_t got)
{
    struct sqt_segment_header header;
    struct stat st;
    const int muted = l->diagnostics->muted;
    l->diagnostics->muted |= l->rescanning; /* what is wrong was said the first time */
    const enum sqt_header_state state = sqt_segment_header_check(bytes, got, name, begin, l->diagnostics, &header);
    l->diagnostics->muted = muted;
    if (state == SQT_HEADER_REFUSED)
        return 0;
    /* It is known, or nobody's: to find whose it is, all of it may have to be read. */
    if (state == SQT_HEADER_DAMAGED && l->rescanning)
        return 0;
    if (state == SQT_HEADER_DAMAGED)
        sqt_header_mend(&header, fd, begin, end);
    if (l->segment_count == SQT_SEGMENTS_MOST) {
        tell_too_many(l, name, &l->told_segments, SQT_SEGMENTS_MOST, "segments");
        return 0;
    }
    struct sqt_origin_reader *const o = origin_of(l, &header.identity, state == SQT_HEADER_DAMAGED);
    if (!o) {
        tell_too_many(l, name, &l->told_origins, SQT_ORIGINS_MOST, "processes");
        return 0;
    }
    if (fstat(fd, &st) != 0) {
        sqt_diagnose(l->diagnostics, SQT_ERROR, "%s: cannot be read: %s", name, strerror(errno));
        return 0;
    }
    struct sqt_part *const part = sqt_zeroed(1, sizeof(*part));
    part->name = sqt_copied(name);
    ++l->segment_count;
    part->fd = keep_fd ? fd : -1;
    part->begin = begin;
    part->end = end;
    part->size = (uint64_t)st.st_size;
    part->device = st.st_dev;
    part->inode = st.st_ino;
    part->header = header;
    const int added = sqt_origin_reader_add(o, part) > 0;
    l->segment_count -= !added;
    return (size_t)added;
}

/* ---- rings ---- */

static unsigned
sources_open_rings(const struct sqt_source_list *l)
{
    unsigned rings = 0;
    for (size_t i = 0; i < l->origin_count; ++i)
        rings += sqt_ring_is_open(&l->origins[i]->ring);
    return rings;
}

void
sqt_sources_add_ring(struct sqt_source_list *l, int fd, const char *name, const char *named_by)
{
    struct sqt_ring ring;
    if (sources_open_rings(l) == SQT_RINGS_MOST) {
        tell_too_many(l, name, &l->told_rings, SQT_RINGS_MOST, "rings");
        return;
    }
    if (sqt_ring_open(&ring, fd, name, l->diagnostics) != 0)
        return;
    struct sqt_origin_reader *const o = origin_of(l, &ring.identity, 0);
    if (!o)
        tell_too_many(l, name, &l->told_origins, SQT_ORIGINS_MOST, "processes");
    if (o && !sqt_ring_is_open(&o->ring)) {
        o->ring = ring;
        o->ring_name = sqt_copied(name);
        free(o->named_by);
        o->named_by = sqt_copied(named_by);
    } else
        sqt_ring_close(&ring); /* the same one again */
}

/* ---- forgetting ---- */

void
sqt_sources_forget(struct sqt_source_list *l, struct sqt_origin_reader *reader)
{
    for (size_t i = 0; i < l->origin_count; ++i)
        if (l->origins[i] == reader) {
            memmove(&l->origins[i], &l->origins[i + 1], (l->origin_count - i - 1) * sizeof(struct sqt_origin_reader *));
            --l->origin_count;
            sqt_sources_forget_segments(l, reader->part_count);
            boot_forget(l, reader->public.identity.boot_id);
            sqt_origin_reader_free(reader);
            return;
        }
}
