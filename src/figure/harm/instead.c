/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * instead.c - see instead.h.
 */
#include "instead.h"

#include <stdlib.h>
#include <string.h>

static int
is_one_of(const char *cause, const char *const *causes)
{
    for (; *causes; ++causes)
        if (strcmp(cause, *causes) == 0)
            return 1;
    return 0;
}

void
sqt_instead(struct sqt_tolds *tolds, const char *const *causes, uint64_t ns, unsigned percent)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if (is_one_of(told->cause, causes) && (double)ns * 100 >= (double)told->waiting * percent)
            free(told);
        else
            tolds->told[kept++] = told;
    }
    tolds->count = kept;
}
