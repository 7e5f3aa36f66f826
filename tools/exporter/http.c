/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * http.c - see http.h.
 */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "base/memory.h"
#include "exporter.h"

/* Connections at a time; they take one of so many descriptors: the trace needs the others. */
#define MOST 512
#define SHARE 2
#define LEAST 2
/* Connections that may wait to be accepted; the kernel has a limit of its own. */
#define BACKLOG 4096
/* After so many new connections, one in so many of all, the loop turns; and if there are as many as there may be, no more are
 * accepted for so long, in us.  So a client has 160 ms for each step until it may be the one that was idle longest, however
 * fast others connect; and it waits 0.6 s behind 2,000. */
#define NEW 8
#define BREATH 20000
/* Pause after a connection could not be accepted, in us. */
#define PAUSE 100000
/* Seconds that a client may do nothing. */
#define TIMEOUT 10
/* Between two looks whether a client has got all, in us. */
#define LOOK 50000
/* Bytes that are thrown away after a request. */
#define EXCESS (256 << 10)
/* Bytes of answers that wait for their readers. */
#define UNREAD ((size_t)32 << 20)
/* The kernel's buffers of a connection; it doubles them. */
#define RECEIVED (16 << 10)
#define SENT (32 << 10)

enum http_phase {
    HTTP_READS,
    HTTP_ANSWERS,
    HTTP_ENDS /* the kernel has all; waits for the client's end, because closing earlier may take the answer from it */
};

struct http_connection {
    struct export_http *http;
    struct bufferevent *stream;
    struct http_connection *before, *after; /* by the time of their last byte */
    enum http_phase phase;
    int ended;          /* nothing more comes */
    struct event *look; /* whether an ended client has got all; NULL: not needed yet */
    unsigned looks;
    size_t searched; /* bytes that do not end the header */
    size_t excess;
    size_t held; /* bytes of its answer, which stay in memory until the last one is gone */
};

struct export_http {
    struct exporter *exporter;
    export_http_answer_function *answer;
    void *context;
    struct evconnlistener *listener;
    struct event *resume;
    struct http_connection ring; /* of all connections: after it is the one that was idle longest */
    unsigned count, most;        /* most: fewer than full if descriptors ran out */
    unsigned full;
    unsigned accepted; /* since the listener was enabled */
};

/* ---- the connections, and their order ---- */

static void
http_unlink(struct http_connection *c)
{
    c->before->after = c->after;
    c->after->before = c->before;
}

static void
http_link_last(struct http_connection *c)
{
    struct http_connection *const ring = &c->http->ring;
    c->before = ring->before;
    c->after = ring;
    c->before->after = c->after->before = c;
}

static void
http_moved(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *context)
{
    (void)buffer;
    (void)info;
    http_unlink(context);
    http_link_last(context);
}

