/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_sampler.c - resource samples: what is read, from planted files, and when it is told.
 */
#include "trace_support.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "format/events.h"
#include "trace/clock/clock-internal.h"
#include "trace/sample/sampler-internal.h"

#define MS UINT64_C(1000000)

static struct sqt_sampler sampler;
static struct sqt_mailbox mailbox;

static void
begin(const char *root)
{
    sqt_sampler_end(&sampler); /* of the test before */
    sqt_mailbox_init(&mailbox);
    sqt_sampler_init(&sampler, root, SQT_CLOCK_MONOTONIC, 1, &mailbox);
    place_said[0] = '\0';
}

/* What a round says of a value; UINT64_MAX if nothing. */
static uint64_t
value_in(const struct sqt_sampled *round, unsigned count, enum sqt_sample_value what, unsigned index)
{
    for (unsigned i = 0; i < count; ++i)
        if (round[i].number == sqt_sample_number(what, index))
            return round[i].value;
    return UINT64_MAX;
}
#define VALUE(what, index) value_in(round, count, SQT_SAMPLE_##what, index)

static void
the_machine_is_what_its_files_say(void **state)
{
    const struct place *const place = *state;
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    const uint64_t tick = 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
    begin(place->directory);
    plant_file(place->directory, "/proc/stat", "cpu  10 20 300 4000 50 6 7 800 90 11\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
    plant_file(place->directory, "/proc/vmstat",
               "nr_free_pages 1\npgpgin 12345678901\npgpgout 22\npswpin 33\npswpout 44\npgpginx 5\n");
    const unsigned count = sqt_sample_machine(&sampler, round, 0);
    assert_int_equal(count, 9);
    assert_int_equal(VALUE(MACHINE_cpu_user_ms, 0), 30 * tick);
    assert_int_equal(VALUE(MACHINE_cpu_system_ms, 0), 313 * tick);
    assert_int_equal(VALUE(MACHINE_cpu_idle_ms, 0), 4000 * tick);
    assert_int_equal(VALUE(MACHINE_cpu_iowait_ms, 0), 50 * tick);
    assert_int_equal(VALUE(MACHINE_cpu_steal_ms, 0), 800 * tick);
    assert_int_equal(VALUE(MACHINE_paged_in_kb, 0), UINT64_C(12345678901));
    assert_int_equal(VALUE(MACHINE_paged_out_kb, 0), 22);
    assert_int_equal(VALUE(MACHINE_swapped_in_pages, 0), 33);
    assert_int_equal(VALUE(MACHINE_swapped_out_pages, 0), 44);
}

static void
a_disk_is_what_its_file_says(void **state)
{
    const struct place *const place = *state;
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    begin(place->directory);
    plant_file(
        place->directory, "/sys/dev/block/7:3/stat",
        "      11       22      33      44       55       66      77      88        9       10      111  1 2 3 4 5 "
        "6\n");
    const unsigned count = sqt_sample_disk(&sampler, round, 0, 5, makedev(7, 3));
    assert_int_equal(count, 10);
    assert_int_equal(VALUE(DISK_device, 5), makedev(7, 3));
    assert_int_equal(VALUE(DISK_reads, 5), 11);
    assert_int_equal(VALUE(DISK_read_bytes, 5), 33 * 512);
    assert_int_equal(VALUE(DISK_read_ms, 5), 44);
    assert_int_equal(VALUE(DISK_writes, 5), 55);
    assert_int_equal(VALUE(DISK_written_bytes, 5), 77 * 512);
    assert_int_equal(VALUE(DISK_write_ms, 5), 88);
    assert_int_equal(VALUE(DISK_in_flight, 5), 9);
    assert_int_equal(VALUE(DISK_busy_ms, 5), 10);
    assert_int_equal(VALUE(DISK_queue_ms, 5), 111);
}

/* /proc/self/fd as kernels before 6.2 have it: the folder has no size, and one counts its entries.  Those of a thread
 * with a table of its own (from 5.9) do not include the one through which it counts; those of a shared table do. */
static void
descriptors_are_counted_where_the_kernel_does_not(void **state)
{
    const struct place *const place = *state;
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    char folder[300], link[320];
    begin(place->directory);
    plant_file(place->directory, "/proc/self/statm", "1 2 3\n");
    for (unsigned i = 100; i < 107; ++i) { /* none of ours: these stand for another table */
        char name[64];
        snprintf(name, sizeof(name), "/proc/self/fd/%u", i);
        plant_file(place->directory, name, "");
    }
    unsigned count = sqt_sample_process(&sampler, round, 0);
    assert_int_equal(VALUE(PROCESS_descriptors, 0), 7);

    /* The table has the number that the counting one has, too; then it is another file, and then the folder itself. */
    const int next = dup(0);
    close(next);
    char name[64];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", next);
    plant_file(place->directory, name, "");
    count = sqt_sample_process(&sampler, round, 0);
    assert_int_equal(VALUE(PROCESS_descriptors, 0), 8);
    snprintf(folder, sizeof(folder), "%s/proc/self/fd", place->directory);
    snprintf(link, sizeof(link), "%s/%d", folder, next);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(folder, link), 0);
    count = sqt_sample_process(&sampler, round, 0);
    assert_int_equal(VALUE(PROCESS_descriptors, 0), 7);
}

