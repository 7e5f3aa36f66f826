/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * followed.c - a log that Squid still writes: from where on it is read, and which file has its name now.
 */
#include <sys/stat.h>

#include "read/file/clock.h"
#include "log-internal.h"

/* Bytes at the end of a file that are read: some 100,000 lines. */
#define LAST ((uint64_t)16 << 20)
/* Bytes that are read of all files at a time, and of each at least: whoever follows shows what there is, and comes again. */
#define AT_A_TIME LAST
#define AT_A_TIME_LEAST ((uint64_t)1 << 20)
/* How often it is looked which file has the name, ns. */
#define EVERY INT64_C(500000000)

void
sqt_log_followed_begin(struct log_reader *r)
{
    struct stat st;
    sqt_log_bytes_follow(&r->bytes, fstat(r->bytes.fd, &st) == 0 ? (uint64_t)st.st_size : 0, LAST);
    r->near = r->far = 0; /* its first line may be years ago */
}

void
sqt_log_followed_allow(struct log_reader *r, size_t readers)
{
    const uint64_t share = AT_A_TIME / (readers ? readers : 1);
    sqt_log_bytes_allow(&r->bytes, share > AT_A_TIME_LEAST ? share : AT_A_TIME_LEAST);
}

uint64_t
sqt_log_followed_skip(struct log_reader *r)
{
    struct stat st;
    const uint64_t before = r->bytes.read;
    if (r->used || !r->bytes.follow || fstat(r->bytes.fd, &st) != 0 || (uint64_t)st.st_size <= before + LAST)
        return 0;
    sqt_log_followed_begin(r);
    return r->bytes.read - before;
}

/* Whether another file has the name now, or this one became shorter than what was read of it. */
static int
followed_is_replaced(const struct log_reader *r)
{
    struct stat named, open;
    if (fstat(r->bytes.fd, &open) != 0 || stat(r->file->name, &named) != 0 || !S_ISREG(named.st_mode))
        return 0;
    return named.st_ino != open.st_ino || named.st_dev != open.st_dev || (uint64_t)open.st_size < r->bytes.read;
}

int
sqt_log_followed_again(struct log_reader *r)
{
    struct sqt_log_bytes bytes;
    uint64_t size;
    const int64_t now = sqt_monotonic_ns();
    if (r->used || (r->looked && now - r->looked < EVERY)) /* what the batch has of its buffer stays */
        return 0;
    r->looked = now;
    if (!followed_is_replaced(r) || sqt_log_bytes_open(&bytes, r->file->name, &size) != 0)
        return 0;
    sqt_log_bytes_close(&r->bytes);
    r->bytes = bytes;
    sqt_log_bytes_follow(&r->bytes, size, LAST);
    sqt_log_followed_allow(r, 1);
    return 1;
}
