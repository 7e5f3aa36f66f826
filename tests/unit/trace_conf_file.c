/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_conf_file.c - sqtrace.conf: where it is looked for, whose it may be, and what may stand in it.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/sqtrace.h"

static char folder[64]; /* a new one for each test */
static char error[1024];
static struct sqt_conf_directive found;

static const char *
in_folder(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void
write_conf(const char *text, size_t size)
{
    FILE *const file = fopen(in_folder(SQT_CONF_FILE), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(in_folder(SQT_CONF_FILE), 0644), 0);
}

static int
look(void)
{
    char squid_conf[128];
    snprintf(squid_conf, sizeof(squid_conf), "%s/squid.conf", folder);
    return sqt_conf_file(squid_conf, getuid(), &found, error, sizeof(error));
}

static int
make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/sqtrace-conf-test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int
remove_folder(void **state)
{
    (void)state;
    if (unlink(in_folder(SQT_CONF_FILE)) != 0)
        rmdir(in_folder(SQT_CONF_FILE));
    return rmdir(folder);
}

/* The text gives these words in that line. */
static void
gives(const char *text, const char *words, unsigned line)
{
    char place[PATH_MAX + 16];
    write_conf(text, strlen(text));
    snprintf(place, sizeof(place), "%s:%u", in_folder(SQT_CONF_FILE), line);
    assert_int_equal(look(), 1);
    assert_string_equal(found.words, words);
    assert_string_equal(found.place, place);
    assert_string_equal(error, "");
}

/* It is refused with a line that begins with the file's name and that. */
static void
refused(const char *expected)
{
    const char *const path = in_folder(SQT_CONF_FILE);
    assert_int_equal(look(), -1);
    assert_memory_equal(error, path, strlen(path));
    assert_string_equal(error + strlen(path), expected);
}

static void
refuses(const char *text, const char *expected)
{
    write_conf(text, strlen(text));
    refused(expected);
}

static void
no_file_is_no_directive(void **state)
{
    (void)state;
    assert_int_equal(look(), 0);
    assert_int_equal(sqt_conf_file("/no/such/folder/squid.conf", 0, &found, error, sizeof(error)), 0);
    assert_int_equal(sqt_conf_file("/dev/null/squid.conf", 0, &found, error, sizeof(error)), 0);
    assert_int_equal(sqt_conf_file("!cat /x/squid.conf", 0, &found, error, sizeof(error)), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(look(), 0);
    assert_string_equal(error, "");
    const char *const nothing[] = {"", "\n", "# sqtrace_log /t\n", " \t\n\r\n#\n  # sqtrace_log /t"};
    chmod(folder, 0755);
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); ++i) {
        write_conf(nothing[i], strlen(nothing[i]));
        assert_int_equal(look(), 0);
        assert_string_equal(error, "");
    }
}

static void
lines_are_those_of_squid_conf(void **state)
{
    (void)state;
    gives("sqtrace_log /t\n", "/t", 1);
    gives("sqtrace_log /t", "/t", 1);
    gives("# one\r\n\r\n \tsqtrace_log \t/t total=4GB \t\r\n", "/t total=4GB", 3);
    gives("sqtrace_log /t \\\n   total=4GB \\\n# between\n\nring=1MB\n", "/t total=4GB ring=1MB", 1);
    gives("sqtrace_log /t to\\\ntal=4GB\n", "/t total=4GB", 1);
    gives("sqtrace_log /t \\", "/t", 1);
    gives("sqtrace_log /t # ${service_name} \"x\"", "/t # ${service_name} \"x\"", 1);
    gives("sqtrace_log", "", 1);
}

static void
nothing_else_is_allowed(void **state)
{
    (void)state;
    refuses("sqtrace_log /t\ninclude /etc/passwd\n", ":2: 'include' is not allowed here; expected is sqtrace_log");
    refuses("\n if true\n", ":2: 'if' is not allowed here; expected is sqtrace_log");
    refuses("http_port 3128", ":1: 'http_port' is not allowed here; expected is sqtrace_log");
    refuses("sqtrace_logs /t", ":1: 'sqtrace_logs' is not allowed here; expected is sqtrace_log");
    refuses("\\\n", ":1: '' is not allowed here; expected is sqtrace_log");
    refuses("sqtrace_log /t\n\nsqtrace_log /u", ":3: sqtrace_log is given twice, here and in line 1");
    refuses("sqtrace_log /t \\ \nring=1MB\n", ":1: nothing follows the backslash at the end of the line");
    refuses("0123456789012345678901234567890123456789x",
            ":1: '0123456789012345678901234567890123456789' is not allowed here; expected is sqtrace_log");
    refuses("\xc2\x9b\xff\xe2\x80\xae!",
            ":1: '\\xc2\\x9b\\xff\\xe2\\x80\\xae!' is not allowed here; expected is sqtrace_log");
}

static void
what_is_no_text_is_refused(void **state)
{
    (void)state;
    write_conf("sqtrace_log /t\0 x", 17);
    refused(":1: it has a byte 0x00; expected is text");
    refuses("#\n#\x1b[2J\n", ":2: it has a byte 0x1b; expected is text");
    refuses("#\rsqtrace_log /t\n", ":1: it has a byte 0x0d; expected is text");
    refuses("# \x7f", ":1: it has a byte 0x7f; expected is text");
}

