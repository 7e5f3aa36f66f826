/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * log.c - see log.h.
 */
#include "log-internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

/* Lines that are not of the format and are shown. */
#define SHOWN 3
/* Bytes at the end of a file in which its last line is looked for. */
#define TAIL ((size_t)64 << 10)
/* Lines of them that are looked at. */
#define LAST_LINES 64

struct sqt_log *
sqt_log_open(const struct sqt_log_request *request, struct sqt_diagnostics *diagnostics)
{
    struct sqt_log *const log = sqt_zeroed(1, sizeof(*log));
    log->diagnostics = diagnostics;
    log->follow = request->follow;
    if (sqt_log_files_find(&log->files, request, diagnostics) == 0 && sqt_log_choose(log, request->format) == 0) {
        sqt_log_files_order(&log->files, &log->format, diagnostics);
        if (sqt_log_check(log) == 0)
            return log;
    }
    sqt_log_close(log);
    return NULL;
}

/* ---- requests ---- */

/* Puts a NUL behind a text of the line. */
static const char *
log_text(struct sqt_log_slice s)
{
    if (!s.length)
        return NULL;
    ((char *)s.at)[s.length] = '\0';
    return s.at;
}

static const char *
log_host(const struct sqt_log_slice slices[SQT_LOG_FIELDS], char host[HOST_MOST])
{
    const struct sqt_log_slice own = slices[SQT_LOG_HOST];
    const struct sqt_log_slice s = own.length ? own : sqt_log_host(slices[SQT_LOG_URL]);
    const size_t length = s.length < HOST_MOST ? s.length : HOST_MOST - 1;
    if (!length)
        return NULL;
    memcpy(host, s.at, length);
    host[length] = '\0';
    return host;
}

static uint32_t
log_server(struct sqt_log *log, const struct sqt_log_slice slices[SQT_LOG_FIELDS])
{
    const struct sqt_log_slice host = slices[SQT_LOG_SERVER], port = slices[SQT_LOG_SERVER_PORT];
    char both[HOST_MOST];
    if (!host.length || !port.length || host.length + port.length + 1 > sizeof(both))
        return sqt_log_name(&log->names, SQT_DEF_SERVER, host.at, host.length);
    memcpy(both, host.at, host.length);
    both[host.length] = ':';
    memcpy(both + host.length + 1, port.at, port.length);
    return sqt_log_name(&log->names, SQT_DEF_SERVER, both, host.length + 1 + port.length);
}

/* The texts of a line whose numbers are known. */
static void
log_take(struct sqt_log *log, struct log_reader *r, struct sqt_logged *l, char host[HOST_MOST])
{
    const struct sqt_log_slice *const slices = r->slices;
    const struct sqt_log_slice url = slices[SQT_LOG_URL], method = slices[SQT_LOG_METHOD], tag = slices[SQT_LOG_TAG];
    *l = r->next;
    l->origin = NULL;
    if (l->kid == SQT_LOG_UNKNOWN)
        l->kid = r->file->kid;
    l->object = url.length ? sqt_log_hash(url.at, url.length) : 0;
    l->method = sqt_log_name(&log->names, SQT_DEF_METHOD, method.at, method.length);
    l->tag = sqt_log_name(&log->names, SQT_DEF_TAG, tag.at, tag.length);
    l->server = log_server(log, slices);
    l->host = log_host(slices, host);
    l->client = log_text(slices[SQT_LOG_CLIENT]);
    l->user = log_text(slices[SQT_LOG_USER]);
    l->hierarchy = log_text(slices[SQT_LOG_HIERARCHY]);
    l->url = log_text(url);
    r->used = 1;
    r->has = 0;
    ++log->account.lines;
}

/* ---- what is wrong ---- */

static void
log_not_understood(struct sqt_log *log, const struct log_reader *r, const char *why, const char *line, size_t length)
{
    ++log->account.not_understood;
    if (log->shown++ < SHOWN)
        sqt_diagnose(log->diagnostics, SQT_WARNING, "%s: line %" PRIu64 " %s %.40s: %.*s", r->file->name,
                     r->bytes.number, why, log->format.name, (int)(length < 60 ? length : 60), line);
}

