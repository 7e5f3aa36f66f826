/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hash.c - SipHash-2-4, and the key that each trace directory has of its own.
 */
#include "hash-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file-internal.h"
#include "sqtrace.h"

static struct sqt_hash_key key_in_use;

static inline uint64_t
rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void
rounds(uint64_t v[4], unsigned n)
{
#pragma GCC unroll 4
    while (n--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static inline void
absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

uint64_t
sqt_siphash(const struct sqt_hash_key *key, const void *data, size_t size)
{
    uint64_t v[4] = {
        key->k0 ^ UINT64_C(0x736f6d6570736575),
        key->k1 ^ UINT64_C(0x646f72616e646f6d),
        key->k0 ^ UINT64_C(0x6c7967656e657261),
        key->k1 ^ UINT64_C(0x7465646279746573),
    };
    const unsigned char *p = data;
    uint64_t word;
    for (size_t left = size; left >= sizeof(word); left -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        absorb(v, word);
    }
    word = (uint64_t)size << 56;
    for (size_t i = 0; i < size % sizeof(word); ++i)
        word |= (uint64_t)p[i] << (8 * i);
    absorb(v, word);
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void
sqt_hash_use(const struct sqt_hash_key *key)
{
    key_in_use = *key;
}

uint64_t
sqt_hash(const void *data, size_t size)
{
    const uint64_t hash = sqt_siphash(&key_in_use, data, size);
    return hash ? hash : 1; /* 0 says that there is no key */
}

/* Makes the key file whole or not at all: another process may look for it at the same moment. */
static int
make_key(int directory, uid_t owner, struct sqt_error *error)
{
    struct sqt_hash_key key;
    uint64_t serial;
    char name[64];
    if (getrandom(&key, sizeof(key), 0) != sizeof(key) || getrandom(&serial, sizeof(serial), 0) != sizeof(serial))
        return sqt_fail(error, "cannot get random bytes: %s", strerror(errno));
    snprintf(name, sizeof(name), SQT_KEY_FILE ".%016" PRIx64, serial);

    const int fd = sqt_create_owned(directory, name, O_WRONLY, 0600, owner);
    if (fd < 0)
        return sqt_fail(error, "cannot create a file in it: %s", strerror(errno));
    int failed = sqt_write_all(fd, &key, sizeof(key));
    if (!failed && linkat(directory, name, directory, SQT_KEY_FILE, 0) != 0 && errno != EEXIST)
        failed = -1;
    const int cause = errno;
    close(fd);
    unlinkat(directory, name, 0);
    return failed ? sqt_fail(error, "cannot make " SQT_KEY_FILE ": %s", strerror(cause)) : 0;
}

int
sqt_hash_key_load(struct sqt_hash_key *key, int directory, uid_t owner, struct sqt_error *error)
{
    int fd = openat(directory, SQT_KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        if (make_key(directory, owner, error) != 0)
            return -1;
        fd = openat(directory, SQT_KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd < 0)
        return sqt_fail(error, "cannot open " SQT_KEY_FILE ": %s",
                        errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    struct stat st;
    const int good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == sizeof(*key) &&
                     read(fd, key, sizeof(*key)) == sizeof(*key);
    close(fd);
    return good ? 0 : sqt_fail(error, SQT_KEY_FILE " is not a file of %zu bytes", sizeof(*key));
}
