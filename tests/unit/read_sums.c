/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * read_sums.c - checksums of stretches that overlap, against those of zlib over the same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "format/format.h"
#include "read/file/sums.h"

#define BYTES (3u << 20)

static uint8_t *bytes;

static int
fill(void **state)
{
    uint64_t random = 88172645463325252u;
    (void)state;
    bytes = malloc(BYTES);
    for (unsigned i = 0; i < BYTES; ++i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        bytes[i] = (uint8_t)(random >> 32);
    }
    return 0;
}

static int
drop(void **state)
{
    (void)state;
    free(bytes);
    return 0;
}

static void
assert_crc(struct sqt_sums *sums, uint64_t offset, size_t size)
{
    assert_int_equal(sqt_sums_crc(sums, 77, offset, bytes + offset, size), crc32(77, bytes + offset, (uInt)size));
}

static void
any_stretch_has_its_own_sum(void **state)
{
    struct sqt_sums sums = {0};
    (void)state;
    for (uint64_t offset = 0, n = 1; offset < BYTES; offset += 1 + n * n % 5000, ++n) {
        const size_t rest = BYTES - (size_t)offset;
        assert_crc(&sums, offset, rest);
        assert_crc(&sums, offset, n * 7919 % (rest + 1));
        assert_crc(&sums, offset, n % 3000 < rest ? n % 3000 : rest);
    }
    sqt_sums_free(&sums);
}

/* A stretch far behind those before it, or one that begins again at the front. */
static void
gaps_and_changes(void **state)
{
    struct sqt_sums sums = {0};
    (void)state;
    assert_crc(&sums, 100, 10000);
    assert_crc(&sums, 2000000, 100000);
    assert_crc(&sums, 50, 3000000);
    bytes[200000] ^= 1;
    sqt_sums_forget(&sums);
    assert_crc(&sums, 51, 2900000);
    assert_crc(&sums, 52, 0);
    sqt_sums_free(&sums);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_stretch_has_its_own_sum),
        cmocka_unit_test(gaps_and_changes),
    };
    return cmocka_run_group_tests_name("read_sums", tests, fill, drop);
}
