/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * config.c - the parameters of the sqtrace_log directive.
 */
#include "config-internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/compress.h"
#include "format/events.h"
#include "suggest-internal.h"

#define KB UINT64_C(1024)
#define MB (KB * KB)
#define GB (KB * MB)
#define TB (KB * GB)

#define RING_WORKER (32 * MB)
#define RING_OTHER (1 * MB)
#define RING_MIN (64 * KB)
#define SEGMENT_DEFAULT (1 * GB)
#define SEGMENT_MIN (64 * KB)
#define SEGMENT_MAX (1 * TB)
#define KEEP_MIN (64 * KB)
#define KEEP_MAX (1024 * TB)
#define KEEP_SEGMENTS 4 /* how many make up `keep` when no segment size is given */
#define TOTAL_MIN (1 * MB)
#define RESERVE_MIN (1 * MB)
#define SECOND UINT64_C(1000000000) /* ns */
#define DAY (24 * 3600 * SECOND)

struct unit {
    const char *name;
    uint64_t worth;
};
static const struct unit units[] = {{"bytes", 1}, {"B", 1},   {"KB", KB}, {"K", KB}, {"MB", MB},
                                    {"M", MB},    {"GB", GB}, {"G", GB},  {"TB", TB}};
#define UNITS (sizeof(units) / sizeof(units[0]))

/* The largest unit of which bytes is a whole number. */
static const char *
print_size(char buf[32], uint64_t bytes)
{
    static const char *const names[] = {"bytes", "KB", "MB", "GB", "TB"};
    unsigned i = 0;
    for (; i < 4 && bytes && bytes % KB == 0; ++i)
        bytes /= KB;
    snprintf(buf, 32, "%" PRIu64 "%s", bytes, names[i]);
    return buf;
}

static const struct unit times[] = {{"s", SECOND}, {"min", 60 * SECOND}, {"h", 3600 * SECOND}, {"d", DAY}};
#define TIMES (sizeof(times) / sizeof(times[0]))

/* The largest unit of which ns is a whole number. */
static const char *
print_time(char buf[32], uint64_t ns)
{
    unsigned i = TIMES - 1;
    while (i && ns % times[i].worth)
        --i;
    snprintf(buf, 32, "%" PRIu64 "%s", ns / times[i].worth, times[i].name);
    return buf;
}

struct size_parameter {
    const char *name;
    uint64_t min, max;
    size_t offset; /* of the uint64_t in struct sqt_config */
    int may_be_off;
};

static const struct size_parameter sizes[] = {
    {"ring", RING_MIN, SQT_RING_RECORDS_MAX, offsetof(struct sqt_config, ring), 0},
    {"segment", SEGMENT_MIN, SEGMENT_MAX, offsetof(struct sqt_config, segment), 0},
    {"keep", KEEP_MIN, KEEP_MAX, offsetof(struct sqt_config, keep), 0},
    {"total", TOTAL_MIN, KEEP_MAX, offsetof(struct sqt_config, total), 1},
    {"reserve", RESERVE_MIN, KEEP_MAX, offsetof(struct sqt_config, reserve), 1},
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const struct time_parameter {
    const char *name;
    uint64_t min, max; /* ns */
    size_t offset;     /* of the uint64_t in struct sqt_config */
} spans[] = {
    {"age", 60 * SECOND, 3650 * DAY, offsetof(struct sqt_config, age_ns)},
    {"every", SECOND, 3650 * DAY, offsetof(struct sqt_config, every_ns)},
};
#define SPANS (sizeof(spans) / sizeof(spans[0]))

static const char *const parameters[] = {"ring",  "ringdir", "events",        "compress", "segment",
                                         "keep",  "total",   "reserve",       "age",      "every",
                                         "names", "host",    "trace_context", "note",     "mode"};
#define PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))

void
sqt_config_init(struct sqt_config *config)
{
    memset(config, 0, sizeof(*config));
    config->groups = SQT_GROUP_DEFAULT;
    config->compression = sqt_compression_default();
    config->names = SQT_NAMES_CONFIGURED;
}

uint64_t
sqt_config_ring(const struct sqt_config *config, uint32_t kid_kind)
{
    if (config->ring)
        return config->ring;
    return kid_kind == SQT_KID_DISKER || kid_kind == SQT_KID_COORDINATOR ? RING_OTHER : RING_WORKER;
}

uint64_t
sqt_config_segment(const struct sqt_config *config)
{
    if (config->segment)
        return config->segment;
    uint64_t segment = SEGMENT_DEFAULT;
    if (config->keep && config->keep / KEEP_SEGMENTS < segment)
        segment = config->keep / KEEP_SEGMENTS;
    return segment < SEGMENT_MIN ? SEGMENT_MIN : segment;
}

const char *
sqt_config_ringdir(const struct sqt_config *config)
{
    return config->ringdir[0] ? config->ringdir : SQT_RINGDIR;
}

/* Reads "<number><unit>".  none: what a number without a unit is worth; 0: it must have one.  Returns NULL, or what is
 * wrong with it. */
static const char *
read_amount(const char *text, const struct unit *known, size_t count, uint64_t none, uint64_t *amount)
{
    if (!isdigit((unsigned char)*text))
        return *text == '-' ? "is negative" : "is not a number";
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno == ERANGE)
        return "is too large";
    uint64_t unit = *end ? 0 : none;
    for (size_t i = 0; i < count; ++i)
        if (strcasecmp(end, known[i].name) == 0)
            unit = known[i].worth;
    if (!unit)
        return *end == '.' ? "is not a whole number" : *end ? "has an unknown unit" : "has no unit";
    if (number > UINT64_MAX / unit)
        return "is too large";
    *amount = number * unit;
    return NULL;
}

