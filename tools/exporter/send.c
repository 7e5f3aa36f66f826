/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * send.c - see send.h.
 */
#include "send.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "base/memory.h"
#include "exporter.h"
#include "otlp/text.h"

/* A batch is closed when it has so many spans, or bytes, or is so old (us). */
#define SEND_SPANS 512
#define SEND_BYTES ((size_t)512 << 10)
#define SEND_AGE 1000000
/* The first pause after a failure, and the longest (ns); and the longest that a receiver may ask for. */
#define SEND_PAUSE (EXPORTER_SECOND / 2)
#define SEND_PAUSE_MOST (30 * EXPORTER_SECOND)
#define SEND_ASKED_MOST (300 * EXPORTER_SECOND)
/* Of an answer, in bytes. */
#define SEND_ANSWER_HEADER 16384
#define SEND_ANSWER_BODY 65536
/* A comma, and what stands around the spans of a batch: at most so many bytes. */
#define SEND_FRAME 32
/* At the end, in seconds. */
#define SEND_DRAIN 2

struct send_batch {
    struct send_batch *next;
    struct sqt_otlp_text text;
    unsigned spans;
    int64_t tried; /* first, by the monotonic clock; 0: not yet */
};

struct export_sender {
    struct exporter *exporter;
    struct export_receiver receiver;
    struct send_batch *first, *last; /* that are closed */
    struct send_batch *open;
    struct evhttp_connection *connection;
    int busy;               /* the first one is under way */
    int failing;            /* the last try is to be repeated */
    int64_t pause;          /* after the next failure, ns */
    struct event *deadline; /* of the try that is under way */
    struct event *next;     /* the next try */
    struct event *close;    /* of the open batch */
    int draining;
    struct export_sent sent;
    char said[768]; /* "": it works */
};

static struct timeval
send_interval(int64_t ns)
{
    return (struct timeval){.tv_sec = ns / EXPORTER_SECOND, .tv_usec = ns % EXPORTER_SECOND / 1000};
}

/* Says what is wrong, unless that is what was said last. */
static void
send_say(struct export_sender *s, const char *what, const char *more)
{
    char text[768];
    snprintf(text, sizeof(text), "http://%s%s: %s%s", s->receiver.place, s->receiver.path, what, more);
    if (strcmp(text, s->said) == 0)
        return;
    snprintf(s->said, sizeof(s->said), "%s", text);
    program_say(&s->exporter->voice, "warning: %s", text);
}

/* ---- the queue ---- */

static void
send_close_batch(struct export_sender *s)
{
    struct send_batch *const batch = s->open;
    if (!batch)
        return;
    sqt_otlp_put(&batch->text, "]}");
    sqt_otlp_text_fit(&batch->text);
    s->sent.queued += 2;
    if (s->last)
        s->last->next = batch;
    else
        s->first = batch;
    s->last = batch;
    s->open = NULL;
    evtimer_del(s->close);
}

static void
send_open_batch(struct export_sender *s)
{
    const struct timeval age = {.tv_sec = SEND_AGE / 1000000, .tv_usec = SEND_AGE % 1000000};
    s->open = sqt_zeroed(1, sizeof(*s->open));
    sqt_otlp_put(&s->open->text, "{\"resourceSpans\":[");
    s->sent.queued += s->open->text.size;
    evtimer_add(s->close, &age);
}

static void
send_free_batch(struct export_sender *s, struct send_batch *batch)
{
    s->sent.queued -= batch->text.size;
    sqt_otlp_text_free(&batch->text);
    free(batch);
}

/* The first batch is done with; count: where its spans are counted. */
static void
send_finish(struct export_sender *s, uint64_t *count)
{
    struct send_batch *const batch = s->first;
    *count += batch->spans;
    s->first = batch->next;
    if (!s->first)
        s->last = NULL;
    send_free_batch(s, batch);
}

/* ---- what became of a try ---- */

static void
send_schedule(struct export_sender *s, int64_t ns)
{
    const struct timeval interval = send_interval(ns);
    if (!s->first && s->draining)
        event_base_loopbreak(s->exporter->base);
    else if (s->first)
        evtimer_add(s->next, &interval);
}

