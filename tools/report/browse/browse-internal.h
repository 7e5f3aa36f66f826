/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * browse-internal.h - what the files of browse.h share.
 */
#ifndef SQT_REPORT_BROWSE_INTERNAL_H
#define SQT_REPORT_BROWSE_INTERNAL_H

#include "browse.h"
#include "figure/stat/names.h"
#include "pass/timelines.h"

/* ---- requests ---- */

/* Why the page has it. */
enum browse_why { BROWSE_SLOW, BROWSE_BAD, BROWSE_REST, BROWSE_WHYS };

/* A request that the page has, unless another one takes its place. */
struct browse_request {
    uint64_t hash;
    int64_t total; /* ns; SQT_CELL_MISSING: not known */
    int bad;       /* it did not complete */
    size_t size;   /* bytes, of the text too */
    char text[];   /* a line, without its end */
};

/* ---- slow.c ---- */

/* The slowest of a class in a slice of time, and slices of all time. */
#define BROWSE_SLOWEST 8
#define BROWSE_SLICES 128
#define BROWSE_FIRST_SLICE INT64_C(1000000000)
/* Classes, and what has none. */
#define BROWSE_CLASSES (SQT_CLASSES + 1)

struct browse_slow {
    int64_t slice; /* ns */
    size_t bytes;
    struct browse_request *cells[BROWSE_SLICES][BROWSE_CLASSES][BROWSE_SLOWEST];
};

/* What to do with a request that has to go. */
typedef void browse_gone(void *context, struct browse_request *request);

/* Whether a request of that time would be among the slowest.  Slices grow until the time fits into them. */
int browse_slow_wants(struct browse_slow *slow, int64_t at, unsigned class, int64_t total, browse_gone *gone,
                      void *context);
/* Takes it, after browse_slow_wants(). */
void browse_slow_take(struct browse_slow *slow, int64_t at, unsigned class, struct browse_request *request,
                      browse_gone *gone, void *context);

/* ---- sample.c ---- */

/* Those with the smallest hashes: a heap, the largest first. */
struct browse_sample {
    unsigned most, count;
    size_t bytes;
    struct browse_chosen {
        uint64_t hash; /* of the request, which is somewhere else in memory */
        struct browse_request *request;
    } * heap;
};

int browse_sample_wants(const struct browse_sample *sample, uint64_t hash);
/* Takes it, or frees it. */
void browse_sample_take(struct browse_sample *sample, struct browse_request *request);
void browse_sample_free(struct browse_sample *sample);

/* ---- extras.c ---- */

/* Requests whose waits are kept at a time, and waits of each. */
#define BROWSE_PLACES 4096
#define BROWSE_EXTRAS 12

struct browse_extra {
    unsigned char attempt;   /* a connection; else a wait */
    const char *kind, *name; /* NULL: not known */
    const char *outcome;
    int64_t from, until, queue; /* ns; queue: of the wait, or until the handshake began */
    int reused;
};

struct browse_place {
    const struct sqt_origin *origin; /* NULL: free */
    uint64_t xact;
    unsigned count, beyond;
    struct browse_extra extras[BROWSE_EXTRAS];
};

void browse_extra_wait(struct browse_place *places, const struct sqt_wait *wait);
void browse_extra_attempt(struct browse_place *places, const struct sqt_attempt *attempt);
/* Those of a request that has ended; NULL: none.  They are valid until the next is added. */
const struct browse_place *browse_extras(struct browse_place *places, const struct sqt_xact *xact);

/* ---- heat.c ---- */

/* Bins of a doubling of the time: 4, from 1 us on. */
#define BROWSE_BIN_BITS 2
#define BROWSE_FIRST_BIN 36
#define BROWSE_BINS 128
/* Servers, and cache_dirs, that have a map of their own. */
#define BROWSE_MAPS 32

struct browse_map {
    struct sqt_name_entry named;
    uint64_t requests;
    uint32_t counts[BROWSE_SLICES][BROWSE_BINS];
};

enum browse_by { BROWSE_BY_ALL, BROWSE_BY_CLASS, BROWSE_BY_SERVER, BROWSE_BY_DIR, BROWSE_BYS };
extern const char *const browse_by_names[BROWSE_BYS];

struct browse_heat {
    int64_t slice; /* ns */
    struct sqt_names maps[BROWSE_BYS];
};

void browse_heat_init(struct browse_heat *heat);
/* names: NULL where it has none of that kind. */
void browse_heat_add(struct browse_heat *heat, int64_t at, int64_t total, const char *const names[BROWSE_BYS]);
void browse_heat_free(struct browse_heat *heat);

/* ---- text.c ---- */

/* Names that stand for their numbers in the lines. */
#define BROWSE_NAMES 8192
struct browse_name {
    struct sqt_name_entry named;
    unsigned number; /* from 1 */
};
struct browse_texts {
    struct sqt_names names;
    unsigned count;
    const char *list[BROWSE_NAMES + 2]; /* by number, from 1 */
};

/* The number of a name; 0 for NULL. */
unsigned browse_text_number(struct browse_texts *texts, const char *name);

/* Bytes of a line at most. */
#define BROWSE_TEXT_MOST 65536

/* What a line is made of.  line, place: NULL where there are none, or no room for them. */
struct browse_source {
    const struct sqt_request_fact *fact;
    const char *dir; /* the cache_dir it read from, NULL: none */
    const struct sqt_timeline *line;
    const struct browse_place *place;
};

/* Writes the line; returns its length. */
size_t browse_text(struct browse_texts *texts, char text[BROWSE_TEXT_MOST], const struct browse_source *source);

/* ---- the whole ---- */

struct browse {
    struct sqt_timeline coarser;
    struct browse_place *places;
    struct browse_slow slow;
    struct browse_sample samples[BROWSE_WHYS]; /* not of BROWSE_SLOW */
    struct browse_heat heat;
    struct browse_texts texts;
    char text[BROWSE_TEXT_MOST];
    uint64_t all, bad, plain; /* requests; that did not complete; whose time line had no room */
};

#endif
