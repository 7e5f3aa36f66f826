/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * run.c - see run-internal.h.
 */
#include "run-internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/sqtrace.h"
#include "trace/file/trust-internal.h"

uint32_t
sqt_run_of(int directory, const char *segment, uid_t owner)
{
    struct sqt_segment_header header;
    struct sqt_error ignored;
    const int fd = openat(directory, segment, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    const int good = sqt_trust_content(fd, owner, &ignored) == 0 &&
                     pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
                     memcmp(header.magic, SQT_SEGMENT_MAGIC, sizeof(header.magic)) == 0;
    close(fd);
    return good ? header.identity.run : 0;
}

uint32_t
sqt_run_next(int directory, uid_t owner, const char *service, uint32_t kid)
{
    uint32_t latest = 0;
    char base[SQT_BASE_MAX] = ""; /* of the run that was looked at last: its segments often follow one another */
    DIR *const dir = sqt_open_list(directory);
    if (!dir)
        return 0;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct sqt_name name;
        sqt_name_parse(&name, entry->d_name);
        if (name.kind != SQT_NAME_SEGMENT || name.kid != kid || strcmp(name.service, service) != 0 ||
            strcmp(name.base, base) == 0)
            continue;
        const uint32_t run = sqt_run_of(directory, entry->d_name, owner);
        if (run > latest)
            latest = run;
        strcpy(base, name.base);
    }
    closedir(dir);
    return latest + 1;
}
