/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_watch.c - samples of the main thread: what is read, from planted files, and what they are told to be of.
 */
#define _GNU_SOURCE
#include "trace_support.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"
#include "trace/ring/define-internal.h"
#include "trace/ring/emit-internal.h"
#include "trace/watch/watch-internal.h"

#define CAPACITY 8192u
#define TEXT_SIZE 262144u
#define MS UINT64_C(1000000)

static struct sqt_ring_header *ring;
static struct sqt_watch watch;
static struct sqt_heartbeat heart;
static const char *root;

static void
plant_of_main(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)gettid(), name);
    plant_file(root, path, text);
}

static void
begin(const struct place *place)
{
    root = place->directory;
    ring = ring_in_memory(CAPACITY, TEXT_SIZE, SQT_CLOCK_MONOTONIC);
    sqt_groups = SQT_GROUP_LOOP;
    sqt_names = SQT_NAMES_CONFIGURED;
    assert_int_equal(sqt_define_begin(ring), 0);
    memset(&heart, 0, sizeof(heart));
    plant_of_main("schedstat", "100 1000000 5\n");
    plant_file(root, "/proc/thread-self/schedstat", "100 2000000 5\n");
    plant_of_main("syscall", "running\n");
    plant_file(root, "/proc/self/cgroup", "");
    sqt_watch_init(&watch, root, SQT_CLOCK_MONOTONIC);
    sqt_watch_use(&watch);
}

static void
end(void)
{
    sqt_watch_use(NULL);
    sqt_watch_close(&watch);
    sqt_groups = 0;
    sqt_define_end();
    ring_in_memory_end(ring);
}

static void
look_after(useconds_t us, const struct sqt_watch_pass *pass)
{
    usleep(us);
    sqt_watch_look(&watch, 1, pass, &heart);
}

/* In a pass that began long ago, or in a wait. */
static void
look(int waits)
{
    const struct sqt_watch_pass pass = {!waits, sqt_monotonic_ns() - 500 * MS};
    look_after(6000, &pass);
}

/* The main thread, which is this one, takes processor time. */
static void
compute(uint64_t ns)
{
    const uint64_t from = sqt_watch_ran(&watch);
    while (sqt_watch_ran(&watch) - from < ns)
        ;
}

static pthread_t resting;
static pthread_mutex_t rests = PTHREAD_MUTEX_INITIALIZER;

static void *
rest(void *unused)
{
    (void)unused;
    struct timespec ran = {0, 0};
    while (ran.tv_sec == 0 && (uint64_t)ran.tv_nsec < 2 * SQT_WATCH_BUSY_NS)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    pthread_mutex_lock(&rests);
    pthread_mutex_unlock(&rests);
    return NULL;
}

/* What is watched has no processor from now on: its clock is that of a thread that has run, and rests. */
static void
begin_rest(void)
{
    pthread_mutex_lock(&rests);
    assert_int_equal(pthread_create(&resting, NULL, rest, NULL), 0);
    assert_int_equal(pthread_getcpuclockid(resting, &watch.main_clock), 0);
    while (sqt_watch_ran(&watch) < 2 * SQT_WATCH_BUSY_NS)
        usleep(1000);
    usleep(10000);
}

static void
end_rest(void)
{
    pthread_mutex_unlock(&rests);
    assert_int_equal(pthread_join(resting, NULL), 0);
}

/* The record number i of those in the ring. */
static const struct sqt_record *
at(uint64_t i)
{
    assert_true(i < ring->writer.head);
    return &sqt_ring_records(ring)[i];
}

static int
is_defined(const char *text)
{
    return memmem(sqt_ring_text_area(ring), ring->writer.text_used, text, strlen(text)) != NULL;
}

static void
a_sample_is_what_grew(void **state)
{
    begin(*state);
    look(0);
    assert_int_equal(watch.count, 0); /* the first one has nothing before it */
    plant_of_main("schedstat", "100 4000000 5\n");
    plant_of_main("syscall", "0 0x5 0x0\n");
    look(0);
    assert_int_equal(watch.count, 1);
    assert_true(sqt_sample_waits);
    sqt_watch_tell("a call");
    assert_false(sqt_sample_waits);
    assert_int_equal(ring->writer.head, 3);
    assert_int_equal(at(0)->event, SQT_EV_LOOP_SAMPLE);
    assert_true(at(0)->arg - at(0)->id >= 6 * MS);
    assert_in_range(at(1)->aux >> SQT_LOOP_FLAG_BITS, 3000,
                    (at(0)->arg - at(0)->id) / 1000); /* us: but for computing */
    assert_int_equal(at(1)->event, SQT_EV_PART_LOOP_RAN);
    assert_int_equal(at(1)->arg, 3 * MS);
    assert_int_equal(at(1)->aux & 255, SQT_LOOP_THROTTLING_UNKNOWN);
    assert_int_equal(at(2)->event, SQT_EV_PART_LOOP_HELD);
    assert_int_equal(at(2)->aux, SQT_LOOP_CALLS + SYS_read + 1);
    assert_true(is_defined("\ta call\n"));
    assert_true(is_defined("\tread\n"));
    end();
}

