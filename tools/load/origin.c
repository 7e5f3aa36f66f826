/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * origin.c - the origin server.
 *
 * A peer is in one of these states; a request that comes meanwhile stays in the buffer until the next READING:
 *
 *     READING -> WAITING_HEAD -> (head is sent) -> WAITING_BODY -> SENDING -> READING, or closed
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>

#include "base/memory.h"
#include "load.h"

#define HEAD_MOST 65536    /* bytes of a request */
#define QUEUED_MOST 262144 /* bytes of a body that wait to be written */
#define LAST_MODIFIED "Mon, 01 Jan 2024 00:00:00 GMT"
#define LAST_MODIFIED_S 1704067200

struct origin {
    struct load *load;
    struct event_base *base;
    int *sockets;
    size_t count;
    struct origin_counts *counts;
    struct sqt_random random;
    time_t second; /* that the dates are of */
    char date[40], expires[40];
};

enum peer_state { READING, WAITING_HEAD, WAITING_BODY, SENDING };

struct peer {
    struct origin *origin;
    struct bufferevent *bev;
    struct event *timer;
    enum peer_state state;
    int tls;
    int eof; /* the client will send no more */
    /* the response */
    struct sqt_object object;
    unsigned status;
    int lasts, bodyless, minor;
    uint64_t offset, end; /* of the body: what is sent, what is to be sent */
};

/* What a step comes to. */
enum step { GONE, WAITS, NEXT };

static enum step
peer_gone(struct peer *p)
{
    event_free(p->timer);
    bufferevent_free(p->bev);
    free(p);
    return GONE;
}

/* ---- the response ---- */

static void
make_dates(struct origin *o)
{
    const time_t now = time(NULL), expiry = now + (time_t)(o->load->number[LOAD_expires] / LOAD_SECOND);
    struct tm parts;
    if (now == o->second)
        return;
    o->second = now;
    strftime(o->date, sizeof(o->date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    strftime(o->expires, sizeof(o->expires), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&expiry, &parts));
}

static int
make_head(struct peer *p, char *text, size_t room)
{
    static const struct {
        unsigned status;
        const char *words;
    } known[] = {{200, "OK"},
                 {304, "Not Modified"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {503, "Service Unavailable"}};
    const char *words = "";
    make_dates(p->origin);
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); ++i)
        if (known[i].status == p->status)
            words = known[i].words;
    const char *const connection = p->lasts ? p->minor ? "" : "Connection: keep-alive\r\n" : "Connection: close\r\n";
    int n = snprintf(text, room, "HTTP/1.1 %u %s\r\nServer: sqtrace-load\r\nDate: %s\r\n%s", p->status, words,
                     p->origin->date, connection);
    if (p->status != 304)
        n += snprintf(text + n, room - (size_t)n, "Content-Type: application/octet-stream\r\nContent-Length: %lld\r\n",
                      p->status == 200 ? (long long)p->object.words[SQT_OBJECT_size] : 0);
    if (p->status == 200 || p->status == 304)
        n += snprintf(text + n, room - (size_t)n, "Last-Modified: " LAST_MODIFIED "\r\nExpires: %s\r\n",
                      p->origin->expires);
    if (p->status >= 400 || !p->object.words[SQT_OBJECT_store])
        n += snprintf(text + n, room - (size_t)n, "Cache-Control: no-store\r\n");
    return n + snprintf(text + n, room - (size_t)n, "\r\n");
}

static enum step
finished(struct peer *p)
{
    p->origin->counts->bytes += p->offset;
    if (!p->lasts)
        return peer_gone(p);
    p->state = READING;
    return NEXT;
}

