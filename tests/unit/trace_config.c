/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_config.c - the words of the sqtrace_log directive, and what bad ones get.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/compress.h"
#include "trace/config/config-internal.h"

#define MB (UINT64_C(1) << 20)

/* Takes words up to a NULL; returns the result of the last. */
static int
take(struct sqt_config *config, char error[512], const char *const *words)
{
    int result = 0;
    sqt_config_init(config);
    error[0] = '\0';
    for (; *words && result == 0; ++words)
        result = sqt_config_word(config, *words, error, 512);
    if (result == 0)
        result = sqt_config_check(config, error, 512);
    return result;
}

static void
the_directory_is_enough(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512];
    const char *const words[] = {"/var/log/squid/trace", NULL};
    assert_int_equal(take(&config, error, words), 0);
    assert_string_equal(config.directory, "/var/log/squid/trace");
    assert_int_equal(config.groups, SQT_GROUP_DEFAULT);
    assert_false(config.groups & SQT_GROUP_SYSCALL);
    assert_int_equal(config.compression, sqt_compression_default());
    assert_string_equal(sqt_config_ringdir(&config), "/dev/shm");
    assert_int_equal(sqt_config_ring(&config, SQT_KID_SINGLE), 32 * MB);
    assert_int_equal(sqt_config_ring(&config, SQT_KID_WORKER), 32 * MB);
    assert_int_equal(sqt_config_ring(&config, SQT_KID_DISKER), 1 * MB);
    assert_int_equal(sqt_config_ring(&config, SQT_KID_COORDINATOR), 1 * MB);
    assert_int_equal(sqt_config_segment(&config), 1024 * MB);
}

static void
all_parameters_are_taken(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512];
    const char *const words[] = {"/t",
                                 "ring=8MB",
                                 "ringdir=/run/shm",
                                 "events=client,store",
                                 "compress=off",
                                 "segment=100mb",
                                 "keep=2GB",
                                 "total=30GB",
                                 "reserve=off",
                                 "age=14d",
                                 "every=90min",
                                 "names=off",
                                 "host=cache-7.example.net",
                                 "trace_context=on",
                                 "note=site,user-group.2",
                                 "mode=recorder",
                                 NULL};
    assert_int_equal(take(&config, error, words), 0);
    assert_int_equal(config.ring, 8 * MB);
    assert_string_equal(config.ringdir, "/run/shm");
    assert_int_equal(config.groups, SQT_GROUP_TRACE | SQT_GROUP_CLIENT | SQT_GROUP_STORE);
    assert_int_equal(config.compression, SQT_COMPRESSION_OFF);
    assert_int_equal(config.segment, 100 * MB);
    assert_int_equal(config.keep, 2048 * MB);
    assert_int_equal(config.total, 30 * 1024 * MB);
    assert_true(config.reserve == SQT_NO_LIMIT);
    assert_int_equal(config.age_ns, 14 * 86400 * UINT64_C(1000000000));
    assert_int_equal(config.every_ns, 5400 * UINT64_C(1000000000));
    assert_int_equal(config.names, SQT_NAMES_OFF);
    assert_string_equal(config.host, "cache-7.example.net");
    assert_int_equal(config.trace_context, 1);
    assert_string_equal(config.notes[0], "site");
    assert_string_equal(config.notes[1], "user-group.2");
    assert_string_equal(config.notes[2], "");
    assert_int_equal(config.recorder, 1);
}

static void
each_compression_has_a_name(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512];
    const char *const defaults[] = {"/t", "compress=on", NULL}, *const zlib[] = {"/t", "compress=zlib", NULL},
                      *const zstd[] = {"/t", "compress=zstd", NULL};
    assert_int_equal(take(&config, error, defaults), 0);
    assert_int_equal(config.compression, sqt_compression_default());
    assert_int_equal(take(&config, error, zlib), 0);
    assert_int_equal(config.compression, SQT_COMPRESSION_ZLIB);
    if (sqt_compression_is_known(SQT_COMPRESSION_ZSTD)) {
        assert_int_equal(take(&config, error, zstd), 0);
        assert_int_equal(config.compression, SQT_COMPRESSION_ZSTD);
        assert_int_equal(sqt_compression_default(), SQT_COMPRESSION_ZSTD);
    } else {
        assert_int_equal(take(&config, error, zstd), -1);
        assert_non_null(strstr(error, "zlib and off (this libsqtrace was built without zstd)"));
    }
}