static void
sizes_are_bounded(void **state)
{
    (void)state;
    static char text[64 * 1024 + 1];
    memset(text, '#', sizeof(text));
    write_conf(text, sizeof(text) - 1);
    assert_int_equal(look(), 0);
    write_conf(text, sizeof(text));
    refused(": it is larger than 64 KB; expected is a line with sqtrace_log");
    memcpy(text, "sqtrace_log ", 12);
    write_conf(text, 12 + 2047);
    assert_int_equal(look(), 1);
    assert_int_equal(strlen(found.words), 2047);
    write_conf(text, 12 + 2048);
    refused(":1: sqtrace_log is longer than 2047 bytes");
}

static void
only_a_regular_file_is_read(void **state)
{
    (void)state;
    const char *const path = in_folder(SQT_CONF_FILE);
    assert_int_equal(mkfifo(path, 0644), 0);
    refused(": it is not a regular file");
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    refused(": it is a symbolic link");
    unlink(path);
    assert_int_equal(mkdir(path, 0755), 0);
    refused(": it is not a regular file");
}

/* Its folder may be of a user who made it a second name of a file that only root may read. */
static void
a_hard_link_is_refused(void **state)
{
    (void)state;
    const char *const path = in_folder(SQT_CONF_FILE);
    const uid_t user = getuid() ? getuid() : 12345;
    char other[PATH_MAX + 8], squid_conf[128];
    snprintf(other, sizeof(other), "%s.other", path);
    snprintf(squid_conf, sizeof(squid_conf), "%s/squid.conf", folder);
    write_conf("root:secret\n", 12);
    assert_int_equal(link(path, other), 0);
    if (getuid() == 0) /* in root's own folder nobody else can have made a link */
        refused(":1: 'root:secret' is not allowed here; expected is sqtrace_log");
    assert_int_equal(chown(folder, user, getgid()), 0);
    assert_int_equal(sqt_conf_file(squid_conf, user, &found, error, sizeof(error)), -1);
    assert_non_null(strstr(error, ": it has 2 names; expected is one, and no hard link to another file"));
    assert_null(strstr(error, "secret"));
    unlink(other);
    assert_int_equal(sqt_conf_file(squid_conf, user, &found, error, sizeof(error)), -1);
    assert_non_null(strstr(error, ":1: 'root:secret' is not allowed here; expected is sqtrace_log"));
}

/* The mode of the file, or of its folder, is refused with that. */
static void
mode_is_refused(const char *path, mode_t mode, const char *expected)
{
    assert_int_equal(chmod(path, mode), 0);
    assert_int_equal(look(), -1);
    assert_non_null(strstr(error, expected));
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(look(), 1);
}

static void
others_may_not_write(void **state)
{
    (void)state;
    const uid_t user = getuid();
    gives("sqtrace_log /t", "/t", 1);
    mode_is_refused(in_folder(SQT_CONF_FILE), 0666, "sqtrace.conf: everybody may write to it (mode 0666)");
    mode_is_refused(folder, 0777, "/: everybody may write to it (mode 0777)");
    mode_is_refused(folder, 01777, "/: everybody may write to it (mode 1777)");
    if (user != 0 && getgid() == 0)
        return;
    if (user == 0) {
        chmod(in_folder(SQT_CONF_FILE), 0664);
        assert_int_equal(look(), 1); /* root's group */
        assert_int_equal(chown(in_folder(SQT_CONF_FILE), 0, 12345), 0);
        assert_int_equal(chown(folder, 0, 12345), 0);
    }
    mode_is_refused(in_folder(SQT_CONF_FILE), 0664, "may write to it (mode 0664)");
    mode_is_refused(folder, 0775, "may write to it (mode 0775)");
}

static void
owners_are_root_squid_and_who_starts_it(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    gives("sqtrace_log /t", "/t", 1);
    char squid_conf[128];
    snprintf(squid_conf, sizeof(squid_conf), "%s/squid.conf", folder);
    assert_int_equal(chown(in_folder(SQT_CONF_FILE), 12345, 0), 0);
    assert_int_equal(sqt_conf_file(squid_conf, 12345, &found, error, sizeof(error)), 1);
    assert_int_equal(sqt_conf_file(squid_conf, 12346, &found, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "sqtrace.conf: it belongs to uid 12345; expected is root, uid 12346 (Squid's user)"));
    assert_int_equal(chown(in_folder(SQT_CONF_FILE), 0, 0), 0);
    assert_int_equal(chown(folder, 12345, 0), 0);
    assert_int_equal(sqt_conf_file(squid_conf, 12346, &found, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "/: it belongs to uid 12345"));
}

static void
a_name_without_a_folder_is_of_this_one(void **state)
{
    (void)state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    gives("sqtrace_log /t", "/t", 1);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(sqt_conf_file("squid.conf", getuid(), &found, error, sizeof(error)), 1);
    assert_string_equal(found.place, "sqtrace.conf:1");
    assert_int_equal(chmod("sqtrace.conf", 0666), 0);
    assert_int_equal(sqt_conf_file("./squid.conf", getuid(), &found, error, sizeof(error)), -1);
    assert_memory_equal(error, "./sqtrace.conf: ", 16);
    assert_int_equal(chdir(before), 0);
}

int
main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(no_file_is_no_directive),
        IN_A_FOLDER(lines_are_those_of_squid_conf),
        IN_A_FOLDER(nothing_else_is_allowed),
        IN_A_FOLDER(what_is_no_text_is_refused),
        IN_A_FOLDER(sizes_are_bounded),
        IN_A_FOLDER(only_a_regular_file_is_read),
        IN_A_FOLDER(a_hard_link_is_refused),
        IN_A_FOLDER(others_may_not_write),
        IN_A_FOLDER(owners_are_root_squid_and_who_starts_it),
        IN_A_FOLDER(a_name_without_a_folder_is_of_this_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
