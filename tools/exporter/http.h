/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * http.h - HTTP for a scraper: a connection carries one request and its answer, and no peer gets more memory than that.
 *
 * Libevent's own server bounds neither the number of connections nor what a header becomes in memory: each of its lines is
 * three allocations.  Here a header stays the bytes that came.
 *
 *   what                        bound                                    beyond it
 *   connections                 512, and half of the descriptors          whichever was idle longest is closed
 *   a request's header          16 KB, before it is read                 status 431
 *   what follows the header     256 KB, which are thrown away            the connection is closed
 *   answers that are not read   32 MB in all, shared bytes counted each  whichever of them was idle longest is closed
 *   a pause of the client       10 s                                     the connection is closed
 *
 * "Idle" means that no byte came or went.  So a client that asks and reads is served, whatever the others do, if it takes each
 * step within 160 ms; within some 90 ms while others ask for large answers and do not read them.
 */
#ifndef SQT_EXPORTER_HTTP_H
#define SQT_EXPORTER_HTTP_H

#include <event2/buffer.h>

struct exporter;
struct export_http;

enum export_http_fault {
    EXPORT_HTTP_FINE,
    EXPORT_HTTP_BAD, /* no HTTP/1 */
    EXPORT_HTTP_LONG /* the header is longer than EXPORT_HTTP_HEADER */
};

/* Bytes of a header, with the request line. */
#define EXPORT_HTTP_HEADER 16384

/* A request, while it is answered.  Texts are "" if there is a fault. */
struct export_http_request {
    enum export_http_fault fault;
    const char *method; /* as it came: "GET" */
    const char *path;   /* without a query */
    const char *fields; /* lines */
};

/* An answer.  The body is taken; NULL: there is no memory for one. */
struct export_http_answer {
    int status;
    const char *reason, *type;
    struct evbuffer *body;
    const char *fields; /* further lines of its header; NULL: none */
};

typedef struct export_http_answer export_http_answer_function(void *context, const struct export_http_request *request);

/* Listens where the exporter was asked to.  The function is called for each request.  Returns NULL after a message. */
struct export_http *export_http_new(struct exporter *exporter, export_http_answer_function *answer, void *context);

/* Closes all connections; NULL is allowed. */
void export_http_free(struct export_http *http);

/* Whether the client takes this type, as its fields Accept say. */
int export_http_accepts(const struct export_http_request *request, const char *type);

#endif
