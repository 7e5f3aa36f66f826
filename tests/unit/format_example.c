/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * format_example.c - the worked bytes of sqtrace(5) are what the code makes and reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/pack.h"

/* The hexadecimal bytes that follow the comment line `mark` in the page; returns how many. */
static size_t
page_bytes(const char *mark, uint8_t *bytes, size_t room)
{
    const char *const source = getenv("SQT_SOURCE");
    char path[4096], line[256];
    snprintf(path, sizeof(path), "%s/doc/sqtrace.5", source ? source : ".");
    FILE *const page = fopen(path, "r");
    assert_non_null(page);
    size_t count = 0;
    int inside = 0;
    while (fgets(line, sizeof(line), page)) {
        if (strncmp(line, ".\\\" ", 4) == 0 && strncmp(line + 4, mark, strlen(mark)) == 0)
            inside = 1;
        else if (inside && line[0] == '.')
            break;
        else if (inside)
            for (char *word = strtok(line, " \n"); word && count < room; word = strtok(NULL, " \n"))
                bytes[count++] = (uint8_t)strtoul(word, NULL, 16);
    }
    fclose(page);
    return count;
}

static struct sqt_record
example(unsigned n)
{
    static const struct sqt_record records[3] = {
        {UINT64_C(1000000000000), 7, 0, 0, 13, 0},
        {UINT64_C(1000000000300), 7, 0, 0, 14, 0},
        {UINT64_C(1000000001000), 7, 4096, 1, 22, 0},
    };
    return records[n];
}

/* The example has an event table of its own, so that it stays true when events are added. */
static void
example_table(struct sqt_pack_table *t)
{
    memset(t, 0, sizeof(*t));
    for (unsigned event = 13; event <= 22; ++event)
        t->id[event] = sqt_pack_slot(SQT_PREDICT_KIND, SQT_KIND_XACT, event);
    t->arg[22] = t->aux[22] = sqt_pack_slot(SQT_PREDICT_EVENT, 0, 22);
}

static void
packed_bytes_of_the_page_are_right(void **state)
{
    (void)state;
    uint8_t page[256], made[1024];
    struct sqt_pack_table table;
    const struct sqt_record records[3] = {example(0), example(1), example(2)};
    struct sqt_record read[3];
    example_table(&table);
    const size_t size = page_bytes("packed bytes", page, sizeof(page));
    assert_int_equal(sqt_pack(&table, records, 3, made), size);
    assert_memory_equal(made, page, size);
    assert_int_equal(sqt_unpack(&table, page, size, records[0].time, read, 3), 0);
    assert_memory_equal(read, records, sizeof(records));
}

static void
record_bytes_of_the_page_are_right(void **state)
{
    (void)state;
    uint8_t page[64];
    const struct sqt_record last = example(2);
    assert_int_equal(page_bytes("record bytes", page, sizeof(page)), sizeof(last));
    assert_memory_equal(&last, page, sizeof(last));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_bytes_of_the_page_are_right),
        cmocka_unit_test(record_bytes_of_the_page_are_right),
    };
    return cmocka_run_group_tests_name("format_example", tests, NULL, NULL);
}
