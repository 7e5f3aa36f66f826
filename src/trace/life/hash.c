/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hash.c - SipHash-1-3, and the key that each trace directory has of its own.
 */
#define _GNU_SOURCE /* renameat2 */
#include "hash-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/file/file-internal.h"
#include "trace/sqtrace.h"
#include "trace/file/trust-internal.h"

#define NAME_TRIES 200 /* of 1 ms */

static struct sqt_hash_key key_in_use;

/* The store key that was hashed last: what is looked up is opened next, and then released. */
static struct {
    uint64_t key[2];
    uint64_t hash; /* 0: none */
} latest;

static inline uint64_t
hash_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void
round_once(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = hash_rotate(v[1], 13) ^ v[0];
    v[3] = hash_rotate(v[3], 16) ^ v[2];
    v[0] = hash_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = hash_rotate(v[1], 17) ^ v[2];
    v[3] = hash_rotate(v[3], 21) ^ v[0];
    v[2] = hash_rotate(v[2], 32);
}

static inline void
absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    round_once(v);
    v[0] ^= word;
}

static inline void
hash_start(uint64_t v[4], const struct sqt_hash_key *key)
{
    v[0] = key->k0 ^ UINT64_C(0x736f6d6570736575);
    v[1] = key->k1 ^ UINT64_C(0x646f72616e646f6d);
    v[2] = key->k0 ^ UINT64_C(0x6c7967656e657261);
    v[3] = key->k1 ^ UINT64_C(0x7465646279746573);
}

/* last: the bytes behind the last whole word, and the size in the top byte */
static inline uint64_t
hash_finish(uint64_t v[4], uint64_t last)
{
    absorb(v, last);
    v[2] ^= 0xff;
    round_once(v);
    round_once(v);
    round_once(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t
sqt_siphash(const struct sqt_hash_key *key, const void *data, size_t size)
{
    uint64_t v[4], word;
    const unsigned char *p = data;
    hash_start(v, key);
    for (size_t left = size; left >= sizeof(word); left -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        absorb(v, word);
    }
    word = (uint64_t)size << 56;
    for (size_t i = 0; i < size % sizeof(word); ++i)
        word |= (uint64_t)p[i] << (8 * i);
    return hash_finish(v, word);
}

void
sqt_hash_use(const struct sqt_hash_key *key)
{
    key_in_use = *key;
    latest.hash = 0;
}

/* 0 says that there is no key */
static inline uint64_t
not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

uint64_t
sqt_hash(const void *data, size_t size)
{
    return not_zero(sqt_siphash(&key_in_use, data, size));
}

uint64_t
sqt_hash_key(const unsigned char key[16])
{
    uint64_t words[2], v[4];
    memcpy(words, key, sizeof(words));
    if (words[0] == latest.key[0] && words[1] == latest.key[1] && latest.hash)
        return latest.hash;
    hash_start(v, &key_in_use);
    absorb(v, words[0]);
    absorb(v, words[1]);
    memcpy(latest.key, words, sizeof(words));
    return latest.hash = not_zero(hash_finish(v, (uint64_t)sizeof(words) << 56));
}

/* Gives a file its name if none has it, in one step.  A profile of AppArmor that lets Squid write may forbid links; not
 * every file system can rename so. */
static int
name_it(int directory, const char *draft, const char *name)
{
    if (renameat2(directory, draft, directory, name, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EINVAL || errno == ENOSYS ? linkat(directory, draft, directory, name, 0) : -1;
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
        return sqt_fail(error, "cannot create a file in it: %s", sqt_create_error(errno));
    int failed = sqt_write_all(fd, &key, sizeof(key));
    if (!failed && name_it(directory, name, SQT_KEY_FILE) != 0 && errno != EEXIST)
        failed = -1;
    const int cause = errno;
    close(fd);
    unlinkat(directory, name, 0);
    return failed ? sqt_fail(error, "cannot make " SQT_KEY_FILE ": %s", strerror(cause)) : 0;
}

static int
open_key(int directory)
{
    return openat(directory, SQT_KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* Where the draft becomes the key by a link, another process may see both names for a moment: waits that out. */
static void
wait_for_one_name(int fd)
{
    const struct timespec pause = {0, 1000000};
    struct stat st;
    for (unsigned i = 0; i < NAME_TRIES && fstat(fd, &st) == 0 && st.st_nlink > 1; ++i)
        nanosleep(&pause, NULL);
}

/* Reads a key that nobody but its owner and root can have read or written. */
static int
read_key(struct sqt_hash_key *key, int fd, uid_t owner, struct sqt_error *error)
{
    struct sqt_error cause;
    struct stat st;
    wait_for_one_name(fd);
    if (sqt_trust_file(fd, owner, S_IRWXG | S_IRWXO, &cause) != 0)
        return sqt_fail(error,
                        SQT_KEY_FILE " is refused: %.500s; chown and chmod mend that, or remove the file if "
                                     "somebody else may know it, and a new one is made",
                        cause.text);
    if (fstat(fd, &st) != 0 || st.st_size != sizeof(*key) || read(fd, key, sizeof(*key)) != sizeof(*key))
        return sqt_fail(error, SQT_KEY_FILE " is not a file of %zu bytes", sizeof(*key));
    return 0;
}

int
sqt_hash_key_load(struct sqt_hash_key *key, int directory, uid_t owner, struct sqt_error *error)
{
    int fd = open_key(directory);
    if (fd < 0 && errno == ENOENT) {
        if (make_key(directory, owner, error) != 0)
            return -1;
        fd = open_key(directory);
    }
    if (fd < 0)
        return sqt_fail(error, "cannot open " SQT_KEY_FILE ": %s",
                        errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    const int result = read_key(key, fd, owner, error);
    close(fd);
    return result;
}
