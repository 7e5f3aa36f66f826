/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * failures-refused.c - servers that refuse requests alike: nearly all that are asked give the same status to a good part of them.
 * They do not agree by chance, so it is for what comes from this Squid.
 */
#include <stdio.h>

#include "failures.h"
#include "figure/finding/spell.h"

/* A server with fewer answers says nothing; of one that refuses, so many are refusals, and that part, in %. */
#define ANSWERS 10
#define EACH 5
#define SHARE_EACH 10
/* So many servers do so, and that part of those that say something, in %.  In all they refuse so many requests, and that part of
 * those in that time, in %. */
#define SERVERS 3
#define NEARLY_ALL 80
#define LEAST 20
#define SHARE 10

void
sqt_failed_odd(struct sqt_failed_requests *all, struct sqt_failure *server, const struct sqt_xact *xact, int odd)
{
    if (!odd && xact->status != 403)
        return;
    server->odd.status = server->odd.status ? server->odd.status : xact->status;
    server->odd.count += server->odd.status == xact->status;
    sqt_when_add(&all->when, SQT_FAILURES_ODD, xact->begin, (uint64_t)(xact->end - xact->begin), 1);
}

/* Those with one status. */
struct refused_alike {
    unsigned servers, asked; /* asked: those that say something, whatever they answer */
    uint64_t count, most;
    int mixed; /* some answer others well */
};

static struct refused_alike
refused_by(struct sqt_failed_requests *all, uint32_t status)
{
    struct refused_alike found = {.servers = 0};
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        /* A run of redirects or refusals is not in `answered`. */
        const uint64_t answers = x->answered + x->odd.count;
        if (x->at != SQT_FAILED_REFUSED || answers < ANSWERS)
            continue;
        ++found.asked;
        if (x->odd.status != status || x->odd.count < EACH || x->odd.count * 100 < answers * SHARE_EACH)
            continue;
        ++found.servers;
        found.count += x->odd.count;
        found.most = x->odd.count > found.most ? x->odd.count : found.most;
        found.mixed |= x->answered > 0;
    }
    return found;
}

static int
is_alike(const struct refused_alike *found)
{
    return found->servers >= SERVERS && found->servers * 100 >= found->asked * NEARLY_ALL && found->count >= LEAST &&
           2 * found->most <= found->count;
}

static void
refused_print(const struct refused_alike *found, uint32_t status, const struct sqt_spell *spell, struct sqt_told *told)
{
    char when[128];
    const double share = sqt_spell_percent(spell->met, spell->all);
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    sqt_told_print(told->sentence,
                   "%s, %llu of %llu requests (%.*f %%) were refused by servers, with %u: %u of the %u servers that "
                   "are asked do so%s. "
                   "Servers do not agree by chance: it is for what comes from this Squid, as its address or a header.",
                   sqt_told_when(when, sizeof(when), told), (unsigned long long)found->count,
                   (unsigned long long)spell->all, share < 9.95, share, status, found->servers, found->asked,
                   found->mixed ? ", for a part of what they are asked" : ", whatever they are asked");
    sqt_told_print(told->advice,
                   "Ask one of these servers by hand, from each address of this machine that Squid connects from "
                   "(tcp_outgoing_address, "
                   "and its acls, say which it is): sites ban addresses, for too many requests or by lists.%s The same "
                   "for headers that "
                   "Squid adds or removes: via, forwarded_for, request_header_access.",
                   status == 429 ? " Ask less often (refresh_pattern, cache), or from several addresses." : "");
    sqt_told_print(told->command, "sqtrace-dump --where='status == %u and tries > 0' TRACE", status);
}

uint32_t
sqt_failed_refused_alike(struct sqt_failed_requests *all, struct sqt_tolds *tolds)
{
    for (const struct sqt_name_entry *named = all->names.first; named; named = named->next) {
        const struct sqt_failure *const x = (const struct sqt_failure *)named;
        const uint32_t status = x->at == SQT_FAILED_REFUSED ? x->odd.status : 0;
        const struct refused_alike found = status ? refused_by(all, status) : (struct refused_alike){.servers = 0};
        struct sqt_told probe = {.since = 0};
        if (!is_alike(&found))
            continue;
        const struct sqt_spell spell = sqt_spell_tell(&probe, &all->when, SQT_FAILURES_ODD, SQT_FAILURES_ALL);
        struct sqt_told *const told =
            sqt_spell_percent(spell.met, spell.all) < SHARE
                ? NULL
                : sqt_tolds_add(tolds, "server_refuses", SQT_HARM_FAILURE, found.count * SQT_FAILURE_NS);
        if (!told)
            return 0;
        told->since = probe.since;
        told->until = probe.until;
        told->pattern = probe.pattern;
        told->requests = told->failures = found.count;
        refused_print(&found, status, &spell, told);
        return status;
    }
    return 0;
}
