/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_forged.c - a segment that says of its ring whatever the caller wants, for ship_others.py and ship_modes.py:
 *
 *   make_forged FILE SEED STARTED HOST SEQUENCE FIRST REQUESTS APART LAST [BOOT]
 *
 *   SEED      of the ring's id
 *   STARTED   seconds after the usual moment when the ring was made
 *   HOST      - : none
 *   FIRST     number of its first record; a request has 10
 *   REQUESTS  each of 1 ms, APART seconds apart
 *   LAST      1: tracing ended with this segment
 *   BOOT      of the machine, as 32 hexadecimal digits
 */
#include <stdlib.h>
#include <string.h>

#include "make_trace.h"

#define EACH 10u
#define NS UINT64_C(1000000000)

static void
forged_put(struct sqt_record **to, uint64_t ns, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    *(*to)++ =
        (struct sqt_record){.time = MAKE_START + ns * 3, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
}

static void
forged_request(struct sqt_record *to, uint64_t xact, uint64_t at)
{
    forged_put(&to, at, SQT_EV_CLIENT_READ, 7, 120, 0);
    forged_put(&to, at, SQT_EV_REQUEST_PARSED, 7, 120, 0);
    forged_put(&to, at, SQT_EV_XACT_BEGIN, SQT_UNNAMED | xact, 7, 0);
    forged_put(&to, at + 1000, SQT_EV_XACT_NAMED, xact, SQT_UNNAMED | xact, 1);
    forged_put(&to, at + 2000, SQT_EV_MEM_HIT, xact, 100, 0);
    forged_put(&to, at + 900000, SQT_EV_REPLY_WRITE, xact, 100, 1);
    forged_put(&to, at + 950000, SQT_EV_REPLY_WRITTEN, xact, 100, 0);
    forged_put(&to, at + 1000000, SQT_EV_XACT_END, xact, 1, 200);
    forged_put(&to, at + 1000000, SQT_EV_PART_XACT_SIZES, 100, 400, 0);
    forged_put(&to, at + 1000000, SQT_EV_PART_XACT_FLAGS, xact, 7, 0);
    make_unit(to - 3, 3);
}

int
main(int argc, char **argv)
{
    if (argc != 10 && argc != 11)
        return 2;
    const uint64_t started = strtoull(argv[3], NULL, 10), sequence = strtoull(argv[5], NULL, 10),
                   first = strtoull(argv[6], NULL, 10), apart = strtoull(argv[8], NULL, 10);
    const size_t count = strtoul(argv[7], NULL, 10);
    struct sqt_record *const records = calloc(count + 1, EACH * sizeof(*records));
    struct make_bytes bytes = {0};
    struct sqt_identity who;
    char text[512];
    make_identity(&who, (unsigned)strtoul(argv[2], NULL, 10), 0);
    for (unsigned i = 0; argc == 11 && i < sizeof(who.boot_id); ++i)
        if (sscanf(argv[10] + 2 * i, "%2hhx", &who.boot_id[i]) != 1)
            return 2;
    who.start.ticks += started * NS * 3;
    who.start.monotonic_ns += started * NS;
    who.start.realtime_ns += started * NS;
    snprintf(text, sizeof(text), "def\t2\t1\tTCP_MEM_HIT\ndef\t3\t1\tGET\n%s%s%s",
             *argv[4] == '-' ? "" : "def\t16\t0\t", *argv[4] == '-' ? "" : argv[4], *argv[4] == '-' ? "" : "\n");
    for (size_t i = 0; i < count; ++i)
        forged_request(records + i * EACH, sequence * 100000 + i + 1,
                       (started + 1 + sequence) * NS + i * apart * NS + sequence * count * apart * NS);
    make_header_for(&bytes, &who, sequence, MAKE_ZLIB);
    make_text(&bytes, text);
    make_blocks(&bytes, &who, first, records, count * EACH, 8000, MAKE_ZLIB);
    make_end(&bytes, &who, &(struct sqt_totals){.head = first + count * EACH, .clean = *argv[9] == '1'});
    make_file(argv[1], &bytes);
    make_free(&bytes);
    free(records);
    return 0;
}