static void
what_cannot_be_read_is_not_known(void **state)
{
    begin(*state);
    begin_rest();
    plant_of_main("schedstat", "");
    look(0);
    look(0);
    end_rest();
    sqt_watch_tell("a call");
    assert_int_equal(at(1)->aux & 255, SQT_LOOP_THROTTLING_UNKNOWN | SQT_LOOP_QUEUE_UNKNOWN | SQT_LOOP_RUNNABLE);
    end();
}

static void
look_often(int on)
{
    const struct sqt_watch_pass pass = {1, sqt_monotonic_ns() - 500 * MS};
    for (unsigned i = 0; i < 100; ++i)
        sqt_watch_look(&watch, on, &pass, &heart);
}

/* The lowest descriptor that is free. */
static int
free_descriptor(void)
{
    const int fd = dup(2);
    close(fd);
    return fd;
}

/* A kernel may have no schedstat: then it is not opened again at each look, nor anything else. */
static void
a_missing_file_costs_no_descriptors(void **state)
{
    static const char *const missing[] = {"schedstat", "syscall"};
    for (unsigned i = 0; i < 2; ++i) {
        char path[PATH_MAX];
        begin(*state);
        snprintf(path, sizeof(path), "%s/proc/self/task/%d/%s", root, (int)gettid(), missing[i]);
        assert_int_equal(unlink(path), 0);
        look(0);
        const int before = free_descriptor();
        look_often(1);
        look_often(0);
        look_often(1); /* as after another sqtrace_log */
        assert_int_equal(free_descriptor(), before);
        end();
    }
}

/* Once a second, with what grew meanwhile. */
static void
an_idle_thread_is_told_once_a_second(void **state)
{
    begin(*state);
    look(1);
    for (unsigned i = 0; i < 3; ++i)
        look(1);
    assert_int_equal(watch.count, 0);
    watch.before_ns -= SQT_WATCH_IDLE_NS;
    look(1);
    assert_int_equal(watch.count, 1);
    assert_int_equal(watch.waiting[0].since_ns, 0);
    assert_true(watch.waiting[0].flags & SQT_LOOP_IN_WAIT);
    assert_true(watch.waiting[0].at - watch.waiting[0].from >= 24 * MS);
    end();
}

/* Each 10 ms of processor time are of one sample, whatever the clock says. */
static void
computing_is_sampled_by_processor_time(void **state)
{
    begin(*state);
    look_after(0, &(struct sqt_watch_pass){1, sqt_monotonic_ns()});
    compute(4 * MS);
    look_after(0, &(struct sqt_watch_pass){1, sqt_monotonic_ns()});
    assert_int_equal(watch.count, 0);
    look_after(1000, &(struct sqt_watch_pass){0, 0});
    compute(6 * MS);
    look_after(0, &(struct sqt_watch_pass){1, sqt_monotonic_ns()});
    assert_int_equal(watch.count, 1);
    assert_true(watch.waiting[0].flags & SQT_LOOP_BY_PROCESSOR);
    assert_int_equal(watch.waiting[0].call, 0);
    assert_in_range(watch.waiting[0].since_ns, 9 * MS, 20 * MS);
    end();
}

/* A thread that works in short passes and is runnable runs, as far as is known; in a long one it has no processor. */
static void
a_thread_without_a_processor(void **state)
{
    begin(*state);
    begin_rest();
    look_after(0, &(struct sqt_watch_pass){1, sqt_monotonic_ns()});
    look_after(6000, &(struct sqt_watch_pass){1, sqt_monotonic_ns()});
    assert_int_equal(watch.count, 0);
    look(0);
    assert_int_equal(watch.count, 1);
    assert_true(watch.waiting[0].flags & SQT_LOOP_RUNNABLE);
    assert_int_equal(watch.waiting[0].call, 0);
    end_rest();
    end();
}

