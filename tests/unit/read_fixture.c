/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_fixture.c - see read_fixture.h.
 */
#include "read_fixture.h"

struct sqt_record made[READ_MOST];
size_t made_count;
struct sqt_identity who;
struct read_result result;

int
read_begin(unsigned seed, size_t records, uint32_t kid)
{
    struct make_traffic traffic;
    make_traffic_init(&traffic, seed);
    made_count = make_traffic_records(&traffic, made, records);
    make_identity(&who, 1, kid);
    read_directory();
    return 0;
}

int
read_end(void **state)
{
    (void)state;
    read_free(&result);
    read_directory_remove();
    return 0;
}

size_t
unit_at(size_t i)
{
    while (made[i].flags & SQT_FLAG_PART)
        --i;
    return i;
}
