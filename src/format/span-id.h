/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * span-id.h - the ids of spans: hashes of the ring's id and of numbers within that ring.  The reader makes them, and with
 * trace_context=forward Squid makes those of its tries, which are the same.
 */
#ifndef SQT_SPAN_ID_H
#define SQT_SPAN_ID_H

#include <stdint.h>
#include <string.h>

#define SQT_SPAN_SEED UINT64_C(0x7370616e000000) /* and the kind of span */
/* The kind of a try to send a request to a server: enum sqt_otlp_kind counts the others from 0. */
#define SQT_SPAN_TRY UINT64_C(0x80)

/* Every bit of the result depends on every bit of the value (the end of MurmurHash3). */
static inline uint64_t
sqt_span_mixed(uint64_t value)
{
    value = (value ^ value >> 33) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ value >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 33;
}

/* A hash of the seed, the ring's id and so many numbers. */
static inline uint64_t
sqt_span_hash(uint64_t seed, const uint8_t ring[16], const uint64_t *numbers, unsigned count)
{
    uint64_t hash = sqt_span_mixed(seed), word;
    for (unsigned i = 0; i < 2; ++i) {
        memcpy(&word, ring + 8 * i, sizeof(word));
        hash = sqt_span_mixed(hash ^ sqt_span_mixed(word + i)) + UINT64_C(0x9e3779b97f4a7c15);
    }
    for (unsigned i = 0; i < count; ++i)
        hash = sqt_span_mixed(hash ^ sqt_span_mixed(numbers[i] + i + 2)) + UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* The id of a try to send the request of that transaction to a server, its first being 1.  It is never 0. */
static inline uint64_t
sqt_span_try(const uint8_t ring[16], uint64_t xact, uint64_t tries)
{
    const uint64_t numbers[2] = {xact, tries};
    const uint64_t hash = sqt_span_hash(SQT_SPAN_SEED + SQT_SPAN_TRY, ring, numbers, 2);
    return hash + !hash;
}

#endif