/* Tries again later.  asked: the pause that the receiver asks for, ns. */
static void
send_retry(struct export_sender *s, const char *what, int64_t asked)
{
    const int64_t now = exporter_now(CLOCK_MONOTONIC), jitter = s->pause / 4 * (now % 1000) / 1000;
    const int64_t left = s->first->tried + s->receiver.retry - now;
    int64_t pause = asked > s->pause + jitter ? asked : s->pause + jitter;
    s->failing = 1;
    send_say(s, what, "; tries again");
    if (s->draining)
        event_base_loopbreak(s->exporter->base);
    s->pause = 2 * s->pause < SEND_PAUSE_MOST ? 2 * s->pause : SEND_PAUSE_MOST;
    if (left > 0) {
        pause = pause < left ? pause : left; /* the last try is at the end of its time */
        ++s->sent.retries;
    } else {
        send_finish(s, &s->sent.expired);
    }
    send_schedule(s, pause);
}

/* What a header Retry-After says, in ns: seconds, or a date. */
static int64_t
send_asked(struct evhttp_request *request)
{
    const char *const text = evhttp_find_header(evhttp_request_get_input_headers(request), "Retry-After");
    struct tm date = {.tm_year = 0};
    char *end = NULL;
    if (!text)
        return 0;
    long long seconds = strtoll(text, &end, 10);
    if (end == text || *end) {
        end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date);
        seconds = end && !*end ? (long long)(timegm(&date) - time(NULL)) : 0;
    }
    return seconds <= 0                                   ? 0
           : seconds >= SEND_ASKED_MOST / EXPORTER_SECOND ? SEND_ASKED_MOST
                                                          : seconds * EXPORTER_SECOND;
}

