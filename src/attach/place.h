/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * place.h - on which instruction of a function its probe stands.
 *
 * The kernel emulates a few instructions that carry a probe (push, calls, jumps) and runs all others out of line, one step at a
 * time, which costs about ten times as much.  So the probe goes to the first instruction that is emulated, if those before it
 * leave the registers of the arguments alone.
 */
#ifndef SQT_ATTACH_PLACE_H
#define SQT_ATTACH_PLACE_H

#include <stddef.h>
#include <stdint.h>

#define SQT_PLACE_FAR 48 /* bytes of a function that are looked at */

struct sqt_place_found {
    size_t offset; /* from the function's first byte */
    int emulated;  /* 0: the instruction there is single-stepped */
};

/* Looks at the code of a function, of which size bytes are there. */
struct sqt_place_found sqt_place_find(const uint8_t *code, size_t size);

#endif
