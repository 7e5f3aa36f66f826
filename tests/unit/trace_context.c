/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_context.c - which values of the header field traceparent are taken, by the text of W3C's Trace Context.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/span-id.h"
#include "trace/sqtrace.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define ZERO_16 "0000000000000000"

static const struct taken {
    const char *what, *text;
    uint64_t trace_high, trace_low, parent;
    uint32_t flags;
} taken[] = {
    /* the examples of section "Examples of HTTP traceparent Headers" */
    {"sampled", "00-" TRACE "-" PARENT "-01", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0x00f067aa0ba902b7, 1},
    {"not sampled", "00-" TRACE "-" PARENT "-00", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0x00f067aa0ba902b7, 0},
    {"the flag random of level 2", "00-" TRACE "-" PARENT "-03", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736,
     0x00f067aa0ba902b7, 3},
    {"all flags", "00-" TRACE "-" PARENT "-ff", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0x00f067aa0ba902b7, 0xff},
    {"zero in the upper half", "00-" ZERO_16 "0000000000000001-0000000000000001-00", 0, 1, 1, 0},
    {"zero in the lower half", "00-8000000000000000" ZERO_16 "-8000000000000000-00", UINT64_C(1) << 63, 0,
     UINT64_C(1) << 63, 0},
    {"only f", "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01", UINT64_MAX, UINT64_MAX, UINT64_MAX, 1},
    /* section "Versioning of traceparent": what is known of a later version is used */
    {"a later version", "cc-" TRACE "-" PARENT "-01", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0x00f067aa0ba902b7, 1},
    {"a later version has flags of its own", "01-" TRACE "-" PARENT "-ff", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736,
     0x00f067aa0ba902b7, 1},
    {"a later version is longer", "cc-" TRACE "-" PARENT "-01-what-the-future-will-be-like", 0x4bf92f3577b34da6,
     0xa3ce929d0e0e4736, 0x00f067aa0ba902b7, 1},
    {"a later version ends with a dash", "fe-" TRACE "-" PARENT "-00-", 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736,
     0x00f067aa0ba902b7, 0},
};

static const struct refused {
    const char *what, *text;
} refused[] = {
    {"nothing", ""},
    {"one character", "0"},
    {"version ff", "ff-" TRACE "-" PARENT "-01"},
    {"version ff, longer", "ff-" TRACE "-" PARENT "-01-more"},
    {"version 00 is longer", "00-" TRACE "-" PARENT "-01-what-the-future-will-be-like"},
    {"version 00 ends with a dash", "00-" TRACE "-" PARENT "-01-"},
    {"version 00 with one digit more", "00-" TRACE "-" PARENT "-011"},
    {"version 00 with one digit less", "00-" TRACE "-" PARENT "-0"},
    {"without flags", "00-" TRACE "-" PARENT},
    {"a later version that is shorter", "cc-" TRACE "-" PARENT "-0"},
    {"a later version without a dash behind its flags", "cc-" TRACE "-" PARENT "-01.what"},
    {"a later version with one digit more", "cc-" TRACE "-" PARENT "-011"},
    {"the trace id is zero", "00-" ZERO_16 ZERO_16 "-" PARENT "-01"},
    {"the parent id is zero", "00-" TRACE "-" ZERO_16 "-01"},
    {"the trace id is zero, a later version", "cc-" ZERO_16 ZERO_16 "-" PARENT "-01"},
    {"upper case in the version", "0A-" TRACE "-" PARENT "-01"},
    {"upper case in the trace id", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01"},
    {"upper case in the parent id", "00-" TRACE "-00F067AA0BA902B7-01"},
    {"upper case in the flags", "00-" TRACE "-" PARENT "-0A"},
    {"no digit in the version", ".0-" TRACE "-" PARENT "-01"},
    {"no digit in the trace id", "00-.bf92f3577b34da6a3ce929d0e0e4736-" PARENT "-01"},
    {"no digit at the end of the trace id", "00-4bf92f3577b34da6a3ce929d0e0e473g-" PARENT "-01"},
    {"no digit in the parent id", "00-" TRACE "-00f067aa0ba902b/-01"},
    {"no digit in the flags", "00-" TRACE "-" PARENT "-0:"},
    {"no dash behind the version", "00_" TRACE "-" PARENT "-01"},
    {"no dash behind the trace id", "00-" TRACE "_" PARENT "-01"},
    {"no dash behind the parent id", "00-" TRACE "-" PARENT "_01"},
    {"a space before it", " 00-" TRACE "-" PARENT "-01"},
    {"a space behind it", "00-" TRACE "-" PARENT "-01 "},
    {"two values in one field", "00-" TRACE "-" PARENT "-01, 00-" TRACE "-" PARENT "-01"},
};

/* Parses a copy that ends where it ends, so that a sanitizer sees a byte too many that is read. */
static int
parse(const char *text, size_t size, struct sqt_traceparent *to)
{
    char *const copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    const int result = sqt_traceparent_parse(copy, size, to);
    free(copy);
    return result;
}

static void
what_is_valid_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); ++i) {
        const struct taken *const t = &taken[i];
        struct sqt_traceparent found;
        if (parse(t->text, strlen(t->text), &found) != 0)
            fail_msg("%s: %s was refused", t->what, t->text);
        if (found.trace_high != t->trace_high || found.trace_low != t->trace_low || found.parent != t->parent ||
            found.flags != t->flags)
            fail_msg("%s: %s was misread", t->what, t->text);
    }
}

