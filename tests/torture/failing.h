/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failing.h - what a run that is tortured shares with whoever tortures it.
 */
#ifndef FAILING_H
#define FAILING_H

#include <stdint.h>

/* The file that SQT_FAILING names; torture.py packs and unpacks it. */
struct failing {
    uint64_t at;      /* number of the allocation that fails, from 1; 0: none does */
    uint64_t lasting; /* all after it fail, too */
    uint64_t armed;   /* allocations are counted */
    uint64_t show;    /* the first that fails prints its callers */
    uint64_t count;   /* allocations so far */
    uint64_t failed;  /* of them, those that failed */
};

/* Begins or ends counting.  Defined only where the library is preloaded: a program declares it weak. */
void failing_arm(int armed);

#endif
