/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sampler.c - see sampler-internal.h.
 */
#include "sampler-internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/events.h"
#include "trace/file/apart-internal.h"
#include "trace/clock/clock-internal.h"

SQT_ASSERT(SQT_SAMPLES <= 256, "sqt_sample_number() has one byte for the value");

void
sqt_sampler_init(struct sqt_sampler *s, const char *root, uint32_t clock, int machine, struct sqt_mailbox *mailbox)
{
    memset(s, 0, sizeof(*s));
    s->root = root;
    s->clock = clock;
    s->machine = machine;
    s->mailbox = mailbox;
    pthread_mutex_init(&s->mutex, NULL);
}

void
sqt_sampler_end(struct sqt_sampler *s)
{
    for (unsigned i = 0; i < SQT_SAMPLER_DIRS; ++i)
        free(s->dirs[i].path);
    pthread_mutex_destroy(&s->mutex);
}

/* ---- the flusher's thread ---- */

/* The disk of that device, a new one if need be; SQT_SAMPLER_DISKS: there are too many.  Under the mutex. */
static unsigned
disk_of(struct sqt_sampler *s, uint64_t device, const char *name)
{
    unsigned i = 0;
    while (i < s->disk_count && s->disks[i].device != device)
        ++i;
    if (i == s->disk_count && i < SQT_SAMPLER_DISKS) {
        s->disks[i].device = device;
        snprintf(s->disks[i].name, sizeof(s->disks[i].name), "%s", name);
        ++s->disk_count;
    }
    return i;
}

struct device_search {
    const struct sqt_sampler *sampler;
    const char *path;
    char name[32];
    uint64_t device;
};

/* A cache_dir's disk may not answer either. */
static long
find_device(void *context)
{
    struct device_search *const d = context;
    d->device = sqt_device_of(d->sampler, d->path, d->name, sizeof(d->name));
    return 0;
}

/* Finds out what is below a cache_dir that is new. */
static void
look_up_dir(struct sqt_sampler *s, unsigned number)
{
    char path[SQT_MESSAGE_MAX / 2];
    struct device_search search = {.sampler = s, .path = path};
    pthread_mutex_lock(&s->mutex);
    const int wanted = s->dirs[number].path && !s->dirs[number].known;
    if (wanted)
        snprintf(path, sizeof(path), "%s", s->dirs[number].path);
    pthread_mutex_unlock(&s->mutex);
    if (!wanted)
        return;

    sqt_apart_call(find_device, &search);
    const uint64_t device = search.device;
    if (!device)
        sqt_say(s->mailbox, 1,
                "sqtrace: cache_dir %u, %.400s, is on no block device (%s): there are no samples of its "
                "disk",
                number, path, search.name);
    pthread_mutex_lock(&s->mutex);
    if (device)
        disk_of(s, device, search.name);
    s->dirs[number].device = device;
    s->dirs[number].known = 1;
    pthread_mutex_unlock(&s->mutex);
}

static unsigned
sample_dirs(struct sqt_sampler *s, struct sqt_sampled *round, unsigned count)
{
    for (unsigned i = 0; i < SQT_SAMPLER_DIRS; ++i) {
        look_up_dir(s, i);
        pthread_mutex_lock(&s->mutex);
        if (s->dirs[i].known)
            round[count++] =
                (struct sqt_sampled){.value = s->dirs[i].device, .number = sqt_sample_number(SQT_SAMPLE_DIR_device, i)};
        pthread_mutex_unlock(&s->mutex);
    }
    for (unsigned i = 0; i < s->disk_count; ++i) /* nobody else adds to them */
        count = sqt_sample_disk(s, round, count, i, s->disks[i].device);
    return count;
}

void
sqt_sampler_look(struct sqt_sampler *s, int on)
{
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    const uint64_t now = sqt_monotonic_ns();
    if (!on)
        s->due_ns = 0;
    if (!on || now < s->due_ns)
        return;
    s->due_ns = s->due_ns && now < s->due_ns + SQT_SAMPLE_PERIOD_NS ? s->due_ns + SQT_SAMPLE_PERIOD_NS
                                                                    : now + SQT_SAMPLE_PERIOD_NS;
    const uint64_t ticks = sqt_read_clock(s->clock);
    unsigned count = sqt_sample_process(s, round, 0);
    if (s->machine)
        count = sqt_sample_machine(s, round, count);
    count = sample_dirs(s, round, count);
    for (unsigned i = 0; i < count; ++i)
        round[i].ticks = ticks;

    pthread_mutex_lock(&s->mutex);
    if (count <=
        SQT_SAMPLER_WAITING - s->waiting_count) { /* else the loop stands still, and a later round says it all */
        memcpy(s->waiting + s->waiting_count, round, count * sizeof(*round));
        s->waiting_count += count;
    }
    pthread_mutex_unlock(&s->mutex);
}

/* ---- the main thread ---- */

void
sqt_sampler_dir(struct sqt_sampler *s, unsigned number, const char *path)
{
    if (number >= SQT_SAMPLER_DIRS)
        return;
    pthread_mutex_lock(&s->mutex);
    if (!s->dirs[number].path || strcmp(s->dirs[number].path, path) != 0) {
        free(s->dirs[number].path);
        s->dirs[number].path = strdup(path);
        s->dirs[number].known = 0;
    }
    pthread_mutex_unlock(&s->mutex);
}

/* disk: the name of the disk that it is of, if it is of one. */
static void
sampler_tell(enum sqt_sample_value what, unsigned index, const char *disk, uint64_t value, uint64_t ticks)
{
    const uint32_t number = sqt_sample_number(what, index);
    if (!sqt_defined(SQT_DEF_SAMPLE, number)) {
        const struct sqt_sample_info *const info = &sqt_samples[what];
        const char *const source = sqt_sample_sources[info->source].name;
        char text[128];
        if (info->source == SQT_SOURCE_DISK)
            snprintf(text, sizeof(text), "%s %s %s", source, disk, info->name);
        else if (info->source == SQT_SOURCE_DIR || info->source == SQT_SOURCE_LISTENER)
            snprintf(text, sizeof(text), "%s %u %s", source, index, info->name);
        else
            snprintf(text, sizeof(text), "%s %s", source, info->name);
        sqt_define(SQT_DEF_SAMPLE, number, text);
    }
    sqt_emit(SQT_EV_SAMPLE, value, ticks, number);
}

void
sqt_sample(enum sqt_sample_value what, unsigned number, uint64_t value)
{
    sampler_tell(what, number, NULL, value, sqt_read_clock(sqt_clock));
}

void
sqt_sampler_tell(struct sqt_sampler *s)
{
    pthread_mutex_lock(&s->mutex);
    for (unsigned i = 0; sqt_on(SQT_GROUP_SAMPLE) && i < s->waiting_count; ++i) {
        const struct sqt_sampled *const w = &s->waiting[i];
        const unsigned index = w->number >> 8;
        sampler_tell((enum sqt_sample_value)(w->number & 255), index,
                     index < s->disk_count ? s->disks[index].name : "?", w->value, w->ticks);
    }
    s->waiting_count = 0;
    pthread_mutex_unlock(&s->mutex);
}