/* Bytes that the kernel has, and the client has not got. */
static int
http_on_the_way(const struct http_connection *c)
{
    int bytes = 0;
    return ioctl(bufferevent_getfd(c->stream), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

/* What a client has not got is lost: otherwise the kernel would keep it without a bound. */
static void
http_close(struct http_connection *c)
{
    const struct linger reset = {.l_onoff = 1};
    if (http_on_the_way(c))
        setsockopt(bufferevent_getfd(c->stream), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    http_unlink(c);
    if (c->look)
        event_free(c->look);
    --c->http->count;
    bufferevent_free(c->stream);
    free(c);
}

/* Closes a connection for the others' sake. */
static void
http_give_up(struct http_connection *c, const char *why)
{
    struct exporter *const e = c->http->exporter;
    ++e->refused;
    http_close(c);
    exporter_report(e, SQT_NOTE, why);
}

/* ---- a request ---- */

/* The size of a header with the empty line behind it; 0: that has not come yet. */
static size_t
http_header_size(struct http_connection *c, const char *text, size_t size)
{
    const char *const end = text + size, *at = text + c->searched;
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        const char *const next = at + 1 + (at + 1 < end && at[1] == '\r');
        if (next < end && *next == '\n')
            return (size_t)(next + 1 - text);
        ++at;
    }
    c->searched = size > 2 ? size - 2 : 0; /* a line's end may be cut */
    return 0;
}

/* "http://host/path?query" -> "/path" */
static char *
http_path(char *target)
{
    char *const host = strncasecmp(target, "http://", 7) == 0 ? target + 7 : NULL;
    char *const path = host ? host + strcspn(host, "/?#") : target;
    path[strcspn(path, "?#")] = '\0';
    return path;
}

/* Takes a header apart, which ends with a line's end. */
static struct export_http_request
http_parse(char *text)
{
    const struct export_http_request bad = {EXPORT_HTTP_BAD, "", "", ""};
    char *const method = text + strspn(text, "\r\n"), *const fields = strchr(method, '\n');
    if (!fields)
        return bad;
    *fields = '\0';
    char *const target = method + strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
    char *const version = *target == ' ' ? strchr(target + 1, ' ') : NULL;
    if (target == method || !version || strncmp(version + 1, "HTTP/1.", 7) != 0)
        return bad;
    *target = *version = '\0';
    return (struct export_http_request){EXPORT_HTTP_FINE, method, http_path(target + 1), fields + 1};
}

int
export_http_accepts(const struct export_http_request *request, const char *type)
{
    static const char name[] = "Accept:";
    for (const char *line = request->fields, *next; *line; line = next) {
        const char *const end = strchrnul(line, '\n'), *const found = strcasestr(line, type);
        next = *end ? end + 1 : end;
        if (strncasecmp(line, name, strlen(name)) == 0 && found && found < end)
            return 1;
    }
    return 0;
}

/* ---- an answer ---- */

static size_t
http_unread(const struct http_connection *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->stream)) ? c->held : 0;
}

/* Answers that nobody reads take no more memory than that; the one that was made last is never given up. */
static void
http_bound_unread(struct export_http *h)
{
    size_t sum = 0;
    for (const struct http_connection *c = h->ring.after; c != &h->ring; c = c->after)
        sum += http_unread(c);
    for (struct http_connection *c = h->ring.after, *next; sum > UNREAD && c != h->ring.before; c = next) {
        const size_t size = http_unread(c);
        next = c->after;
        sum -= size;
        if (size)
            http_give_up(c, "clients do not read: closes the connection that was idle longest");
    }
}

static void
http_send(struct http_connection *c, const struct export_http_answer *answer, int bodiless)
{
    struct evbuffer *const out = bufferevent_get_output(c->stream);
    char date[64];
    evutil_date_rfc1123(date, sizeof(date), NULL);
    evbuffer_add_printf(out,
                        "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                        "Cache-Control: no-store\r\n%s%sConnection: close\r\n\r\n",
                        answer->status, answer->reason, date, answer->type,
                        answer->body ? evbuffer_get_length(answer->body) : 0,
                        answer->status == 405 ? "Allow: GET, HEAD\r\n" : "", answer->fields ? answer->fields : "");
    if (answer->body && !bodiless)
        evbuffer_add_buffer(out, answer->body);
    c->held = evbuffer_get_length(out);
    if (answer->body)
        evbuffer_free(answer->body);
}

/* A pause counts in what the client has to do: to send, or to read. */
static void
http_set_timeout(const struct http_connection *c)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT};
    const int reads = c->phase == HTTP_ANSWERS;
    bufferevent_set_timeouts(c->stream, reads ? NULL : &timeout, reads ? &timeout : NULL);
}

static void
http_answer(struct http_connection *c, const struct export_http_request *request)
{
    struct export_http *const h = c->http;
    const struct export_http_answer answer = h->answer(h->context, request);
    struct evbuffer *const in = bufferevent_get_input(c->stream);
    c->phase = HTTP_ANSWERS;
    http_set_timeout(c);
    http_send(c, &answer, strcmp(request->method, "HEAD") == 0);
    evbuffer_drain(in, evbuffer_get_length(in));
    http_bound_unread(h);
}

