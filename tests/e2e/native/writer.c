/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * writer.c - writes numbered records through libsqtrace, and counts them independently in shared memory.
 *
 *   writer COUNTERS BURST PAUSE_US LIMIT DIRECTORY [WORD...]
 *
 * COUNTERS is a file of at least 4096 bytes: u64 begun, u64 done.  Each unit carries its number, from 1, in the id of
 * its first record: a CLIENT_READ, which is one record, or an XACT_END, which is three.  begun is stored before the unit is
 * emitted and done after it, both in records.  Every BURST units it sleeps PAUSE_US.  After LIMIT units (0: never) it
 * stops in order, as it does when it gets SIGTERM.  The WORDs are those of the sqtrace_log directive.  It is kid 1, or
 * the one that the variable WRITER_KID says.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/sqtrace.h"

struct counters {
    volatile uint64_t begun, done; /* records */
    volatile uint64_t units_begun, units_done;
};

static volatile sig_atomic_t ending;

static void
end(int number)
{
    ending = number;
}

static void
say(int level, const char *text)
{
    fprintf(stderr, "%d %s\n", level, text);
}

/* A unit of one or of three records, so that whole units are lost and kept. */
static unsigned
emit(uint64_t number)
{
    if (number % 4) {
        sqt_emit(SQT_EV_CLIENT_READ, number, 7 * number, (uint32_t)number);
        return 1;
    }
    struct sqt_record unit[3];
    memset(unit, 0, sizeof(unit));
    unit[0].event = SQT_EV_XACT_END;
    unit[0].id = number;
    unit[0].arg = 7;
    unit[0].aux = (uint32_t)number;
    unit[1].event = SQT_EV_PART_XACT_SIZES;
    unit[1].id = 7 * number;
    unit[1].arg = 8 * number;
    unit[1].aux = 1;
    unit[2].event = SQT_EV_PART_XACT_FLAGS;
    unit[2].id = 9 * number;
    unit[2].arg = number;
    sqt_emit_unit(unit, 3);
    return 3;
}

int
main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    const int fd = open(argv[1], O_RDWR);
    struct counters *counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || counters == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    const unsigned long burst = strtoul(argv[2], NULL, 10), pause = strtoul(argv[3], NULL, 10);
    const uint64_t limit = strtoull(argv[4], NULL, 10);

    struct sqt_config config;
    const char *const kid = getenv("WRITER_KID");
    const struct sqt_process process = {kid ? (uint32_t)atoi(kid) : 1, SQT_KID_WORKER, "e2e", "7.7", NULL};
    char error[512];
    sqt_config_init(&config);
    for (int i = 5; i < argc; ++i)
        if (sqt_config_word(&config, argv[i], error, sizeof(error)) != 0) {
            fprintf(stderr, "%s\n", error);
            return 1;
        }
    if (sqt_config_check(&config, error, sizeof(error)) != 0 || sqt_start(&config, &process, say) != 0)
        return 1;
    signal(SIGTERM, end);
    printf("started\n");
    fflush(stdout);
    for (uint64_t number = 1; limit == 0 || number <= limit; ++number) {
        if (ending || !sqt_on(SQT_GROUP_CLIENT))
            break;
        const unsigned records = number % 4 ? 1 : 3;
        counters->begun += records;
        counters->units_begun = number;
        emit(number);
        counters->done += records;
        counters->units_done = number;
        if (burst && number % burst == 0) {
            sqt_poll();
            if (pause)
                usleep((useconds_t)pause);
        }
    }
    sqt_stop();
    return 0;
}