/* Nothing waits to be written: more of the body, or the end. */
static enum step
server_go_on(struct peer *p)
{
    struct evbuffer *const output = bufferevent_get_output(p->bev);
    if (p->offset == p->end)
        return finished(p);
    while (p->offset < p->end && evbuffer_get_length(output) < QUEUED_MOST) {
        const char *bytes;
        const uint64_t left = p->end - p->offset;
        const size_t size =
            sqt_object_body(&p->object, p->offset, left < QUEUED_MOST ? (size_t)left : QUEUED_MOST, &bytes);
        if (p->offset == 0)
            evbuffer_add(output, bytes, size);
        else
            evbuffer_add_reference(output, bytes, size, NULL, NULL);
        p->offset += size;
    }
    return WAITS;
}

/* Head and the first of the body in one system call, past the buffers. */
static enum step
send_at_once(struct peer *p, char *head, size_t size)
{
    struct evbuffer *const output = bufferevent_get_output(p->bev);
    struct iovec parts[3] = {{head, size}};
    unsigned count = 1;
    ssize_t written = 0;
    if (!p->tls && !evbuffer_get_length(output)) {
        uint64_t offset = 0;
        while (count < 3 && offset < p->end) {
            const char *bytes;
            const uint64_t left = p->end - offset;
            const size_t piece =
                sqt_object_body(&p->object, offset, left < SQT_OBJECT_PIECE ? (size_t)left : SQT_OBJECT_PIECE, &bytes);
            parts[count++] = (struct iovec){(char *)(uintptr_t)bytes, piece};
            offset += piece;
        }
        written = writev(bufferevent_getfd(p->bev), parts, (int)count);
        if (written < 0)
            written = 0; /* the buffers will meet the same error */
    }
    if ((size_t)written < size) {
        bufferevent_write(p->bev, head + written, size - (size_t)written);
        return WAITS;
    }
    p->offset += (uint64_t)written - size;
    return server_go_on(p);
}

static void
wait_for(struct peer *p, int64_t ns)
{
    const struct timeval time = {ns / LOAD_SECOND, ns % LOAD_SECOND / 1000};
    event_base_update_cache_time(p->origin->base); /* else the wait counts from when the loop woke */
    event_add(p->timer, &time);
}

/* What an object's path says, in ns: a day at most. */
static int64_t
said_ns(int64_t ms)
{
    return (ms < 86400000 ? ms : 86400000) * 1000000;
}

static enum step
respond(struct peer *p)
{
    char head[768];
    const int size = make_head(p, head, sizeof(head));
    const int64_t said = p->object.words[SQT_OBJECT_body];
    const int64_t wait = said >= 0 ? said_ns(said) : p->origin->load->number[LOAD_body_wait];
    p->offset = 0;
    if (wait && p->end) {
        p->state = WAITING_BODY;
        bufferevent_write(p->bev, head, (size_t)size);
        wait_for(p, wait);
        return WAITS;
    }
    p->state = SENDING;
    return send_at_once(p, head, (size_t)size);
}

/* ---- the request ---- */

/* Whether what the client has is as new. */
static int
not_modified(const struct sqt_head *h)
{
    char text[64];
    struct tm parts = {0};
    if (!h->since || h->since_length >= sizeof(text))
        return 0;
    memcpy(text, h->since, h->since_length);
    text[h->since_length] = '\0';
    return strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts) && timegm(&parts) >= LAST_MODIFIED_S;
}

static int
is_post(const struct sqt_head *h)
{
    return h->method_length == 4 && memcmp(h->method, "POST", 4) == 0 && !h->chunked && h->length >= 0 &&
           h->length <= LOAD_POST_MOST;
}

