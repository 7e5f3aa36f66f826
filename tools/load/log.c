/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * log.c - the workload log: the requests of a Squid's access.log, in its native format, for objects of our own
 * origin that are as large as the log says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/scatter.h"
#include "base/whole.h"
#include "load.h"

/* A later line, or one that took longer, is none of Squid's. */
#define LOG_TIME_MAX 4e9                      /* s since the epoch: the year 2096 */
#define LOG_ELAPSED_MAX INT64_C(100000000000) /* ms: three years; the clock may have been set back so far, too */

struct log_object {
    uint64_t hash; /* of its URL */
    uint64_t size; /* the largest that the log has for it */
};

struct log_request {
    int64_t begin; /* ns since the epoch */
    uint32_t object;
};

struct log {
    struct log_object *objects;
    struct log_request *requests;
    uint32_t *slots; /* by the hash, scattered: number of the object, from 1; 0: free */
    uint32_t object_count, slot_count;
    uint64_t request_count, room, next;
};

/* ---- objects by URL ---- */

static uint32_t *
log_slot_of(struct log *l, uint64_t hash)
{
    uint32_t at = (uint32_t)(sqt_scattered(hash, sqt_scatter()) >> 32) & (l->slot_count - 1);
    while (l->slots[at] && l->objects[l->slots[at] - 1].hash != hash)
        at = (at + 1) & (l->slot_count - 1);
    return &l->slots[at];
}

static void
log_grow(struct log *l)
{
    l->slot_count = l->slot_count ? 2 * l->slot_count : 1024;
    free(l->slots);
    l->slots = sqt_zeroed(l->slot_count, sizeof(*l->slots));
    l->objects = sqt_resized(l->objects, l->slot_count / 2 * sizeof(*l->objects));
    for (uint32_t i = 0; i < l->object_count; ++i)
        *log_slot_of(l, l->objects[i].hash) = i + 1;
}

static uint32_t
object_of(struct log *l, const char *url, uint64_t size)
{
    uint64_t hash = 0;
    while (*url)
        hash = sqt_mix(hash ^ (unsigned char)*url++);
    if (l->object_count >= l->slot_count / 2)
        log_grow(l);
    uint32_t *const slot = log_slot_of(l, hash);
    if (!*slot) {
        l->objects[l->object_count] = (struct log_object){hash, size};
        *slot = ++l->object_count;
    }
    struct log_object *const object = &l->objects[*slot - 1];
    if (size > object->size)
        object->size = size;
    return *slot - 1;
}

/* ---- lines ---- */

/* Returns 1 if the line is a request to replay, 0 if it is another one, -1 if it is none of the format. */
static int
take_line(struct log *l, char *line)
{
    char *word[7], *save, *end;
    for (unsigned i = 0; i < 7; ++i)
        if (!(word[i] = strtok_r(i ? NULL : line, " \t\r\n", &save)))
            return -1;
    const double time = strtod(word[0], &end);
    if (end == word[0] || *end || !(time >= 0 && time <= LOG_TIME_MAX))
        return -1;
    const long long elapsed = strtoll(word[1], &end, 10);
    if (end == word[1] || *end || elapsed < -LOG_ELAPSED_MAX || elapsed > LOG_ELAPSED_MAX)
        return -1;
    const char *const slash = strchr(word[3], '/');
    const long status = slash ? strtol(slash + 1, &end, 10) : 0;
    if (!slash || end == slash + 1 || *end)
        return -1;
    const long long size = strtoll(word[4], &end, 10);
    if (end == word[4] || *end || size < 0)
        return -1;
    if (strcmp(word[5], "GET") != 0 || (status != 200 && status != 304))
        return 0;
    if (l->request_count == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->requests = sqt_resized(l->requests, l->room * sizeof(*l->requests));
    }
    l->requests[l->request_count++] = (struct log_request){
        .begin = (int64_t)(time * 1e6) * 1000 - elapsed * 1000000, /* lines are written at the end */
        .object = object_of(l, word[6], status == 200 ? (uint64_t)size : 0),
    };
    return 1;
}

