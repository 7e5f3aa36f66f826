/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * witness.c - counts what a Squid emits, outside of libsqtrace and its ring.
 *
 * Squid is linked once more with this file and --wrap for each of the functions below, from the objects that
 * sqtrace-build made.  The file that SQT_WITNESS names is mapped shared, so that its counts outlive SIGKILL:
 *
 *   u64 magic    u64 overflow    u64 events[256], records by event number
 *   SLOTS slots of one process each: u64 pid, u64 begun, u64 done, in records; begun before the ring, done after it
 *   STACKS stacks, each the innermost DEPTH return addresses above the emitter, relative to the program; 0: free
 *
 * lib/witness.py reads it.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/sqtrace.h"

#define MAGIC UINT64_C(0x5353454e54495751)
#define SLOTS 1024
#define STACKS 8192
#define DEPTH 5

struct slot {
    uint64_t pid, begun, done;
};

static struct witness {
    uint64_t magic, overflow;
    uint64_t events[256];
    struct slot slots[SLOTS];
    uint64_t stacks[STACKS][DEPTH];
} * witness;

static struct slot *mine;
static uint64_t base; /* where the program was loaded */

static int
take_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    base = info->dlpi_addr;
    return 1; /* the first is the program */
}

/* Maps the file while the process still has the user that it was started with. */
static __attribute__((constructor)) void
open_witness(void)
{
    const char *const path = getenv("SQT_WITNESS");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *const map = mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    witness = map;
    witness->magic = MAGIC;
    dl_iterate_phdr(take_base, NULL);
    void *frames[1];
    backtrace(frames, 1); /* its first call allocates */
}

/* A slot of its own: one with the same pid is of a process that is dead. */
static struct slot *
slot_of_process(void)
{
    const uint64_t pid = (uint64_t)getpid();
    for (unsigned i = 0; i < SLOTS; ++i) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&witness->slots[i].pid, &none, pid, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return &witness->slots[i];
    }
    __atomic_fetch_add(&witness->overflow, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Two processes may note the same stack twice; that does no harm. */
static void
note_stack(void)
{
    void *frames[DEPTH + 2] = {NULL};
    uint64_t stack[DEPTH] = {0}, hash = 0;
    const int found = backtrace(frames, DEPTH + 2) - 2; /* without this function and the wrapper */
    for (int i = 0; i < found; ++i) {
        stack[i] = (uint64_t)(uintptr_t)frames[i + 2] - base;
        hash = (hash ^ stack[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    for (unsigned i = 0; i < 64; ++i) {
        uint64_t *const known = witness->stacks[((hash >> 40) + i) % STACKS];
        if (memcmp(known, stack, sizeof(stack)) == 0)
            return;
        if (!known[0]) {
            memcpy(known, stack, sizeof(stack));
            return;
        }
    }
    __atomic_fetch_add(&witness->overflow, 1, __ATOMIC_RELAXED);
}

static int
begin(const struct sqt_record *records, unsigned n)
{
    if (!witness || (!mine && !(mine = slot_of_process())))
        return 0;
    for (unsigned i = 0; i < n; ++i)
        __atomic_fetch_add(&witness->events[records[i].event & 255], 1, __ATOMIC_RELAXED);
    note_stack();
    __atomic_store_n(&mine->begun, mine->begun + n, __ATOMIC_RELEASE);
    return 1;
}

static void
end(unsigned n)
{
    __atomic_store_n(&mine->done, mine->done + n, __ATOMIC_RELEASE);
}

/* A function that emits; the last arguments are its records, as far as they are looked at. */
#define WITNESSED(name, parameters, arguments, ...) \
    void __real_##name parameters; \
    void __wrap_##name parameters \
    { \
        const struct sqt_record records[] = {__VA_ARGS__}; \
        const unsigned n = sizeof(records) / sizeof(records[0]); \
        const int counted = begin(records, n); \
        __real_##name arguments; \
        if (counted) \
            end(n); \
    }
#define ONE \
    { \
        .event = (uint16_t)event \
    }
#define TWO \
    {.event = (uint16_t)events}, \
    { \
        .event = (uint16_t)(events >> 16) \
    }

WITNESSED(sqt_emit, (unsigned event, uint64_t id, uint64_t arg, uint32_t aux), (event, id, arg, aux), ONE)
WITNESSED(sqt_emit_too, (unsigned event, uint64_t id, uint64_t arg, uint32_t aux), (event, id, arg, aux), ONE)
WITNESSED(sqt_emit_pair,
          (uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id, uint64_t part_arg,
           uint32_t part_aux),
          (events, id, arg, aux, part_id, part_arg, part_aux), TWO)
WITNESSED(sqt_emit_pair_at,
          (uint64_t now, uint32_t events, uint64_t id, uint64_t arg, uint32_t aux, uint64_t part_id, uint64_t part_arg,
           uint32_t part_aux),
          (now, events, id, arg, aux, part_id, part_arg, part_aux), TWO)

void __real_sqt_emit_unit(struct sqt_record *records, unsigned n);
void
__wrap_sqt_emit_unit(struct sqt_record *records, unsigned n)
{
    const int counted = begin(records, n);
    __real_sqt_emit_unit(records, n);
    if (counted)
        end(n);
}
