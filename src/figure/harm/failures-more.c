/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-more.c - what else is known of failures: neighbours that are dead, services that Squid did not use.
 */
#include <stdio.h>
#include <string.h>

#include "failures.h"
#include "row/cells.h"

enum sqt_why
sqt_failed_mostly(const struct sqt_failure *failure)
{
    for (enum sqt_why why = SQT_WHY_UNKNOWN + 1; why < SQT_WHYS; ++why)
        if (2 * failure->whys[why] > failure->count)
            return why;
    return SQT_WHY_UNKNOWN;
}

void
sqt_failed_dead(const struct sqt_failed_requests *all, char names[SQT_TOLD_NAME], char because[SQT_TOLD_TEXT])
{
    const char *error = NULL;
    size_t used = 0;
    unsigned count = 0;
    *names = '\0';
    for (unsigned i = 0; i < SQT_FAILED_PEERS && used < SQT_TOLD_NAME; ++i)
        if (*all->dead[i].name && all->dead[i].error) {
            ++count;
            error = sqt_error_name(all->dead[i].error);
            used += (size_t)snprintf(names + used, SQT_TOLD_NAME - used, "%s%s", used ? ", " : "", all->dead[i].name);
        }
    snprintf(
        because, SQT_TOLD_TEXT,
        "got an error page, because %s %s dead, and Squid may ask nobody else: each try to connect to %s fails (%s).",
        names, count > 1 ? "are" : "is", count > 1 ? "them" : "it", error ? error : "error");
}

void
sqt_failed_suspended(const struct sqt_failure *x, int64_t end, struct sqt_told *told)
{
    const int64_t since = x->suspended.since, ns = x->suspended.ns + (since && end > since ? end - since : 0);
    const size_t used = strlen(told->sentence);
    if (x->suspended.count)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " Squid did not use it %u time%s, for %.1f s together.", x->suspended.count,
                 x->suspended.count > 1 ? "s" : "", (double)ns / 1e9);
}