static int
log_by_begin(const void *a, const void *b)
{
    const struct log_request *const x = a, *const y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int
log_take_file(struct load *load, struct log *l, const char *name, char *error, size_t error_size)
{
    FILE *const file = sqt_fopen(name, "re");
    char first_bad[64] = "";
    int too_long = 0;
    uint64_t number = 0, bad = 0, other = 0, first = 0;
    if (!file) {
        snprintf(error, error_size, "--log: %s: %s", name, strerror(errno));
        return -1;
    }
    char *const line = sqt_zeroed(LOAD_LINE_MOST + 1, 1);
    errno = 0;
    while (load_line(file, line, &too_long) >= 0) {
        char begin[64];
        ++number;
        snprintf(begin, sizeof(begin), "%s", line);
        const int taken = take_line(l, line);
        other += taken == 0;
        if (taken < 0 && !bad++) {
            first = number;
            snprintf(first_bad, sizeof(first_bad), "%s", begin);
        }
    }
    const int failed = ferror(file) ? errno : 0;
    free(line);
    fclose(file);
    if (failed)
        snprintf(error, error_size, "--log: %s: %s", name, strerror(failed));
    else if (too_long)
        snprintf(error, error_size, "--log: %s, line %llu: expected a line of at most %d KiB", name,
                 (unsigned long long)number + 1, LOAD_LINE_MOST >> 10);
    else if (bad && bad * 2 >= number)
        snprintf(error, error_size,
                 "--log: %s, line %llu: '%s': expected Squid's native format: time elapsed client "
                 "tag/status bytes method URL",
                 name, (unsigned long long)first, first_bad);
    else if (!l->request_count)
        snprintf(error, error_size, "--log: %s: no GET with status 200 or 304 in %llu lines", name,
                 (unsigned long long)number);
    if (failed || too_long || (bad && bad * 2 >= number) || !l->request_count)
        return -1;
    qsort(l->requests, l->request_count, sizeof(*l->requests), log_by_begin);
    load_say(load, "%s: %llu requests for %u URLs", name, (unsigned long long)l->request_count, l->object_count);
    if (other)
        load_say(load, "%s: left out: %llu lines that are no GET with status 200 or 304", name,
                 (unsigned long long)other);
    if (bad)
        load_say(load, "%s: left out: %llu lines that are not of Squid's native format, the first is line %llu: '%s'",
                 name, (unsigned long long)bad, (unsigned long long)first, first_bad);
    return 0;
}

/* ---- the workload ---- */

int
log_plan(struct load *load, char *error, size_t error_size)
{
    struct log *const l = load->state = sqt_zeroed(1, sizeof(*l));
    const int timing = load->given[LOAD_timing] != NULL;
    if (!load->given[LOAD_log]) {
        snprintf(error, error_size, "workload log needs --log=FILE");
        return -1;
    }
    if (timing && (load->real[LOAD_rate] > 0 || !(load->real[LOAD_speed] > 0))) {
        snprintf(error, error_size,
                 load->real[LOAD_rate] > 0 ? "--timing and --rate exclude each other"
                                           : "--speed: expected more than 0");
        return -1;
    }
    if (log_take_file(load, l, load->given[LOAD_log], error, error_size) != 0)
        return -1;
    load->phases[load->phase_count++] = (struct phase){
        .name = "log",
        .rate = load->real[LOAD_rate],
        .end_rate = load->real[LOAD_rate],
        .scheduled = timing,
        .duration = load->number[LOAD_duration],
        .requests = (uint64_t)load->number[LOAD_requests],
    };
    return 0;
}

int
log_next(struct load *load, struct request *r)
{
    struct log *const l = load->state;
    if (l->next == l->request_count)
        return 0;
    const struct log_request *const request = &l->requests[l->next++];
    const struct log_object *const object = &l->objects[request->object];
    const double due = (double)(request->begin - l->requests->begin) / load->real[LOAD_speed];
    r->due = load_ns(due);
    r->place = &load->servers.place[object->hash % load->servers.count];
    snprintf(r->made, sizeof(r->made), "/size=%llu/l%016llx", (unsigned long long)object->size,
             (unsigned long long)object->hash);
    return 1;
}

void
log_end(struct load *load)
{
    struct log *const l = load->state;
    free(l->objects);
    free(l->requests);
    free(l->slots);
    free(l);
}
