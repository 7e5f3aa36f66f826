/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_places.c - directories and files that tracing cannot use: one line, and tracing is off.
 */
#define _GNU_SOURCE /* unshare */
#include "trace_support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/clock/clock-internal.h"
#include "trace/file/file-internal.h"
#include "trace/life/hash-internal.h"

/* Tracing does not start, says one line with that text, and leaves nothing behind. */
static void
check_refused(const struct sqt_config *config, const char *says)
{
    struct sqt_status status;
    place_said[0] = '\0';
    assert_int_equal(sqt_start(config, &place_process, place_log), -1);
    if (!strstr(place_said, says))
        fail_msg("\"%s\" is missing in: %s", says, place_said);
    assert_non_null(strstr(place_said, "WARNING: sqtrace: "));
    assert_non_null(strstr(place_said, "; tracing is off\n"));
    assert_ptr_equal(strchr(place_said, '\n'), place_said + strlen(place_said) - 1);
    sqt_get_status(&status);
    assert_string_equal(status.state, "off");
    assert_int_equal(sqt_groups, 0);
}

static void
a_missing_directory(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    place_config(place, NULL, &config);
    strcat(config.directory, "/missing");
    check_refused(&config, "/missing: No such file or directory");
    assert_int_equal(place_count(place->ringdir, ""), 0);
}

static void
a_directory_that_is_a_file(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    place_config(place, NULL, &config);
    strcat(config.directory, "/file");
    close(open(config.directory, O_CREAT | O_WRONLY, 0600));
    check_refused(&config, "/file: Not a directory");
    assert_int_equal(place_count(place->ringdir, ""), 0);
}

static void
a_directory_that_cannot_be_written(void **state)
{
    struct place *const place = *state;
    if (geteuid() == 0) { /* root may write anywhere: be somebody else, in a child */
        const pid_t child = fork();
        if (child == 0) {
            struct sqt_config config;
            place_config(place, NULL, &config);
            chmod(place->directory, 0755);
            chmod(place->ringdir, 0777);
            if (seteuid(65534) != 0)
                _exit(2);
            place_said[0] = '\0';
            if (sqt_start(&config, &place_process, place_log) != -1)
                _exit(3);
            _exit(strstr(place_said, "cannot create a file in it: Permission denied") ? 0 : 4);
        }
        int result;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
    } else {
        struct sqt_config config;
        place_config(place, NULL, &config);
        chmod(place->directory, 0500);
        check_refused(&config, "cannot create a file in it: Permission denied");
        chmod(place->directory, 0700);
    }
    assert_int_equal(place_count(place->ringdir, ""), 0);
}

static void
a_ring_directory_that_is_not_tmpfs(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    place_config(place, NULL, &config);
    strcpy(config.ringdir, "/proc");
    check_refused(&config, "ringdir=/proc: not on a tmpfs file system");
    strcpy(config.ringdir, "/nowhere/at/all");
    check_refused(&config, "ringdir=/nowhere/at/all: No such file or directory");
    assert_int_equal(place_count(place->directory, ".ring"), 0);
}

/* The present file system as a tmpfs of that many bytes at `path`, in a mount name space of our own. */
static int
mount_tmpfs(const char *path, const char *size)
{
    char options[64];
    snprintf(options, sizeof(options), "size=%s", size);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return -1;
    return mount("tmpfs", path, "tmpfs", 0, options);
}

static void
a_ring_directory_that_is_too_full(void **state)
{
    struct place *const place = *state;
    int result;
    const pid_t child = fork();
    if (child == 0) {
        const char *const words[] = {"ring=1MB", NULL};
        struct sqt_config config;
        char sparse[256];
        if (mount_tmpfs(place->ringdir, "3m") != 0)
            _exit(77);
        place_config(place, words, &config);
        place_said[0] = '\0';
        if (sqt_start(&config, &place_process, place_log) != -1)
            _exit(1);
        if (!strstr(place_said, "KB are free, and a ring of 1092 KB wants 3 times its size;"))
            _exit(2);
        umount(place->ringdir);
        if (mount("tmpfs", place->ringdir, "tmpfs", 0, "size=5m") != 0)
            _exit(77);
        /* What Squid's own shared memory was promised is not free. */
        snprintf(sparse, sizeof(sparse), "%s/squid-pages.shm", place->ringdir);
        if (truncate(sparse, 0) == 0)
            _exit(3);
        const int fd = open(sparse, O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || ftruncate(fd, 3 << 20) != 0)
            _exit(4);
        place_said[0] = '\0';
        if (sqt_start(&config, &place_process, place_log) != -1 ||
            !strstr(place_said, "after what other shared memory may still take"))
            _exit(5);
        unlink(sparse);
        if (sqt_start(&config, &place_process, place_log) != 0)
            _exit(6);
        sqt_stop();
        /* Anybody may make any number of files there, and a start does not look at all of them. */
        for (unsigned i = 0; i < 10001; ++i) {
            snprintf(sparse, sizeof(sparse), "%s/%u", place->ringdir, i);
            const int file = open(sparse, O_CREAT | O_WRONLY, 0600);
            if (file < 0)
                _exit(7);
            close(file);
        }
        place_said[0] = '\0';
        if (sqt_start(&config, &place_process, place_log) != -1 ||
            !strstr(place_said, ": it has more than 10000 files, too many to find out"))
            _exit(8);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
        SKIP_BECAUSE("needs the right to mount a tmpfs");
    assert_int_equal(result, 0);
    assert_int_equal(place_count(place->directory, ".ring"), 0);
}

static void
a_link_in_the_place_of_the_key(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    char link[300], victim[300];
    snprintf(link, sizeof(link), "%s/sqtrace.key", place->directory);
    snprintf(victim, sizeof(victim), "%s/victim", place->directory);
    close(open(victim, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink(victim, link), 0);
    place_config(place, NULL, &config);
    check_refused(&config, "cannot open sqtrace.key: it is a symbolic link");
    struct stat st;
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 0);
}

static void
a_key_of_the_wrong_size(void **state)
{
    struct place *const place = *state;
    struct sqt_config config;
    char path[300];
    snprintf(path, sizeof(path), "%s/sqtrace.key", place->directory);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, "short", 5), 5);
    close(fd);
    place_config(place, NULL, &config);
    check_refused(&config, "sqtrace.key is not a file of 16 bytes");
}

