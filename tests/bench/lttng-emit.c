/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lttng-emit.c - what an event costs with LTTng-UST, in bursts as emit.c makes them.
 *
 * usage: lttng-emit NAME EVENTS PAUSE_US
 *
 * The session is set up outside; see tests/bench/runtime.  NAME is that of the figure.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-event.h"

#include <unistd.h>

#include "measure.h"

#define BURSTS 24

int
main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: lttng-emit NAME EVENTS PAUSE_US\n");
        return 2;
    }
    const uint64_t events = strtoull(argv[2], NULL, 10);
    const useconds_t pause = (useconds_t)atoi(argv[3]);
    double mean[BURSTS];
    for (unsigned b = 0; b < BURSTS; ++b) {
        usleep(pause);
        const uint64_t begin = measure_cpu();
        for (uint64_t i = 0; i < events; ++i)
            lttng_ust_tracepoint(sqtrace_bench, event, i, i * 4096, (uint32_t)i);
        mean[b] = (double)(measure_cpu() - begin) / (double)events;
    }
    measure_print(argv[1], measure_median(mean, BURSTS), "ns");
    return 0;
}
