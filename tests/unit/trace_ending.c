/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_ending.c - why Squid ends itself: no message brings a secret of squid.conf into a trace.
 */
#define _GNU_SOURCE
#include "trace_support.h"

#include "trace/ring/define-internal.h"
#include "trace/ring/emit-internal.h"

/* The definition that a message makes, to be freed. */
static char *
told(const char *why, enum sqt_names names)
{
    struct sqt_ring_header *const ring = ring_in_memory(1024, 262144, SQT_CLOCK_MONOTONIC);
    sqt_groups = SQT_GROUP_TRACE;
    sqt_names = names;
    assert_int_equal(sqt_define_begin(ring), 0);
    const uint64_t before = ring->writer.text_used;
    sqt_gives_up(why);
    assert_int_equal(ring->writer.head, 1);
    char *const text = strndup((const char *)sqt_ring_text_area(ring) + before, ring->writer.text_used - before);
    sqt_groups = 0;
    sqt_define_end();
    ring_in_memory_end(ring);
    return text;
}

static void
check(const char *why, const char *expected)
{
    char *const text = told(why, SQT_NAMES_SERVERS), *const name = strrchr(text, '\t');
    assert_non_null(name);
    name[strcspn(name, "\n")] = '\0';
    assert_string_equal(name + 1, expected);
    free(text);
}

/* As Squid 5, 6 and 7 say it. */
static void
what_squid_conf_says_stays_out(void **state)
{
    (void)state;
    check("Bungled /etc/squid/squid.conf line 7: cache_peer a parent 3128 0 login=u:s3cret\n included from /etc/x line "
          "1: s3cret",
          "Bungled /etc/squid/squid.conf line 7");
    check("reconfiguration failure: invalid cache_peer option: login=u:s3cret\n    advice: Run 'squid -k parse'",
          "reconfiguration failure");
    check("ERROR: Invalid ACL: acl a b s3cret\n", "Invalid ACL");
    check("String is not a integer number: 's3cret'\n", "String is not a integer number");
    check("Unable to evaluate expression 's3cret'\n", "Unable to evaluate expression");
    check("invalid HTCP mode 's3cret'", "invalid HTCP mode");
    check("Unknown TLS option 's3cret'", "Unknown TLS option");
    check("auth_schemes: required authentication method 's3cret' is not configured",
          "auth_schemes: required authentication method");
    check("parse_wccp2_service_info: id 5: unknown option 's3cret'\n", "parse_wccp2_service_info: id 5");
    check("Invalid TCP logging address 'tcp://u:s3cret@h'\n", "Invalid TCP logging address");
    check("authenticateNegotiateHandleReply: *** Unsupported helper response ***, 's3cret'\n",
          "authenticateNegotiateHandleReply: *** Unsupported helper response ***");
    check("parsing replacement policy: Unknown policy s3cret", "parsing replacement policy");
    check("ERROR: Unknown policy s3cret\n", "Unknown policy");
    check("https_port: does not support protocol=s3cret\n", "https_port: does not support protocol");
    check("http_port: mode flags conflict with s3cret and more", "http_port: mode flags conflict with");
    check("login=s3cret: is no option", "login");
    check("'s3cret': is no option", "fatal error");
    check("Couldn't use 's3cret'", "Couldn't use");
    check("'s3cret'", "fatal error");
    check("", "fatal error");
}

static void
what_is_harmless_stays(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "logfileWrite: /var/log/squid/access.log: (28) No space left on device",
        "Cannot open '/var/log/squid/access.log' for writing.",
        "The url_rewrite helpers are crashing too rapidly, need help!",
        "Too many queued basicauthenticator requests; see on-persistent-overload.",
        "assertion failed: store.cc:123: \"e->locked()\"",
        "comm_select_init: epoll_create(): (24) Too many open files",
        "Ipc::Mem::Segment::create failed to shm_open(/squid-cf__metadata.shm): (17) File exists",
        "UFSSwapDir::openLog: Failed to open swap log.",
        "No HTTP, HTTPS, or FTP ports configured",
        "Couldn't start logfile helper",
        "failed to chroot to /srv/squid",
    };
    for (unsigned i = 0; i < sizeof(messages) / sizeof(*messages); ++i)
        check(messages[i], messages[i]);
    check("FATAL: error while accepting new client connection: (24) Too many open files\n",
          "error while accepting new client connection: (24) Too many open files");
    check("SNMP port cannot be opened.\nmore", "SNMP port cannot be opened.");
}

static void
names_off(void **state)
{
    (void)state;
    char *const text = told("logfileWrite: /s3cret: (28) No space left on device", SQT_NAMES_OFF);
    assert_null(strstr(text, "s3cret"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_squid_conf_says_stays_out),
        cmocka_unit_test(what_is_harmless_stays),
        cmocka_unit_test(names_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
