/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waited.c - what requests wait for, by name, and how long uses of it took in each of the last seconds.
 */
#include <string.h>

#include "base/visible.h"
#include "top.h"

struct top_waited *
top_waited_of(struct top *top, const char *on, const char *whom)
{
    char name[2 * TOP_NAME];
    snprintf(name, sizeof(name), "%s %s", on, whom && *whom ? whom : "-");
    return sqt_names_get(&top->waited, name);
}

void
top_waited_use(struct top *top, const char *on, const char *whom, int64_t at, int64_t ns, int failed)
{
    struct top_waited *const waited = top_waited_of(top, on, whom);
    const int64_t number = at / WINDOW_SECOND;
    struct top_uses *const uses = &waited->seconds[(uint64_t)number % WINDOW_SECONDS];
    if (uses->number > number)
        return;
    if (uses->number < number)
        *uses = (struct top_uses){.number = number};
    ++uses->count;
    uses->failed += failed != 0;
    uses->ns += ns;
}