/* From here on that system call fails with that error. */
static int
forbid(uint32_t call, uint32_t error)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof(lines) / sizeof(*lines), lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* The key is made where a profile forbids links, and where the file system cannot rename without replacing. */
static void
a_key_without_a_link_or_a_rename(void **state)
{
    struct place *const place = *state;
    static const uint32_t calls[2][2] = {{SYS_linkat, EACCES}, {SYS_renameat2, EINVAL}};
    char path[300];
    snprintf(path, sizeof(path), "%s/sqtrace.key", place->directory);
    for (unsigned i = 0; i < 2; ++i) {
        int result;
        const pid_t child = fork();
        if (child == 0) {
            struct sqt_config config;
            place_config(place, NULL, &config);
            if (forbid(calls[i][0], calls[i][1]) != 0)
                _exit(77);
            if (sqt_start(&config, &place_process, place_log) != 0)
                _exit(1);
            sqt_stop();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &result, 0), child);
        if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
            SKIP_BECAUSE("needs seccomp");
        assert_int_equal(result, 0);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 16);
        /* And no draft. */
        assert_int_equal(place_count(place->directory, ""), place_count(place->directory, ".sqt") + 1);
        assert_int_equal(unlink(path), 0);
    }
}

/* Links wait where the segments are going to be made. */
static void
a_link_in_the_place_of_a_segment(void **state)
{
    struct place *const place = *state;
    char pointer[256], link[300], victim[300];
    snprintf(victim, sizeof(victim), "%s/victim", place->directory);
    close(open(victim, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(place_start(place, NULL), 0);
    sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3);
    wait_flushed(); /* the first segment is there */
    place_only(pointer, sizeof(pointer), place->directory, ".ring");
    pointer[strlen(pointer) - strlen(".ring")] = '\0';
    snprintf(link, sizeof(link), "%s.000001.sqt", pointer);
    assert_int_equal(symlink(victim, link), 0);
    snprintf(link, sizeof(link), "%s.000002.sqt", pointer);
    assert_int_equal(symlink("/nowhere", link), 0);
    sqt_rotate();
    for (unsigned i = 0; i < 5000; ++i) {
        char third[300];
        snprintf(third, sizeof(third), "%s.000003.sqt", pointer);
        if (access(third, F_OK) == 0)
            break;
        sqt_emit(SQT_EV_CLIENT_READ, 1, 2, 3);
        usleep(1000);
    }
    sqt_poll();
    assert_non_null(strstr(place_said, "cannot create a segment"));
    sqt_stop();
    struct stat st;
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 0);
    unlink(link);
    snprintf(link, sizeof(link), "%s.000001.sqt", pointer);
    unlink(link);
    struct decoded d;
    decode(&d, place->directory, NULL);
    assert_int_equal(d.segments, 2);
    assert_int_equal(d.lost, 0);
    assert_int_equal(d.records[d.count - 1].event, SQT_EV_STOP);
    decode_free(&d);
}

static void
a_file_of_the_wrong_owner_is_made_again(void **state)
{
    struct place *const place = *state;
    if (geteuid() != 0)
        SKIP_BECAUSE("needs root");
    const int directory = open(place->directory, O_RDONLY | O_DIRECTORY);
    /* Nobody's file is asked for, and root makes it: given up in the end, on a busy machine too, and nothing is left. */
    const uint64_t begin = sqt_monotonic_ns();
    const int fd = sqt_create_owned(directory, "file", O_WRONLY, 0640, 65534);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EPERM);
    assert_true(sqt_monotonic_ns() - begin < UINT64_C(5000000000));
    assert_string_equal(sqt_create_error(errno), "file belongs to user 0 when it is made, not to user 65534 as Squid's "
                                                 "files should; does the file system map users?");
    assert_string_equal(sqt_create_error(ENOSPC), strerror(ENOSPC));
    assert_int_equal(place_count(place->directory, "file"), 0);
    close(directory);
}

