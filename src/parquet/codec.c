/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * codec.c - see codec.h.
 */
#include "codec.h"

#define LEVEL 1

#ifdef SQT_HAVE_ZSTD
#include <zstd.h>

enum sqt_codec
sqt_codec(void)
{
    return SQT_CODEC_ZSTD;
}

void
sqt_codec_put(void **context, struct sqt_bytes *to, const uint8_t *data, size_t size)
{
    const size_t room = ZSTD_compressBound(size);
    if (!*context)
        *context = ZSTD_createCCtx();
    if (!*context)
        sqt_no_memory();
    const size_t used = ZSTD_compressCCtx(*context, sqt_bytes_room(to, room), room, data, size, LEVEL);
    if (ZSTD_isError(used)) /* with this room it cannot fail otherwise */
        sqt_no_memory();
    to->used += used;
}

void
sqt_codec_free(void *context)
{
    ZSTD_freeCCtx(context);
}

#else
#include <zlib.h>

/* What deflateInit2() adds to the size of the window to make a gzip stream. */
#define GZIP 16

enum sqt_codec
sqt_codec(void)
{
    return SQT_CODEC_GZIP;
}

static z_stream *
codec_stream(void **context)
{
    z_stream *z = *context;
    if (z && deflateReset(z) == Z_OK)
        return z;
    if (!z)
        z = *context = sqt_zeroed(1, sizeof(*z));
    if (deflateInit2(z, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        sqt_no_memory();
    return z;
}

void
sqt_codec_put(void **context, struct sqt_bytes *to, const uint8_t *data, size_t size)
{
    z_stream *const z = codec_stream(context);
    const size_t room = deflateBound(z, size);
    z->next_in = (Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)size;
    z->next_out = sqt_bytes_room(to, room);
    z->avail_out = (uInt)room;
    if (deflate(z, Z_FINISH) != Z_STREAM_END) /* with this room it cannot fail otherwise */
        sqt_no_memory();
    to->used += room - z->avail_out;
}

void
sqt_codec_free(void *context)
{
    if (context)
        deflateEnd(context);
    free(context);
}
#endif
