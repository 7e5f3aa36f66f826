/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * guess.h - what a file is, from its first bytes.
 */
#ifndef SQT_GUESS_H
#define SQT_GUESS_H

#include <stddef.h>
#include <stdint.h>

/* Whether it is a segment, if need be one whose first bytes are damaged. */
int sqt_guess_is_segment(const uint8_t *bytes, size_t got);

/* Says in words what else it may be; the text is in buf. */
const char *sqt_guess(const uint8_t *bytes, size_t got, char *buf, size_t size);

#endif
