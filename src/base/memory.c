/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * memory.c - see memory.h.
 */
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*memory_cleanup)(void);

void
sqt_no_memory(void)
{
    static int ending;
    /* Another thread has said it, and ends the process. */
    while (__atomic_exchange_n(&ending, 1, __ATOMIC_RELAXED))
        pause();
    if (memory_cleanup)
        memory_cleanup();
    fputs("sqtrace: out of memory\n", stderr);
    exit(1);
}

void
sqt_unless_no_memory(void)
{
    if (errno == ENOMEM)
        sqt_no_memory();
}

void
sqt_before_no_memory(void (*cleanup)(void))
{
    memory_cleanup = cleanup;
}

void *
sqt_allocated(size_t size)
{
    void *const memory = malloc(size);
    if (!memory)
        sqt_no_memory();
    return memory;
}

void *
sqt_zeroed(size_t count, size_t size)
{
    void *const memory = calloc(count, size);
    if (!memory)
        sqt_no_memory();
    return memory;
}

void *
sqt_resized(void *memory, size_t size)
{
    void *const resized = realloc(memory, size);
    if (!resized)
        sqt_no_memory();
    return resized;
}

char *
sqt_copied(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(sqt_zeroed(1, size), text, size);
}