static enum step
answer(struct peer *p, const struct sqt_head *h)
{
    struct load *const load = p->origin->load;
    const int is_head = h->method_length == 4 && memcmp(h->method, "HEAD", 4) == 0;
    const int is_get = h->method_length == 3 && memcmp(h->method, "GET", 3) == 0;
    const double luck = load->real[LOAD_errors] || load->real[LOAD_aborts] ? sqt_random_unit(&p->origin->random) : 1;
    ++p->origin->counts->requests;
    p->lasts = sqt_head_lasts(h);
    p->minor = (int)h->minor;
    p->status = 200;
    if (sqt_object_parse(&p->object, h->path, h->path_length) != 0) {
        memset(&p->object, 0, sizeof(p->object));
        p->status = 404;
    } else if (!is_get && !is_head && !is_post(h)) {
        p->status = 405;
        p->lasts = 0; /* a body may follow */
    } else if (luck < load->real[LOAD_errors]) {
        ++p->origin->counts->errors;
        p->status = 503;
    } else if (not_modified(h)) {
        p->status = 304;
    }
    p->end = p->status == 200 && !is_head ? (uint64_t)p->object.words[SQT_OBJECT_size] : 0;
    if (p->end && luck >= load->real[LOAD_errors] && luck < load->real[LOAD_errors] + load->real[LOAD_aborts]) {
        ++p->origin->counts->aborts;
        p->end /= 2;
        p->lasts = 0;
    }
    const int64_t said = p->object.words[SQT_OBJECT_wait];
    const int64_t wait = said >= 0 && p->status != 404 ? said_ns(said) : load->number[LOAD_wait];
    if (!wait)
        return respond(p);
    p->state = WAITING_HEAD;
    wait_for(p, wait);
    return WAITS;
}

/* Of the request; a POST is answered when all of it is there. */
static size_t
body_size(const struct sqt_head *h)
{
    return is_post(h) ? (size_t)h->length : 0;
}

static enum step
read_request(struct peer *p)
{
    struct evbuffer *const input = bufferevent_get_input(p->bev);
    const struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    struct sqt_head head;
    if (end.pos < 0) {
        if (p->eof || evbuffer_get_length(input) > HEAD_MOST)
            return peer_gone(p);
        return WAITS;
    }
    const size_t size = (size_t)end.pos + 4;
    const char *const text = (const char *)evbuffer_pullup(input, (ev_ssize_t)size);
    if (!text || sqt_head_request(&head, text, size) != 0)
        return peer_gone(p);
    const size_t body = body_size(&head);
    if (evbuffer_get_length(input) < size + body)
        return p->eof ? peer_gone(p) : WAITS;
    const enum step step = answer(p, &head);
    if (step != GONE)
        evbuffer_drain(input, size + body);
    return step;
}

/* As many requests as can be answered now. */
static void
server_serve(struct peer *p, enum step step)
{
    while (step == NEXT)
        step = read_request(p);
}

/* ---- what happens ---- */

static void
server_on_read(struct bufferevent *bev, void *context)
{
    struct peer *const p = context;
    (void)bev;
    if (p->state == READING)
        server_serve(p, NEXT);
}

static void
on_written(struct bufferevent *bev, void *context)
{
    struct peer *const p = context;
    (void)bev;
    if (p->state == SENDING)
        server_serve(p, server_go_on(p));
}

static void
on_time(evutil_socket_t none, short what, void *context)
{
    struct peer *const p = context;
    (void)none, (void)what;
    if (p->state == WAITING_HEAD) {
        server_serve(p, respond(p));
    } else if (p->state == WAITING_BODY) {
        p->state = SENDING;
        if (!evbuffer_get_length(bufferevent_get_output(p->bev)))
            server_serve(p, server_go_on(p));
    }
}

static void
server_on_event(struct bufferevent *bev, short what, void *context)
{
    struct peer *const p = context;
    (void)bev;
    if (what & BEV_EVENT_CONNECTED)
        return;
    /* A client that only ends its sending still wants its answer. */
    if ((what & BEV_EVENT_EOF) && p->state != READING && !p->tls)
        p->eof = 1;
    else
        peer_gone(p);
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length, void *context)
{
    struct origin *const o = context;
    struct peer *const p = sqt_zeroed(1, sizeof(*p));
    const int one = 1;
    (void)listener, (void)address, (void)length;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    p->origin = o;
    p->tls = o->load->server_tls != NULL;
    p->bev = p->tls ? bufferevent_openssl_socket_new(o->base, fd, SSL_new(o->load->server_tls),
                                                     BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE)
                    : bufferevent_socket_new(o->base, fd, BEV_OPT_CLOSE_ON_FREE);
    p->timer = evtimer_new(o->base, on_time, p);
    if (p->tls)
        bufferevent_openssl_set_allow_dirty_shutdown(p->bev, 1);
    bufferevent_setcb(p->bev, server_on_read, on_written, server_on_event, p);
    bufferevent_enable(p->bev, EV_READ | EV_WRITE);
}

