/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * human.h - numbers with units as people write them, with about three digits: 1.24 ms, 38.1 KB.
 */
#ifndef SQT_HUMAN_H
#define SQT_HUMAN_H

#define SQT_HUMAN_ROOM 64

/* A duration that is not negative, in s, ms, us or ns.  space stands before the unit, micro is how "us" is written. */
const char *sqt_human_time(char text[SQT_HUMAN_ROOM], double ns, const char *space, const char *micro);

/* Bytes, not negative, in B, KB, MB, GB or TB; 1 KB is 1,024 B. */
const char *sqt_human_bytes(char text[SQT_HUMAN_ROOM], double bytes);

#endif
