/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * format_events.c - what must hold of the tables of events, kinds, groups and stages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/events.h"

static void
names_are_unique_and_found(void **state)
{
    (void)state;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        assert_int_equal(sqt_event_number(sqt_events[i].name), i);
        assert_true(sqt_events[i].doc[0] != '\0');
    }
    for (unsigned i = 0; i < SQT_KINDS; ++i)
        assert_int_equal(sqt_kind_number(sqt_kinds[i].name), i);
    for (unsigned i = 0; i < SQT_GROUPS_COUNT; ++i)
        assert_int_equal(sqt_group_number(sqt_group_names[i].name), i);
    assert_int_equal(sqt_event_number("NO_SUCH_EVENT"), 0);
    assert_int_equal(sqt_kind_number("no such kind"), SQT_KINDS);
    assert_int_equal(sqt_group_number("no such group"), SQT_GROUPS_COUNT);
}

static void
fields_without_a_kind_have_no_text(void **state)
{
    (void)state;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        const struct sqt_field_info *const fields[] = {&sqt_events[i].id, &sqt_events[i].arg, &sqt_events[i].aux};
        for (unsigned f = 0; f < 3; ++f)
            assert_int_equal(fields[f]->kind == SQT_KIND_NONE, fields[f]->doc == NULL);
    }
}

/* What a begin opens, its end closes, and both are in the same group.  One stage outlasts its pair: peer_select goes on
 * until the request is given to a connection. */
static void
pairs_close_what_they_open(void **state)
{
    (void)state;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        const struct sqt_event_info *e = &sqt_events[i];
        if (e->pair == SQT_EV_NONE_)
            continue;
        const struct sqt_event_info *end = &sqt_events[e->pair];
        const uint32_t left = e->opens & ~end->closes;
        assert_int_equal(left, i == SQT_EV_PEER_SELECT_BEGIN ? 1u << SQT_STAGE_PEER_SELECT : 0);
        assert_int_equal(e->group, end->group);
    }
}

/* Every stage that an event opens can be closed by another, but for reply_wait, which lasts until the end. */
static void
stages_that_open_can_close(void **state)
{
    (void)state;
    uint32_t opened = 0, closed = 0;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        opened |= sqt_events[i].opens;
        closed |= sqt_events[i].closes;
    }
    assert_int_equal(opened & ~closed, 1u << SQT_STAGE_REPLY_WAIT);
}

static void
stage_columns_name_each_stage_once(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        seen |= 1u << sqt_stage_columns[i];
    assert_int_equal(seen, (1u << SQT_STAGES) - 1);
}

static void
events_text_has_a_line_for_each_event(void **state)
{
    (void)state;
    const size_t size = sqt_events_text(NULL, 0);
    char *const text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(sqt_events_text(text, size + 1), size);
    unsigned lines = 0;
    for (const char *p = text; *p; p = strchr(p, '\n') + 1) {
        unsigned number;
        char name[64], group[32], id[32], arg[32], aux[32];
        assert_int_equal(sscanf(p, "event\t%u\t%63s\t%31s\t%31s\t%31s\t%31s\n", &number, name, group, id, arg, aux), 6);
        assert_int_equal(sqt_event_number(name), number);
        assert_int_equal(sqt_kind_number(id), sqt_events[number].id.kind);
        assert_int_equal(sqt_kind_number(arg), sqt_events[number].arg.kind);
        assert_int_equal(sqt_kind_number(aux), sqt_events[number].aux.kind);
        ++lines;
    }
    assert_int_equal(lines, SQT_EVENTS - 1);
    /* A short buffer is filled to its end and terminated, and the need is still told. */
    char small[16];
    assert_int_equal(sqt_events_text(small, sizeof(small)), size);
    assert_memory_equal(small, text, sizeof(small) - 1);
    assert_int_equal(small[15], '\0');
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_found),         cmocka_unit_test(fields_without_a_kind_have_no_text),
        cmocka_unit_test(pairs_close_what_they_open),         cmocka_unit_test(stages_that_open_can_close),
        cmocka_unit_test(stage_columns_name_each_stage_once), cmocka_unit_test(events_text_has_a_line_for_each_event),
    };
    return cmocka_run_group_tests_name("format_events", tests, NULL, NULL);
}
