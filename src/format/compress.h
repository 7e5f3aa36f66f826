/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * compress.h - compression of the packed records of a block, both ways.
 *
 * zlib is always there.  zstd is there if libzstd was when this was built; it takes a tenth of zlib's processor time for
 * blocks of traces, and no more bytes.
 */
#ifndef SQT_COMPRESS_H
#define SQT_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

/* The values stand in struct sqt_config. */
enum sqt_compression {
    SQT_COMPRESSION_OFF,
    SQT_COMPRESSION_ZLIB, /* level 1 */
    SQT_COMPRESSION_ZSTD  /* level 1, with a smaller table for large blocks */
};

/* What is used unless something else is asked for: zstd if this was built with it, else zlib. */
enum sqt_compression sqt_compression_default(void);

/* "off", "zlib" or "zstd". */
const char *sqt_compression_name(enum sqt_compression compression);

/* Whether this was built with it. */
int sqt_compression_is_known(enum sqt_compression compression);

/* What the two directions keep between blocks.  Zeroed at first; used by one thread at a time. */
struct sqt_compressor {
    void *zlib, *zstd;
};
struct sqt_decompressor {
    void *zlib, *zstd;
};

/* Room that is enough for the compressed form of `size` bytes, in bytes. */
size_t sqt_compress_bound(size_t size);

/* Compresses `size` bytes into `to`, which has room for `room` bytes.  Returns the number of bytes there, or 0 if that
 * would not be fewer than `size`, if there is no memory, or for SQT_COMPRESSION_OFF. */
size_t sqt_compress(struct sqt_compressor *compressor, enum sqt_compression compression, const uint8_t *data,
                    size_t size, uint8_t *to, size_t room);

/* Decompresses `size` bytes into exactly `whole` bytes at `to`.  Returns NULL, or what is wrong, as a constant text,
 * with errno: ENOMEM if there is no memory, else EBADMSG. */
const char *sqt_decompress(struct sqt_decompressor *decompressor, enum sqt_compression compression, const uint8_t *data,
                           size_t size, uint8_t *to, size_t whole);

void sqt_compressor_free(struct sqt_compressor *compressor);
void sqt_decompressor_free(struct sqt_decompressor *decompressor);

#endif
