/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#ifdef SQT_HAVE_ZSTD
#include <zstd.h>
#endif

#include "format/compress.h"

#define SIZE 100000u

struct fixture {
    struct sqt_compressor compressor;
    struct sqt_decompressor decompressor;
    uint8_t plain[SIZE], back[SIZE];
    uint8_t *packed;
    size_t room;
};

static int
setup(void **state)
{
    struct fixture *const f = *state = calloc(1, sizeof(*f));
    f->room = sqt_compress_bound(SIZE);
    f->packed = malloc(f->room);
    for (size_t i = 0; i < SIZE; ++i)
        f->plain[i] = (uint8_t)(i % 7 ? i / 1000 : i);
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *const f = *state;
    sqt_compressor_free(&f->compressor);
    sqt_decompressor_free(&f->decompressor);
    free(f->packed);
    free(f);
    return 0;
}

/* Both directions keep their state, so each is used several times. */
static void
what_was_compressed_comes_back(void **state)
{
    struct fixture *const f = *state;
    for (unsigned how = SQT_COMPRESSION_ZLIB; how <= SQT_COMPRESSION_ZSTD; ++how) {
        if (!sqt_compression_is_known(how))
            continue;
        for (size_t size = 100; size <= SIZE; size = size * 10) {
            const size_t used = sqt_compress(&f->compressor, how, f->plain, size, f->packed, f->room);
            assert_in_range(used, 1, size - 1);
            memset(f->back, 0xa5, SIZE);
            assert_null(sqt_decompress(&f->decompressor, how, f->packed, used, f->back, size));
            assert_memory_equal(f->back, f->plain, size);
        }
    }
}

/* Another implementation than the one that wrote it: zlib's own one-call functions. */
static void
zlib_is_zlib(void **state)
{
    struct fixture *const f = *state;
    const size_t used = sqt_compress(&f->compressor, SQT_COMPRESSION_ZLIB, f->plain, SIZE, f->packed, f->room);
    uLongf size = SIZE;
    assert_int_equal(uncompress(f->back, &size, f->packed, used), Z_OK);
    assert_int_equal(size, SIZE);
    assert_memory_equal(f->back, f->plain, SIZE);
}

static void
what_would_grow_is_refused(void **state)
{
    struct fixture *const f = *state;
    uint32_t random = 1;
    for (size_t i = 0; i < SIZE; ++i)
        f->plain[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    for (unsigned how = SQT_COMPRESSION_OFF; how <= SQT_COMPRESSION_ZSTD; ++how)
        assert_int_equal(sqt_compress(&f->compressor, how, f->plain, SIZE, f->packed, f->room), 0);
}

/* A block that did not fit leaves nothing behind in the block after it. */
static void
a_compressor_without_room_compresses_the_next_block(void **state)
{
    struct fixture *const f = *state;
    for (unsigned how = SQT_COMPRESSION_ZLIB; how <= SQT_COMPRESSION_ZSTD; ++how) {
        if (!sqt_compression_is_known(how))
            continue;
        assert_int_equal(sqt_compress(&f->compressor, how, f->plain + 50000, 50000, f->packed, 10), 0);
        const size_t used = sqt_compress(&f->compressor, how, f->plain, 50000, f->packed, f->room);
        assert_in_range(used, 1, 50000 - 1);
        assert_null(sqt_decompress(&f->decompressor, how, f->packed, used, f->back, 50000));
        assert_memory_equal(f->back, f->plain, 50000);
    }
}

#ifdef SQT_HAVE_ZSTD
/* Bytes that zstd keeps after a block of level 1 with such a table; 0: the level's own. */
static size_t
kept_with_hash_log(struct fixture *f, int hash_log, size_t size)
{
    ZSTD_CCtx *const z = ZSTD_createCCtx();
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 1)));
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, hash_log)));
    assert_false(ZSTD_isError(ZSTD_compress2(z, f->packed, f->room, f->plain, size)));
    const size_t kept = ZSTD_sizeof_CCtx(z);
    ZSTD_freeCCtx(z);
    return kept;
}

