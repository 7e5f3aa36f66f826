/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * codec.h - compression of pages: zstd at level 1, or gzip at level 1 where this was built without zstd.
 */
#ifndef SQT_PARQUET_CODEC_H
#define SQT_PARQUET_CODEC_H

#include "bytes.h"

/* Numbers of Parquet. */
enum sqt_codec { SQT_CODEC_GZIP = 2, SQT_CODEC_ZSTD = 6 };

/* The one that is used. */
enum sqt_codec sqt_codec(void);

/* Appends `size` bytes, compressed.  *context: NULL at first, kept from call to call; one thread. */
void sqt_codec_put(void **context, struct sqt_bytes *to, const uint8_t *data, size_t size);

void sqt_codec_free(void *context);

#endif