static void
siphash_is_siphash(void **state)
{
    (void)state;
    /* As Python 3.11 hashes bytes with PYTHONHASHSEED=0, which is the key 0. */
    const struct sqt_hash_key key = {0, 0};
    const char *const data = "0123456789abcdef";
    assert_true(sqt_siphash(&key, data, 16) == UINT64_C(0x1d42b30f7e060c24));
    assert_true(sqt_siphash(&key, data, 15) == UINT64_C(0x26f4d862282d8fcb));
    assert_true(sqt_siphash(&key, data, 8) == UINT64_C(0xda3dcedf84ea6cc6));
}

/* A store key that is asked for again has the same hash, whatever was asked for in between, until the key changes. */
static void
store_keys_are_hashed_alike(void **state)
{
    (void)state;
    const unsigned char one[16] = "0123456789abcdef", other[16] = "0123456789abcdeF";
    const struct sqt_hash_key keys[2] = {{1, 2}, {1, 3}};
    uint64_t hashes[2];
    for (unsigned i = 0; i < 2; ++i) {
        sqt_hash_use(&keys[i]);
        hashes[i] = sqt_hash_key(one);
        assert_true(hashes[i] == sqt_hash(one, sizeof(one)));
        assert_true(sqt_hash_key(one) == hashes[i]);
        assert_true(sqt_hash_key(other) == sqt_hash(other, sizeof(other)));
        assert_true(sqt_hash_key(one) == hashes[i]);
    }
    assert_true(hashes[0] != hashes[1]);
}

static void
names_are_parsed(void **state)
{
    (void)state;
    static const uint8_t id[16] = {0xde, 0xad, 0xbe, 0xef, 1};
    char base[SQT_BASE_MAX], name[SQT_NAME_MAX];
    struct sqt_name parsed;
    sqt_base_name(base, "squid", 12, UINT64_C(1763714831000000000), id);
    assert_string_equal(base, "squid.12.20251121T084711Z.deadbeef");
    sqt_segment_name(name, base, 7);
    assert_string_equal(name, "squid.12.20251121T084711Z.deadbeef.000007.sqt");
    sqt_name_parse(&parsed, name);
    assert_int_equal(parsed.kind, SQT_NAME_SEGMENT);
    assert_string_equal(parsed.service, "squid");
    assert_string_equal(parsed.base, base);
    assert_int_equal(parsed.kid, 12);
    assert_int_equal(parsed.sequence, 7);
    sqt_segment_name(name, base, 12345678);
    sqt_name_parse(&parsed, name);
    assert_int_equal(parsed.sequence, 12345678);
    sqt_pointer_name(name, base);
    sqt_name_parse(&parsed, name);
    assert_int_equal(parsed.kind, SQT_NAME_POINTER);
    assert_string_equal(parsed.base, base);

    static const char *const foreign[] = {
        "",
        ".",
        "..",
        ".sqt",
        ".ring",
        "sqtrace.key",
        "access.log",
        "squid.sqt",
        "squid.12.000001.sqt",
        "squid.x.20251121T084711Z.deadbeef.000007.sqt",
        "squid.12.20251121T084711Z.deadbeef.x.sqt",
        ".12.20251121T084711Z.deadbeef.000007.sqt",
        "squid.12.20251121T084711Z.deadbee.000007.sqt",
        "squid.12.20251121T084711Z.deadbeef.000007.sqt.gz",
        "12.20251121T084711Z.deadbeef.ring",
    };
    for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); ++i) {
        sqt_name_parse(&parsed, foreign[i]);
        if (parsed.kind != SQT_NAME_FOREIGN)
            fail_msg("%s was taken", foreign[i]);
    }
    sqt_name_parse(&parsed, "squid.12.20251121T084711Z.deadbeef.000007.sqt.new");
    assert_int_equal(parsed.kind, SQT_NAME_DRAFT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_missing_directory),
        PLACE_TEST(a_directory_that_is_a_file),
        PLACE_TEST(a_directory_that_cannot_be_written),
        PLACE_TEST(a_ring_directory_that_is_not_tmpfs),
        PLACE_TEST(a_ring_directory_that_is_too_full),
        PLACE_TEST(a_link_in_the_place_of_the_key),
        PLACE_TEST(a_key_of_the_wrong_size),
        PLACE_TEST(a_key_without_a_link_or_a_rename),
        PLACE_TEST(a_link_in_the_place_of_a_segment),
        PLACE_TEST(a_file_of_the_wrong_owner_is_made_again),
        cmocka_unit_test(siphash_is_siphash),
        cmocka_unit_test(store_keys_are_hashed_alike),
        cmocka_unit_test(names_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