/* Answers if the header is there. */
static void
http_read_header(struct http_connection *c)
{
    char header[EXPORT_HTTP_HEADER + 1];
    struct export_http_request request = {EXPORT_HTTP_LONG, "", "", ""};
    struct evbuffer *const in = bufferevent_get_input(c->stream);
    const size_t came = evbuffer_get_length(in);
    const char *const text = (const char *)evbuffer_pullup(in, -1);
    const size_t size = text && came < sizeof(header) ? http_header_size(c, text, came) : 0;
    if (!size && came < EXPORT_HTTP_HEADER)
        return;
    if (size) {
        memcpy(header, text, size);
        header[size] = '\0';
        request = http_parse(header);
    }
    http_answer(c, &request);
}

/* ---- what happens on a connection ---- */

static void
http_came(struct bufferevent *stream, void *context)
{
    struct http_connection *const c = context;
    struct evbuffer *const in = bufferevent_get_input(stream);
    if (c->phase == HTTP_READS) {
        http_read_header(c);
        return;
    }
    c->excess += evbuffer_get_length(in);
    evbuffer_drain(in, evbuffer_get_length(in));
    if (c->excess > EXCESS)
        http_close(c);
}

/* Closes the connection of an ended client as soon as it has got all. */
static void
http_finish(evutil_socket_t fd, short what, void *context)
{
    struct http_connection *const c = context;
    (void)fd;
    (void)what;
    if (!c->look)
        c->look = evtimer_new(c->http->exporter->base, http_finish, c);
    if (!http_on_the_way(c) || !c->look || ++c->looks > TIMEOUT * 1000000 / LOOK)
        http_close(c);
    else
        evtimer_add(c->look, &(struct timeval){.tv_usec = LOOK});
}

static void
http_sent(struct bufferevent *stream, void *context)
{
    struct http_connection *const c = context;
    if (c->phase != HTTP_ANSWERS)
        return;
    c->phase = HTTP_ENDS;
    http_set_timeout(c);
    shutdown(bufferevent_getfd(stream), SHUT_WR);
    if (c->ended)
        http_finish(-1, 0, c);
}

/* A client may shut its side down after it has asked. */
static void
http_happened(struct bufferevent *stream, short what, void *context)
{
    struct http_connection *const c = context;
    (void)stream;
    c->ended = what == (BEV_EVENT_READING | BEV_EVENT_EOF);
    if (!c->ended || c->phase == HTTP_READS)
        http_close(c);
    else if (c->phase == HTTP_ENDS)
        http_finish(-1, 0, c);
}

/* ---- listening ---- */

static void
http_open(struct export_http *h, evutil_socket_t fd)
{
    struct bufferevent *const stream = bufferevent_socket_new(h->exporter->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!stream) {
        evutil_closesocket(fd);
        return;
    }
    struct http_connection *const c = sqt_zeroed(1, sizeof(*c));
    c->http = h;
    c->stream = stream;
    ++h->count;
    http_link_last(c);
    bufferevent_setcb(stream, http_came, http_sent, http_happened, c);
    bufferevent_setwatermark(stream, EV_READ, 0, EXPORT_HTTP_HEADER);
    http_set_timeout(c);
    evbuffer_add_cb(bufferevent_get_input(stream), http_moved, c);
    evbuffer_add_cb(bufferevent_get_output(stream), http_moved, c);
    bufferevent_enable(stream, EV_READ | EV_WRITE);
}

static void
http_pause(struct export_http *h, int us)
{
    evconnlistener_disable(h->listener);
    evtimer_add(h->resume, &(struct timeval){.tv_usec = us});
}

static void
http_resume(evutil_socket_t fd, short what, void *context)
{
    struct export_http *const h = context;
    (void)fd;
    (void)what;
    h->accepted = 0;
    h->most += h->most < h->full;
    evconnlistener_enable(h->listener);
}

static void
http_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length, void *context)
{
    struct export_http *const h = context;
    (void)listener;
    (void)address;
    (void)length;
    if (h->count >= h->most)
        http_give_up(h->ring.after, "there are many connections: closes the one that was idle longest");
    http_open(h, fd);
    if (++h->accepted >= h->most / NEW)
        http_pause(h, h->count < h->most ? 0 : BREATH);
}

