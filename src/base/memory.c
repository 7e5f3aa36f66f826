/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * memory.c - see memory.h.
 */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
no_memory(void)
{
    fputs("sqtrace: out of memory\n", stderr);
    exit(1);
}

void *
sqt_zeroed(size_t count, size_t size)
{
    void *const memory = calloc(count, size);
    if (!memory)
        no_memory();
    return memory;
}

void *
sqt_resized(void *memory, size_t size)
{
    void *const resized = realloc(memory, size);
    if (!resized)
        no_memory();
    return resized;
}

char *
sqt_copied(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(sqt_zeroed(1, size), text, size);
}
