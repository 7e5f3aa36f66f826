/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * identity.c - see identity-internal.h.
 */
#include "identity-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"

/* Reads "xxxxxxxx-xxxx-..." as 16 bytes; all zero where the system does not say. */
static void
read_boot_id(uint8_t id[16])
{
    char text[64];
    memset(id, 0, 16);
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    unsigned digits = 0;
    for (ssize_t i = 0; i < n && digits < 32; ++i) {
        const char c = text[i];
        const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (value >= 0) {
            id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
            ++digits;
        }
    }
}

int
sqt_identify(struct sqt_identity *who, const struct sqt_process *process, struct sqt_error *error)
{
    memset(who, 0, sizeof(*who));
    if (getrandom(who->ring_id, sizeof(who->ring_id), 0) != sizeof(who->ring_id))
        return sqt_fail(error, "cannot get random bytes: %s", strerror(errno));
    read_boot_id(who->boot_id);
    who->clock = sqt_clock_pick();
    who->kid = process->kid;
    who->kid_kind = process->kid_kind;
    who->pid = (uint32_t)getpid();
    who->ticks_per_second = sqt_clock_calibrate(who->clock);
    who->sampling_rate = 1;
    who->start = sqt_clock_anchor(who->clock, 0);
    snprintf(who->squid_version, sizeof(who->squid_version), "%s", process->squid_version);
    sqt_service_name(who->service, process->service);
    return 0;
}

void
sqt_service_name(char to[32], const char *service)
{
    size_t i = 0;
    for (; service[i] && i < 31; ++i) {
        const char c = service[i];
        const int plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
        to[i] = plain ? c : '_';
    }
    if (!i)
        to[i++] = '_';
    to[i] = '\0';
}
