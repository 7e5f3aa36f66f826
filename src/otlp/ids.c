/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ids.c - see ids.h.
 */
#include "ids.h"

#include <string.h>

#define IDS_TRACE UINT64_C(0x7472616365)    /* what the first number of a hash is for */
#define IDS_OWN UINT64_C(0x6f776e20747261)  /* trace of a span without a request */
#define IDS_SPAN UINT64_C(0x7370616e000000) /* and the kind */

/* Every bit of the result depends on every bit of the value (the end of MurmurHash3). */
static uint64_t
ids_mixed(uint64_t value)
{
    value = (value ^ value >> 33) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ value >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 33;
}

static uint64_t
ids_hash(uint64_t seed, const uint8_t ring[16], const uint64_t *numbers, unsigned count)
{
    uint64_t hash = ids_mixed(seed), word;
    for (unsigned i = 0; i < 2; ++i) {
        memcpy(&word, ring + 8 * i, sizeof(word));
        hash = ids_mixed(hash ^ ids_mixed(word + i)) + UINT64_C(0x9e3779b97f4a7c15);
    }
    for (unsigned i = 0; i < count; ++i)
        hash = ids_mixed(hash ^ ids_mixed(numbers[i] + i + 2)) + UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

void
sqt_otlp_put_id(uint8_t to[8], uint64_t half)
{
    for (unsigned i = 0; i < 8; ++i)
        to[i] = (uint8_t)(half >> (56 - 8 * i));
}

static void
ids_put(uint8_t *to, uint64_t hash)
{
    sqt_otlp_put_id(to, hash + !hash); /* no id is 0 */
}

void
sqt_otlp_request_ids(struct sqt_otlp_ids *ids, const uint8_t ring[16], uint64_t xact)
{
    memset(ids, 0, sizeof(*ids));
    ids_put(ids->trace, ids_hash(IDS_TRACE, ring, &xact, 1));
    ids_put(ids->trace + 8, ids_hash(IDS_TRACE + 1, ring, &xact, 1));
    ids_put(ids->span, ids_hash(IDS_SPAN + SQT_OTLP_REQUEST, ring, &xact, 1));
    ids->flags = 1;
}

void
sqt_otlp_span_id(uint8_t id[8], const uint8_t ring[16], enum sqt_otlp_kind kind, const uint64_t numbers[3])
{
    ids_put(id, ids_hash(IDS_SPAN + kind, ring, numbers, 3));
}

void
sqt_otlp_own_trace(uint8_t trace[16], const uint8_t span[8], const uint8_t ring[16])
{
    uint64_t number;
    memcpy(&number, span, sizeof(number));
    ids_put(trace, ids_hash(IDS_OWN, ring, &number, 1));
    ids_put(trace + 8, ids_hash(IDS_OWN + 1, ring, &number, 1));
}

int
sqt_otlp_sampled(const uint8_t trace[16], uint64_t threshold)
{
    uint64_t number = 0;
    for (unsigned i = 16 - SQT_OTLP_RANDOM_BITS / 8; i < 16; ++i)
        number = number << 8 | trace[i];
    return number >= threshold;
}

uint64_t
sqt_otlp_threshold(uint64_t billionths)
{
    const uint64_t most = UINT64_C(1) << SQT_OTLP_RANDOM_BITS, unit = 1000000000;
    const uint64_t left_out = billionths < unit ? unit - billionths : 0;
    return left_out == unit ? most : most / unit * left_out + most % unit * left_out / unit;
}
