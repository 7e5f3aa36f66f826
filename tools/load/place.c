/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * place.c - addresses of proxy and servers.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "load.h"

/* "HOST:PORT" or "[HOST]:PORT" */
static int
look_up(struct place *p, const char *text, size_t length, char *error, size_t error_size)
{
    char host[256];
    const char *colon = memrchr(text, ':', length);
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof(host) || colon + 1 == text + length) {
        snprintf(error, error_size, "'%.*s': expected HOST:PORT", (int)length, text);
        return -1;
    }
    char *end;
    const unsigned long port = strtoul(colon + 1, &end, 10);
    if (end != text + length || end - colon > 6 || port > 65535) {
        snprintf(error, error_size, "'%.*s': expected a port", (int)length, text);
        return -1;
    }
    const int bracketed = *text == '[' && colon[-1] == ']';
    const size_t host_length = (size_t)(colon - text) - (bracketed ? 2 : 0);
    memcpy(host, text + bracketed, host_length);
    host[host_length] = '\0';
    char service[8];
    snprintf(service, sizeof(service), "%lu", port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    const int failed = getaddrinfo(host, service, &hints, &found);
    if (failed == EAI_MEMORY)
        sqt_no_memory();
    if (failed) {
        snprintf(error, error_size, "'%s': %s", host, gai_strerror(failed));
        return -1;
    }
    memcpy(&p->address, found->ai_addr, found->ai_addrlen);
    p->length = found->ai_addrlen;
    freeaddrinfo(found);
    p->authority = sqt_zeroed(length + 1, 1);
    memcpy(p->authority, text, length);
    return 0;
}

int
places_take_one(struct places *places, const char *text, size_t length, char *error, size_t error_size)
{
    struct place p = {0};
    if (length > 8 && memcmp(text, "https://", 8) == 0) {
        p.tls = 1;
        text += 8;
        length -= 8;
    } else if (length > 7 && memcmp(text, "http://", 7) == 0) {
        text += 7;
        length -= 7;
    }
    if (look_up(&p, text, length, error, error_size) != 0)
        return -1;
    places->place = sqt_resized(places->place, (places->count + 1) * sizeof(p));
    places->place[places->count++] = p;
    return 0;
}

int
places_take(struct places *places, const char *text, char *error, size_t error_size)
{
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (places_take_one(places, text, length, error, error_size) != 0)
            return -1;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

void
places_free(struct places *places)
{
    for (size_t i = 0; i < places->count; ++i)
        free(places->place[i].authority);
    free(places->place);
    memset(places, 0, sizeof(*places));
}
