/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * connection.c - what TCP knows of a connection.
 *
 * linux/tcp.h has members that the C library's own header does not have.
 */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "trace/sqtrace.h"

/* States of a connection, as tcp(7)'s kernel numbers them; netinet/tcp.h has names for them, and a tcp_info of its own. */
enum { STATE_CLOSE = 7, STATE_CLOSE_WAIT = 8, STATE_LAST_ACK = 9 };

/* A member that the kernel has filled in, else 0. */
#define MEMBER(info, size, member) \
    (offsetof(struct tcp_info, member) + sizeof((info).member) <= (size) ? (info).member : 0)

int
sqt_tcp_of(int fd, struct sqt_tcp *tcp)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return -1;
    tcp->received = MEMBER(info, size, tcpi_bytes_received);
    tcp->rtt_us = MEMBER(info, size, tcpi_rtt);
    tcp->least_rtt_us = MEMBER(info, size, tcpi_min_rtt);
    tcp->sent_again = MEMBER(info, size, tcpi_total_retrans);
    tcp->out_of_order = MEMBER(info, size, tcpi_rcv_ooopack);
    tcp->sent = MEMBER(info, size, tcpi_data_segs_out);
    const uint64_t sent = MEMBER(info, size, tcpi_bytes_sent) + MEMBER(info, size, tcpi_notsent_bytes);
    const uint64_t gone = MEMBER(info, size, tcpi_bytes_retrans) + MEMBER(info, size, tcpi_bytes_acked);
    tcp->unacked = sent > gone ? sent - gone : 0;
    const uint64_t busy = MEMBER(info, size, tcpi_busy_time), full = MEMBER(info, size, tcpi_rwnd_limited);
    tcp->busy_us = busy > full ? busy - full : 0;
    tcp->idle_ms = info.tcpi_last_data_recv;
    tcp->closed_by = info.tcpi_state == STATE_CLOSE_WAIT || info.tcpi_state == STATE_LAST_ACK ? 1
                     : info.tcpi_state == STATE_CLOSE                                         ? 2
                                                                                              : 0;
    return 0;
}