/* It runs while it is looked at: it did not wait for a processor until now, but was blocked in a call that is over. */
static void
a_thread_that_was_blocked_and_runs_again(void **state)
{
    begin(*state);
    look(0);
    look(0);
    assert_int_equal(watch.count, 1);
    assert_false(watch.waiting[0].flags & SQT_LOOP_RUNNABLE);
    end();
}

/* It computed, and has waited since: the kernel has not told yet. */
static void
a_thread_that_computed_and_lost_its_processor(void **state)
{
    begin(*state);
    begin_rest();
    look(0);
    watch.sampled_ran -= SQT_WATCH_BUSY_NS;
    watch.looked_ran -= SQT_WATCH_BUSY_NS;
    usleep(12000);
    look(0);
    assert_int_equal(watch.count, 1);
    assert_int_equal(watch.waiting[0].flags, SQT_LOOP_BY_PROCESSOR | SQT_LOOP_RUNNABLE | SQT_LOOP_THROTTLING_UNKNOWN);
    end_rest();
    end();
}

/* ---- when the flusher looks ---- */

static void
the_sleep_is_as_long_as_nothing_can_be_missed(void **state)
{
    struct sqt_nap nap = {0};
    begin(*state);
    const struct sqt_watch_pass waits = {0, 0}, young = {1, sqt_monotonic_ns()},
                                old = {1, sqt_monotonic_ns() - 50 * MS};
    assert_int_equal(sqt_watch_pace(&watch, &waits, 25 * MS), 25 * MS);
    watch.busy = 1; /* without timers */
    assert_int_equal(sqt_watch_pace(&watch, &waits, 25 * MS), SQT_WATCH_BUSY_NS);
    sqt_watch_ask(&watch, 1);
    assert_false(sqt_watch_is_asked());
    nap.has_timers = 1;
    watch.nap = &nap;
    assert_int_equal(sqt_watch_pace(&watch, &waits, 400 * MS), 400 * MS);
    assert_in_range(sqt_watch_pace(&watch, &young, 400 * MS), 1, SQT_WATCH_PASS_NS);
    assert_int_equal(sqt_watch_pace(&watch, &old, 400 * MS), SQT_WATCH_BUSY_NS);
    sqt_watch_ask(&watch, 1);
    assert_true(sqt_watch_is_asked());
    sqt_watch_ask(&watch, 0);
    assert_false(sqt_watch_is_asked());
    end();
}

/* The first pass that serves descriptors sets the timer, and those after it do not set it again. */
static void
a_pass_sets_the_timer_if_asked(void **state)
{
    struct sqt_beat armed;
    struct sqt_nap nap;
    begin(*state);
    sqt_nap_open(&nap, watch.main_clock, 1, 1000000 * MS);
    assert_true(nap.has_timers);
    watch.nap = &nap;
    assert_false(sqt_watch_armed(&watch, &armed));
    sqt_watch_ask(&watch, 1);
    sqt_loop_works(0);
    assert_true(sqt_watch_is_asked());
    const uint64_t before = sqt_monotonic_ns();
    sqt_loop_works(1);
    assert_false(sqt_watch_is_asked());
    assert_true(sqt_watch_armed(&watch, &armed));
    assert_in_range(armed.ticks, before, sqt_monotonic_ns());
    sqt_nap_lie_down(&nap, SQT_NAP_FOR_WORK);
    sqt_nap_sleep(&nap, sqt_monotonic_ns() + 10000 * MS);
    assert_in_range(sqt_monotonic_ns(), armed.ns + SQT_WATCH_PASS_NS, armed.ns + 5000 * MS);
    sqt_nap_close(&nap);
    sqt_loop_waits(0);
    end();
}

/* The time that a sleep of 10 s takes, if it is ended before it begins. */
static uint64_t
short_sleep(struct sqt_nap *nap, void (*end_it)(struct sqt_nap *))
{
    const uint64_t from = sqt_monotonic_ns();
    sqt_nap_lie_down(nap, SQT_NAP_FOR_WORK);
    end_it(nap);
    assert_int_equal(nap->state, SQT_NAP_AWAKE);
    sqt_nap_sleep(nap, from + 10000 * MS);
    return sqt_monotonic_ns() - from;
}

