/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_visible.c - text of a trace on its way to a terminal: what stays, and what is escaped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/visible.h"

static void
expect(const char *text, const char *wanted)
{
    char buffer[256], copy[256];
    assert_string_equal(sqt_visible_text(buffer, sizeof(buffer), text), wanted);
    *sqt_visible(copy, text, strlen(text)) = '\0';
    assert_string_equal(copy, wanted);
}

static void
names_stay(void **state)
{
    (void)state;
    expect("", "");
    expect("TCP_MISS_ABORTED/200 ufs:/var/spool \"x\" \\ ~", "TCP_MISS_ABORTED/200 ufs:/var/spool \"x\" \\ ~");
    expect("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x99 \xc2\xa0", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x99 \xc2\xa0");
}

static void
controls_are_escaped(void **state)
{
    (void)state;
    expect("a\tb\nc\rd\x1b[2J", "a\\x09b\\x0ac\\x0dd\\x1b[2J");
    expect("\x7f", "\\x7f");
    expect("\xc2\x9b"
           "31m",
           "\\xc2\\x9b31m"); /* CSI of C1 */
    expect("\xc2\x80\xc2\x9f", "\\xc2\\x80\\xc2\\x9f");
    expect("\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"); /* line, paragraph */
    expect("\xe2\x80\xaexe.txt", "\\xe2\\x80\\xaexe.txt");                /* right to left */
    expect("\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"); /* isolates */
}

static void
what_is_no_utf8_is_escaped(void **state)
{
    (void)state;
    expect("\x9b", "\\x9b");
    expect("\xff\xfe", "\\xff\\xfe");
    expect("\xc3", "\\xc3");
    expect("\xe2\x82", "\\xe2\\x82");
    expect("\xc0\xaf", "\\xc0\\xaf"); /* too long a form */
    expect("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
    expect("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half of a pair */
    expect("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    expect("\xe2\x82"
           "A",
           "\\xe2\\x82"
           "A");
}

static void
what_does_not_fit_is_left_out(void **state)
{
    char buffer[8];
    (void)state;
    assert_string_equal(sqt_visible_text(buffer, sizeof(buffer), "1234567890"), "1234567");
    assert_string_equal(sqt_visible_text(buffer, sizeof(buffer), "1234\x9b"), "1234");
    assert_string_equal(sqt_visible_text(buffer, sizeof(buffer), "12345\xe2\x82\xac"), "12345");
    assert_string_equal(sqt_visible_text(buffer, 1, "1"), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stay),
        cmocka_unit_test(controls_are_escaped),
        cmocka_unit_test(what_is_no_utf8_is_escaped),
        cmocka_unit_test(what_does_not_fit_is_left_out),
    };
    return cmocka_run_group_tests_name("read_visible", tests, NULL, NULL);
}
