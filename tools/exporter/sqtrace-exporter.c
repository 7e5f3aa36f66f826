/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-exporter.c - follows the trace of a running Squid, and serves metrics for Prometheus.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "exporter.h"

/* Between two looks at the trace, in us. */
#define LOOK 100000

struct exporter_loop {
    struct exporter *exporter;
    struct event *look;
};

static void
exporter_look(evutil_socket_t fd, short what, void *context)
{
    const struct exporter_loop *const loop = context;
    (void)fd;
    (void)what;
    const int more = exporter_follow(loop->exporter);
    evtimer_add(loop->look, &(struct timeval){.tv_usec = more ? 0 : LOOK});
}

static void
exporter_stop(evutil_socket_t number, short what, void *base)
{
    (void)number;
    (void)what;
    event_base_loopbreak(base);
}

/* Libevent's own messages. */
static struct exporter *exporter_logged;
static void
exporter_log(int severity, const char *text)
{
    if (severity >= EVENT_LOG_WARN)
        exporter_report(exporter_logged, SQT_WARNING, text);
}

/* Until a signal comes. */
static int
exporter_loop(struct exporter *e)
{
    struct exporter_loop loop = {.exporter = e};
    struct event *const ends[] = {evsignal_new(e->base, SIGINT, exporter_stop, e->base),
                                  evsignal_new(e->base, SIGTERM, exporter_stop, e->base)};
    loop.look = evtimer_new(e->base, exporter_look, &loop);
    const int ready = loop.look && ends[0] && ends[1] && event_add(ends[0], NULL) == 0 && event_add(ends[1], NULL) == 0;
    if (ready) {
        evtimer_add(loop.look, &(struct timeval){.tv_usec = 0});
        event_base_dispatch(e->base);
    }
    for (unsigned i = 0; i < 2; ++i)
        if (ends[i])
            event_free(ends[i]);
    if (loop.look)
        event_free(loop.look);
    return ready ? EXPORTER_DONE : EXPORTER_FAILED;
}

static int
exporter_run(struct exporter *e)
{
    e->trace.started_ns = exporter_now(CLOCK_REALTIME);
    e->trace.aged = e->messages.minute = exporter_now(CLOCK_MONOTONIC);
    e->base = event_base_new();
    if (!e->base) {
        program_fail(&e->voice, "no event loop");
        return EXPORTER_FAILED;
    }
    exporter_logged = e;
    event_set_log_callback(exporter_log);
    e->series = export_series_new(&e->request.rules);
    e->server = exporter_serve(e);
    if (*e->request.receiver.address)
        e->sender = export_sender_new(e, &e->request.receiver);
    const int lacks_sender = *e->request.receiver.address && !e->sender;
    if (lacks_sender)
        program_fail(&e->voice, "no memory to send spans");
    const int status = e->server && !lacks_sender ? exporter_loop(e) : EXPORTER_FAILED;
    exporter_server_free(e->server);
    exporter_unfollow(e);
    if (e->sender)
        export_sender_drain(e->sender);
    export_sender_free(e->sender);
    export_series_free(e->series);
    event_base_free(e->base);
    libevent_global_shutdown();
    return status;
}

int
main(int argc, char **argv)
{
    static struct exporter exporter;
    char error[1024];
    int status;
    signal(SIGPIPE, SIG_IGN);
    event_set_mem_functions(sqt_allocated, sqt_resized, free); /* some of libevent's own ends crash */
    exporter.voice.program = "sqtrace-exporter";
    if (exporter_parse(&exporter.request, argc, argv, error, sizeof(error)) != 0) {
        program_fail(&exporter.voice, "%s", error);
        status = EXPORTER_USAGE;
    } else if (exporter.request.given[EXPORTER_help]) {
        options_print_help(exporter_help);
        status = options_told();
    } else if (exporter.request.given[EXPORTER_version]) {
        puts("sqtrace-exporter " PACKAGE_VERSION);
        status = options_told();
    } else {
        exporter.voice.quiet = exporter.request.given[EXPORTER_quiet] != NULL;
        status = exporter_run(&exporter);
    }
    exporter_request_free(&exporter.request);
    return status;
}