static const char *
out_of_range(uint64_t amount, uint64_t min, uint64_t max)
{
    return amount < min ? "is too small" : amount > max ? "is too large" : NULL;
}

static int
set_size(struct sqt_config *config, const struct size_parameter *p, const char *value, char *error, size_t error_size)
{
    uint64_t bytes = 0;
    char min[32], max[32];
    const int off = p->may_be_off && strcmp(value, "off") == 0;
    const char *problem = off ? NULL : read_amount(value, units, UNITS, 1, &bytes);
    if (!problem && !off)
        problem = out_of_range(bytes, p->min, p->max);
    if (problem) {
        snprintf(error, error_size,
                 "%s=%s %s: allowed is %sa size from %s to %s, as a whole number with bytes, KB, MB, GB or TB", p->name,
                 value, problem, p->may_be_off ? "off or " : "", print_size(min, p->min), print_size(max, p->max));
        return -1;
    }
    if (p->offset == offsetof(struct sqt_config, ring)) {
        uint64_t rounded = RING_MIN;
        while (rounded < bytes)
            rounded *= 2;
        bytes = rounded;
    }
    if (off)
        bytes = SQT_NO_LIMIT;
    memcpy((char *)config + p->offset, &bytes, sizeof(bytes));
    return 0;
}

static int
set_time(struct sqt_config *config, const struct time_parameter *p, const char *value, char *error, size_t error_size)
{
    uint64_t ns = 0;
    char min[32], max[32];
    const char *problem = read_amount(value, times, TIMES, 0, &ns);
    if (!problem)
        problem = out_of_range(ns, p->min, p->max);
    if (problem) {
        snprintf(error, error_size, "%s=%s %s: allowed is a time from %s to %s, as a whole number with s, min, h or d",
                 p->name, value, problem, print_time(min, p->min), print_time(max, p->max));
        return -1;
    }
    memcpy((char *)config + p->offset, &ns, sizeof(ns));
    return 0;
}

/* Appends ", name" for each group that can be chosen. */
static void
list_groups(char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (unsigned i = 1; i < SQT_GROUPS_COUNT && used < size; ++i)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i > 1 ? ", " : "", sqt_group_names[i].name);
}

static int
set_events(struct sqt_config *config, const char *value, char *error, size_t error_size)
{
    const char *names[SQT_GROUPS_COUNT + 1];
    uint32_t groups = 0;
    for (unsigned i = 0; i < SQT_GROUPS_COUNT; ++i)
        names[i] = sqt_group_names[i].name;
    names[0] = "all"; /* instead of the trace's own, which cannot be chosen */

    for (const char *item = value;; ++item) {
        char name[32];
        const size_t size = strcspn(item, ",");
        unsigned i = SQT_GROUPS_COUNT;
        if (size && size < sizeof(name)) {
            memcpy(name, item, size);
            name[size] = '\0';
            for (i = 0; i < SQT_GROUPS_COUNT && strcmp(name, names[i]) != 0; ++i)
                ;
        }
        if (i == SQT_GROUPS_COUNT) {
            char all[256], hint[64];
            list_groups(all, sizeof(all));
            snprintf(error, error_size, "events=%s: '%.*s' is not a group of events%s: allowed are all, %s", value,
                     (int)size, item, sqt_suggest(hint, sizeof(hint), item, size, names, SQT_GROUPS_COUNT), all);
            return -1;
        }
        groups |= i ? 1u << i : (1u << SQT_GROUPS_COUNT) - 1;
        item += size;
        if (!*item)
            break;
    }
    config->groups = groups | SQT_GROUP_TRACE;
    return 0;
}