static void
a_large_block_has_a_small_table(void **state)
{
    struct fixture *const f = *state;
    assert_int_not_equal(sqt_compress(&f->compressor, SQT_COMPRESSION_ZSTD, f->plain, 16000, f->packed, f->room), 0);
    assert_int_equal(ZSTD_sizeof_CCtx(f->compressor.zstd), kept_with_hash_log(f, 0, 16000));
    sqt_compressor_free(&f->compressor);
    assert_int_not_equal(sqt_compress(&f->compressor, SQT_COMPRESSION_ZSTD, f->plain, SIZE, f->packed, f->room), 0);
    assert_int_equal(ZSTD_sizeof_CCtx(f->compressor.zstd), kept_with_hash_log(f, 13, SIZE) - 16384);
}
#endif

/* Cut, longer or shorter than said, or with any bit turned: never more than the room, and mostly refused.  (A checksum is
 * the frame's business.) */
static void
damage_does_no_harm(void **state)
{
    struct fixture *const f = *state;
    for (unsigned how = SQT_COMPRESSION_ZLIB; how <= SQT_COMPRESSION_ZSTD; ++how) {
        if (!sqt_compression_is_known(how))
            continue;
        const size_t size = 5000, used = sqt_compress(&f->compressor, how, f->plain, size, f->packed, f->room);
        for (size_t cut = 0; cut < used; ++cut)
            assert_non_null(sqt_decompress(&f->decompressor, how, f->packed, cut, f->back, size));
        assert_non_null(sqt_decompress(&f->decompressor, how, f->packed, used, f->back, size - 1));
        assert_non_null(sqt_decompress(&f->decompressor, how, f->packed, used, f->back, size + 1));
        f->back[size] = 0x5a;
        for (size_t bit = 0; bit < used * 8; ++bit) {
            f->packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
            (void)sqt_decompress(&f->decompressor, how, f->packed, used, f->back, size);
            f->packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(f->back[size], 0x5a);
        }
        assert_null(sqt_decompress(&f->decompressor, how, f->packed, used, f->back, size));
    }
}

/* Whoever calls it ends the program where errno says that there is no memory, which it may say from before. */
static void
a_block_that_cannot_be_decompressed_is_no_lack_of_memory(void **state)
{
    struct fixture *const f = *state;
    memset(f->packed, 0x5a, 100);
    for (unsigned how = SQT_COMPRESSION_ZLIB; how <= SQT_COMPRESSION_ZSTD; ++how) {
        errno = ENOMEM;
        assert_non_null(sqt_decompress(&f->decompressor, how, f->packed, 100, f->back, 1000));
        assert_int_equal(errno, EBADMSG);
    }
}

static void
zstd_is_told_where_it_is_missing(void **state)
{
    struct fixture *const f = *state;
    if (sqt_compression_is_known(SQT_COMPRESSION_ZSTD)) {
        assert_int_equal(sqt_compression_default(), SQT_COMPRESSION_ZSTD);
        return;
    }
    assert_int_equal(sqt_compression_default(), SQT_COMPRESSION_ZLIB);
    const char *const wrong = sqt_decompress(&f->decompressor, SQT_COMPRESSION_ZSTD, f->packed, 10, f->back, 10);
    assert_non_null(strstr(wrong, "libzstd-dev"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_compressed_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(zlib_is_zlib, setup, teardown),
        cmocka_unit_test_setup_teardown(what_would_grow_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_compressor_without_room_compresses_the_next_block, setup, teardown),
#ifdef SQT_HAVE_ZSTD
        cmocka_unit_test_setup_teardown(a_large_block_has_a_small_table, setup, teardown),
#endif
        cmocka_unit_test_setup_teardown(damage_does_no_harm, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_that_cannot_be_decompressed_is_no_lack_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(zstd_is_told_where_it_is_missing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
