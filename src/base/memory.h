/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * memory.h - memory that is there, or the program ends.
 *
 * The policy, for the reader and all programs: a program without memory ends with one line and status 1.  It leaves no
 * file under its final name: whatever others may take for whole is written under another name, which it gets when it is
 * whole.  So nothing but src/trace/ and src/format/, which are linked into Squid, calls malloc() itself, nor a function of
 * the C library that allocates (scandir(), fopen()): what is here asks whether memory was the reason, before a failure is
 * taken for a fault of the file.  tests/unit/allocations.py looks for such calls.  libsqtrace never ends the process: it goes on without tracing, and says so (sqtrace.h).
 * tests/unit/torture.py lets each allocation fail.
 */
#ifndef SQT_MEMORY_H
#define SQT_MEMORY_H

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Ends the program: one line on the standard error, status 1.  Any thread. */
void sqt_no_memory(void) __attribute__((noreturn));

/* Has a function called before the program ends so, in place of the one before; NULL: none.  It does what it can
 * without memory, and calls nothing that is here. */
void sqt_before_no_memory(void (*cleanup)(void));

/* malloc in the same manner as the following. */
void *sqt_allocated(size_t size);

/* calloc that ends the program with a line when there is no memory: a decoder cannot go on without. */
void *sqt_zeroed(size_t count, size_t size);

/* realloc in the same manner. */
void *sqt_resized(void *memory, size_t size);

/* strdup in the same manner. */
char *sqt_copied(const char *text);

/* free(), where what a job keeps is counted. */
void sqt_freed(void *memory);

/* How much a job keeps, where that is in many places: the difference between two readings.  Bytes that this thread took with
 * the functions above so far, less those that it gave back with sqt_freed().  It may be below 0. */
int64_t sqt_memory_taken(void);

/* asprintf and vasprintf in the same manner; they return the text. */
char *sqt_printed(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *sqt_vprinted(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* ---- the C library's functions that allocate: they end the program for want of memory, and fail otherwise as ever ---- */

FILE *sqt_fopen(const char *path, const char *mode);
FILE *sqt_fdopen(int fd, const char *mode);
DIR *sqt_opendir(const char *path);
DIR *sqt_fdopendir(int fd);

ssize_t sqt_getline(char **line, size_t *room, FILE *from);
ssize_t sqt_getdelim(char **text, size_t *room, int end, FILE *from);

/* A stream into memory: open_memstream(), which does not say that it has none.  After fclose() *text, to be freed, has all
 * that was written, a zero, and before it *size bytes. */
FILE *sqt_text_stream(char **text, size_t *size);

#endif
