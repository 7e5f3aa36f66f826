/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hash-internal.h - the keyed hash that stands for a store key in a trace.
 */
#ifndef SQT_HASH_INTERNAL_H
#define SQT_HASH_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/file/error-internal.h"

struct sqt_hash_key {
    uint64_t k0, k1;
};

/* SipHash-1-3 of size bytes: a secret key keeps URLs from being guessed, and nobody chooses keys to make hashes meet, so
 * the short form will do. */
uint64_t sqt_siphash(const struct sqt_hash_key *key, const void *data, size_t size);

/* Takes the key of a trace directory, and makes it if there is none yet: SQT_KEY_FILE, 16 random bytes, of
 * owner.  A key that others may read or write, or that belongs to somebody else, is refused.  Returns 0, or -1 after
 * filling in error. */
int sqt_hash_key_load(struct sqt_hash_key *key, int directory, uid_t owner, struct sqt_error *error);

/* The key that sqt_hash() uses from now on. */
void sqt_hash_use(const struct sqt_hash_key *key);

#endif
