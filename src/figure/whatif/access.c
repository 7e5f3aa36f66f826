/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * access.c - see access.h.
 */
#include "access.h"

#include <string.h>

/* Header of a reply, where the trace does not say how large it is. */
#define HEADER 600
#define HEADER_MOST 65536
/* A larger object counts as one of 16 TiB. */
#define BYTES_MOST (INT64_C(1) << 44)

static int access_is_hit(enum sqt_class class)
{
    return class == SQT_CLASS_MEM_HIT || class == SQT_CLASS_DISK_HIT || class == SQT_CLASS_IMS_HIT ||
           class == SQT_CLASS_NEGATIVE_HIT || class == SQT_CLASS_REFRESH_HIT;
}

/* Statuses that Squid caches without an explicit expiry.  Others count as replies that do not stay. */
static int
access_status_keeps(uint32_t status)
{
    return status == 200 || status == 203 || status == 300 || status == 301 || status == 308 || status == 410;
}

/* Whether a larger cache would not have made a hit of it. */
static int
access_never(const struct sqt_xact *x, enum sqt_class class)
{
    return class == SQT_CLASS_REFRESH_MISS ||
           (class == SQT_CLASS_MISS && x->miss < SQT_MISSES_COUNT && x->miss && x->miss != SQT_MISS_ABSENT);
}

static int
access_may_stay(const struct sqt_xact *x, enum sqt_class class)
{
    if (access_is_hit(class))
        return 1;
    return x->outcome == SQT_OUTCOME_COMPLETE && access_status_keeps(x->status) && x->miss != SQT_MISS_UNCACHEABLE &&
           x->miss != SQT_MISS_METHOD && x->miss != SQT_MISS_CACHE_DENY && x->miss != SQT_MISS_UNSHAREABLE;
}

static int64_t
access_between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

int
sqt_whatif_access(struct sqt_access *a, const struct sqt_xact *x, enum sqt_class *class)
{
    *class = sqt_class_of(x->tag == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_TAG, x->tag), x->disk_reads,
                          x->flags);
    const int hit = access_is_hit(*class);
    if (!x->object || sqt_durations_unknown(x->outcome) || x->outcome == SQT_OUTCOME_UNFINISHED ||
        (!hit && *class != SQT_CLASS_MISS && *class != SQT_CLASS_REFRESH_MISS))
        return 0;
    const int64_t sent = x->sent < 0 ? 0 : x->sent;
    a->bytes = access_between(x->size >= 0 ? x->size : sent > HEADER ? sent - HEADER : 0, 0, BYTES_MOST);
    a->stored_bytes =
        a->bytes + access_between(x->size >= 0 && sent > x->size ? sent - x->size : HEADER, 0, HEADER_MOST);
    if (x->status == 304)
        a->stored_bytes = 0; /* the size of the object is not known */
    a->begin = x->begin;
    a->end = x->end;
    const int64_t data = x->reply_opened != SQT_MISSING && x->reply_opened >= x->begin ? x->reply_opened
                         : x->first_byte != SQT_MISSING                                ? x->first_byte
                                                                                       : x->end;
    a->data = access_between(data, x->begin, x->end);
    a->object = x->object;
    a->conn = x->of_log ? 0 : x->conn;
    a->hit = !hit                           ? 0
             : *class == SQT_CLASS_DISK_HIT ? 1u << SQT_REPLAY_DISK
                                            : 1u << SQT_REPLAY_DISK | 1u << SQT_REPLAY_MEMORY;
    a->never = access_never(x, *class);
    a->keeps = access_may_stay(x, *class);
    a->place = 0;
    return 1;
}
