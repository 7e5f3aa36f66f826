/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sampler-internal.h - resource samples: taken once a second by the flusher's thread, told by the main thread.
 *
 *     flusher:      getrusage, /proc, /sys  ->  waiting[]          with the time at which it looked
 *     main thread:  sqt_poll()                  waiting[]  ->  ring
 *
 * So a stalled event loop delays only when samples are told, not what they say; and no file is read in the main thread.
 */
#ifndef SQT_SAMPLER_INTERNAL_H
#define SQT_SAMPLER_INTERNAL_H

#include <pthread.h>

#include "trace/file/message-internal.h"

#define SQT_SAMPLE_PERIOD_NS UINT64_C(1000000000)
#define SQT_SAMPLER_DIRS 64      /* as many as Squid takes */
#define SQT_SAMPLER_DISKS 64     /* so no more than these */
#define SQT_SAMPLER_WAITING 4096 /* values: some minutes of a stalled loop */

/* Most values that are read at once. */
#define SQT_SAMPLER_ROUND (SQT_SAMPLES * (1 + SQT_SAMPLER_DISKS))

/* A value that waits to be told. */
struct sqt_sampled {
    uint64_t value;
    uint64_t ticks;  /* when it was sampled */
    uint32_t number; /* as in a record */
};

/* The number that stands for a value in records: index is that of the cache_dir or disk, else 0. */
static inline uint32_t
sqt_sample_number(enum sqt_sample_value what, unsigned index)
{
    return (uint32_t)index << 8 | (uint32_t)what;
}

struct sqt_sampler {
    /* unchanged while the thread runs */
    const char *root; /* what stands before /proc and /sys: tests plant files */
    uint32_t clock;
    int machine; /* whether this process samples the machine */
    struct sqt_mailbox *mailbox;

    /* shared, under the mutex, which nobody holds during input or output */
    pthread_mutex_t mutex;
    struct {
        char *path;      /* NULL: no such cache_dir, or another kid tells it */
        int known;       /* what its device is was looked up */
        uint64_t device; /* number; 0: there is none */
    } dirs[SQT_SAMPLER_DIRS];
    struct {
        uint64_t device;
        char name[32];
    } disks[SQT_SAMPLER_DISKS]; /* only added to */
    unsigned disk_count;
    struct sqt_sampled waiting[SQT_SAMPLER_WAITING];
    unsigned waiting_count;

    /* the thread's own */
    uint64_t due_ns;     /* CLOCK_MONOTONIC; 0: at once */
    unsigned complained; /* bits of files that could not be read, and that was said */
};

void sqt_sampler_init(struct sqt_sampler *sampler, const char *root, uint32_t clock, int machine,
                      struct sqt_mailbox *mailbox);
void sqt_sampler_end(struct sqt_sampler *sampler);

/* ---- the flusher's thread ---- */

/* Samples, if it is time to and it is on. */
void sqt_sampler_look(struct sqt_sampler *sampler, int on);

/* sampler-read.c: what the kernel tells.  Each adds values to a round of count values, and returns the new count. */
unsigned sqt_sample_process(struct sqt_sampler *sampler, struct sqt_sampled *round, unsigned count);
unsigned sqt_sample_machine(struct sqt_sampler *sampler, struct sqt_sampled *round, unsigned count);
unsigned sqt_sample_disk(struct sqt_sampler *sampler, struct sqt_sampled *round, unsigned count, unsigned disk,
                         uint64_t device);
/* Which block device a file system is on.  Returns its number, and its name; 0, and the file system's type, if there is
 * none. */
uint64_t sqt_device_of(const struct sqt_sampler *sampler, const char *path, char *name, size_t size);

/* ---- the main thread ---- */

void sqt_sampler_dir(struct sqt_sampler *sampler, unsigned number, const char *path);

/* Tells what waits, if group sample is on. */
void sqt_sampler_tell(struct sqt_sampler *sampler);

#endif