static void
on_refusal(struct evconnlistener *listener, void *context)
{
    struct origin *const o = context;
    (void)listener;
    ++o->counts->refused;
    usleep(10000); /* no descriptor is left; until others close, there is nothing to do */
}

/* ---- its life ---- */

static int
listen_at(struct place *place)
{
    const int one = 1;
    const int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    place->length = sizeof(place->address);
    if (bind(fd, (struct sockaddr *)&place->address,
             place->address.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)) != 0 ||
        listen(fd, 4096) != 0 || getsockname(fd, (struct sockaddr *)&place->address, &place->length) != 0) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Its authority gets the port that the system chose. */
static void
name_port(struct place *place, int tls)
{
    const unsigned port =
        ntohs(place->address.ss_family == AF_INET ? ((struct sockaddr_in *)&place->address)->sin_port
                                                  : ((struct sockaddr_in6 *)&place->address)->sin6_port);
    const size_t host = (size_t)(strrchr(place->authority, ':') - place->authority);
    char *const authority = sqt_zeroed(host + 8, 1);
    snprintf(authority, host + 8, "%.*s:%u", (int)host, place->authority, port);
    free(place->authority);
    place->authority = authority;
    place->tls = tls;
}

struct origin *
origin_open(struct load *load, char *error, size_t error_size)
{
    static struct origin_counts alone;
    struct origin *const o = sqt_zeroed(1, sizeof(*o));
    o->load = load;
    o->counts = load->counts ? load->counts : &alone;
    o->random = sqt_random_of((uint64_t)load->number[LOAD_seed], UINT64_MAX);
    o->sockets = sqt_zeroed(load->listen.count, sizeof(*o->sockets));
    for (; o->count < load->listen.count; ++o->count) {
        struct place *const place = &load->listen.place[o->count];
        o->sockets[o->count] = listen_at(place);
        if (o->sockets[o->count] < 0) {
            snprintf(error, error_size, "cannot listen at %s: %s", place->authority, strerror(errno));
            origin_free(o);
            return NULL;
        }
        name_port(place, load->server_tls != NULL);
    }
    return o;
}

static void
on_signal(evutil_socket_t number, short what, void *context)
{
    (void)number, (void)what;
    event_base_loopbreak(context);
}

void
origin_run(struct origin *o)
{
    o->base = load_base();
    const int alone = !o->load->counts; /* else what ends the run ends this process, too */
    struct event *const term = evsignal_new(o->base, SIGTERM, on_signal, o->base);
    struct event *const interrupt = evsignal_new(o->base, SIGINT, on_signal, o->base);
    struct evconnlistener **const listeners = sqt_zeroed(o->count, sizeof(*listeners));
    if (alone) {
        event_add(term, NULL);
        event_add(interrupt, NULL);
    }
    for (size_t i = 0; i < o->count; ++i) {
        listeners[i] = evconnlistener_new(o->base, on_accept, o, 0, 0, o->sockets[i]);
        evconnlistener_set_error_cb(listeners[i], on_refusal);
    }
    event_base_dispatch(o->base);
    if (alone)
        load_say(o->load, "served %llu requests with %llu bytes of bodies", (unsigned long long)o->counts->requests,
                 (unsigned long long)o->counts->bytes);
    for (size_t i = 0; i < o->count; ++i)
        evconnlistener_free(listeners[i]);
    free(listeners);
    event_free(term);
    event_free(interrupt);
    event_base_free(o->base);
}

void
origin_free(struct origin *o)
{
    for (size_t i = 0; i < o->count; ++i)
        close(o->sockets[i]);
    free(o->sockets);
    free(o);
}
