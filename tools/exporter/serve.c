/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * serve.c - HTTP: /metrics and /healthz, by libevent.
 *
 * A text is kept for a moment, and shared by all that ask for it meanwhile: a hundred scrapes at once cost as one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "base/memory.h"
#include "exporter.h"

/* Bytes of a request's header that are taken, and of a body. */
#define HEADER 16384
#define HEADER_READ (1 << 18)
#define BODY 4096
/* Seconds that a client may do nothing. */
#define TIMEOUT 10
/* How long a text is good for, in ns. */
#define FRESH (100 * 1000000)
/* Pause after a connection could not be accepted, in us. */
#define PAUSE 100000

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
    struct evhttp *http;
    struct evconnlistener *listener; /* the http's */
    struct event *pause;
    struct serve_text *texts[2]; /* of each format; NULL: none yet */
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
serve_make(struct exporter *e, int open)
{
    struct serve_text *const text = sqt_zeroed(1, sizeof(*text));
    FILE *const to = sqt_text_stream(&text->bytes, &text->size);
    exporter_take_own(e);
    if (to) {
        export_print(e->series, open, to);
        fclose(to);
    }
    text->users = 1;
    text->made = exporter_now(CLOCK_MONOTONIC);
    return text;
}

/* The text of that format, made anew if it is old. */
static struct serve_text *
serve_text(struct exporter_server *s, int open)
{
    struct serve_text **const text = &s->texts[open];
    if (*text && exporter_now(CLOCK_MONOTONIC) - (*text)->made < FRESH)
        return *text;
    if (*text)
        serve_release(NULL, 0, *text);
    return *text = serve_make(s->exporter, open);
}

/* ---- requests ---- */

static void
serve_reply(struct evhttp_request *request, int status, const char *reason, const char *type, struct evbuffer *body)
{
    struct evkeyvalq *const headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    if (status == 405)
        evhttp_add_header(headers, "Allow", "GET, HEAD");
    evhttp_send_reply(request, status, reason, body);
}

static void
serve_words(struct evhttp_request *request, int status, const char *reason, const char *words)
{
    struct evbuffer *const body = evbuffer_new();
    if (body)
        evbuffer_add_printf(body, "%s\n", words);
    serve_reply(request, status, reason, TYPE_TEXT, body);
    if (body)
        evbuffer_free(body);
}

static void
serve_refuse(struct exporter_server *s, struct evhttp_request *request, int status, const char *reason,
             const char *words)
{
    ++s->exporter->refused;
    serve_words(request, status, reason, words);
}

static void
serve_metrics(struct exporter_server *s, struct evhttp_request *request)
{
    const char *const accept = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
    const int open = accept && strstr(accept, "application/openmetrics-text");
    ++s->exporter->scrapes;
    struct serve_text *const text = serve_text(s, open);
    struct evbuffer *const body = evbuffer_new();
    if (body && evbuffer_add_reference(body, text->bytes, text->size, serve_release, text) == 0)
        ++text->users;
    serve_reply(request, 200, "OK", open ? TYPE_OPEN : TYPE_PROMETHEUS, body);
    if (body)
        evbuffer_free(body);
}

static void
serve_health(struct exporter_server *s, struct evhttp_request *request)
{
    const struct exporter *const e = s->exporter;
    if (!exporter_reads(e))
        serve_refuse(s, request, 503, "Service Unavailable", *e->messages.error ? e->messages.error : "starts");
    else
        serve_words(request, 200, "OK", e->trace.caught_up ? "ok" : "ok: reads what was there before");
}

static size_t
serve_header_size(const struct evhttp_request *request)
{
    const struct evkeyvalq *const headers = evhttp_request_get_input_headers((struct evhttp_request *)request);
    size_t size = strlen(evhttp_request_get_uri(request));
    for (const struct evkeyval *header = headers->tqh_first; header; header = header->next.tqe_next)
        size += strlen(header->key) + strlen(header->value) + 4;
    return size;
}

