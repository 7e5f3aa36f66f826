/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * urls.c - the workload urls: those that are given, in turn, or objects of our own origin.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "load.h"

struct urls {
    char **path;   /* NULL: objects of our own */
    size_t *place; /* index in load->servers */
    size_t count, next;
};

/* Splits "http://HOST:PORT/PATH". */
static int
take_url(struct load *load, struct urls *u, const char *url, char *error, size_t error_size)
{
    const int tls = strncmp(url, "https://", 8) == 0;
    if (!tls && strncmp(url, "http://", 7) != 0) {
        snprintf(error, error_size, "'%.200s': a URL begins with http:// or https://", url);
        return -1;
    }
    const char *const authority = url + 7 + tls;
    const size_t length = strcspn(authority, "/");
    char text[300];
    if (!length || length > 250 || strlen(url) > 4096) {
        snprintf(error, error_size, "'%.200s': no URL with a host, and of at most 4096 letters", url);
        return -1;
    }
    const int has_port = memchr(authority, ':', length) && authority[length - 1] != ']';
    snprintf(text, sizeof(text), "%s%.*s%s", tls ? "https://" : "", (int)length, authority,
             has_port ? ""
             : tls    ? ":443"
                      : ":80");
    const char *const key = text + (tls ? 8 : 0);
    size_t i = 0;
    while (i < load->servers.count &&
           (strcmp(load->servers.place[i].authority, key) != 0 || load->servers.place[i].tls != tls))
        ++i;
    if (i == load->servers.count && places_take_one(&load->servers, text, strlen(text), error, error_size) != 0)
        return -1;
    if ((u->count & (u->count + 1)) == 0) {
        u->path = sqt_resized(u->path, (2 * u->count + 1) * sizeof(*u->path));
        u->place = sqt_resized(u->place, (2 * u->count + 1) * sizeof(*u->place));
    }
    u->path[u->count] = sqt_copied(authority[length] ? authority + length : "/");
    u->place[u->count++] = i;
    return 0;
}

ssize_t
load_line(FILE *from, char *line, int *too_long)
{
    int byte;
    size_t length = 0;
    while ((byte = getc_unlocked(from)) != EOF && byte != '\n') {
        if (length == LOAD_LINE_MOST) {
            *too_long = 1;
            return -1;
        }
        line[length++] = (char)byte;
    }
    line[length] = '\0';
    return ferror(from) || (byte == EOF && !length) ? -1 : (ssize_t)length;
}

static int
urls_take_file(struct load *load, struct urls *u, const char *name, char *error, size_t error_size)
{
    FILE *const file = strcmp(name, "-") == 0 ? stdin : sqt_fopen(name, "re");
    char why[512];
    size_t number = 0;
    ssize_t length;
    int failed = 0, too_long = 0;
    if (!file) {
        snprintf(error, error_size, "--urls: %s: %s", name, strerror(errno));
        return -1;
    }
    char *const line = sqt_zeroed(LOAD_LINE_MOST + 1, 1);
    while (!failed && (length = load_line(file, line, &too_long)) >= 0) {
        ++number;
        while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
            line[--length] = '\0';
        if (!length || *line == '#')
            continue;
        failed = take_url(load, u, line, why, sizeof(why)) != 0;
        if (failed)
            snprintf(error, error_size, "--urls: %s, line %zu: %s", name, number, why);
    }
    if (too_long) {
        snprintf(error, error_size, "--urls: %s, line %zu: expected a line of at most %d KiB", name, number + 1,
                 LOAD_LINE_MOST >> 10);
        failed = 1;
    } else if (!failed && ferror(file)) {
        snprintf(error, error_size, "--urls: %s: %s", name, strerror(errno));
        failed = 1;
    }
    free(line);
    if (file != stdin)
        fclose(file);
    return failed ? -1 : 0;
}

int
urls_plan(struct load *load, char *error, size_t error_size)
{
    struct urls *const u = load->state = sqt_zeroed(1, sizeof(*u));
    for (size_t i = 0; i < load->word_count; ++i)
        if (take_url(load, u, load->words[i], error, error_size) != 0)
            return -1;
    if (load->given[LOAD_urls] && urls_take_file(load, u, load->given[LOAD_urls], error, error_size) != 0)
        return -1;
    if (load->given[LOAD_urls] && !u->count) {
        snprintf(error, error_size, "--urls: %s: no URL in it", load->given[LOAD_urls]);
        return -1;
    }
    load->phases[load->phase_count++] = (struct phase){
        .name = "urls",
        .rate = load->real[LOAD_rate],
        .end_rate = load->real[LOAD_rate],
        .duration = load->number[LOAD_duration],
        /* With a rate, what ends the phase is its duration, unless both are said. */
        .requests = load->real[LOAD_rate] > 0 && load->number[LOAD_duration] && !load->given[LOAD_requests]
                        ? 0
                        : (uint64_t)load->number[LOAD_requests],
    };
    return 0;
}

int
urls_next(struct load *load, struct request *r)
{
    struct urls *const u = load->state;
    const size_t index = u->next++;
    if (u->count) {
        r->path = u->path[index % u->count];
        r->place = &load->servers.place[u->place[index % u->count]];
        return 1;
    }
    const uint64_t object = index % (uint64_t)load->number[LOAD_objects];
    r->place = &load->servers.place[object % load->servers.count];
    snprintf(r->made, sizeof(r->made), "/size=%lld/u%llu", (long long)load->number[LOAD_size],
             (unsigned long long)object);
    return 1;
}

void
urls_end(struct load *load)
{
    struct urls *const u = load->state;
    for (size_t i = 0; u && i < u->count; ++i)
        free(u->path[i]);
    if (u) {
        free(u->path);
        free(u->place);
    }
    free(u);
}
