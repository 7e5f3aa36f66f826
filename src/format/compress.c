/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compress.c - see compress.h.
 */
#include "compress.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#ifdef SQT_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#define ZLIB_LEVEL 1
#define ZSTD_LEVEL 1
/* A block of more bytes has a table of matches of 2^12 entries.  Those 16 KB stay in the first-level cache, where the level's
 * own table has 32 or 64 KB.  A smaller block is compressed faster with the level's own. */
#define ZSTD_SMALL 16384
#define ZSTD_LARGE_HASH_LOG 12

static const char *const compress_no_memory = "there is no memory to decompress the block";
static const char *const damaged = "the block cannot be decompressed";

/* With errno, as sqt_decompress() has it. */
static const char *
compress_fail(int cause)
{
    errno = cause;
    return cause == ENOMEM ? compress_no_memory : damaged;
}

enum sqt_compression
sqt_compression_default(void)
{
    return sqt_compression_is_known(SQT_COMPRESSION_ZSTD) ? SQT_COMPRESSION_ZSTD : SQT_COMPRESSION_ZLIB;
}

const char *
sqt_compression_name(enum sqt_compression compression)
{
    static const char *const names[] = {"off", "zlib", "zstd"};
    return names[compression];
}

int
sqt_compression_is_known(enum sqt_compression compression)
{
#ifdef SQT_HAVE_ZSTD
    return compression <= SQT_COMPRESSION_ZSTD;
#else
    return compression <= SQT_COMPRESSION_ZLIB;
#endif
}

size_t
sqt_compress_bound(size_t size)
{
    size_t bound = compressBound((uLong)size);
#ifdef SQT_HAVE_ZSTD
    if (ZSTD_compressBound(size) > bound)
        bound = ZSTD_compressBound(size);
#endif
    return bound;
}

/* ---- zlib ---- */

static z_stream *
deflater_of(struct sqt_compressor *c)
{
    z_stream *z = c->zlib;
    if (z)
        return deflateReset(z) == Z_OK ? z : NULL;
    z = calloc(1, sizeof(*z));
    if (!z || deflateInit(z, ZLIB_LEVEL) != Z_OK) {
        free(z);
        return NULL;
    }
    return c->zlib = z;
}

static size_t
zlib_compress(struct sqt_compressor *c, const uint8_t *data, size_t size, uint8_t *to, size_t room)
{
    z_stream *const z = deflater_of(c);
    if (!z)
        return 0;
    z->next_in = (Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)size;
    z->next_out = to;
    z->avail_out = (uInt)room;
    return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

static z_stream *
inflater_of(struct sqt_decompressor *d)
{
    z_stream *z = d->zlib;
    if (z)
        return inflateReset(z) == Z_OK ? z : NULL;
    z = calloc(1, sizeof(*z));
    if (!z || inflateInit(z) != Z_OK) {
        free(z);
        return NULL;
    }
    return d->zlib = z;
}

static const char *
zlib_decompress(struct sqt_decompressor *d, const uint8_t *data, size_t size, uint8_t *to, size_t whole)
{
    z_stream *const z = inflater_of(d);
    if (!z)
        return compress_fail(ENOMEM);
    z->next_in = (Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)size;
    z->next_out = to;
    z->avail_out = (uInt)whole;
    const int result = inflate(z, Z_FINISH);
    if (result == Z_STREAM_END && z->avail_out == 0)
        return NULL;
    return compress_fail(result == Z_MEM_ERROR ? ENOMEM : EBADMSG);
}

/* ---- zstd ---- */

#ifdef SQT_HAVE_ZSTD
/* Each libzstd with ZSTD_compress2() takes these parameters; a block would be as good without them. */
static size_t
zstd_compress(struct sqt_compressor *c, const uint8_t *data, size_t size, uint8_t *to, size_t room)
{
    if (!c->zstd)
        c->zstd = ZSTD_createCCtx();
    if (!c->zstd)
        return 0;
    (void)ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    (void)ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_hashLog, size > ZSTD_SMALL ? ZSTD_LARGE_HASH_LOG : 0);
    const size_t used = ZSTD_compress2(c->zstd, to, room, data, size);
    return ZSTD_isError(used) ? 0 : used;
}

static const char *
zstd_decompress(struct sqt_decompressor *d, const uint8_t *data, size_t size, uint8_t *to, size_t whole)
{
    if (!d->zstd)
        d->zstd = ZSTD_createDCtx();
    if (!d->zstd)
        return compress_fail(ENOMEM);
    const size_t got = ZSTD_decompressDCtx(d->zstd, to, whole, data, size);
    if (got == whole)
        return NULL;
    return compress_fail(ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? ENOMEM
                                                                                                     : EBADMSG);
}

static void
zstd_free(void *compressor, void *decompressor)
{
    ZSTD_freeCCtx(compressor);
    ZSTD_freeDCtx(decompressor);
}
#else
#define zstd_compress(c, data, size, to, room) 0
#define zstd_decompress(d, data, size, to, whole) \
    (errno = EBADMSG, "the block is compressed with zstd, and this program was built without it: install libzstd-dev " \
                      "and build it again")
#define zstd_free(compressor, decompressor) ((void)0)
#endif

/* ---- either ---- */

size_t
sqt_compress(struct sqt_compressor *c, enum sqt_compression compression, const uint8_t *data, size_t size, uint8_t *to,
             size_t room)
{
    if (compression == SQT_COMPRESSION_OFF)
        return 0;
    const size_t used = compression == SQT_COMPRESSION_ZSTD ? zstd_compress(c, data, size, to, room)
                                                            : zlib_compress(c, data, size, to, room);
    return used < size ? used : 0;
}

const char *
sqt_decompress(struct sqt_decompressor *d, enum sqt_compression compression, const uint8_t *data, size_t size,
               uint8_t *to, size_t whole)
{
    return compression == SQT_COMPRESSION_ZSTD ? zstd_decompress(d, data, size, to, whole)
                                               : zlib_decompress(d, data, size, to, whole);
}

void
sqt_compressor_free(struct sqt_compressor *c)
{
    if (c->zlib)
        deflateEnd(c->zlib);
    free(c->zlib);
    zstd_free(c->zstd, NULL);
    c->zlib = c->zstd = NULL;
}

void
sqt_decompressor_free(struct sqt_decompressor *d)
{
    if (d->zlib)
        inflateEnd(d->zlib);
    free(d->zlib);
    zstd_free(NULL, d->zstd);
    d->zlib = d->zstd = NULL;
}
