/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wall.h - times of day as ISO 8601 with zone: 2026-11-25T12:03:10.123456789+01:00.
 *
 * The zone is the reader's: the variable TZ, or the system's.
 */
#ifndef SQT_WALL_H
#define SQT_WALL_H

#include <stdint.h>

/* Bytes that a time takes at most. */
#define SQT_WALL_ROOM 64

/* Writes a time, in ns since 1970, with so many decimals (0, 6 or 9).  Returns the end; no NUL is appended. */
char *sqt_put_wall(char *p, int64_t ns, unsigned decimals);

#endif
