/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ids.c - see ids.h.
 */
#include "ids.h"

#include <string.h>

#include "format/span-id.h"

#define IDS_TRACE UINT64_C(0x7472616365)   /* what the first number of a hash is for */
#define IDS_OWN UINT64_C(0x6f776e20747261) /* trace of a span without a request */

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
    ids_put(ids->trace, sqt_span_hash(IDS_TRACE, ring, &xact, 1));
    ids_put(ids->trace + 8, sqt_span_hash(IDS_TRACE + 1, ring, &xact, 1));
    ids_put(ids->span, sqt_span_hash(SQT_SPAN_SEED + SQT_OTLP_REQUEST, ring, &xact, 1));
    ids->flags = 1;
}

void
sqt_otlp_span_id(uint8_t id[8], const uint8_t ring[16], enum sqt_otlp_kind kind, const uint64_t numbers[3])
{
    ids_put(id, sqt_span_hash(SQT_SPAN_SEED + kind, ring, numbers, 3));
}

void
sqt_otlp_own_trace(uint8_t trace[16], const uint8_t span[8], const uint8_t ring[16])
{
    uint64_t number;
    memcpy(&number, span, sizeof(number));
    ids_put(trace, sqt_span_hash(IDS_OWN, ring, &number, 1));
    ids_put(trace + 8, sqt_span_hash(IDS_OWN + 1, ring, &number, 1));
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
