/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach_writer.c - the end of a trace of sqtrace-attach, and one whose disk is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/writer.h"
#include "format/events.h"
#include "trace_support.h"

#define ROOM 65536 /* bytes of a file */
#define MOST 2000000

struct fixture {
    struct sqt_attach_writer writer;
    char folder[64];
    int directory;
};

static int
setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof(*f));
    const struct rlimit room = {ROOM, RLIM_INFINITY};
    const struct sqt_attach_process whose = {.pid = 1, .service = "squid", .squid_version = "7.7", .build_id = "ab"};
    struct sqt_error error;
    snprintf(f->folder, sizeof(f->folder), "/tmp/attach_writer-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->directory = open(f->folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(sqt_attach_writer_open(&f->writer, f->directory, &whose, &error), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *const f = *state;
    char command[128];
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    snprintf(command, sizeof(command), "rm -r %s", f->folder);
    assert_int_equal(system(command), 0);
    close(f->directory);
    free(f);
    return 0;
}

/* Adds records, which do not compress well, until one of them cannot be written. */
static void
fill(struct sqt_attach_writer *w)
{
    uint64_t seed = UINT64_C(88172645463325252);
    for (unsigned n = 0; n < MOST && !w->failed; ++n) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        const struct sqt_record record = {.time = n, .id = seed, .arg = seed << 7, .event = SQT_EV_CLIENT_READ};
        sqt_attach_writer_add(w, &record, 1);
    }
    assert_int_equal(w->failed, EFBIG);
}

/* A write that failed while records were added is heard of at the next flush, and once. */
static void
test_flush_tells(void **state)
{
    struct fixture *const f = *state;
    fill(&f->writer);
    errno = 0;
    assert_int_equal(sqt_attach_writer_flush(&f->writer), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(sqt_attach_writer_flush(&f->writer), 0);
    assert_int_equal(sqt_attach_writer_close(&f->writer, 1), 0);
}

/* Or at the end. */
static void
test_close_tells(void **state)
{
    struct fixture *const f = *state;
    fill(&f->writer);
    assert_int_equal(sqt_attach_writer_close(&f->writer, 1), -1);
    assert_int_equal(errno, EFBIG);
}

/* The last record says whether the process has ended, too. */
static void
ends(struct fixture *f, int goes_on)
{
    struct decoded d;
    assert_int_equal(sqt_attach_writer_close(&f->writer, goes_on), 0);
    decode(&d, f->folder, NULL);
    assert_true(d.count > 0);
    assert_int_equal(d.records[d.count - 1].event, SQT_EV_STOP);
    assert_int_equal(d.records[d.count - 1].aux, goes_on);
    decode_free(&d);
}

static void
test_process_goes_on(void **state)
{
    ends(*state, 1);
}

static void
test_process_ended(void **state)
{
    ends(*state, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_flush_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(test_close_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(test_process_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_process_ended, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