static int
set_path(char *to, size_t room, const char *name, const char *value, char *error, size_t error_size)
{
    if (*value != '/') {
        snprintf(error, error_size, "%s%s: allowed is an absolute path", name, value);
        return -1;
    }
    if (strlen(value) >= room) {
        snprintf(error, error_size, "%s%.40s...: allowed is a path of at most %zu bytes", name, value, room - 1);
        return -1;
    }
    strcpy(to, value);
    return 0;
}

/* "on" stays a word for the default. */
static int
set_compression(struct sqt_config *config, const char *value, char *error, size_t error_size)
{
    const int zstd = sqt_compression_is_known(SQT_COMPRESSION_ZSTD);
    if (strcmp(value, "on") == 0) {
        config->compression = sqt_compression_default();
        return 0;
    }
    for (int i = SQT_COMPRESSION_OFF; i <= SQT_COMPRESSION_ZSTD; ++i)
        if (strcmp(value, sqt_compression_name((enum sqt_compression)i)) == 0 &&
            sqt_compression_is_known((enum sqt_compression)i)) {
            config->compression = i;
            return 0;
        }
    snprintf(error, error_size, "compress=%s: allowed are %szlib and off%s", value, zstd ? "zstd, " : "",
             zstd ? "" : " (this libsqtrace was built without zstd)");
    return -1;
}

static const char *const names_words[] = {
    [SQT_NAMES_OFF] = "off", [SQT_NAMES_CONFIGURED] = "configured", [SQT_NAMES_SERVERS] = "servers"};

static int
set_names(struct sqt_config *config, const char *value, char *error, size_t error_size)
{
    for (int i = SQT_NAMES_OFF; i <= SQT_NAMES_SERVERS; ++i)
        if (strcmp(value, names_words[i]) == 0) {
            config->names = i;
            return 0;
        }
    snprintf(error, error_size, "names=%s: allowed are off, configured and servers", value);
    return -1;
}

static int
set_trace_context(struct sqt_config *config, const char *value, char *error, size_t error_size)
{
    static const char *const words[] = {
        [SQT_CONTEXT_OFF] = "off", [SQT_CONTEXT_ON] = "on", [SQT_CONTEXT_FORWARD] = "forward"};
    for (int i = 0; i < (int)(sizeof(words) / sizeof(*words)); ++i)
        if (strcmp(value, words[i]) == 0) {
            config->trace_context = i;
            return 0;
        }
    snprintf(error, error_size, "trace_context=%s: allowed are off, on and forward", value);
    return -1;
}

static int
set_mode(struct sqt_config *config, const char *value, char *error, size_t error_size)
{
    const int recorder = strcmp(value, "recorder") == 0;
    if (!recorder && strcmp(value, "trace") != 0) {
        snprintf(error, error_size, "mode=%s: allowed are trace and recorder", value);
        return -1;
    }
    config->recorder = recorder;
    return 0;
}

int
sqt_config_host(struct sqt_config *config, const char *what, const char *value, char *error, size_t error_size)
{
    size_t size = 0;
    while (isalnum((unsigned char)value[size]) || (value[size] && strchr(".-_", value[size])))
        ++size;
    if (!size || value[size] || size >= sizeof(config->host)) {
        snprintf(error, error_size,
                 "%s%.40s%s: allowed is a name of at most %zu letters, digits, dots, dashes and underlines", what,
                 value, strlen(value) > 40 ? "..." : "", sizeof(config->host) - 1);
        return -1;
    }
    memcpy(config->host, value, size + 1);
    return 0;
}

/* "ring=, ringdir=, ... and mode=" */
static const char *
list_parameters(char *buf, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < PARAMETERS && used < size; ++i)
        used += (size_t)snprintf(buf + used, size - used, "%s%s=",
                                 i == 0               ? ""
                                 : i + 1 < PARAMETERS ? ", "
                                                      : " and ",
                                 parameters[i]);
    return buf;
}