static void
log_end_file(struct sqt_log *log, struct log_reader *r)
{
    if (r->bytes.error)
        sqt_diagnose(log->diagnostics, SQT_WARNING, "%s: offset %" PRIu64 ": %s; what comes before was read",
                     r->file->name, r->bytes.read, r->bytes.error);
    if (r->bytes.too_long)
        sqt_diagnose(log->diagnostics, SQT_WARNING,
                     "%s: %" PRIu64 " lines are longer than %zu bytes, and were passed over", r->file->name,
                     r->bytes.too_long, SQT_LOG_LINE_MOST);
    log->account.not_understood += r->bytes.too_long;
    r->ended = 1;
}

/* All that there was. */
static void
log_end(struct sqt_log *log)
{
    if (log->shown > SHOWN)
        sqt_diagnose(log->diagnostics, SQT_WARNING, "%" PRIu64 " lines of %" PRIu64 " are not of the format %.40s",
                     log->account.not_understood, log->account.lines + log->account.not_understood, log->format.name);
    log->shown = 0;
}

/* ---- reading: the lines of all files by their times ---- */

/* Whether a line is of about the time of those before it.  Behind a pause of a year, the second line is. */
static int
log_is_of_its_time(struct log_reader *r)
{
    const int is = !r->near || sqt_log_is_near(r->next.at, r->near) || sqt_log_is_near(r->next.at, r->far);
    *(is ? &r->near : &r->far) = r->next.at;
    return is;
}

/* All bytes that a file may have without a line were read.  It ends there, or is followed and goes on with the next batch. */
static void
log_without_a_line(struct sqt_log *log, struct log_reader *r)
{
    if (!log->follow) {
        r->bytes.error = "no line follows in 64 MiB";
        log_end_file(log, r);
        return;
    }
    const uint64_t skipped = sqt_log_followed_skip(r);
    if (skipped)
        sqt_diagnose(log->diagnostics, SQT_WARNING, "%s: %" PRIu64 " bytes were skipped: no line was found before them",
                     r->file->name, skipped);
}

/* The next line of a file: 1, 0 at its end, or -1 if what the batch has of it would have to move. */
static int
log_fetch(struct sqt_log *log, struct log_reader *r)
{
    char *line;
    size_t length;
    for (;;) {
        if (!log->follow)
            sqt_log_bytes_allow(&r->bytes, SQT_LOG_GAP_MOST);
        const int got = sqt_log_bytes_line(&r->bytes, r->used, &line, &length);
        if (got < 0)
            return -1;
        if (!got && r->bytes.spent) {
            log_without_a_line(log, r);
            return 0;
        }
        if (!got && r->bytes.follow && sqt_log_followed_again(r))
            continue;
        if (!got) {
            if (!r->bytes.follow)
                log_end_file(log, r);
            return 0;
        }
        const int is_of_it = sqt_log_line_split(&log->format, line, length, r->slices) == 0 &&
                             sqt_log_line_numbers(&log->format, r->slices, &r->next) == 0;
        r->has = is_of_it && log_is_of_its_time(r);
        if (r->has)
            return 1;
        log_not_understood(log, r, is_of_it ? "has a time far from those before it, in" : "is not of the format", line,
                           length);
    }
}

/* Whose line is the next; NULL: nobody has one. */
static struct log_reader *
log_first(const struct sqt_log *log)
{
    struct log_reader *first = NULL;
    for (size_t i = 0; i < log->reader_count; ++i) {
        struct log_reader *const r = log->readers[i];
        if (r->has && (!first || r->next.at < first->next.at))
            first = r;
    }
    return first;
}

static void
log_open(struct sqt_log *log, struct sqt_log_file *file)
{
    struct log_reader *const r = sqt_zeroed(1, sizeof(*r));
    r->file = file;
    r->near = r->far = file->first_at == INT64_MAX ? 0 : file->first_at;
    if (sqt_log_files_open(&log->files, file, &r->bytes, log->diagnostics) != 0) {
        free(r);
        return;
    }
    log->readers[log->reader_count++] = r;
    if (!log->follow)
        return;
    sqt_log_followed_begin(r);
    sqt_log_followed_allow(r, log->reader_count);
}

/* Opens the files whose time has come, and fetches the next line of each; -1: the batch must end first. */
static int
log_fetch_all(struct sqt_log *log)
{
    size_t fetched = 0;
    for (;;) {
        for (; fetched < log->reader_count; ++fetched) {
            struct log_reader *const r = log->readers[fetched];
            if (!r->has && !r->ended && log_fetch(log, r) < 0)
                return -1;
        }
        const struct log_reader *const first = log_first(log);
        if (log->next_file == log->files.count || log->reader_count == OPEN_MOST ||
            (first && log->files.files[log->next_file].first_at > first->next.at))
            return 0;
        log_open(log, &log->files.files[log->next_file++]);
    }
}

