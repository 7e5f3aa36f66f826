/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waited.c - what requests wait for, by name, and how long uses of it took in each of the last seconds.
 */
#include <string.h>

#include "base/visible.h"
#include "top.h"

/* Seconds without a use after which a name may make room for another one. */
#define WAITED_KEPT 10

/* The one of all names that has not been used for longest; NULL: all were, of late. */
static struct top_waited *
waited_stalest(const struct top *top, int64_t number)
{
    struct top_waited *found = NULL;
    for (struct sqt_name_entry *e = top->waited.first; e; e = e->next) {
        struct top_waited *const waited = (struct top_waited *)e;
        if (!sqt_names_is_others(e) && waited->last + WAITED_KEPT < number && (!found || waited->last < found->last))
            found = waited;
    }
    return found;
}

/* What one was used for becomes part of what all others were. */
static void
waited_merge(struct top_waited *to, const struct top_waited *from)
{
    for (unsigned i = 0; i < WINDOW_SECONDS; ++i) {
        const struct top_uses *const old = &from->seconds[i];
        struct top_uses *const uses = &to->seconds[i];
        if (uses->number < old->number)
            *uses = *old;
        else if (old->count && uses->number == old->number) {
            uses->count += old->count;
            uses->failed += old->failed;
            uses->ns += old->ns;
        }
    }
}

/* There is room for a new name as long as one of the others has not been used of late. */
static int
waited_make_room(struct top *top, int64_t number)
{
    struct top_waited *const stalest = waited_stalest(top, number);
    if (!stalest)
        return 0;
    waited_merge(sqt_names_get(&top->waited, "other"), stalest);
    sqt_names_drop(&top->waited, &stalest->named);
    return 1;
}

struct top_waited *
top_waited_of(struct top *top, const char *on, const char *whom, int64_t at)
{
    const int64_t number = at / WINDOW_SECOND;
    char name[2 * TOP_NAME];
    snprintf(name, sizeof(name), "%s %s", on, whom && *whom ? whom : "-");
    if (!sqt_names_has(&top->waited, name))
        while (top->waited.count >= top->waited.most && waited_make_room(top, number))
            ;
    struct top_waited *const waited = sqt_names_get(&top->waited, name);
    waited->last = number > waited->last ? number : waited->last;
    return waited;
}

void
top_waited_use(struct top *top, const char *on, const char *whom, int64_t at, int64_t ns, int failed)
{
    struct top_waited *const waited = top_waited_of(top, on, whom, at);
    const int64_t number = at / WINDOW_SECOND;
    struct top_uses *const uses = &waited->seconds[(uint64_t)number % WINDOW_SECONDS];
    if (uses->number > number)
        return;
    if (uses->number < number)
        *uses = (struct top_uses){.number = number};
    ++uses->count;
    uses->failed += failed != 0;
    uses->ns += (double)ns;
}
