/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * client.c - clients: each has at most one connection, and at most one request on its way.
 *
 *     OFF -> CONNECTING -> [TUNNEL -> SECURING ->] HEAD -> BODY -> IDLE -> HEAD ...      and from anywhere back to OFF
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>

#include "base/memory.h"
#include "load.h"

#define REQUEST_MOST (8192 + LOAD_FIELDS_MOST) /* bytes of a request's head */
#define HEAD_MOST 65536                        /* of a response's head */
#define FAILED_MOST 200                        /* connections in a row; if none came about at all, one is enough */
#define CONNECT_MOST (10 * LOAD_SECOND)
#define TICKS 10 /* a second, of the limit of bandwidth */

enum client_state { OFF, CONNECTING, TUNNEL, SECURING, HEAD, BODY, IDLE };

/* Where in a chunked body. */
enum chunk { CHUNK_NONE, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER };

struct client {
    struct clients *all;
    struct bufferevent *bev;   /* NULL: OFF */
    const struct place *place; /* that it is connected to */
    struct event *soon;
    enum client_state state;
    int raw;        /* no TLS: what is sent may bypass the buffers */
    unsigned used;  /* responses on this connection */
    int failure;    /* errno that `soon` is to tell */
    int64_t active; /* when something came last */
    struct request request;
    struct outcome outcome;
    struct sqt_head head;
    struct sqt_object object;
    int ours;      /* the URL says what the body is */
    uint64_t left; /* bytes of the body, or of its chunk */
    int to_close;  /* the body lasts until the connection ends */
    enum chunk chunk;
};

struct clients {
    struct load *load;
    struct event_base *base;
    struct event *sweep;
    struct client *client;
    unsigned count, busy, failed; /* failed: connections since one that worked */
    struct ev_token_bucket_cfg *bandwidth;
    void (*freed)(void *context, unsigned client);
    void *context;
    int closing;
};

static void client_connect(struct client *c);

static void
disconnect(struct client *c)
{
    if (c->bev)
        bufferevent_free(c->bev);
    c->bev = NULL;
    c->used = 0;
    c->state = OFF;
}

static int
tunnelled(const struct client *c)
{
    const struct load *const load = c->all->load;
    return load->proxy.count && c->request.place->tls && load->given[LOAD_tunnel];
}

/* Who is at the other end of its connection. */
static const char *
peer_name(const struct client *c)
{
    return c->all->load->proxy.count ? c->all->load->proxy.place->authority : c->request.place->authority;
}

/* ---- how a request ends ---- */

static void
client_finish(struct client *c, enum load_error error, int keep)
{
    struct clients *const all = c->all;
    c->outcome.request = &c->request;
    c->outcome.end = error == LOAD_FINE ? c->active : load_now(); /* not when its body had been compared */
    c->outcome.error = error;
    if (keep && c->bev && !evbuffer_get_length(bufferevent_get_input(c->bev))) {
        ++c->used;
        c->state = IDLE;
    } else {
        disconnect(c);
    }
    --all->busy;
    stats_take(all->load, &c->outcome);
    if (!all->closing)
        all->freed(all->context, c->request.client);
}

/* The words for the first one are kept. */
static void
client_fail(struct client *c, enum load_error error, const char *why)
{
    struct load *const load = c->all->load;
    if (!*load->first_error)
        snprintf(load->first_error, sizeof(load->first_error), "%s%s%s", load_errors[error].words, why ? ": " : "",
                 why ? why : "");
    if (error == LOAD_ERROR_connect && ++c->all->failed >= (load->connected ? FAILED_MOST : 1))
        load->broken = 1;
    client_finish(c, error, 0);
}

/* The same, but not before the caller has returned: else a failing client would call itself again and again. */
static void
fail_soon(struct client *c)
{
    c->failure = errno;
    event_active(c->soon, EV_TIMEOUT, 0);
}

static void
on_soon(evutil_socket_t none, short what, void *context)
{
    struct client *const c = context;
    char why[128];
    (void)none, (void)what;
    snprintf(why, sizeof(why), "%s: %s", peer_name(c), strerror(c->failure));
    client_fail(c, LOAD_ERROR_connect, why);
}