static void
sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        uint64_t bytes;
    } sizes[] = {
        {"segment=65536", 65536}, {"segment=65536bytes", 65536}, {"segment=70000B", 70000},  {"segment=64KB", 65536},
        {"segment=64k", 65536},   {"segment=2m", 2 * MB},        {"segment=3Gb", 3072 * MB}, {"segment=1TB", MB * MB},
    };
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        struct sqt_config config;
        char error[512];
        const char *const words[] = {"/t", sizes[i].word, NULL};
        assert_int_equal(take(&config, error, words), 0);
        assert_int_equal(config.segment, sizes[i].bytes);
    }
}

static void
a_ring_is_rounded_up_to_a_power_of_two(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        uint64_t bytes;
    } sizes[] = {{"ring=64KB", 65536}, {"ring=65537", 131072}, {"ring=3MB", 4 * MB}, {"ring=4GB", 4096 * MB}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        struct sqt_config config;
        char error[512];
        const char *const words[] = {"/t", sizes[i].word, NULL};
        assert_int_equal(take(&config, error, words), 0);
        assert_int_equal(config.ring, sizes[i].bytes);
    }
}

static void
segments_follow_a_bound_that_is_given_alone(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512];
    const char *const small[] = {"/t", "keep=40MB", NULL}, *const large[] = {"/t", "keep=40GB", NULL};
    assert_int_equal(take(&config, error, small), 0);
    assert_int_equal(sqt_config_segment(&config), 10 * MB);
    assert_int_equal(take(&config, error, large), 0);
    assert_int_equal(sqt_config_segment(&config), 1024 * MB);
}

