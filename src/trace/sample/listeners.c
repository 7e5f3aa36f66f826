/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * listeners.c - listening ports: their numbers, what waits in their backlogs, and how long it had waited.
 *
 * The kernel tells all of it.  TCP_INFO of a listening socket holds the backlog where other sockets have unacknowledged
 * segments, and its limit where others have selectively acknowledged ones.  Squid's main thread asks, because the
 * flusher has a table of descriptors of its own.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "trace/clock/clock-internal.h"
#include "trace/sqtrace.h"

#define LATE_PERIOD_NS UINT64_C(100000000)
#define TEXT_SIZE 128

/* SO_MEMINFO and what of it counts drops, from Linux 4.12 on (linux/sock_diag.h). */
#define MEMINFO 55
#define MEMINFO_DROPS 8
#define MEMINFO_VALUES 16

/* Of the main thread. */
static struct {
    char text[TEXT_SIZE];
    uint64_t late_ns; /* when sqt_sample_late() sampled it last */
} listeners[SQT_LISTENERS];
static unsigned listener_count;

uint32_t
sqt_listener(const char *text)
{
    unsigned i = 0;
    while (i < listener_count && strncmp(listeners[i].text, text, TEXT_SIZE - 1) != 0)
        ++i;
    if (i == SQT_LISTENERS)
        return 0;
    if (i == listener_count)
        snprintf(listeners[listener_count++].text, TEXT_SIZE, "%s", text);
    return i + 1;
}

/* All kernels tell the members that are read here.  Not cleared first: that would be most of the instructions. */
static int
read_info(int fd, struct tcp_info *info)
{
    socklen_t size = sizeof(*info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size);
}

uint64_t
sqt_accept_wait(int fd)
{
    struct tcp_info info;
    return read_info(fd, &info) == 0 ? info.tcpi_last_data_recv : UINT64_MAX;
}

void
sqt_sample_listener(uint32_t listener, int fd)
{
    struct tcp_info info;
    uint32_t memory[MEMINFO_VALUES];
    socklen_t size = sizeof(memory);
    if (read_info(fd, &info) != 0 || info.tcpi_state != TCP_LISTEN)
        return;
    sqt_sample(SQT_SAMPLE_LISTENER_backlog, listener, info.tcpi_unacked);
    sqt_sample(SQT_SAMPLE_LISTENER_backlog_limit, listener, info.tcpi_sacked);
    if (getsockopt(fd, SOL_SOCKET, MEMINFO, memory, &size) == 0 && size > MEMINFO_DROPS * sizeof(*memory))
        sqt_sample(SQT_SAMPLE_LISTENER_drops, listener, memory[MEMINFO_DROPS]);
}

void
sqt_sample_late(uint32_t listener, int fd)
{
    static uint64_t others_ns;
    uint64_t *const last = listener && listener <= SQT_LISTENERS ? &listeners[listener - 1].late_ns : &others_ns;
    const uint64_t now = sqt_monotonic_ns();
    if (*last && now - *last < LATE_PERIOD_NS)
        return;
    *last = now;
    sqt_sample_listener(listener, fd);
}
