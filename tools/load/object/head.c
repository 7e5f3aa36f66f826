/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * head.c - see head.h.
 */
#include "head.h"

#include <string.h>
#include <strings.h>

/* A stretch of text. */
struct span {
    const char *at, *end;
};

static struct span
trimmed(struct span s)
{
    while (s.at < s.end && (*s.at == ' ' || *s.at == '\t'))
        ++s.at;
    while (s.at < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t'))
        --s.end;
    return s;
}

static int
is(struct span s, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(s.end - s.at) == length && strncasecmp(s.at, word, length) == 0;
}

/* Takes what stands before the next `mark` that is in no quoted string off the text. */
static struct span
next_item(struct span *text, char mark)
{
    struct span item = {text->at, text->at};
    int quoted = 0;
    while (item.end < text->end && (quoted || *item.end != mark)) {
        if (*item.end == '"')
            quoted = !quoted;
        else if (quoted && *item.end == '\\' && item.end + 1 < text->end)
            ++item.end;
        ++item.end;
    }
    text->at = item.end < text->end ? item.end + 1 : text->end;
    return trimmed(item);
}

/* ---- headers ---- */

static int
take_length(struct sqt_head *h, struct span value)
{
    if (value.at == value.end || value.end - value.at > 18)
        return -1;
    int64_t length = 0;
    for (const char *p = value.at; p < value.end; ++p) {
        if (*p < '0' || *p > '9')
            return -1;
        length = length * 10 + (*p - '0');
    }
    if (h->length >= 0 && h->length != length)
        return -1;
    h->length = length;
    return 0;
}

static void
take_connection(struct sqt_head *h, struct span value)
{
    while (value.at < value.end) {
        const struct span word = next_item(&value, ',');
        h->close |= is(word, "close");
        h->keep_alive |= is(word, "keep-alive");
    }
}

/* Each cache adds itself behind those that are nearer to the origin. */
static void
take_cache_status(struct sqt_head *h, struct span value)
{
    while (value.at < value.end) {
        struct span cache = next_item(&value, ',');
        if (cache.at == cache.end)
            continue;
        h->has_status = 1;
        h->cache = SQT_CACHE_MISS;
        while (cache.at < cache.end)
            if (is(next_item(&cache, ';'), "hit"))
                h->cache = SQT_CACHE_HIT;
    }
}

/* "HIT from proxy.test": each cache puts its own behind the others. */
static void
take_x_cache(struct sqt_head *h, struct span value)
{
    while (!h->has_status && value.at < value.end) {
        struct span cache = next_item(&value, ',');
        if (cache.at < cache.end)
            h->cache = is(next_item(&cache, ' '), "HIT") ? SQT_CACHE_HIT : SQT_CACHE_MISS;
    }
}

static int
head_take_header(struct sqt_head *h, struct span line)
{
    const char *const colon = memchr(line.at, ':', (size_t)(line.end - line.at));
    if (!colon || colon == line.at)
        return -1;
    const struct span name = {line.at, colon}, value = trimmed((struct span){colon + 1, line.end});
    switch (*name.at | 32) { /* most headers are none of these */
    case 'c':
        if (is(name, "content-length"))
            return take_length(h, value);
        if (is(name, "connection"))
            take_connection(h, value);
        else if (is(name, "cache-status"))
            take_cache_status(h, value);
        break;
    case 't':
        if (is(name, "transfer-encoding"))
            h->chunked = 1;
        break;
    case 'x':
        if (is(name, "x-cache"))
            take_x_cache(h, value);
        break;
    case 'i':
        if (is(name, "if-modified-since")) {
            h->since = value.at;
            h->since_length = (size_t)(value.end - value.at);
        }
    }
    return 0;
}

/* Takes a line with its CR LF off the text. */
static struct span
next_line(struct span *text)
{
    struct span line = {text->at, memchr(text->at, '\n', (size_t)(text->end - text->at))};
    if (!line.end)
        line.end = text->end;
    text->at = line.end < text->end ? line.end + 1 : text->end;
    if (line.end > line.at && line.end[-1] == '\r')
        --line.end;
    return line;
}

static int
take_headers(struct sqt_head *h, struct span text)
{
    while (text.at < text.end) {
        const struct span line = next_line(&text);
        if (line.at == line.end)
            break;
        if (head_take_header(h, line) != 0)
            return -1;
    }
    return 0;
}

/* ---- first lines ---- */

static int
take_version(struct sqt_head *h, struct span word)
{
    if (word.end - word.at != 8 || memcmp(word.at, "HTTP/1.", 7) != 0 || (word.at[7] != '0' && word.at[7] != '1'))
        return -1;
    h->minor = (unsigned)(word.at[7] - '0');
    return 0;
}

int
sqt_head_response(struct sqt_head *h, const char *text, size_t length)
{
    struct span rest = {text, text + length};
    struct span line = next_line(&rest);
    memset(h, 0, sizeof(*h));
    h->length = -1;
    if (take_version(h, next_item(&line, ' ')) != 0)
        return -1;
    const struct span status = next_item(&line, ' ');
    if (status.end - status.at != 3)
        return -1;
    for (const char *p = status.at; p < status.end; ++p) {
        if (*p < '0' || *p > '9')
            return -1;
        h->status = h->status * 10 + (unsigned)(*p - '0');
    }
    return h->status < 100 ? -1 : take_headers(h, rest);
}

int
sqt_head_request(struct sqt_head *h, const char *text, size_t length)
{
    struct span rest = {text, text + length};
    struct span line = next_line(&rest);
    memset(h, 0, sizeof(*h));
    h->length = -1;
    const struct span method = next_item(&line, ' ');
    struct span url = next_item(&line, ' ');
    if (method.at == method.end || url.at == url.end || take_version(h, trimmed(line)) != 0)
        return -1;
    if (*url.at != '/') {
        const char *const authority = memmem(url.at, (size_t)(url.end - url.at), "://", 3);
        const char *const path = authority ? memchr(authority + 3, '/', (size_t)(url.end - authority - 3)) : NULL;
        if (!path)
            return -1;
        url.at = path;
    }
    h->method = method.at;
    h->method_length = (size_t)(method.end - method.at);
    h->path = url.at;
    h->path_length = (size_t)(url.end - url.at);
    return take_headers(h, rest);
}