/* Each bad word is named, and what is allowed. */
static void
bad_words_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *says[3];
    } bad[] = {
        {"ring=0", {"ring=0 is too small", "from 64KB to 4GB", ""}},
        {"ring=-5MB", {"ring=-5MB is negative", "from 64KB to 4GB", ""}},
        {"ring=8GB", {"ring=8GB is too large", "from 64KB to 4GB", ""}},
        {"ring=99999999999999999999", {"is too large", "from 64KB to 4GB", ""}},
        {"ring=18446744073709551615GB", {"is too large", "from 64KB to 4GB", ""}},
        {"ring=big", {"ring=big is not a number", "from 64KB to 4GB", ""}},
        {"ring=", {"ring= is not a number", "", ""}},
        {"ring=1.5MB", {"ring=1.5MB is not a whole number", "", ""}},
        {"ring=5MX", {"ring=5MX has an unknown unit", "bytes, KB, MB, GB or TB", ""}},
        {"ring=63KB", {"ring=63KB is too small", "", ""}},
        {"segment=0", {"segment=0 is too small", "from 64KB to 1TB", ""}},
        {"segment=-1", {"segment=-1 is negative", "", ""}},
        {"segment=2TB", {"segment=2TB is too large", "", ""}},
        {"segment=x", {"segment=x is not a number", "", ""}},
        {"keep=0", {"keep=0 is too small", "from 64KB to 1024TB", ""}},
        {"keep=-1GB", {"keep=-1GB is negative", "", ""}},
        {"keep=99999TB", {"keep=99999TB is too large", "", ""}},
        {"keep=all", {"keep=all is not a number", "", ""}},
        {"total=0", {"total=0 is too small", "off or a size from 1MB to 1024TB", ""}},
        {"total=no", {"total=no is not a number", "", ""}},
        {"keep=off", {"keep=off is not a number", "allowed is a size", ""}},
        {"reserve=5%", {"reserve=5% has an unknown unit", "off or a size", ""}},
        {"age=90", {"age=90 has no unit", "a time from 1min to 3650d", "s, min, h or d"}},
        {"age=59s", {"age=59s is too small", "", ""}},
        {"age=2weeks", {"age=2weeks has an unknown unit", "", ""}},
        {"age=-1d", {"age=-1d is negative", "", ""}},
        {"every=0s", {"every=0s is too small", "from 1s to 3650d", ""}},
        {"every=9999999999d", {"is too large", "", ""}},
        {"every=1.5h", {"every=1.5h is not a whole number", "", ""}},
        {"ringdir=shm", {"ringdir=shm", "absolute path", ""}},
        {"ringdir=", {"ringdir=", "absolute path", ""}},
        {"compress=yes", {"compress=yes", "zlib and off", ""}},
        {"host=", {"host=:", "at most 255 letters", ""}},
        {"host=a b", {"host=a b: allowed is a name", "", ""}},
        {"host=a/b", {"host=a/b: allowed is a name", "", ""}},
        {"names=all", {"names=all", "off, configured and servers", ""}},
        {"compress=", {"compress=", "zlib and off", ""}},
        {"events=clint", {"'clint' is not a group of events", "did you mean client?", "client, server, store"}},
        {"events=client,,store", {"'' is not a group of events", "client, server, store", ""}},
        {"events=", {"'' is not a group", "", ""}},
        {"events=client,", {"'' is not a group", "", ""}},
        {"events=trace", {"'trace' is not a group", "", ""}},
        {"events=averyveryverylongnamethatnobodywouldeverchoose", {"is not a group", "all, client", ""}},
        {"rign=1MB", {"'rign=1MB' is not a parameter", "did you mean ring?", "ring=, ringdir=, events="}},
        {"ring", {"'ring' is not a parameter", "allowed are ring=", ""}},
        {"fast",
         {"'fast' is not a parameter",
          "keep=, total=, reserve=, age=, every=, names=, host=, trace_context=, note= and mode=", ""}},
        {"trace_context=", {"trace_context=: allowed are off, on and forward", "", ""}},
        {"trace_context=yes", {"trace_context=yes: allowed are off, on and forward", "", ""}},
        {"note=", {"note=: '' is empty: allowed are at most 8 names", "at most 32 letters", ""}},
        {"note=a,,b", {"note=: '' is empty", "", ""}},
        {"note=a,", {"note=: '' is empty", "", ""}},
        {"note=a,b,a,c", {"note=: 'a' stands there twice", "", ""}},
        {"note=a,b,c,d,e,f,g,h,i,j", {"note=: 'i' is one too many", "at most 8 names", ""}},
        {"note=a,b c,d", {"note=: 'b c' is not the name of a note", "", ""}},
        {"note=a=b", {"note=: 'a=b' is not the name of a note", "", ""}},
        {"note=\xc3\xa9", {"is not the name of a note", "", ""}},
        {"note=an_underline_and_more_than_32_letters", {"is too long", "at most 32 letters", ""}},
        {"note=12345678901234567890123456789012,123456789012345678901234567890123", {"123' is too long", "", ""}},
        {"note=(((((((((((((((((((((((((((((((((((((((((((((((((", {"(((...' is not the name", "", ""}},
        {"mode=", {"mode=: allowed are trace and recorder", "", ""}},
        {"mode=recoder", {"mode=recoder: allowed are trace and recorder", "", ""}},
        {"=", {"'=' is not a parameter", "", ""}},
        {"", {"'' is not a parameter", "", ""}},
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        struct sqt_config config;
        char error[512];
        const char *const words[] = {"/t", bad[i].word, NULL};
        if (take(&config, error, words) != -1)
            fail_msg("%s was taken", bad[i].word);
        for (unsigned s = 0; s < 3; ++s)
            if (!strstr(error, bad[i].says[s]))
                fail_msg("%s: \"%s\" is missing in: %s", bad[i].word, bad[i].says[s], error);
        assert_null(strchr(error, '\n'));
    }
}