/* There were too many for the descriptors or the memory: a quarter ends, and from then on the bound is what is left. */
static void
http_have_fewer(struct export_http *h)
{
    h->most = h->count / 4 * 3 > LEAST ? h->count / 4 * 3 : LEAST;
    while (h->count > h->most)
        http_close(h->ring.after);
}

static void
http_accept_failed(struct evconnlistener *listener, void *context)
{
    struct export_http *const h = context;
    const int error = errno, spent = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    char text[128];
    (void)listener;
    snprintf(text, sizeof(text), "a connection could not be accepted: %s", strerror(error));
    ++h->exporter->refused;
    exporter_report(h->exporter, SQT_WARNING, text);
    http_pause(h, spent && h->count > LEAST ? BREATH : PAUSE);
    if (spent)
        http_have_fewer(h);
}

/* "127.0.0.1:9746" */
static void
http_say_place(const struct export_http *h)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[64] = "?";
    getsockname(evconnlistener_get_fd(h->listener), (struct sockaddr *)&address, &length);
    const int six = address.ss_family == AF_INET6;
    const struct sockaddr_in *const in = (struct sockaddr_in *)&address;
    const struct sockaddr_in6 *const in6 = (struct sockaddr_in6 *)&address;
    evutil_inet_ntop(address.ss_family, six ? (const void *)&in6->sin6_addr : &in->sin_addr, host, sizeof(host));
    program_say(&h->exporter->voice, six ? "serves http://[%s]:%u%s" : "serves http://%s:%u%s", host,
                ntohs(six ? in6->sin6_port : in->sin_port), h->exporter->request.path);
}

/* Connections inherit the sizes. */
static void
http_set_buffers(evutil_socket_t fd)
{
    const int received = RECEIVED, sent = SENT;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &received, sizeof(received));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sent, sizeof(sent));
}

static void
http_bind(struct export_http *h)
{
    struct exporter_request *const r = &h->exporter->request;
    const int six = r->address.ss_family == AF_INET6;
    const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE |
                           (six && !r->everywhere ? LEV_OPT_BIND_IPV6ONLY : 0);
    h->listener = evconnlistener_new_bind(h->exporter->base, http_accept, h, flags, BACKLOG,
                                          (struct sockaddr *)&r->address, r->address_length);
}

/* All addresses, of a machine that has IPv4 only. */
static void
http_bind_without_six(struct export_http *h)
{
    struct exporter_request *const r = &h->exporter->request;
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = ((struct sockaddr_in6 *)&r->address)->sin6_port};
    memcpy(&r->address, &any, sizeof(any));
    r->address_length = sizeof(any);
    http_bind(h);
}

static int
http_listen(struct export_http *h)
{
    struct exporter *const e = h->exporter;
    http_bind(h);
    if (!h->listener && e->request.everywhere && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
        http_bind_without_six(h);
    if (!h->listener) {
        return program_fail(&e->voice, "%s: cannot listen: %s%s", e->request.place, strerror(errno),
                            errno == EADDRINUSE ? "; --listen names another port" : "");
    }
    http_set_buffers(evconnlistener_get_fd(h->listener));
    evconnlistener_set_error_cb(h->listener, http_accept_failed);
    return 0;
}

static unsigned
http_most(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / SHARE >= MOST)
        return MOST;
    return files.rlim_cur / SHARE > LEAST ? (unsigned)(files.rlim_cur / SHARE) : LEAST;
}

struct export_http *
export_http_new(struct exporter *exporter, export_http_answer_function *answer, void *context)
{
    struct export_http *const h = sqt_zeroed(1, sizeof(*h));
    h->exporter = exporter;
    h->answer = answer;
    h->context = context;
    h->most = h->full = http_most();
    h->ring.before = h->ring.after = &h->ring;
    h->resume = evtimer_new(exporter->base, http_resume, h);
    if (!h->resume || http_listen(h) != 0) {
        export_http_free(h);
        return NULL;
    }
    http_say_place(h);
    return h;
}

void
export_http_free(struct export_http *h)
{
    if (!h)
        return;
    while (h->count)
        http_close(h->ring.after);
    if (h->listener)
        evconnlistener_free(h->listener);
    if (h->resume)
        event_free(h->resume);
    free(h);
}