static void
serve_request(struct evhttp_request *request, void *context)
{
    struct exporter_server *const s = context;
    const struct evhttp_uri *const uri = evhttp_request_get_evhttp_uri(request);
    const char *const path = uri ? evhttp_uri_get_path(uri) : NULL;
    const enum evhttp_cmd_type method = evhttp_request_get_command(request);
    if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD)
        serve_refuse(s, request, 405, "Method Not Allowed", "expected GET or HEAD");
    else if (serve_header_size(request) > HEADER)
        serve_refuse(s, request, 431, "Request Header Fields Too Large", "expected a header of at most 16 KB");
    else if (path && strcmp(path, "/metrics") == 0)
        serve_metrics(s, request);
    else if (path && strcmp(path, "/healthz") == 0)
        serve_health(s, request);
    else
        serve_refuse(s, request, 404, "Not Found", "there are /metrics and /healthz");
}

/* ---- listening ---- */

static void
serve_resume(evutil_socket_t fd, short what, void *context)
{
    struct exporter_server *const s = context;
    (void)fd;
    (void)what;
    evconnlistener_enable(s->listener);
}

/* A connection could not be accepted, for want of descriptors perhaps: waits, so that others can end. */
static void
serve_accept_failed(struct evconnlistener *listener, void *context)
{
    struct exporter_server *const s = context;
    char text[128];
    snprintf(text, sizeof(text), "a connection could not be accepted: %s", strerror(errno));
    ++s->exporter->refused;
    exporter_report(s->exporter, SQT_WARNING, text);
    evconnlistener_disable(listener);
    evtimer_add(s->pause, &(struct timeval){.tv_usec = PAUSE});
}

/* "127.0.0.1:9746" */
static void
serve_place(const struct exporter_server *s, char text[128])
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[64] = "?";
    getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&address, &length);
    const int six = address.ss_family == AF_INET6;
    const struct sockaddr_in *const in = (struct sockaddr_in *)&address;
    const struct sockaddr_in6 *const in6 = (struct sockaddr_in6 *)&address;
    evutil_inet_ntop(address.ss_family, six ? (const void *)&in6->sin6_addr : &in->sin_addr, host, sizeof(host));
    snprintf(text, 128, six ? "[%s]:%u" : "%s:%u", host, ntohs(six ? in6->sin6_port : in->sin_port));
}

static int
serve_listen(struct exporter_server *s)
{
    struct exporter *const e = s->exporter;
    const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE |
                           (e->request.address.ss_family == AF_INET6 ? LEV_OPT_BIND_IPV6ONLY : 0);
    s->listener = evconnlistener_new_bind(e->base, NULL, NULL, flags, 128, (struct sockaddr *)&e->request.address,
                                          e->request.address_length);
    if (!s->listener) {
        const char *const place = e->request.given[EXPORTER_listen];
        program_fail(&e->voice, "%s: cannot listen: %s%s", place ? place : "127.0.0.1:9746", strerror(errno),
                     errno == EADDRINUSE ? "; --listen names another port" : "");
        return -1;
    }
    if (!evhttp_bind_listener(s->http, s->listener)) {
        evconnlistener_free(s->listener);
        return program_fail(&e->voice, "no memory to listen");
    }
    evconnlistener_set_error_cb(s->listener, serve_accept_failed);
    return 0;
}

struct exporter_server *
exporter_serve(struct exporter *e)
{
    struct exporter_server *const s = sqt_zeroed(1, sizeof(*s));
    char place[128];
    s->exporter = e;
    s->http = evhttp_new(e->base);
    s->pause = evtimer_new(e->base, serve_resume, s);
    if (!s->http || !s->pause || serve_listen(s) != 0) {
        exporter_server_free(s);
        return NULL;
    }
    evhttp_set_max_headers_size(s->http, HEADER_READ);
    evhttp_set_max_body_size(s->http, BODY);
    evhttp_set_timeout(s->http, TIMEOUT);
    evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                            EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
    evhttp_set_gencb(s->http, serve_request, s);
    serve_place(s, place);
    program_say(&e->voice, "serves http://%s/metrics", place);
    return s;
}

void
exporter_server_free(struct exporter_server *s)
{
    if (!s)
        return;
    if (s->http)
        evhttp_free(s->http);
    if (s->pause)
        event_free(s->pause);
    for (unsigned i = 0; i < 2; ++i)
        if (s->texts[i])
            serve_release(NULL, 0, s->texts[i]);
    free(s);
}
