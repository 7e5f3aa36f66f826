/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exporter_http.c - answers of sqtrace-exporter that are read in part: their memory counts until the last byte is gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/exporter/exporter.h"
#include "../../tools/exporter/http.h"

#define CLIENTS 16
#define BODY ((size_t)4 << 20)   /* bytes of an answer */
#define BOUND ((size_t)32 << 20) /* of answers that are not read: http.h */
#define LEFT ((size_t)512 << 10) /* that a client does not read: more than the kernel keeps */

static struct exporter exporter;
static size_t alive; /* bytes of bodies that are not freed */

static void
http_body_is_free(const void *bytes, size_t size, void *context)
{
    (void)context;
    alive -= size;
    free((void *)(uintptr_t)bytes);
}

/* Each answer has bytes of its own, as scrapes at different times have. */
static struct export_http_answer
http_large_answer(void *context, const struct export_http_request *request)
{
    struct evbuffer *const body = evbuffer_new();
    (void)context, (void)request;
    assert_int_equal(evbuffer_add_reference(body, calloc(1, BODY), BODY, http_body_is_free, NULL), 0);
    alive += BODY;
    return (struct export_http_answer){200, "OK", "text/plain", body, NULL};
}

static void
http_turn(void)
{
    event_base_loop(exporter.base, EVLOOP_NONBLOCK);
}

/* The port that the test has found free. */
static int
http_connect(in_port_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static in_port_t
http_free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    close(fd);
    return at.sin_port;
}

/* Asks, and reads all but the last bytes of the answer.  Returns how many came. */
static size_t
http_read_most(int fd, size_t most)
{
    static const char scrape[] = "GET /metrics HTTP/1.1\r\n\r\n";
    static char piece[65536];
    size_t got = 0;
    assert_int_equal(send(fd, scrape, sizeof(scrape) - 1, MSG_NOSIGNAL), sizeof(scrape) - 1);
    for (unsigned turns = 0; got < most && turns < 1000000; ++turns) {
        const size_t room = most - got < sizeof(piece) ? most - got : sizeof(piece);
        http_turn();
        const ssize_t n = recv(fd, piece, room, MSG_DONTWAIT);
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

static void
an_answer_counts_until_its_last_byte_is_gone(void **state)
{
    const in_port_t port = http_free_port();
    int clients[CLIENTS];
    (void)state;
    *(struct sockaddr_in *)&exporter.request.address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    exporter.request.address_length = sizeof(struct sockaddr_in);
    exporter.voice = (struct program_voice){.program = "sqtrace-exporter", .quiet = 1};
    exporter.base = event_base_new();
    struct export_http *const http = export_http_new(&exporter, http_large_answer, NULL);
    assert_non_null(http);
    for (unsigned i = 0; i < CLIENTS; ++i) {
        clients[i] = http_connect(port);
        assert_int_equal(http_read_most(clients[i], BODY - LEFT), BODY - LEFT);
        assert_in_range(alive, BODY, BOUND + 2 * BODY); /* the newest is never given up */
    }
    assert_true(exporter.refused >= CLIENTS - BOUND / BODY - 1);
    const int last = http_connect(port);
    assert_true(http_read_most(last, 2 * BODY) > BODY);
    for (unsigned i = 0; i < CLIENTS; ++i)
        close(clients[i]);
    close(last);
    export_http_free(http);
    http_turn();
    assert_int_equal(alive, 0);
    event_base_free(exporter.base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_counts_until_its_last_byte_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