static void
what_is_not_valid_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
        struct sqt_traceparent found = {1, 2, 3, 4};
        if (parse(refused[i].text, strlen(refused[i].text), &found) == 0)
            fail_msg("%s: %s was taken", refused[i].what, refused[i].text);
        assert_true(found.trace_high == 1 && found.trace_low == 2 && found.parent == 3 && found.flags == 4);
    }
}

/* Of the 256 values that one byte of a valid field can have, those that a rule written here allows. */
static int
may_stand(size_t place, unsigned byte)
{
    if (place == 2 || place == 35 || place == 52)
        return byte == '-';
    return byte && strchr("0123456789abcdef", (int)byte) != NULL;
}

static void
each_byte_is_looked_at(void **state)
{
    (void)state;
    static const char valid[] = "00-" TRACE "-" PARENT "-01";
    for (size_t place = 0; place < sizeof(valid) - 1; ++place)
        for (unsigned byte = 0; byte < 256; ++byte) {
            char text[sizeof(valid)];
            struct sqt_traceparent found;
            memcpy(text, valid, sizeof(valid));
            text[place] = (char)byte;
            if ((parse(text, sizeof(valid) - 1, &found) == 0) != may_stand(place, byte))
                fail_msg("byte %u at %zu", byte, place);
        }
}

static void
a_part_is_no_field(void **state)
{
    (void)state;
    static const char valid[] = "00-" TRACE "-" PARENT "-01";
    struct sqt_traceparent found;
    for (size_t size = 0; size < sizeof(valid) - 1; ++size)
        assert_int_equal(parse(valid, size, &found), -1);
    assert_int_equal(parse(valid, sizeof(valid) - 1, &found), 0);
    assert_int_equal(parse(valid, sizeof(valid), &found), -1); /* the byte 0 is a part of it */
}

static void
another_span_takes_the_place_of_the_callers(void **state)
{
    (void)state;
    static const char field[] = "cc-" TRACE "-" PARENT "-03-more", bad[] = "00-" TRACE "-" PARENT "-01x";
    char text[sizeof(field)], id[17];
    for (unsigned i = 0; i < sizeof(sqt_span_ring); ++i)
        sqt_span_ring[i] = (uint8_t)(i + 1);
    for (uint32_t tries = 1; tries < 3; ++tries) {
        assert_int_equal(sqt_traceparent_forward(field, sizeof(field) - 1, 5, tries, text, sizeof(text)), 0);
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)sqt_span_try(sqt_span_ring, 5, tries));
        assert_memory_equal(text, field, 36);
        assert_memory_equal(text + 36, id, 16);
        assert_string_equal(text + 52, field + 52);
    }
    assert_int_equal(sqt_traceparent_forward(field, sizeof(field) - 1, 5, 1, text, sizeof(text) - 1), -1);
    assert_int_equal(sqt_traceparent_forward(bad, sizeof(bad) - 1, 5, 1, text, sizeof(text)), -1);
    assert_string_equal(text + 52, field + 52);
    assert_true(sqt_span_try(sqt_span_ring, 5, 1) != sqt_span_try(sqt_span_ring, 5, 2));
    assert_true(sqt_span_try(sqt_span_ring, 5, 1) != sqt_span_try(sqt_span_ring, 6, 1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_valid_is_taken),
        cmocka_unit_test(what_is_not_valid_is_refused),
        cmocka_unit_test(each_byte_is_looked_at),
        cmocka_unit_test(a_part_is_no_field),
        cmocka_unit_test(another_span_takes_the_place_of_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
