/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pointer.h - the small file in a trace directory that says where a process's ring is.
 *
 *     ring=/dev/shm/sqtrace-...
 *     id=<32 hexadecimal digits>
 *     boot=...
 */
#ifndef SQT_POINTER_H
#define SQT_POINTER_H

#include <stddef.h>
#include <stdint.h>

struct sqt_pointer_text {
    char ring[1024];
    uint8_t ring_id[16];
};

/* Returns 0, or -1 if the lines ring= or id= are not there or not what they should be. */
int sqt_pointer_parse(const uint8_t *bytes, size_t got, struct sqt_pointer_text *text);

#endif