/* The same where the folder is /proc's: of one thread, the list of threads has one entry and no size. */
static void
entries_of_another_table_all_count(void **state)
{
    const struct place *const place = *state;
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    char link[320];
    begin(place->directory);
    plant_file(place->directory, "/proc/self/statm", "1 2 3\n");
    snprintf(link, sizeof(link), "%s/proc/self/fd", place->directory);
    assert_int_equal(symlink("/proc/self/task", link), 0);
    const unsigned count = sqt_sample_process(&sampler, round, 0);
    assert_int_equal(VALUE(PROCESS_descriptors, 0), 1);
}

static void
the_process_is_what_the_kernel_says(void **state)
{
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    struct rusage used;
    (void)state;
    begin("");
    const unsigned count = sqt_sample_process(&sampler, round, 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    const uint64_t cpu_us = VALUE(PROCESS_cpu_user_us, 0) + VALUE(PROCESS_cpu_system_us, 0);
    const uint64_t later_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                              (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    assert_true(cpu_us <= later_us && later_us - cpu_us < 100000);
    assert_in_range(VALUE(PROCESS_minor_faults, 0), 1, (uint64_t)used.ru_minflt);
    assert_int_equal(VALUE(PROCESS_major_faults, 0), used.ru_majflt);
    assert_in_range(VALUE(PROCESS_rss_bytes, 0), 100000, (uint64_t)used.ru_maxrss * 1024 + 1000000);
    const uint64_t before = VALUE(PROCESS_descriptors, 0);
    assert_true(before >= 3);
    const int more = dup(0);
    assert_true(more >= 0);
    struct sqt_sampled again[SQT_SAMPLER_ROUND];
    const unsigned again_count = sqt_sample_process(&sampler, again, 0);
    assert_int_equal(value_in(again, again_count, SQT_SAMPLE_PROCESS_descriptors, 0), before + 1);
    close(more);
}

static void
what_cannot_be_read_is_said_once(void **state)
{
    const struct place *const place = *state;
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    begin(place->directory);
    for (unsigned i = 0; i < 3; ++i) {
        const unsigned count = sqt_sample_process(&sampler, round, 0);
        assert_int_equal(count, 6); /* what needs no file */
        assert_int_equal(VALUE(PROCESS_rss_bytes, 0), UINT64_MAX);
        assert_int_equal(sqt_sample_machine(&sampler, round, 0), 0);
        assert_int_equal(sqt_sample_disk(&sampler, round, 0, 0, makedev(7, 3)), 0);
    }
    sqt_mailbox_empty(&mailbox, place_log);
    static const char *const files[] = {
        "/proc/self/fd:", "/proc/self/statm:", "/proc/stat:", "/proc/vmstat:", "/sys/dev/block/7:3/stat:"};
    for (unsigned i = 0; i < sizeof(files) / sizeof(*files); ++i) {
        const char *const said = strstr(place_said, files[i]);
        assert_non_null(said);
        assert_null(strstr(said + 1, files[i]));
    }
    plant_file(place->directory, "/proc/stat", "intr 5\n"); /* not what is expected */
    assert_int_equal(sqt_sample_machine(&sampler, round, 0), 0);
}

static void
a_cache_dir_has_the_device_of_its_file_system(void **state)
{
    const struct place *const place = *state;
    char name[32], path[400], link[600];
    struct stat st;
    begin(place->directory);
    assert_int_equal(stat(place->directory, &st), 0);
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
    snprintf(link, sizeof(link), "%s%s", place->directory, path);
    /* There is none: its type is told, from the line with its number. */
    char text[600];
    snprintf(text, sizeof(text), "21 1 0:1 / /a rw - proc proc rw\n25 1 %u:%u / /b rw shared:1 - strangefs nodev rw\n",
             major(st.st_dev), minor(st.st_dev));
    plant_file(place->directory, "/proc/self/mountinfo", text);
    assert_int_equal(sqt_device_of(&sampler, place->directory, name, sizeof(name)), 0);
    assert_string_equal(name, "strangefs");
    plant_file(place->directory, "/sys/dev/block/none", "");
    assert_int_equal(symlink("../../devices/virtual/block/loop7", link), 0);
    assert_int_equal(sqt_device_of(&sampler, place->directory, name, sizeof(name)), st.st_dev);
    assert_string_equal(name, "loop7");
    assert_int_equal(sqt_device_of(&sampler, "/nonexistent", name, sizeof(name)), 0);
    assert_string_equal(name, "No such file or directory");
}

static void
two_cache_dirs_on_one_disk_sample_it_once(void **state)
{
    const struct place *const place = *state;
    char link[600];
    struct stat st;
    begin(place->directory);
    assert_int_equal(stat(place->directory, &st), 0);
    plant_file(place->directory, "/sys/devices/block/vdz/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
    plant_file(place->directory, "/sys/dev/block/none", "");
    snprintf(link, sizeof(link), "%s/sys/dev/block/%u:%u", place->directory, major(st.st_dev), minor(st.st_dev));
    assert_int_equal(symlink("../../devices/block/vdz", link), 0);
    sqt_sampler_dir(&sampler, 0, place->directory);
    sqt_sampler_dir(&sampler, 2, place->directory);
    sqt_sampler_dir(&sampler, 3, "/proc/self");
    sqt_sampler_dir(&sampler, SQT_SAMPLER_DIRS, place->directory); /* more than there can be */
    for (unsigned i = 0; i < 2; ++i) {
        sampler.due_ns = 0;
        sampler.waiting_count = 0;
        sqt_sampler_look(&sampler, 1);
        const struct sqt_sampled *const round = sampler.waiting;
        const unsigned count = sampler.waiting_count;
        assert_int_equal(sampler.disk_count, 1);
        assert_string_equal(sampler.disks[0].name, "vdz");
        assert_int_equal(VALUE(DISK_reads, 0), 1);
        assert_int_equal(VALUE(DIR_device, 0), st.st_dev);
        assert_int_equal(VALUE(DIR_device, 2), st.st_dev);
        assert_int_equal(VALUE(DIR_device, 1), UINT64_MAX);
        assert_int_equal(VALUE(DIR_device, 3), 0);
    }
    sqt_mailbox_empty(&mailbox, place_log);
    const char *const said = strstr(place_said, "cache_dir 3, /proc/self, is on no block device");
    assert_non_null(said);
    assert_null(strstr(said + 1, "cache_dir"));
}

static void
a_round_a_second_and_none_when_off(void **state)
{
    (void)state;
    begin("");
    sqt_sampler_look(&sampler, 0);
    assert_int_equal(sampler.waiting_count, 0);
    sqt_sampler_look(&sampler, 1);
    const unsigned once = sampler.waiting_count;
    assert_true(once >= 8);
    sampler.due_ns += 60 * SQT_SAMPLE_PERIOD_NS;
    sqt_sampler_look(&sampler, 1);
    assert_int_equal(sampler.waiting_count, once);
    sampler.due_ns -= 61 * SQT_SAMPLE_PERIOD_NS;
    sqt_sampler_look(&sampler, 1);
    assert_int_equal(sampler.waiting_count, 2 * once);
    /* Nobody takes them: whole rounds are left out. */
    for (unsigned i = 0; i < SQT_SAMPLER_WAITING; ++i) {
        sampler.due_ns = 0;
        sqt_sampler_look(&sampler, 1);
    }
    assert_true(sampler.waiting_count % once == 0 && sampler.waiting_count + once > SQT_SAMPLER_WAITING);
}

/* ---- in a trace ---- */

static void
pause_ms(unsigned ms)
{
    const struct timespec time = {ms / 1000, (long)(ms % 1000 * MS)};
    nanosleep(&time, NULL);
}

static void
a_stalled_loop_tells_when_it_was_sampled(void **state)
{
    static const char *const words[] = {"events=sample", NULL};
    struct place *const place = *state;
    struct decoded d;
    assert_int_equal(place_start(place, words), 0);
    const uint32_t clock = sqt_clock;
    const uint64_t start = sqt_read_clock(clock), start_ns = sqt_monotonic_ns();
    pause_ms(500);
    const double rate = (double)(sqt_read_clock(clock) - start) / (double)(sqt_monotonic_ns() - start_ns);
    const uint64_t half = (uint64_t)(rate * 5e8); /* ticks of 0.5 s */
    sqt_poll();
    pause_ms(2700); /* the loop stands still */
    sqt_sample(SQT_SAMPLE_SQUID_disk_bytes, 0, 4711);
    sqt_poll();
    sqt_stop();
    decode(&d, place->directory, NULL);
    assert_non_null(strstr(d.text, "\tprocess cpu_user_us\n"));
    assert_non_null(strstr(d.text, "\tsquid disk_bytes\n"));
    assert_null(strstr(d.text, "\tmachine ")); /* this is kid 3 */
    unsigned rounds = 0, late = 0;
    uint64_t last = 0, cpu = 0;
    for (uint64_t i = 0; i < d.count; ++i) {
        const struct sqt_record *const r = &d.records[i];
        if (r->event != SQT_EV_SAMPLE)
            continue;
        assert_true(r->arg <= r->time);
        if (r->aux == SQT_SAMPLE_SQUID_disk_bytes) {
            assert_int_equal(r->id, 4711);
            continue;
        }
        if (r->aux != SQT_SAMPLE_PROCESS_cpu_user_us)
            continue;
        ++rounds;
        assert_true(r->id >= cpu);
        if (last) /* about a second apart, whenever they were told; the machine may be busy */
            assert_in_range(r->arg - last, half, half * 4);
        late += r->time - r->arg > half;
        last = r->arg;
        cpu = r->id;
    }
    assert_in_range(rounds, 3, 8);
    assert_true(late >= 2);
    decode_free(&d);
}

static void
without_the_group_there_are_no_samples(void **state)
{
    static const char *const words[] = {"events=client", NULL};
    struct place *const place = *state;
    struct decoded d;
    struct sqt_config config;
    assert_int_equal(place_start(place, words), 0);
    pause_ms(300);
    sqt_poll();
    place_config(place, (const char *const[]){"events=client,sample", NULL}, &config);
    const uint64_t on = sqt_read_clock(sqt_clock);
    sqt_reconfigure(&config, &place_process, place_log);
    struct sqt_status before, status;
    sqt_get_status(&before);
    for (unsigned i = 0; i < 200; ++i) {
        pause_ms(100);
        sqt_poll();
        sqt_get_status(&status);
        if (status.emitted >= before.emitted + 8)
            break;
    }
    sqt_stop();
    decode(&d, place->directory, NULL);
    unsigned count = 0;
    for (uint64_t i = 0; i < d.count; ++i)
        if (d.records[i].event == SQT_EV_SAMPLE) {
            assert_true(d.records[i].arg >= on);
            ++count;
        }
    assert_true(count >= 8);
    decode_free(&d);
}

/* ---- listening ports ---- */

static int
listening(struct sockaddr_in *address, int limit)
{
    socklen_t size = sizeof(*address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)address, size), 0);
    assert_int_equal(listen(fd, limit), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

/* The last value that was told of that port. */
static uint64_t
last_of(const struct decoded *d, enum sqt_sample_value what, uint32_t listener)
{
    uint64_t value = UINT64_MAX;
    for (uint64_t i = 0; i < d->count; ++i)
        if (d->records[i].event == SQT_EV_SAMPLE && d->records[i].aux == sqt_sample_number(what, listener))
            value = d->records[i].id;
    return value;
}

static void
a_port_is_what_the_kernel_says(void **state)
{
    static const char *const words[] = {"events=sample", NULL};
    struct place *const place = *state;
    struct sockaddr_in address;
    struct decoded d;
    int clients[9];
    assert_int_equal(place_start(place, words), 0);
    const int fd = listening(&address, 3);
    const uint32_t listener = sqt_listener("http_port 1"), other = sqt_listener("http_port 2");
    assert_int_not_equal(listener, other);
    assert_int_equal(sqt_listener("http_port 1"), listener);
    sqt_sample_listener(other, fd); /* before anybody came */
    const uint64_t came = sqt_monotonic_ns();
    for (unsigned i = 0; i < 9; ++i) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(clients[i], (struct sockaddr *)&address, sizeof(address));
    }
    pause_ms(200);
    const uint64_t writes = sqt_monotonic_ns();
    assert_int_equal(write(clients[0], "GET", 3), 3);
    pause_ms(300);
    const uint64_t sampled = sqt_monotonic_ns();
    sqt_sample_late(listener, fd);
    const int first = accept(fd, NULL, NULL), second = accept(fd, NULL, NULL);
    const uint64_t waited = sqt_accept_wait(first), all = sqt_accept_wait(second), now = sqt_monotonic_ns();
    assert_in_range(waited, 290, (now - writes) / 1000000 + 20); /* since its bytes came */
    assert_in_range(all, 490, (now - came) / 1000000 + 20);      /* it sent none */
    assert_int_equal(sqt_accept_wait(-1), UINT64_MAX);
    if (sqt_monotonic_ns() - sampled < 50000000)
        sqt_sample_late(listener, fd); /* too early for another one */
    sqt_sample_listener(listener, -1); /* not open */
    sqt_sample_listener(listener, first);
    sqt_stop();
    decode(&d, place->directory, NULL);
    assert_non_null(strstr(d.text, "\tlistener 1 backlog\n"));
    assert_int_equal(last_of(&d, SQT_SAMPLE_LISTENER_backlog, other), 0);
    assert_int_equal(last_of(&d, SQT_SAMPLE_LISTENER_drops, other), 0);
    assert_int_equal(last_of(&d, SQT_SAMPLE_LISTENER_backlog_limit, other), 3);
    assert_int_equal(last_of(&d, SQT_SAMPLE_LISTENER_backlog, listener), 4); /* the kernel takes one more */
    assert_in_range(last_of(&d, SQT_SAMPLE_LISTENER_drops, listener), 5, 20);
    decode_free(&d);
    for (unsigned i = 0; i < 9; ++i)
        close(clients[i]);
    close(first);
    close(second);
    close(fd);
}

static void
ports_have_bounds(void **state)
{
    char text[32];
    uint32_t last = 0;
    (void)state;
    for (unsigned i = 0; i < SQT_LISTENERS + 10; ++i) {
        snprintf(text, sizeof(text), "https_port %u", 1000 + i);
        last = sqt_listener(text);
        assert_true(last <= SQT_LISTENERS);
    }
    assert_int_equal(last, 0); /* others */
    assert_int_not_equal(sqt_listener("https_port 1000"), 0);
}

/* What the kernel dropped is found by its name, wherever it stands. */
static void
drops_of_the_machine(void **state)
{
    const struct place *const place = *state;
    struct sqt_sampled round[SQT_SAMPLER_ROUND];
    begin(place->directory);
    plant_file(place->directory, "/proc/stat", "cpu  1 1 1 1 1 1 1 1 1 1\n");
    plant_file(place->directory, "/proc/vmstat", "pgpgin 1\n");
    plant_file(
        place->directory, "/proc/self/net/netstat",
        "TcpExt: SyncookiesSent XListenDrops ListenOverflows ListenDrops ListenDropsX\nTcpExt: 1 2 33 44 5\nIpExt: "
        "A\nIpExt: 1\n");
    unsigned count = sqt_sample_machine(&sampler, round, 0);
    assert_int_equal(VALUE(MACHINE_listen_overflows, 0), 33);
    assert_int_equal(VALUE(MACHINE_listen_drops, 0), 44);
    plant_file(place->directory, "/proc/self/net/netstat", "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 1\n");
    count = sqt_sample_machine(&sampler, round, 0);
    assert_int_equal(VALUE(MACHINE_listen_overflows, 0), UINT64_MAX);
    assert_int_equal(VALUE(MACHINE_listen_drops, 0), UINT64_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_machine_is_what_its_files_say),
        PLACE_TEST(a_disk_is_what_its_file_says),
        PLACE_TEST(descriptors_are_counted_where_the_kernel_does_not),
        PLACE_TEST(entries_of_another_table_all_count),
        cmocka_unit_test(the_process_is_what_the_kernel_says),
        PLACE_TEST(what_cannot_be_read_is_said_once),
        PLACE_TEST(a_cache_dir_has_the_device_of_its_file_system),
        PLACE_TEST(two_cache_dirs_on_one_disk_sample_it_once),
        cmocka_unit_test(a_round_a_second_and_none_when_off),
        PLACE_TEST(a_stalled_loop_tells_when_it_was_sampled),
        PLACE_TEST(without_the_group_there_are_no_samples),
        PLACE_TEST(a_port_is_what_the_kernel_says),
        cmocka_unit_test(ports_have_bounds),
        PLACE_TEST(drops_of_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
