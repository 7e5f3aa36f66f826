/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * memory.h - memory that is there, or the program ends.
 */
#ifndef SQT_MEMORY_H
#define SQT_MEMORY_H

#include <stddef.h>

/* calloc that ends the program with a line when there is no memory: a decoder cannot go on without. */
void *sqt_zeroed(size_t count, size_t size);

/* realloc in the same manner. */
void *sqt_resized(void *memory, size_t size);

/* strdup in the same manner. */
char *sqt_copied(const char *text);

#endif