/* Spans that the receiver took the request of, and refused all the same. */
static uint64_t
send_rejected(struct evhttp_request *request, unsigned most)
{
    struct evbuffer *const body = evhttp_request_get_input_buffer(request);
    char text[SEND_ANSWER_BODY / 16];
    const ev_ssize_t size = evbuffer_copyout(body, text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = '\0';
    const char *found = strstr(text, "\"rejectedSpans\"");
    if (!found)
        return 0;
    found += strlen("\"rejectedSpans\"");
    const long long rejected = strtoll(found + strspn(found, " :\""), NULL, 10);
    return rejected <= 0 ? 0 : rejected < (long long)most ? (uint64_t)rejected : most;
}

static void
send_succeeded(struct export_sender *s, struct evhttp_request *request)
{
    const uint64_t rejected = send_rejected(request, s->first->spans);
    if (rejected)
        send_say(s, "it rejects spans", "");
    else if (*s->said) {
        *s->said = '\0';
        program_say(&s->exporter->voice, "http://%s%s: takes spans again", s->receiver.place, s->receiver.path);
    }
    send_finish(s, &s->sent.sent);
    s->sent.sent -= rejected;
    s->sent.refused += rejected;
    send_schedule(s, 0);
}

static void
send_answered(struct evhttp_request *request, void *context)
{
    struct export_sender *const s = context;
    const int status = request ? evhttp_request_get_response_code(request) : 0;
    char what[64];
    evtimer_del(s->deadline);
    s->busy = 0;
    snprintf(what, sizeof(what), "status %d", status);
    const int later = !status || status == 429 || status == 502 || status == 503 || status == 504;
    if (!later) {
        s->failing = 0;
        s->pause = SEND_PAUSE;
    }
    if (status >= 200 && status < 300) {
        send_succeeded(s, request);
    } else if (!status) {
        send_retry(s, "no connection, or no answer", 0);
    } else if (later) {
        send_retry(s, what, send_asked(request));
    } else {
        send_say(s, what, "; drops what is refused");
        send_finish(s, &s->sent.refused);
        send_schedule(s, 0);
    }
}

/* ---- tries ---- */

static void
send_late(evutil_socket_t fd, short what, void *context)
{
    struct export_sender *const s = context;
    (void)fd;
    (void)what;
    evhttp_connection_free(s->connection); /* and the request with it */
    s->connection = NULL;
    s->busy = 0;
    send_retry(s, "no answer in time", 0);
}

static int
send_connect(struct export_sender *s)
{
    if (s->connection)
        return 0;
    s->connection = evhttp_connection_base_new(s->exporter->base, NULL, s->receiver.address, s->receiver.port);
    if (!s->connection)
        return -1;
    /* Those of the library would end a try before --otlp-timeout does. */
    const struct timeval longer = send_interval(s->receiver.timeout + EXPORTER_SECOND);
    evhttp_connection_set_timeout_tv(s->connection, &longer);
    evhttp_connection_set_max_headers_size(s->connection, SEND_ANSWER_HEADER);
    evhttp_connection_set_max_body_size(s->connection, SEND_ANSWER_BODY);
    return 0;
}

static struct evhttp_request *
send_request(struct export_sender *s)
{
    struct evhttp_request *const request = evhttp_request_new(send_answered, s);
    if (!request)
        return NULL;
    struct evkeyvalq *const headers = evhttp_request_get_output_headers(request);
    const struct sqt_otlp_text *const text = &s->first->text;
    if (evhttp_add_header(headers, "Host", s->receiver.place) == 0 &&
        evhttp_add_header(headers, "Content-Type", "application/json") == 0 &&
        evhttp_add_header(headers, "User-Agent", "sqtrace-exporter/" PACKAGE_VERSION) == 0 &&
        evbuffer_add(evhttp_request_get_output_buffer(request), text->bytes, text->size) == 0)
        return request;
    evhttp_request_free(request);
    return NULL;
}

static void
send_next(evutil_socket_t fd, short what, void *context)
{
    struct export_sender *const s = context;
    const struct timeval timeout = send_interval(s->receiver.timeout);
    (void)fd;
    (void)what;
    if (s->busy || !s->first)
        return;
    if (!s->first->tried)
        s->first->tried = exporter_now(CLOCK_MONOTONIC);
    struct evhttp_request *const request = send_connect(s) == 0 ? send_request(s) : NULL;
    if (!request) {
        send_retry(s, "no memory", 0);
        return;
    }
    s->busy = 1;
    evtimer_add(s->deadline, &timeout);
    if (evhttp_make_request(s->connection, request, EVHTTP_REQ_POST, s->receiver.path) != 0 && s->busy) {
        evtimer_del(s->deadline); /* the library has freed the request */
        s->busy = 0;
        send_retry(s, "no connection", 0);
    }
}

/* Begins a try, if none is under way or waits for its time. */
static void
send_begin(struct export_sender *s)
{
    if (s->first && !s->busy && !evtimer_pending(s->next, NULL))
        send_schedule(s, 0);
}

static void
send_old(evutil_socket_t fd, short what, void *context)
{
    struct export_sender *const s = context;
    (void)fd;
    (void)what;
    send_close_batch(s);
    send_begin(s);
}

/* ---- for others ---- */

struct export_sender *
export_sender_new(struct exporter *e, const struct export_receiver *receiver)
{
    struct export_sender *const s = sqt_zeroed(1, sizeof(*s));
    s->exporter = e;
    s->receiver = *receiver;
    s->pause = SEND_PAUSE;
    s->deadline = evtimer_new(e->base, send_late, s);
    s->next = evtimer_new(e->base, send_next, s);
    s->close = evtimer_new(e->base, send_old, s);
    if (s->deadline && s->next && s->close)
        return s;
    export_sender_free(s);
    return NULL;
}

void
export_sender_take(struct export_sender *s, const char *json, size_t size, unsigned spans)
{
    if (s->sent.queued + size + SEND_FRAME > (size_t)s->receiver.queue) {
        s->sent.full += spans;
        return;
    }
    if (s->open && s->open->text.size + size > SEND_BYTES)
        send_close_batch(s);
    if (!s->open)
        send_open_batch(s);
    struct send_batch *const batch = s->open;
    const size_t before = batch->text.size;
    if (batch->spans)
        sqt_otlp_put(&batch->text, ",");
    sqt_otlp_bytes(&batch->text, json, size);
    s->sent.queued += batch->text.size - before;
    batch->spans += spans;
    if (batch->spans >= SEND_SPANS || batch->text.size >= SEND_BYTES)
        send_close_batch(s);
    send_begin(s);
}

const struct export_sent *
export_sender_sent(const struct export_sender *s)
{
    return &s->sent;
}

void
export_sender_drain(struct export_sender *s)
{
    send_close_batch(s);
    if (!s->first || s->failing)
        return;
    s->draining = 1;
    send_begin(s);
    event_base_loopexit(s->exporter->base, &(struct timeval){.tv_sec = SEND_DRAIN});
    event_base_dispatch(s->exporter->base);
}

void
export_sender_free(struct export_sender *s)
{
    if (!s)
        return;
    if (s->connection)
        evhttp_connection_free(s->connection);
    if (s->deadline)
        event_free(s->deadline);
    if (s->next)
        event_free(s->next);
    if (s->close)
        event_free(s->close);
    if (s->open)
        send_free_batch(s, s->open);
    for (struct send_batch *batch = s->first, *next; batch; batch = next) {
        next = batch->next;
        send_free_batch(s, batch);
    }
    free(s);
}
