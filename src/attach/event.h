/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * event.h - what the program in the kernel passes on for each call of a function, and how it is told what to take.
 *
 * C, for the kernel's program too.
 */
#ifndef SQT_ATTACH_EVENT_H
#define SQT_ATTACH_EVENT_H

/* Where a value is found when a function is entered: an argument's register (0 to 5), or what that register points to. */
#define SQT_SOURCE_NONE 0
#define SQT_SOURCE_ARGUMENT(n) ((n) + 1)
#define SQT_SOURCE_POINTER(n) (8 + (n) + 1)
#define SQT_SOURCE_BEHIND 8 /* this bit: the register points to the value */
#define SQT_SOURCE_CODE 7   /* code_at, and the 32 bits that are there behind the pointer that argument 0 points to */
#define SQT_NO_CODE 0ull    /* where that is, is not known */
#define SQT_SOURCES 3       /* values of an event */

/* The cookie of a probe: its row in attach.def, and four bits for the source of each value. */
#define SQT_COOKIE(row, a, b, c) \
    ((row) | (unsigned long long)(a) << 16 | (unsigned long long)(b) << 20 | (unsigned long long)(c) << 24)
#define SQT_COOKIE_ROW(cookie) ((unsigned)((cookie)&0xffff))
#define SQT_COOKIE_SOURCE(cookie, n) ((unsigned)((cookie) >> (16 + 4 * (n))) & 15)

#define SQT_ATTACH_EXIT 0xffff /* a row that no function stands for: the process ends */

struct sqt_attach_event {
    unsigned long long time; /* ns of CLOCK_MONOTONIC */
    unsigned int pid;
    unsigned int row;
    unsigned long long values[SQT_SOURCES];
    unsigned long long lost; /* calls of this process that found no room before this one */
};

/* What the kernel's program counts, for each processor. */
struct sqt_attach_counts {
    unsigned long long events; /* passed on */
    unsigned long long lost;   /* found no room */
    unsigned long long others; /* of other threads, or of processes that are not traced: they cost, too */
};

#endif