/* The whole response is here. */
static void
complete(struct client *c)
{
    const struct sqt_head *const h = &c->head;
    const int keep = c->all->load->keep && sqt_head_lasts(h) && !c->to_close;
    const int conditional = c->request.kind == REQUEST_SINCE_SAME || c->request.kind == REQUEST_SINCE_OLDER;
    enum load_error error = LOAD_FINE;
    if (h->status >= 400 || (c->ours && h->status != 200 && !(h->status == 304 && conditional)))
        error = LOAD_ERROR_status;
    else if (c->outcome.verified && c->outcome.bytes != (uint64_t)c->object.words[SQT_OBJECT_size])
        error = c->to_close ? LOAD_ERROR_truncated : LOAD_ERROR_wrong;
    if (error == LOAD_FINE) {
        client_finish(c, error, keep);
        return;
    }
    char why[128];
    snprintf(why, sizeof(why), "status %u, %llu bytes, for %.80s", h->status, (unsigned long long)c->outcome.bytes,
             c->request.path);
    if (!*c->all->load->first_error)
        snprintf(c->all->load->first_error, sizeof(c->all->load->first_error), "%s: %s", load_errors[error].words, why);
    client_finish(c, error, keep);
}

/* ---- the request ---- */

/* Its size.  Paths and authorities have fewer than 4,100 letters, so there is room. */
static size_t
make_request(const struct client *c, char text[static REQUEST_MOST])
{
    const struct load *const load = c->all->load;
    const struct request *const r = &c->request;
    const int absolute = load->proxy.count && !tunnelled(c);
    static const char *const kinds[] = {
        [REQUEST_PLAIN] = "",
        [REQUEST_SINCE_SAME] = "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
        [REQUEST_SINCE_OLDER] = "If-Modified-Since: Sun, 01 Jan 2023 00:00:00 GMT\r\n",
        [REQUEST_RELOAD] = "Cache-Control: no-cache\r\n",
    };
    char *end = stpcpy(text, load->number[LOAD_post] ? "POST " : "GET ");
    if (absolute) {
        end = stpcpy(end, r->place->tls ? "https://" : "http://");
        end = stpcpy(end, r->place->authority);
    }
    end = stpcpy(end, r->path);
    end = stpcpy(end, load->minor ? " HTTP/1.1\r\nHost: " : " HTTP/1.0\r\nHost: ");
    end = stpcpy(end, r->place->authority);
    end = stpcpy(end, "\r\n");
    if (load->keep != (int)load->minor) /* else as the version has it anyway */
        end = stpcpy(end, load->keep ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    end = stpcpy(end, kinds[r->kind]);
    for (size_t i = 0; i < load->field_count; ++i) {
        end = stpcpy(end, load->fields[i]);
        end = stpcpy(end, "\r\n");
    }
    if (load->number[LOAD_post])
        end += sprintf(end, "Content-Type: application/octet-stream\r\nContent-Length: %lld\r\n",
                       (long long)load->number[LOAD_post]);
    end = stpcpy(end, "\r\n");
    return (size_t)(end - text);
}

/* The body of a POST: what it says does not matter. */
static void
put_body(struct client *c)
{
    static const char piece[16384] = {'x'};
    for (size_t left = (size_t)c->all->load->number[LOAD_post]; left;) {
        const size_t size = left < sizeof(piece) ? left : sizeof(piece);
        bufferevent_write(c->bev, piece, size);
        left -= size;
    }
}

static void
transmit(struct client *c)
{
    char text[REQUEST_MOST];
    const size_t size = make_request(c, text);
    c->state = HEAD;
    c->chunk = CHUNK_NONE;
    c->to_close = 0;
    c->ours = sqt_object_parse(&c->object, c->request.path, strlen(c->request.path)) == 0;
    c->active = c->outcome.sent = load_now();
    ssize_t written = 0;
    if (c->raw && !evbuffer_get_length(bufferevent_get_output(c->bev)))
        written = send(bufferevent_getfd(c->bev), text, size, MSG_NOSIGNAL);
    if (written < 0)
        written = 0; /* the buffers will meet the same error */
    if ((size_t)written < size)
        bufferevent_write(c->bev, text + written, size - (size_t)written);
    put_body(c);
}

/* ---- the response ---- */

/* A response that has no body whatever its headers say. */
static int
bodyless(unsigned status)
{
    return status == 204 || status == 304;
}

/* Returns whether another head follows. */
static int
take_head(struct client *c)
{
    struct evbuffer *const input = bufferevent_get_input(c->bev);
    const struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    if (end.pos < 0 && evbuffer_get_length(input) <= HEAD_MOST)
        return 0;
    const size_t size = end.pos < 0 ? 0 : (size_t)end.pos + 4;
    const char *const text = size ? (const char *)evbuffer_pullup(input, (ev_ssize_t)size) : NULL;
    if (!text || sqt_head_response(&c->head, text, size) != 0) {
        client_fail(c, LOAD_ERROR_garbage, c->request.path);
        return 0;
    }
    evbuffer_drain(input, size);
    if (c->head.status < 200)
        return 1;
    c->outcome.status = c->head.status;
    c->outcome.cache = c->head.cache;
    c->outcome.verified = c->ours && c->head.status == 200;
    c->state = BODY;
    if (bodyless(c->head.status))
        c->left = 0;
    else if (c->head.chunked)
        c->chunk = CHUNK_SIZE;
    else if (c->head.length >= 0)
        c->left = (uint64_t)c->head.length;
    else
        c->to_close = 1;
    return 0;
}

/* Takes at most c->left bytes of the body.  Returns 0, or -1 if they are not what they should be. */
static int
take_bytes(struct client *c)
{
    struct evbuffer *const input = bufferevent_get_input(c->bev);
    struct evbuffer_iovec piece[8];
    while (c->to_close || c->left) {
        const int count = evbuffer_peek(input, -1, NULL, piece, 8);
        size_t taken = 0;
        for (int i = 0; i < count && i < 8 && (c->to_close || c->left); ++i) {
            size_t size = piece[i].iov_len;
            if (!c->to_close && size > c->left)
                size = (size_t)c->left;
            if (c->outcome.verified && !sqt_object_matches(&c->object, c->outcome.bytes, piece[i].iov_base, size))
                return -1;
            c->outcome.bytes += size;
            taken += size;
            if (!c->to_close)
                c->left -= size;
        }
        if (!taken)
            break;
        evbuffer_drain(input, taken);
    }
    return 0;
}

/* A line of the framing of a chunked body.  Returns 1 if it was there, 0 if not yet, -1 if it is none. */
static int
take_chunk_line(struct client *c)
{
    struct evbuffer *const input = bufferevent_get_input(c->bev);
    size_t length;
    char *const line = evbuffer_readln(input, &length, EVBUFFER_EOL_CRLF);
    if (!line)
        return evbuffer_get_length(input) > 4096 ? -1 : 0;
    int result = 1;
    char *end;
    switch (c->chunk) {
    case CHUNK_SIZE:
        c->left = strtoull(line, &end, 16);
        result = end == line || (*end && *end != ';' && *end != ' ') || end - line > 15 ? -1 : 1;
        c->chunk = c->left ? CHUNK_DATA : CHUNK_TRAILER;
        break;
    case CHUNK_END:
        result = length ? -1 : 1;
        c->chunk = CHUNK_SIZE;
        break;
    default:
        if (!length)
            c->chunk = CHUNK_NONE;
    }
    free(line);
    return result;
}

static void
take_body(struct client *c)
{
    for (;;) {
        if (c->chunk == CHUNK_NONE || c->chunk == CHUNK_DATA) {
            if (take_bytes(c) != 0) {
                client_fail(c, LOAD_ERROR_wrong, c->request.path);
                return;
            }
            if (c->left || c->to_close)
                return;
            if (c->chunk == CHUNK_NONE)
                break;
            c->chunk = CHUNK_END;
        }
        const int taken = take_chunk_line(c);
        if (taken < 0) {
            client_fail(c, LOAD_ERROR_garbage, c->request.path);
            return;
        }
        if (!taken)
            return;
        if (c->chunk == CHUNK_NONE)
            break;
    }
    complete(c);
}

/* ---- TLS through a proxy ---- */

static void client_on_read(struct bufferevent *bev, void *context);
static void client_on_event(struct bufferevent *bev, short what, void *context);

static void
ask_for_tunnel(struct client *c)
{
    c->state = TUNNEL;
    evbuffer_add_printf(bufferevent_get_output(c->bev), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
                        c->request.place->authority, c->request.place->authority);
}

static void
take_tunnel(struct client *c)
{
    struct evbuffer *const input = bufferevent_get_input(c->bev);
    const struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    if (end.pos < 0)
        return;
    const size_t size = (size_t)end.pos + 4;
    const char *const text = (const char *)evbuffer_pullup(input, (ev_ssize_t)size);
    if (!text || sqt_head_response(&c->head, text, size) != 0 || c->head.status / 100 != 2) {
        client_fail(c, LOAD_ERROR_tls, "the proxy refused the tunnel");
        return;
    }
    evbuffer_drain(input, size);
    c->state = SECURING;
    c->bev = bufferevent_openssl_filter_new(c->all->base, c->bev, tls_to(c->all->load, c->request.place),
                                            BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_openssl_set_allow_dirty_shutdown(c->bev, 1);
    bufferevent_setcb(c->bev, client_on_read, NULL, client_on_event, c);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

/* ---- what happens ---- */

static void
client_on_read(struct bufferevent *bev, void *context)
{
    struct client *const c = context;
    (void)bev;
    c->active = load_now();
    if (c->state == IDLE) {
        disconnect(c); /* nobody asked for this */
        return;
    }
    if (c->state == TUNNEL) {
        take_tunnel(c);
        return;
    }
    if (c->state == HEAD && !c->outcome.first)
        c->outcome.first = c->active;
    while (c->state == HEAD && take_head(c))
        continue;
    if (c->state == BODY)
        take_body(c);
}

static void
client_on_event(struct bufferevent *bev, short what, void *context)
{
    struct client *const c = context;
    const int error = EVUTIL_SOCKET_ERROR();
    const unsigned long tls_error = bufferevent_get_openssl_error(bev);
    char why[128];
    if (what & BEV_EVENT_CONNECTED) {
        c->all->failed = 0;
        c->all->load->connected = 1;
        if (c->state == CONNECTING && tunnelled(c))
            ask_for_tunnel(c);
        else
            transmit(c);
        return;
    }
    if (tls_error)
        ERR_error_string_n(tls_error, why, sizeof(why));
    else
        snprintf(why, sizeof(why), "%s: %s", peer_name(c),
                 what & BEV_EVENT_EOF ? "the other side ended it" : strerror(error));
    switch (c->state) {
    case OFF:
    case IDLE:
        disconnect(c);
        break;
    case CONNECTING:
    case TUNNEL:
    case SECURING:
        client_fail(
            c, tls_error || c->state == SECURING || (what & BEV_EVENT_EOF) ? LOAD_ERROR_tls : LOAD_ERROR_connect, why);
        break;
    case HEAD:
        if (c->used && !c->outcome.retries && !c->outcome.first) { /* it was closed when we sent */
            c->outcome.retries = 1;
            disconnect(c);
            client_connect(c);
        } else if (what & BEV_EVENT_EOF) {
            client_fail(c, LOAD_ERROR_closed, why);
        } else {
            client_fail(c, LOAD_ERROR_reset, why);
        }
        break;
    case BODY:
        if ((what & BEV_EVENT_EOF) && c->to_close)
            complete(c);
        else
            client_fail(c, what & BEV_EVENT_EOF ? LOAD_ERROR_truncated : LOAD_ERROR_reset, why);
    }
}

static void
on_sweep(evutil_socket_t none, short what, void *context)
{
    struct clients *const all = context;
    const int64_t now = load_now(), limit = all->load->number[LOAD_timeout];
    const int64_t connect_limit = limit < CONNECT_MOST ? limit : CONNECT_MOST;
    (void)none, (void)what;
    for (unsigned i = 0; i < all->count; ++i) {
        struct client *const c = &all->client[i];
        if (c->state == CONNECTING && now - c->active > connect_limit) {
            char why[128];
            snprintf(why, sizeof(why), "%s: no answer", peer_name(c));
            client_fail(c, LOAD_ERROR_connect, why);
        } else if (c->state != OFF && c->state != IDLE && now - c->active > limit) {
            client_fail(c, LOAD_ERROR_timeout, c->request.path);
        }
    }
}

/* ---- connections ---- */

static void
client_connect(struct client *c)
{
    struct clients *const all = c->all;
    struct load *const load = all->load;
    const struct place *const to = load->proxy.count ? load->proxy.place : c->request.place;
    const int one = 1, small = 4096;
    const int fd = socket(to->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    c->state = CONNECTING;
    c->active = load_now();
    c->place = c->request.place;
    if (fd < 0) {
        fail_soon(c);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (all->bandwidth) /* else the kernel takes much at once and holds it */
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    c->raw = !to->tls && !tunnelled(c);
    c->bev = to->tls ? bufferevent_openssl_socket_new(all->base, fd, tls_to(load, to), BUFFEREVENT_SSL_CONNECTING,
                                                      BEV_OPT_CLOSE_ON_FREE)
                     : bufferevent_socket_new(all->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (to->tls)
        bufferevent_openssl_set_allow_dirty_shutdown(c->bev, 1);
    if (all->bandwidth)
        bufferevent_set_rate_limit(c->bev, all->bandwidth);
    if (bufferevent_socket_connect(c->bev, (const struct sockaddr *)&to->address, (int)to->length) != 0) {
        fail_soon(c);
        return;
    }
    bufferevent_setcb(c->bev, client_on_read, NULL, client_on_event, c);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

void
clients_send(struct clients *all, const struct request *request)
{
    struct client *const c = &all->client[request->client];
    ++all->busy;
    c->request = *request;
    if (request->path == request->made)
        c->request.path = c->request.made;
    c->outcome = (struct outcome){0};
    if (c->bev && (!all->load->proxy.count || all->load->given[LOAD_tunnel]) && c->place != c->request.place)
        disconnect(c);
    if (c->bev)
        transmit(c);
    else
        client_connect(c);
}

unsigned
clients_busy(const struct clients *all)
{
    return all->busy;
}

void
clients_give_up(struct clients *all)
{
    all->closing = 1;
    for (unsigned i = 0; i < all->count; ++i) {
        struct client *const c = &all->client[i];
        if (c->state != OFF && c->state != IDLE)
            client_finish(c, LOAD_ERROR_timeout, 0);
    }
}

struct clients *
clients_new(struct load *load, struct event_base *base, void (*freed)(void *context, unsigned client), void *context)
{
    struct clients *const all = sqt_zeroed(1, sizeof(*all));
    const int64_t step =
        load->number[LOAD_timeout] / 4 < LOAD_SECOND / 4 ? load->number[LOAD_timeout] / 4 : LOAD_SECOND / 4;
    const struct timeval pause = {step / LOAD_SECOND, step % LOAD_SECOND / 1000}, tick = {0, 1000000 / TICKS};
    *all = (struct clients){.load = load, .base = base, .freed = freed, .context = context};
    all->count = (unsigned)load->number[LOAD_clients];
    all->client = sqt_zeroed(all->count, sizeof(*all->client));
    for (unsigned i = 0; i < all->count; ++i) {
        all->client[i].all = all;
        all->client[i].soon = event_new(base, -1, 0, on_soon, &all->client[i]);
    }
    if (load->number[LOAD_bandwidth]) {
        const size_t bytes = (size_t)load->number[LOAD_bandwidth] / 8 / TICKS;
        all->bandwidth =
            ev_token_bucket_cfg_new(bytes ? bytes : 1, bytes ? bytes : 1, EV_RATE_LIMIT_MAX, EV_RATE_LIMIT_MAX, &tick);
    }
    all->sweep = event_new(base, -1, EV_PERSIST, on_sweep, all);
    event_add(all->sweep, &pause);
    return all;
}

void
clients_free(struct clients *all)
{
    for (unsigned i = 0; i < all->count; ++i) {
        disconnect(&all->client[i]);
        event_free(all->client[i].soon);
    }
    if (all->bandwidth)
        ev_token_bucket_cfg_free(all->bandwidth);
    event_free(all->sweep);
    free(all->client);
    free(all);
}