/* A new batch: nothing of the one before is needed. */
static void
log_begin_batch(struct sqt_log *log)
{
    size_t left = 0;
    for (size_t i = 0; i < log->reader_count; ++i) {
        struct log_reader *const r = log->readers[i];
        r->used = 0;
        if (log->follow)
            sqt_log_followed_allow(r, log->reader_count);
        if (r->ended) {
            sqt_log_bytes_close(&r->bytes);
            free(r);
        } else
            log->readers[left++] = r;
    }
    log->reader_count = left;
}

size_t
sqt_log_next(struct sqt_log *log, struct sqt_logged **requests)
{
    size_t count = 0;
    *requests = log->batch;
    do {
        log_begin_batch(log);
        for (struct log_reader *first; count < SQT_LOG_BATCH && log_fetch_all(log) == 0 && (first = log_first(log));
             ++count)
            log_take(log, first, &log->batch[count], log->hosts[count]);
    } while (!count && !log->follow && (log->reader_count || log->next_file < log->files.count));
    if (!count && !log->follow)
        log_end(log);
    return count;
}

int64_t
sqt_log_start_ns(const struct sqt_log *log)
{
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < log->files.count; ++i)
        if (log->files.files[i].begin < start)
            start = log->files.files[i].begin;
    return start == INT64_MAX ? 0 : start;
}

/* When the last line of the format in some bytes was written that is near those before it; -1: none is of it. */
static int64_t
log_last_in(const struct sqt_log *log, const char *text, size_t size)
{
    struct sqt_log_slice slices[SQT_LOG_FIELDS];
    struct sqt_logged l;
    int64_t times[LAST_LINES];
    size_t count = 0;
    for (size_t end = size; end && count < LAST_LINES;) {
        size_t begin = end - 1;
        while (begin && text[begin - 1] != '\n')
            --begin;
        const size_t length = end - begin - (text[end - 1] == '\n');
        if (begin && sqt_log_line_split(&log->format, text + begin, length, slices) == 0 &&
            sqt_log_line_numbers(&log->format, slices, &l) == 0)
            times[count++] = l.at;
        end = begin;
    }
    return count ? times[sqt_log_first_near(times, count)] : -1;
}

int64_t
sqt_log_last_ns(struct sqt_log *log)
{
    struct sqt_log_bytes bytes;
    struct sqt_log_file *const file = &log->files.files[log->files.count - 1];
    int64_t last = -1;
    if (strcmp(file->name, "-") == 0 || sqt_log_files_open(&log->files, file, &bytes, log->diagnostics) != 0)
        return -1;
    if (!bytes.inflater && file->size) {
        const size_t size = file->size < TAIL ? (size_t)file->size : TAIL;
        char *const text = sqt_zeroed(size + 2, 1);
        text[0] = '\n'; /* before the first line of a short file */
        const ssize_t n = pread(bytes.fd, text + 1, size, (off_t)(file->size - size));
        last = n > 0 ? log_last_in(log, text, (size_t)n + 1) : -1;
        free(text);
    }
    sqt_log_bytes_close(&bytes);
    return last;
}

uint64_t
sqt_log_lines(const struct sqt_log *log)
{
    uint64_t size = 0, bytes = 0, lines = 0;
    for (size_t i = 0; i < log->files.count; ++i) {
        size += log->files.files[i].size;
        bytes += log->files.files[i].bytes;
        lines += log->files.files[i].looked_at;
    }
    const uint64_t by_size = bytes ? (uint64_t)((double)size * (double)lines / (double)bytes) : 0;
    return by_size > lines ? by_size : lines;
}

const struct sqt_log_account *
sqt_log_account(const struct sqt_log *log)
{
    return &log->account;
}

const struct sqt_dictionary *
sqt_log_dictionary(const struct sqt_log *log)
{
    return &log->names.dictionary;
}

void
sqt_log_close(struct sqt_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->reader_count; ++i) {
        sqt_log_bytes_close(&log->readers[i]->bytes);
        free(log->readers[i]);
    }
    sqt_log_files_free(&log->files);
    sqt_log_format_free(&log->format);
    sqt_log_names_free(&log->names);
    free(log);
}
