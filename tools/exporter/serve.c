/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * serve.c - what is answered: metrics, the live page, and /healthz.
 *
 * A text is kept for a moment, and shared by all that ask for it meanwhile: a hundred scrapes at once cost as one.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>

#include "base/memory.h"
#include "exporter.h"
#include "http.h"

/* Texts, and how long each is good for, in ns. */
enum serve_kind { SERVE_PROMETHEUS, SERVE_OPEN, SERVE_LIVE, SERVE_KINDS };
static const int64_t serve_fresh[SERVE_KINDS] = {INT64_C(100000000), INT64_C(100000000), INT64_C(900000000)};

#define TYPE_JSON "application/json; charset=utf-8"
/* A page may use nothing but its own files. */
#define PAGE_FIELDS \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " \
    "data:; " \
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n" \
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPEN "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* An exposition that users have in hand. */
struct serve_text {
    char *bytes;
    size_t size;
    unsigned users;
    int64_t made; /* by the monotonic clock */
};

struct exporter_server {
    struct exporter *exporter;
    struct export_http *http;
    struct serve_text *texts[SERVE_KINDS]; /* NULL: none yet */
};

/* ---- texts ---- */

static void
serve_release(const void *bytes, size_t size, void *context)
{
    struct serve_text *const text = context;
    (void)bytes;
    (void)size;
    if (--text->users)
        return;
    free(text->bytes);
    free(text);
}

static struct serve_text *
serve_make(struct exporter *e, enum serve_kind kind)
{
    struct serve_text *const text = sqt_zeroed(1, sizeof(*text));
    FILE *const to = sqt_text_stream(&text->bytes, &text->size);
    if (kind != SERVE_LIVE)
        exporter_take_own(e);
    if (to && kind == SERVE_LIVE)
        exporter_page_print(e, to);
    else if (to)
        export_print(e->series, kind == SERVE_OPEN, to);
    if (to)
        fclose(to);
    text->users = 1;
    text->made = exporter_now(CLOCK_MONOTONIC);
    return text;
}

/* The text of that kind, made anew if it is old. */
static struct serve_text *
serve_text(struct exporter_server *s, enum serve_kind kind)
{
    struct serve_text **const text = &s->texts[kind];
    if (*text && exporter_now(CLOCK_MONOTONIC) - (*text)->made < serve_fresh[kind])
        return *text;
    if (*text)
        serve_release(NULL, 0, *text);
    return *text = serve_make(s->exporter, kind);
}

/* ---- requests ---- */

static struct export_http_answer
serve_words(int status, const char *reason, const char *words)
{
    struct evbuffer *const body = evbuffer_new();
    if (body)
        evbuffer_add_printf(body, "%s\n", words);
    return (struct export_http_answer){status, reason, TYPE_TEXT, body, NULL};
}

static struct export_http_answer
serve_refuse(struct exporter_server *s, int status, const char *reason, const char *words)
{
    ++s->exporter->refused;
    return serve_words(status, reason, words);
}

static struct evbuffer *
serve_shared(struct exporter_server *s, enum serve_kind kind)
{
    struct serve_text *const text = serve_text(s, kind);
    struct evbuffer *const body = evbuffer_new();
    if (body && evbuffer_add_reference(body, text->bytes, text->size, serve_release, text) == 0)
        ++text->users;
    return body;
}

static struct export_http_answer
serve_metrics(struct exporter_server *s, const struct export_http_request *request)
{
    const int open = export_http_accepts(request, "application/openmetrics-text");
    ++s->exporter->scrapes;
    s->exporter->scraped = exporter_now(CLOCK_MONOTONIC);
    return (struct export_http_answer){200, "OK", open ? TYPE_OPEN : TYPE_PROMETHEUS,
                                       serve_shared(s, open ? SERVE_OPEN : SERVE_PROMETHEUS), NULL};
}

/* Somebody looks at the page, so findings are looked for. */
static struct export_http_answer
serve_live(struct exporter_server *s)
{
    s->exporter->looked = s->exporter->scraped = exporter_now(CLOCK_MONOTONIC);
    return (struct export_http_answer){200, "OK", TYPE_JSON, serve_shared(s, SERVE_LIVE), PAGE_FIELDS};
}

static struct export_http_answer
serve_file(const struct exporter_file *file)
{
    struct evbuffer *const body = evbuffer_new();
    if (body)
        evbuffer_add_reference(body, file->bytes, file->size, NULL, NULL);
    return (struct export_http_answer){200, "OK", file->type, body, PAGE_FIELDS};
}

static struct export_http_answer
serve_health(struct exporter_server *s)
{
    const struct exporter *const e = s->exporter;
    if (!exporter_reads(e))
        return serve_refuse(s, 503, "Service Unavailable", *e->messages.error ? e->messages.error : "starts");
    if (e->trace.lived && !exporter_squid_is_up(e))
        return serve_refuse(s, 503, "Service Unavailable",
                            "Squid is down: no process has shown a sign of life for 10 s");
    return serve_words(200, "OK", e->trace.caught_up ? "ok" : "ok: reads what was there before");
}

static struct export_http_answer
serve_not_found(struct exporter_server *s)
{
    const struct exporter_request *const r = &s->exporter->request;
    char words[1024];
    snprintf(words, sizeof(words), "there are %.900s, /healthz%s", r->path,
             exporter_has_page(s->exporter) ? " and a page at /" : "");
    return serve_refuse(s, 404, "Not Found", words);
}

static struct export_http_answer
serve_request(void *context, const struct export_http_request *request)
{
    struct exporter_server *const s = context;
    if (request->fault == EXPORT_HTTP_BAD)
        return serve_refuse(s, 400, "Bad Request", "expected a request of HTTP/1.1");
    if (request->fault == EXPORT_HTTP_LONG)
        return serve_refuse(s, 431, "Request Header Fields Too Large", "expected a header of at most 16 KB");
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        return serve_refuse(s, 405, "Method Not Allowed", "expected GET or HEAD");
    if (strcmp(request->path, s->exporter->request.path) == 0)
        return serve_metrics(s, request);
    if (strcmp(request->path, "/healthz") == 0)
        return serve_health(s);
    if (exporter_has_page(s->exporter) && strcmp(request->path, "/live.json") == 0)
        return serve_live(s);
    const struct exporter_file *const file = exporter_has_page(s->exporter) ? exporter_page_file(request->path) : NULL;
    return file ? serve_file(file) : serve_not_found(s);
}

struct exporter_server *
exporter_serve(struct exporter *e)
{
    struct exporter_server *const s = sqt_zeroed(1, sizeof(*s));
    s->exporter = e;
    s->http = export_http_new(e, serve_request, s);
    if (s->http)
        return s;
    exporter_server_free(s);
    return NULL;
}

void
exporter_server_free(struct exporter_server *s)
{
    if (!s)
        return;
    export_http_free(s->http);
    for (unsigned i = 0; i < SERVE_KINDS; ++i)
        if (s->texts[i])
            serve_release(NULL, 0, s->texts[i]);
    free(s);
}
