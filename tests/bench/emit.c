/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * emit.c - what an event costs.
 *
 * usage: emit DIRECTORY [seconds of the steady load]
 *
 * Bursts of half a ring, the waits in between not timed.  Means are of the thread's CPU time, which other programs on
 * the machine disturb less.  The percentiles are of the differences of the stamps of two records in a row, so they
 * hold everything that delayed an event, and measuring adds nothing.
 */
#include <string.h>
#include <unistd.h>

#include "format/events.h"
#include "measure.h"
#include "trace/ring/emit-internal.h"
#include "../unit/make_trace.h"

#define BURSTS 24
#define READINGS 2000000u
#define BATCHES 21
#define TRAFFIC 1000000u /* records, made before and used again and again */

static struct measure_histogram histogram;

static void
print_message(int level, const char *text)
{
    if (level == 0)
        fprintf(stderr, "%s\n", text);
}

static void
die(const char *what)
{
    fprintf(stderr, "emit: %s\n", what);
    exit(1);
}

static void
start(const char *directory, const char *const *words)
{
    struct sqt_config config;
    char error[512];
    const struct sqt_process process = {0, SQT_KID_SINGLE, "bench", "0", NULL};
    sqt_config_init(&config);
    if (sqt_config_word(&config, directory, error, sizeof(error)) != 0)
        die(error);
    for (; *words; ++words)
        if (sqt_config_word(&config, *words, error, sizeof(error)) != 0)
            die(error);
    if (sqt_start(&config, &process, print_message) != 0)
        die("cannot trace");
}

static void
wait_until_empty(void)
{
    struct sqt_status status;
    do {
        usleep(2000);
        sqt_get_status(&status);
    } while (status.waiting);
}

static double
ns_per_tick(void)
{
    return 1e9 / (double)sqt_emitter.ring->identity.ticks_per_second;
}

static double
readings_ns(uint64_t count)
{
    const uint64_t begin = measure_cpu();
    for (uint64_t i = 0; i < count; ++i)
        __asm__ volatile("" : : "r"(sqt_read_clock(SQT_CLOCK_TSC)));
    return (double)(measure_cpu() - begin) / (double)count;
}

static void
system_clock(void)
{
    double gettime[BATCHES];
    for (unsigned b = 0; b < BATCHES; ++b) {
        const uint64_t begin = measure_cpu();
        for (unsigned i = 0; i < READINGS / BATCHES; ++i)
            __asm__ volatile("" : : "r"(measure_now()));
        gettime[b] = (double)(measure_cpu() - begin) / (READINGS / BATCHES);
    }
    measure_print("clock_gettime", measure_median(gettime, BATCHES), "ns");
}

/* A hook as Squid has it. */
static inline __attribute__((always_inline)) void
hook(uint64_t id, uint64_t arg, uint32_t aux)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_CLIENT_READ, id, arg, aux);
}

static void
hook_off(void)
{
    double with[BATCHES], without[BATCHES];
    for (unsigned b = 0; b < BATCHES; ++b) {
        uint64_t begin = measure_cpu();
        for (unsigned i = 0; i < READINGS; ++i) {
            hook(i, i, i);
            __asm__ volatile("" : : : "memory");
        }
        with[b] = (double)(measure_cpu() - begin) / READINGS;
        begin = measure_cpu();
        for (unsigned i = 0; i < READINGS; ++i)
            __asm__ volatile("" : : : "memory");
        without[b] = (double)(measure_cpu() - begin) / READINGS;
    }
    measure_print("hook_off", measure_median(with, BATCHES) - measure_median(without, BATCHES), "ns");
}

/* What the stamps in the ring say about the burst from record `first`. */
static void
add_stamps(uint64_t first, uint64_t count)
{
    const double scale = ns_per_tick();
    const struct sqt_record *const records = sqt_emitter.records;
    uint64_t before = records[first & sqt_emitter.mask].time;
    for (uint64_t i = 1; i < count; ++i) {
        const uint64_t time = records[(first + i) & sqt_emitter.mask].time;
        measure_add(&histogram, (double)(time - before) * scale);
        before = time;
    }
}