static void
the_directory_is_absolute(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512], path[400];
    const char *const relative[] = {"trace", NULL}, *const option[] = {"ring=1MB", NULL};
    assert_int_equal(take(&config, error, relative), -1);
    assert_string_equal(error, "trace: allowed is an absolute path");
    assert_int_equal(take(&config, error, option), -1);
    assert_string_equal(error, "ring=1MB: allowed is an absolute path");
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    const char *const longest[] = {path, NULL};
    assert_int_equal(take(&config, error, longest), -1);
    assert_non_null(strstr(error, "at most 255 bytes"));
}

static void
a_bound_holds_a_segment_at_least(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512];
    const char *const words[] = {"/t", "segment=100MB", "keep=10MB", NULL};
    assert_int_equal(take(&config, error, words), -1);
    assert_non_null(strstr(error, "keep=10MB is less than segment=100MB"));
    const char *const total[] = {"/t", "segment=100MB", "total=10MB", NULL},
                      *const alone[] = {"/t", "total=10MB", NULL},
                      *const off[] = {"/t", "segment=100MB", "total=off", NULL};
    assert_int_equal(take(&config, error, total), -1);
    assert_non_null(strstr(error, "total=10MB is less than segment=100MB"));
    assert_int_equal(take(&config, error, alone), 0);
    assert_int_equal(take(&config, error, off), 0);
}

static void
printed_words_are_read_back(void **state)
{
    (void)state;
    struct sqt_config config, again;
    char error[512], text[512], copy[512];
    const char *const words[] = {"/t",
                                 "ring=8MB",
                                 "ringdir=/run/shm",
                                 "events=client,loop",
                                 "compress=off",
                                 "segment=70000",
                                 "keep=2GB",
                                 "total=off",
                                 "reserve=500MB",
                                 "age=36h",
                                 "every=1d",
                                 "names=servers",
                                 "host=cache_8",
                                 "trace_context=on",
                                 "note=site,user-group.2",
                                 "mode=recorder",
                                 NULL};
    assert_int_equal(take(&config, error, words), 0);
    const size_t size = sqt_config_print(&config, text, sizeof(text));
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, "/t ring=8MB segment=70000bytes keep=2GB total=off reserve=500MB age=36h every=1d "
                              "ringdir=/run/shm events=client,loop compress=off "
                              "names=servers host=cache_8 trace_context=on note=site,user-group.2 mode=recorder");
    assert_int_equal(sqt_config_print(&config, NULL, 0), size);
    assert_int_equal(sqt_config_print(&config, copy, 5), size);
    assert_string_equal(copy, "/t r");
    sqt_config_init(&again);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        assert_int_equal(sqt_config_word(&again, word, error, sizeof(error)), 0);
    assert_memory_equal(&config, &again, sizeof(config));
    sqt_config_init(&config);
    assert_int_equal(sqt_config_print(&config, text, sizeof(text)), 0);
}

static void
all_groups_have_a_word(void **state)
{
    (void)state;
    struct sqt_config config;
    char error[512];
    const char *const words[] = {"/t", "events=all", NULL};
    assert_int_equal(take(&config, error, words), 0);
    assert_int_equal(config.groups, (1u << SQT_GROUPS_COUNT) - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_directory_is_enough),
        cmocka_unit_test(all_parameters_are_taken),
        cmocka_unit_test(each_compression_has_a_name),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(a_ring_is_rounded_up_to_a_power_of_two),
        cmocka_unit_test(segments_follow_a_bound_that_is_given_alone),
        cmocka_unit_test(bad_words_are_named),
        cmocka_unit_test(the_directory_is_absolute),
        cmocka_unit_test(a_bound_holds_a_segment_at_least),
        cmocka_unit_test(printed_words_are_read_back),
        cmocka_unit_test(all_groups_have_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
