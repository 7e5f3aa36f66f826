/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * keep.h - spans that wait until their request is over, because only then it is known whether it is told; and the
 * requests that were over last, for spans that end after them.
 *
 * Memory is bounded: by SQT_OTLP_OPEN transactions that are not over, SQT_OTLP_ENDED that are, and SQT_OTLP_BYTES of
 * spans.  The oldest has to go when a bound is met.
 */
#ifndef SQT_OTLP_KEEP_H
#define SQT_OTLP_KEEP_H

#include "base/idmap.h"
#include "ids.h"
#include "text.h"

#define SQT_OTLP_OPEN 65536
#define SQT_OTLP_ENDED 32768
#define SQT_OTLP_BYTES ((size_t)24 << 20)

/* A span that waits: all of it but where it stands in its trace. */
struct sqt_otlp_child {
    struct sqt_otlp_child *next;
    int64_t begin, end; /* ns since the start of the stream */
    uint8_t span[8];
    size_t size;
    char text[]; /* from its name up to its last attribute */
};

/* The attributes of a process, for as long as spans of it wait. */
struct sqt_otlp_resource {
    struct sqt_otlp_resource *next;
    unsigned users;
    int named; /* its host is known */
    uint8_t ring[16];
    struct sqt_otlp_text text;
};

enum sqt_otlp_verdict { SQT_OTLP_WAITS, SQT_OTLP_TOLD, SQT_OTLP_LEFT_OUT, SQT_OTLP_NO_REQUEST };

/* A transaction. */
struct sqt_otlp_entry {
    /* The open ones in the order of `since`, those that are over in that of coming. */
    struct sqt_otlp_entry *next, *previous;
    uint64_t key; /* in the map */
    struct sqt_otlp_resource *resource;
    struct sqt_otlp_ids ids;
    enum sqt_otlp_verdict verdict;
    int64_t begin, end; /* of its request, if that is told */
    int64_t since;      /* when a span or stage of it ended last that says that it is open */
    int asked;          /* a client asked for it, so its request comes */
    struct sqt_otlp_child *children, *last;
};

struct sqt_otlp_entries {
    struct sqt_otlp_entry *first, *last;
    size_t count;
};

struct sqt_otlp_keep {
    struct sqt_idmap map;
    struct sqt_otlp_entries open, ended;
    size_t bytes; /* of children */
    struct sqt_otlp_resource *resources;
};

/* The entry of that key; NULL if there is none. */
struct sqt_otlp_entry *sqt_otlp_find(const struct sqt_otlp_keep *keep, uint64_t key);
/* A new open one.  It uses the resource. */
struct sqt_otlp_entry *sqt_otlp_enter(struct sqt_otlp_keep *keep, uint64_t key, struct sqt_otlp_resource *resource);
/* It is open still: of the open ones it comes last now. */
void sqt_otlp_goes_on(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry);
/* Its request is over.  What was over longest is forgotten where there are too many. */
void sqt_otlp_end(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry);
/* Lets a span wait. */
void sqt_otlp_wait(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry, const struct sqt_otlp_child *child,
                   const struct sqt_otlp_text *text);
/* Frees its children; the entry itself. */
void sqt_otlp_drop_children(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry);
void sqt_otlp_drop(struct sqt_otlp_keep *keep, struct sqt_otlp_entry *entry);

/* The open transaction that has to go before another one comes; NULL if none has to. */
struct sqt_otlp_entry *sqt_otlp_too_many(const struct sqt_otlp_keep *keep);

/* That of the ring, NULL if there is none; a new one without text. */
struct sqt_otlp_resource *sqt_otlp_find_resource(const struct sqt_otlp_keep *keep, const uint8_t ring[16]);
struct sqt_otlp_resource *sqt_otlp_new_resource(struct sqt_otlp_keep *keep, const uint8_t ring[16]);
/* Frees those that nobody uses. */
void sqt_otlp_sweep_resources(struct sqt_otlp_keep *keep);

/* Frees all; nothing is told. */
void sqt_otlp_keep_free(struct sqt_otlp_keep *keep);

#endif