/* Other processes of the user may have used up all signals that the kernel queues. */
static void
a_signal_that_the_kernel_does_not_queue(void **state)
{
    struct sqt_nap nap = {0};
    struct rlimit limit, none = {0, 0};
    begin(*state);
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &limit), 0);
    none.rlim_max = limit.rlim_max;
    sqt_nap_open(&nap, watch.main_clock, 1, 1000000 * MS);
    assert_true(nap.has_timers);
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &none), 0);
    assert_true(short_sleep(&nap, sqt_nap_work) < 5000 * MS);
    assert_true(short_sleep(&nap, sqt_nap_order) < 5000 * MS);
    sqt_nap_close(&nap);
    sqt_nap_open(&nap, watch.main_clock, 1, 1000000 * MS);
    assert_false(nap.has_timers); /* then sqt_flusher looks by the clock */
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
    end();
}

/* Being late without having waited for a processor. */
static void
a_stop(void **state)
{
    begin(*state);
    look(1);
    heart.due_ns = 100 * MS;
    heart.woke.ns = 180 * MS;
    plant_file(root, "/proc/thread-self/schedstat", "100 3000000 5\n");
    look(1);
    assert_int_equal(watch.waiting[0].amount.self, 79 * MS);
    plant_file(root, "/proc/thread-self/schedstat", "100 70000000 5\n");
    look(1);
    assert_int_equal(watch.waiting[1].amount.self, 0);
    end();
}

static void
control_groups(void **state)
{
    uint64_t ns = 0;
    begin(*state);
    assert_false(sqt_watch_throttled(&watch, &ns));
    plant_file(root, "/proc/self/cgroup", "0::/a/b\n");
    plant_file(root, "/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 7000\n");
    plant_file(root, "/sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nthrottled_usec 500\n");
    assert_true(sqt_watch_throttled(&watch, &ns));
    assert_int_equal(ns, 7500000);
    plant_file(root, "/proc/self/cgroup", "3:cpuset:/x\n1:cpu,cpuacct:/x\n0::/none\n");
    plant_file(root, "/sys/fs/cgroup/cpu,cpuacct/x/cpu.stat", "nr_periods 1\nthrottled_time 1234\n");
    assert_true(sqt_watch_throttled(&watch, &ns));
    assert_int_equal(ns, 1234);
    plant_file(root, "/proc/self/cgroup", "1:cpu:/that/only/the/host/knows\n");
    plant_file(root, "/sys/fs/cgroup/cpu/cpu.stat", "throttled_time 99\n");
    assert_true(sqt_watch_throttled(&watch, &ns));
    assert_int_equal(ns, 99);
    end();
}

/* ---- what it was ---- */

static void
parts_of_an_activity(void **state)
{
    begin(*state);
    look(0);
    look(0);
    sqt_part_begins(); /* before the ACL */
    look(0);
    sqt_part_was_acl("bad_sites", 9);
    look(0);
    sqt_part_begins();
    look(0);
    sqt_part_was_disk_call(SQT_DISK_WRITE, 3);
    look(0);
    sqt_part_begins();
    look(0);
    sqt_part_was("write to a log");
    look(0);
    sqt_watch_tell("a call");
    const uint32_t call = at(0)->aux;
    unsigned acls = 0, disks = 0, logs = 0, plain = 0;
    for (uint64_t i = 0; i < ring->writer.head; i += 1 + (at(i)->flags & SQT_FLAG_MORE)) {
        const struct sqt_record *const last = at(i + (at(i)->flags & SQT_FLAG_MORE));
        const int in = last->event == SQT_EV_PART_LOOP_IN;
        acls += in && last->id && last->aux == UINT32_MAX && !last->arg;
        disks += in && !last->id && last->arg == SQT_DISK_WRITE && last->aux == 3;
        logs += at(i)->aux != call;
        plain += !in && at(i)->aux == call;
    }
    assert_int_equal(acls, 1);
    assert_int_equal(disks, 1);
    assert_int_equal(logs, 1);
    assert_int_equal(plain, 4);
    assert_true(is_defined("\tbad_sites\n"));
    assert_true(is_defined("\twrite to a log\n"));
    end();
}

static void
a_sample_is_placed_once(void **state)
{
    begin(*state);
    look(0);
    assert_false(sqt_has_sample());
    look(0);
    assert_true(sqt_has_new_sample());
    sqt_part_was_acl("bad_sites", 9);
    assert_true(sqt_has_sample());
    assert_false(sqt_has_new_sample()); /* the ACLs that follow cost no more than a test */
    look(0);
    assert_true(sqt_has_new_sample());
    sqt_watch_tell("a call");
    assert_false(sqt_has_sample());
    end();
}

static void
names_off(void **state)
{
    begin(*state);
    sqt_names = SQT_NAMES_OFF;
    look(0);
    look(0);
    sqt_part_was_acl("bad_sites", 9);
    sqt_watch_tell("a call");
    assert_int_equal(ring->writer.head, 2);
    assert_false(is_defined("bad_sites"));
    end();
}