int
sqt_config_word(struct sqt_config *config, const char *word, char *error, size_t error_size)
{
    if (!config->directory[0])
        return set_path(config->directory, sizeof(config->directory), "", word, error, error_size);

    const size_t name_size = strcspn(word, "=");
    const char *const value = word + name_size + (word[name_size] == '=');
    if (word[name_size] == '=') {
        for (unsigned i = 0; i < SIZES; ++i)
            if (strlen(sizes[i].name) == name_size && memcmp(word, sizes[i].name, name_size) == 0)
                return set_size(config, &sizes[i], value, error, error_size);
        for (unsigned i = 0; i < SPANS; ++i)
            if (strlen(spans[i].name) == name_size && memcmp(word, spans[i].name, name_size) == 0)
                return set_time(config, &spans[i], value, error, error_size);
        if (name_size == 7 && memcmp(word, "ringdir", 7) == 0)
            return set_path(config->ringdir, sizeof(config->ringdir), "ringdir=", value, error, error_size);
        if (name_size == 6 && memcmp(word, "events", 6) == 0)
            return set_events(config, value, error, error_size);
        if (name_size == 8 && memcmp(word, "compress", 8) == 0)
            return set_compression(config, value, error, error_size);
        if (name_size == 5 && memcmp(word, "names", 5) == 0)
            return set_names(config, value, error, error_size);
        if (name_size == 4 && memcmp(word, "host", 4) == 0)
            return sqt_config_host(config, "host=", value, error, error_size);
        if (name_size == 13 && memcmp(word, "trace_context", 13) == 0)
            return set_trace_context(config, value, error, error_size);
        if (name_size == 4 && memcmp(word, "note", 4) == 0)
            return sqt_config_notes(config, value, error, error_size);
        if (name_size == 4 && memcmp(word, "mode", 4) == 0)
            return set_mode(config, value, error, error_size);
    }
    char hint[64], all[256];
    snprintf(error, error_size, "'%s' is not a parameter%s: allowed are %s", word,
             sqt_suggest(hint, sizeof(hint), word, name_size, parameters, PARAMETERS),
             list_parameters(all, sizeof(all)));
    return -1;
}

/* A bound that no segment fits in. */
static int
check_bound(const char *name, uint64_t bound, uint64_t segment, char *error, size_t error_size)
{
    char bytes[32], least[32];
    if (!bound || bound >= segment)
        return 0;
    snprintf(error, error_size, "%s=%s is less than segment=%s: allowed is the size of a segment and more", name,
             print_size(bytes, bound), print_size(least, segment));
    return -1;
}

int
sqt_config_check(const struct sqt_config *config, char *error, size_t error_size)
{
    if (check_bound("keep", config->keep, sqt_config_segment(config), error, error_size) != 0)
        return -1;
    return check_bound("total", config->total, config->segment, error, error_size);
}

size_t
sqt_config_groups(uint32_t groups, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (unsigned i = 1; i < SQT_GROUPS_COUNT && used < size; ++i)
        if (groups & (1u << i))
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "," : "", sqt_group_names[i].name);
    return used;
}

size_t
sqt_config_print(const struct sqt_config *config, char *buf, size_t size)
{
    size_t used = 0;
    char text[32];
#define PRINT(...) used += (size_t)snprintf(used < size ? buf + used : NULL, used < size ? size - used : 0, __VA_ARGS__)
    PRINT("%s", config->directory);
    for (unsigned i = 0; i < SIZES; ++i) {
        uint64_t bytes;
        memcpy(&bytes, (const char *)config + sizes[i].offset, sizeof(bytes));
        if (bytes)
            PRINT(" %s=%s", sizes[i].name, bytes == SQT_NO_LIMIT ? "off" : print_size(text, bytes));
    }
    for (unsigned i = 0; i < SPANS; ++i) {
        uint64_t ns;
        memcpy(&ns, (const char *)config + spans[i].offset, sizeof(ns));
        if (ns)
            PRINT(" %s=%s", spans[i].name, print_time(text, ns));
    }
    if (config->ringdir[0])
        PRINT(" ringdir=%s", config->ringdir);
    if (config->groups != SQT_GROUP_DEFAULT) {
        char groups[SQT_GROUPS_TEXT];
        sqt_config_groups(config->groups, groups, sizeof(groups));
        PRINT(" events=%s", groups);
    }
    if (config->compression != (int)sqt_compression_default())
        PRINT(" compress=%s", sqt_compression_name((enum sqt_compression)config->compression));
    if (config->names != SQT_NAMES_CONFIGURED)
        PRINT(" names=%s", names_words[config->names]);
    if (config->host[0])
        PRINT(" host=%s", config->host);
    if (config->trace_context)
        PRINT(" trace_context=%s", config->trace_context == SQT_CONTEXT_FORWARD ? "forward" : "on");
    for (unsigned i = 0; i < SQT_NOTES && config->notes[i][0]; ++i)
        PRINT("%s%s", i ? "," : " note=", config->notes[i]);
    if (config->recorder)
        PRINT(" mode=recorder");
#undef PRINT
    return used;
}