/* Bursts of units of n records; between them, as many bare readings of the TSC, so that both meet the same machine. */
static void
bursts(const char *name, unsigned n)
{
    static const uint16_t numbers[] = {SQT_EV_XACT_END, SQT_EV_PART_XACT_SIZES, SQT_EV_PART_XACT_FLAGS};
    struct sqt_record records[SQT_UNIT_MAX];
    double mean[BURSTS], bare[BURSTS];
    const uint64_t events = (sqt_emitter.mask + 1) / 2 / n;
    memset(&histogram, 0, sizeof(histogram));
    memset(records, 0, sizeof(records));
    for (unsigned i = 0; i < n; ++i)
        records[i].event = numbers[i];
    for (unsigned b = 0; b < BURSTS; ++b) {
        wait_until_empty();
        bare[b] = readings_ns(events);
        const uint64_t first = sqt_emitter.ring->writer.head;
        const uint64_t begin = measure_cpu();
        if (n == 1) {
            for (uint64_t i = 0; i < events; ++i)
                hook(i, i * 4096, (uint32_t)i);
        } else {
            for (uint64_t i = 0; i < events; ++i) {
                records[0].id = i;
                sqt_emit_unit(records, n);
            }
        }
        mean[b] = (double)(measure_cpu() - begin) / (double)events;
        if (n == 1)
            add_stamps(first, events);
    }
    measure_print(name, measure_median(mean, BURSTS), "ns");
    if (n != 1)
        return;
    measure_print("event_least", mean[0], "ns");
    measure_print("rdtsc", measure_median(bare, BURSTS), "ns");
    measure_print("rdtsc_least", bare[0], "ns");
    measure_print("event_p50", measure_percentile(&histogram, 0.50), "ns");
    measure_print("event_p99", measure_percentile(&histogram, 0.99), "ns");
    measure_print("event_p999", measure_percentile(&histogram, 0.999), "ns");
}

/* Processor time of the flusher's disk process, ns; the process's own clocks do not count it. */
static uint64_t
disk_process_ns(const struct sqt_status *status)
{
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof(path), "/proc/%u/schedstat", (unsigned)status->flusher_disk);
    FILE *const file = status->flusher_disk ? fopen(path, "r") : NULL;
    if (file && fscanf(file, "%llu", &ns) != 1)
        die("cannot read what the disk process used");
    if (file)
        fclose(file);
    return ns;
}

/* A million records a second, in steps of 100 us, as a busy proxy mixes them. */
static void
steady(unsigned seconds)
{
    struct sqt_status before, after;
    struct make_traffic traffic;
    struct sqt_record *const records = malloc(TRAFFIC * sizeof(*records));
    if (!records)
        die("no memory");
    make_traffic_init(&traffic, 1);
    const size_t count = make_traffic_records(&traffic, records, TRAFFIC);
    wait_until_empty();
    sqt_get_status(&before);
    const uint64_t cpu = measure_other_threads_ns(), disk = disk_process_ns(&before), begin = measure_now();
    uint64_t made = 0;
    size_t at = 0;
    while (made < seconds * UINT64_C(1000000)) {
        while ((measure_now() - begin) / 1000 < made)
            ;
        const uint64_t now = sqt_read_clock(sqt_clock);
        for (const uint64_t until = made + 100; made < until;) {
            struct sqt_record unit[SQT_UNIT_MAX];
            const unsigned n = (records[at].flags & SQT_FLAG_MORE) + 1;
            make_traffic_renew(unit, records + at, n, now);
            sqt_emit_unit(unit, n);
            made += n;
            at = at + n < count ? at + n : 0;
        }
    }
    wait_until_empty();
    sqt_get_status(&after);
    const double written = (double)(after.written - before.written);
    measure_print("steady_lost", (double)(after.lost - before.lost), "records");
    measure_print("flusher_cpu", (double)(measure_other_threads_ns() - cpu) / written, "ns/record");
    measure_print("disk_process_cpu", (double)(disk_process_ns(&after) - disk) / written, "ns/record");
    measure_print("steady_bytes", (double)(after.bytes - before.bytes) / written, "bytes/record");
    free(records);
}

int
main(int argc, char **argv)
{
    const char *const defaults[] = {NULL}, *const zlib[] = {"compress=zlib", NULL},
                      *const raw[] = {"compress=off", NULL};
    if (argc < 2) {
        fprintf(stderr, "usage: emit DIRECTORY [SECONDS]\n");
        return 2;
    }
    system_clock();
    hook_off();
    start(argv[1], defaults);
    bursts("event", 1);
    bursts("unit_of_3", 3);
    steady(argc > 2 ? (unsigned)atoi(argv[2]) : 5);
    sqt_stop();
    const struct {
        const char *title, *const *words;
    } others[] = {{"# compress=zlib", zlib}, {"# compress=off", raw}};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        puts(others[i].title);
        start(argv[1], others[i].words);
        steady(argc > 2 ? (unsigned)atoi(argv[2]) : 5);
        sqt_stop();
    }
    return 0;
}
