/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * head.h - the heads of HTTP/1 messages: the first line, and of the headers what client and origin look at.
 */
#ifndef SQT_LOAD_HEAD_H
#define SQT_LOAD_HEAD_H

#include <stddef.h>
#include <stdint.h>

/* What the Cache-Status of the nearest cache says, or its X-Cache where none has the former (before Squid 6). */
enum sqt_cache_status { SQT_CACHE_UNTOLD, SQT_CACHE_MISS, SQT_CACHE_HIT };

struct sqt_head {
    unsigned minor;     /* of HTTP/1.x */
    unsigned status;    /* of a response */
    const char *method; /* of a request; what follows points into the text, too */
    size_t method_length;
    const char *path; /* without scheme and authority */
    size_t path_length;
    const char *since; /* If-Modified-Since, NULL if it is not there */
    size_t since_length;
    int64_t length; /* Content-Length; -1: not said */
    int chunked;
    int close, keep_alive; /* what Connection says */
    enum sqt_cache_status cache;
    int has_status; /* it is from Cache-Status */
};

/* text: a head with the empty line at its end, length bytes.  Each returns 0, or -1 if it is none. */
int sqt_head_response(struct sqt_head *head, const char *text, size_t length);
int sqt_head_request(struct sqt_head *head, const char *text, size_t length);

/* Whether the connection lasts after the message, if nothing else speaks against it. */
static inline int
sqt_head_lasts(const struct sqt_head *head)
{
    return head->minor ? !head->close : head->keep_alive;
}

#endif
