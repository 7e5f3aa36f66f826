/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * memory.c - see memory.h.
 */
#define _GNU_SOURCE /* fopencookie */
#include "memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char memory_line[] = "sqtrace: out of memory\n";
static void (*memory_cleanup)(void);
static _Thread_local int64_t memory_taken;

void
sqt_no_memory(void)
{
    static int ending;
    /* Another thread has said it, and ends the process. */
    while (__atomic_exchange_n(&ending, 1, __ATOMIC_RELAXED))
        pause();
    if (memory_cleanup)
        memory_cleanup();
    /* Not exit(): what libraries would clean up may be locked by whoever asked for memory, and takes memory itself. */
    const ssize_t written = write(STDERR_FILENO, memory_line, sizeof(memory_line) - 1);
    (void)written;
    _exit(1);
}

/* After a call that failed. */
static void
unless_no_memory(void)
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
    memory_taken += (int64_t)malloc_usable_size(memory);
    return memory;
}

void *
sqt_zeroed(size_t count, size_t size)
{
    void *const memory = calloc(count, size);
    if (!memory)
        sqt_no_memory();
    memory_taken += (int64_t)malloc_usable_size(memory);
    return memory;
}

void *
sqt_resized(void *memory, size_t size)
{
    const int64_t before = (int64_t)malloc_usable_size(memory);
    void *const resized = realloc(memory, size);
    if (!resized)
        sqt_no_memory();
    memory_taken += (int64_t)malloc_usable_size(resized) - before;
    return resized;
}

char *
sqt_copied(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(sqt_zeroed(1, size), text, size);
}

int64_t
sqt_memory_taken(void)
{
    return memory_taken;
}

void
sqt_freed(void *memory)
{
    memory_taken -= (int64_t)malloc_usable_size(memory);
    free(memory);
}

char *
sqt_vprinted(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        sqt_no_memory();
    return text;
}

char *
sqt_printed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = sqt_vprinted(format, arguments);
    va_end(arguments);
    return text;
}

/* ---- the C library's ---- */

FILE *
sqt_fopen(const char *path, const char *mode)
{
    FILE *const file = fopen(path, mode);
    if (!file)
        unless_no_memory();
    return file;
}

FILE *
sqt_fdopen(int fd, const char *mode)
{
    FILE *const file = fdopen(fd, mode);
    if (!file)
        unless_no_memory();
    return file;
}

DIR *
sqt_opendir(const char *path)
{
    DIR *const list = opendir(path);
    if (!list)
        unless_no_memory();
    return list;
}

DIR *
sqt_fdopendir(int fd)
{
    DIR *const list = fdopendir(fd);
    if (!list)
        unless_no_memory();
    return list;
}

ssize_t
sqt_getdelim(char **text, size_t *room, int end, FILE *from)
{
    errno = 0;
    const ssize_t size = getdelim(text, room, end, from);
    if (size < 0)
        unless_no_memory();
    return size;
}

ssize_t
sqt_getline(char **line, size_t *room, FILE *from)
{
    return sqt_getdelim(line, room, '\n', from);
}

struct memory_stream {
    char **text;
    size_t *size;
};

static ssize_t
memory_write(void *context, const char *bytes, size_t size)
{
    const struct memory_stream *const s = context;
    *s->text = sqt_resized(*s->text, *s->size + size + 1);
    memcpy(*s->text + *s->size, bytes, size);
    *s->size += size;
    (*s->text)[*s->size] = '\0';
    return (ssize_t)size;
}

static int
memory_close(void *context)
{
    free(context);
    return 0;
}

FILE *
sqt_text_stream(char **text, size_t *size)
{
    struct memory_stream *const s = sqt_zeroed(1, sizeof(*s));
    *s = (struct memory_stream){text, size};
    *text = sqt_zeroed(1, 1);
    *size = 0;
    FILE *const stream = fopencookie(s, "w", (cookie_io_functions_t){.write = memory_write, .close = memory_close});
    if (!stream)
        sqt_no_memory();
    return stream;
}