static void
a_long_standstill_loses_no_time(void **state)
{
    begin(*state);
    look(0);
    for (unsigned i = 0; i < SQT_WATCH_WAITING + 10; ++i) {
        watch.looked_ns -= SQT_WATCH_BUSY_NS; /* as if that long ago */
        sqt_watch_look(&watch, 1, &(struct sqt_watch_pass){1, 1}, &heart);
    }
    assert_int_equal(watch.count, SQT_WATCH_WAITING);
    assert_int_equal(watch.waiting[SQT_WATCH_WAITING - 1].at, watch.before_ticks);
    end();
}

static void
nothing_is_told_where_nothing_is_traced(void **state)
{
    begin(*state);
    look(0);
    look(0);
    sqt_groups = 0; /* as in a forked child */
    sqt_part_begins();
    sqt_watch_tell("a call");
    assert_int_equal(ring->writer.head, 0);
    end();
}

static void
many_acls(void **state)
{
    char name[16];
    begin(*state);
    for (unsigned i = 0; i < 2 * SQT_ACLS; ++i) {
        snprintf(name, sizeof(name), "acl%u", i);
        assert_true(sqt_define_acl(name, strlen(name)) > 0);
    }
    assert_int_equal(sqt_define_acl("acl1999", 7), 1);
    assert_true(is_defined("\tother\n"));
    end();
}

/* Squid names lists of ACLs after the line of squid.conf, in which a password may stand. */
static void
what_a_directive_sets_is_not_told(void **state)
{
    static const char *const names[][2] = {
        {"bad_sites", "bad_sites"},
        {"http_access#12", "http_access#12"},
        {"cache_peer_access pluto#1", "cache_peer_access pluto#1"},
        {"(bad_sites lines)", "(bad_sites lines)"},
        {"(bad_sites line #2)", "(bad_sites line #2)"},
        {"(http_access rules)", "(http_access rules)"},
        {"(ssl_bump rule)", "(ssl_bump rule)"},
        {"request_header_add Authorization:Basic HUSH", "request_header_add"},
        {"(request_header_add Authorization:Basic HUSH line)", "(request_header_add)"},
        {"(reply_header_add X:HUSH lin", "(reply_header_add)"},
        {"(note a=HUSH lines)", "(note)"},
        {"note line #1 HUSH", "note"},
        {"(note line #1 HUSH line)", "(note)"},
        {"(note line # line)", "(note)"},
        {"access_log stdio:/HUSH", "access_log"},
        {"_access HUSH", "_access"},
        {"( HUSH line)", "()"},
        {"", ""},
    };
    begin(*state);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        char line[96];
        assert_true(sqt_define_acl(names[i][0], strlen(names[i][0])) > 0);
        snprintf(line, sizeof(line), "\t%s\n", names[i][1]);
        if (!is_defined(line))
            fail_msg("'%s' is not told as '%s'", names[i][0], names[i][1]);
    }
    assert_false(is_defined("HUSH"));
    /* Nor does its number say anything of it. */
    assert_int_equal(sqt_define_acl("note a=HUSH", 11), sqt_define_acl("note b", 6));
    end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_sample_is_what_grew),
        PLACE_TEST(what_cannot_be_read_is_not_known),
        PLACE_TEST(a_missing_file_costs_no_descriptors),
        PLACE_TEST(an_idle_thread_is_told_once_a_second),
        PLACE_TEST(computing_is_sampled_by_processor_time),
        PLACE_TEST(a_thread_without_a_processor),
        PLACE_TEST(a_thread_that_was_blocked_and_runs_again),
        PLACE_TEST(a_thread_that_computed_and_lost_its_processor),
        PLACE_TEST(the_sleep_is_as_long_as_nothing_can_be_missed),
        PLACE_TEST(a_pass_sets_the_timer_if_asked),
        PLACE_TEST(a_signal_that_the_kernel_does_not_queue),
        PLACE_TEST(a_stop),
        PLACE_TEST(control_groups),
        PLACE_TEST(parts_of_an_activity),
        PLACE_TEST(a_sample_is_placed_once),
        PLACE_TEST(names_off),
        PLACE_TEST(a_long_standstill_loses_no_time),
        PLACE_TEST(nothing_is_told_where_nothing_is_traced),
        PLACE_TEST(many_acls),
        PLACE_TEST(what_a_directive_sets_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
