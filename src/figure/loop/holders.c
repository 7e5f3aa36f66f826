/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * holders.c - see holders.h.
 *
 * Only samples of stretches in which the loop was held count.  What it computes in short passes holds nobody up.
 */
#include "holders.h"

#include <stdio.h>
#include <string.h>

#include "base/whole.h"
#include "seconds.h"

struct holder {
    struct sqt_name_entry named;
    int64_t computing, blocked; /* ns */
};

void
sqt_holders_init(struct sqt_holders *h)
{
    *h = (struct sqt_holders){.names = {.size = sizeof(struct holder), .most = SQT_HOLDERS}};
}

static void
holders_name_it(const struct sqt_loop_sample_row *k, char *text, size_t size)
{
    const struct sqt_thing thing = {.activity = k->activity, .disk_call = k->disk_call, .dir = k->dir};
    const char *const acl = k->acl ? sqt_origin_text(k->origin, SQT_DEF_ACL, k->acl) : NULL;
    const char *const call = k->call ? sqt_origin_text(k->origin, SQT_DEF_CALL, k->call) : NULL;
    char name[SQT_THING_NAME];
    sqt_thing_name(k->origin, &thing, name);
    if (acl)
        snprintf(text, size, "acl %s", acl);
    else if (call && k->disk_call == SQT_DISK_OTHER && strncmp(name, "write to ", 9) != 0)
        snprintf(text, size, "%s in %s", call, name);
    else
        snprintf(text, size, "%s", name);
}

static int64_t
holders_absent(const int64_t parts[SQT_LOOP_PARTS])
{
    return sqt_sum(parts[SQT_LOOP_QUEUED], parts[SQT_LOOP_STOPPED]);
}

static void
holders_count(int64_t *sum, int64_t ns)
{
    *sum = sqt_sum(*sum, ns);
}

void
sqt_holders_add(struct sqt_holders *h, const struct sqt_loop_sample_row *k)
{
    char name[2 * SQT_THING_NAME];
    const int64_t blocked = k->parts[SQT_LOOP_BLOCKED], rest = k->held - blocked - holders_absent(k->parts);
    const int64_t computing = rest > 0 ? rest : 0;
    if (k->held <= 0)
        return;
    holders_count(&h->parts[SQT_LOOP_BLOCKED], blocked);
    holders_count(&h->parts[SQT_LOOP_QUEUED], k->parts[SQT_LOOP_QUEUED]);
    holders_count(&h->parts[SQT_LOOP_STOPPED], k->parts[SQT_LOOP_STOPPED]);
    holders_count(&h->parts[SQT_LOOP_COMPUTING], computing);
    holders_count(&h->throttled, k->throttled == SQT_MISSING ? 0 : k->throttled);
    if (k->waits)
        return;
    holders_name_it(k, name, sizeof(name));
    struct holder *const holder = sqt_names_get(&h->names, name);
    holders_count(&holder->computing, k->call ? 0 : computing);
    holders_count(&holder->blocked, k->call ? k->since : blocked);
}

enum sqt_held_by
sqt_holders_most(const struct sqt_holders *h)
{
    const int64_t blocked = h->parts[SQT_LOOP_BLOCKED], computing = h->parts[SQT_LOOP_COMPUTING];
    const int64_t absent = holders_absent(h->parts);
    if (!(blocked | computing | absent))
        return SQT_HELD_BY_NOTHING;
    if (absent >= blocked && absent >= computing)
        return SQT_HELD_NOT_RUNNING;
    return blocked >= computing ? SQT_HELD_BLOCKED : SQT_HELD_COMPUTING;
}

static const char *
holders_why_absent(const struct sqt_holders *h)
{
    if (h->throttled >= holders_absent(h->parts) / 2)
        return "throttled by the quota of its control group";
    return h->parts[SQT_LOOP_QUEUED] >= h->parts[SQT_LOOP_STOPPED] ? "waiting for a processor"
                                                                   : "stopped with the whole process";
}

const char *
sqt_holders_known(const struct sqt_holders *h, enum sqt_held_by by, int64_t ns)
{
    const char *most = NULL;
    for (struct sqt_name_entry *named = h->names.first; named; named = named->next) {
        const struct holder *const holder = (const struct holder *)named;
        const int64_t its = by == SQT_HELD_BLOCKED ? holder->blocked : holder->computing;
        if (its > ns) {
            most = named->name;
            ns = its;
        }
    }
    return most;
}

const char *
sqt_holders_name(const struct sqt_holders *h, enum sqt_held_by by)
{
    if (by == SQT_HELD_NOT_RUNNING)
        return holders_why_absent(h);
    const char *const known = sqt_holders_known(h, by, 0);
    return known ? known : "an activity that no sample shows";
}

void
sqt_holders_free(struct sqt_holders *h)
{
    sqt_names_free(&h->names);
}
