/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-rules.c - which rules hold, and of whom.
 */
#include <stdlib.h>
#include <string.h>

#include "findings-internal.h"
#include "format/events.h"

double
sqt_finding_share(const struct sqt_findings *f, const struct sqt_claim *claim)
{
    return f->total_ns ? 100.0 * (double)claim->ns / (double)f->total_ns : 0;
}

struct sqt_mix
sqt_finding_others(struct sqt_findings *f, struct sqt_subject *subject)
{
    return (struct sqt_mix){&f->all.waits, subject == &f->all ? NULL : &subject->waits, NULL};
}

int64_t
sqt_finding_wait(struct sqt_subject *subject)
{
    return sqt_mix_median(&(struct sqt_mix){&subject->waits, NULL, NULL});
}

int64_t
sqt_finding_connect(struct sqt_subject *subject)
{
    return subject->connects.count ? sqt_mix_median(&(struct sqt_mix){&subject->connects, NULL, NULL}) : 0;
}

const char *
sqt_finding_stage(const struct sqt_subject *subject)
{
    unsigned most = 0;
    for (unsigned i = 1; i < SQT_FOLLOW_STAGES; ++i)
        if (subject->followed[i] > subject->followed[most])
            most = i;
    return most < SQT_STAGES ? sqt_stages[most].name : most == SQT_UNACCOUNTED ? "unaccounted" : "not in the trace";
}

int
sqt_finding_part(const struct sqt_subject *subject)
{
    int most = -1;
    uint64_t ns = 0;
    for (int i = 0; i < SQT_IO_PARTS; ++i)
        if (subject->parts[i] > ns)
            ns = subject->parts[most = i];
    return most;
}

uint64_t
sqt_finding_dropped(const struct sqt_subject *subject)
{
    uint64_t ns;
    return __builtin_mul_overflow(subject->drops, SQT_FINDING_DROP_NS, &ns) ? INT64_MAX : ns;
}

const struct sqt_subject *
sqt_finding_idle(const struct sqt_findings *f, const struct sqt_subject *worker)
{
    const struct sqt_subject *least = NULL;
    for (const struct sqt_name_entry *named = f->names[SQT_FINDING_WORKER].first; named; named = named->next) {
        const struct sqt_subject *const other = (const struct sqt_subject *)named;
        if (other != worker && f->loops[other->kid].all &&
            (!least || other->busy < least->busy || (other->busy == least->busy && other->kid < least->kid)))
            least = other;
    }
    return least;
}

static int
is_uneven(const struct sqt_findings *f, const struct sqt_subject *worker)
{
    const struct sqt_subject *const idle = sqt_finding_idle(f, worker);
    return idle && worker->busy >= SQT_FINDING_BUSY && worker->busy >= SQT_FINDING_UNEVEN * idle->busy;
}

static int
is_diskd(const struct sqt_subject *subject)
{
    return strncmp(subject->named.name, "diskd:", 6) == 0;
}

static int
is_slower(struct sqt_findings *f, struct sqt_subject *subject, int64_t each, int compared)
{
    const struct sqt_mix others = sqt_finding_others(f, subject);
    const int64_t wait = sqt_finding_wait(subject);
    if (wait < each || (sqt_mix_count(&others) >= SQT_FINDING_LEAST) != compared)
        return 0;
    return !compared || wait / SQT_FINDING_TIMES >= sqt_mix_median(&others);
}

/* Connecting takes one round trip.  Whether it is so long, and most of an answer, which takes one, too. */
static int
is_far(struct sqt_subject *subject, int64_t each)
{
    const int64_t connect = sqt_finding_connect(subject), wait = sqt_finding_wait(subject);
    return connect >= each && wait >= connect - connect / 10 && wait / 2 <= connect;
}

/* Whether connecting to all others takes far less. */
static int
is_farther(struct sqt_findings *f, struct sqt_subject *subject)
{
    const struct sqt_mix others = {&f->all.connects, &subject->connects, NULL};
    return !sqt_mix_count(&others) || sqt_finding_connect(subject) / SQT_FINDING_TIMES >= sqt_mix_median(&others);
}

/* Whether a block takes less than that of each cache_dir. */
static int
is_disk_fast(const struct sqt_findings *f, uint64_t each)
{
    for (const struct sqt_name_entry *named = f->names[SQT_FINDING_PLACE].first; named; named = named->next) {
        const struct sqt_subject *const place = (const struct sqt_subject *)named;
        if (place->parts[SQT_IO_SERVICE] >= each * place->blocks && place->blocks)
            return 0;
    }
    return 1;
}

/* Whether disks that are not slow read what they have read before. */
static int
is_read_again(const struct sqt_findings *f, const struct sqt_finding *x)
{
    return sqt_finding_part(x->subject) == SQT_IO_SERVICE && x->subject->again_ns >= x->claim->ns / 2 &&
           is_disk_fast(f, (uint64_t)x->rule->each);
}

/* Whether the misses have that reason, or the other one. */
static int
is_reason(const struct sqt_subject *subject, const char *reason, const char *other)
{
    return strcmp(subject->named.name, reason) == 0 || (other && strcmp(subject->named.name, other) == 0);
}

/* Whether answers are as late as TCP makes them that sends a packet again, and few are half as late. */
static int
is_lossy(struct sqt_subject *subject, uint64_t each)
{
    const uint64_t late = subject->late[0] + subject->late[1];
    return subject->late[0] >= 5 && subject->late[1] >= 5 && late * 100 >= subject->waits.count * each &&
           subject->between <= late / 10;
}

/* Whether Squid put off accepts in most of the time before them. */
static int
is_put_off(struct sqt_findings *f, struct sqt_subject *subject)
{
    const uint64_t ns = sqt_finding_claim_of(f, subject, SQT_FINDING_NUMBER_descriptors)->ns;
    return ns && subject->put_off >= ns / 2;
}

/* What bodies of replies take beyond what their bytes need, ns. */
static double
findings_slow_bodies(const struct sqt_subject *subject)
{
    const double slow = subject->answer.body - subject->answer.bytes / SQT_FINDING_RATE * 1e9;
    return slow > 0 ? slow : 0;
}

/* Whether opening files takes nearly all of the time that a cache_dir is waited for. */
static int
is_opening(const struct sqt_subject *subject, const struct sqt_claim *claim)
{
    uint64_t blocks = 0;
    for (unsigned i = 0; i < SQT_IO_PARTS; ++i)
        blocks += subject->parts[i];
    return subject->opens_ns / 80 >= claim->ns / 100 && blocks <= claim->ns / 10;
}

/* Whether the condition of the rule holds. */
static int
findings_when(struct sqt_findings *f, const struct sqt_finding *x)
{
    const struct sqt_claim *const claim = x->claim;
    const int most = x->rule->by >= SQT_FINDING_PLACE ? sqt_finding_part(x->subject) : -1;
    switch (x->rule->when) {
    case SQT_FINDING_EACH:
        return claim->count && claim->ns / claim->count >= (uint64_t)x->rule->each;
    case SQT_FINDING_SLOWER:
    case SQT_FINDING_ONLY:
        return is_slower(f, x->subject, x->rule->each, x->rule->when == SQT_FINDING_SLOWER);
    case SQT_FINDING_WAIT:
        return x->subject->waits.count &&
               ((double)x->subject->waits.sum + findings_slow_bodies(x->subject)) / (double)x->subject->waits.count >=
                   (double)x->rule->each;
    case SQT_FINDING_QUEUE:
        return most == SQT_IO_QUEUE;
    case SQT_FINDING_OPENS:
        return is_opening(x->subject, claim);
    case SQT_FINDING_SERVICE:
        return most == SQT_IO_SERVICE;
    case SQT_FINDING_POLL:
    case SQT_FINDING_NOTICE:
        return most == SQT_IO_NOTICE && is_diskd(x->subject) == (x->rule->when == SQT_FINDING_POLL);
    case SQT_FINDING_FARTHER:
        return is_far(x->subject, x->rule->each) && is_farther(f, x->subject);
    case SQT_FINDING_FAR:
        return is_far(x->subject, x->rule->each);
    case SQT_FINDING_LOST:
        return is_lossy(x->subject, (uint64_t)x->rule->each / 1000000);
    case SQT_FINDING_AGAIN:
        return is_read_again(f, x);
    case SQT_FINDING_RELOAD:
        return is_reason(x->subject, "no_cache", "reload");
    case SQT_FINDING_KEPT:
        return claim->count && claim->ns / claim->count >= (uint64_t)x->rule->each &&
               x->subject->kept_ns >= claim->ns / 2;
    case SQT_FINDING_ANSWERED:
        return claim->count && claim->ns / claim->count >= (uint64_t)x->rule->each &&
               x->subject->answered_ns >= claim->ns / 2;
    case SQT_FINDING_VARY:
        return is_reason(x->subject, "vary", NULL);
    case SQT_FINDING_PUT_OFF:
        return is_put_off(f, x->subject);
    case SQT_FINDING_ACCEPTED_LATE:
        return claim->count && claim->ns / claim->count >= (uint64_t)x->rule->each &&
               x->subject->put_off < claim->ns / 2;
    case SQT_FINDING_DROPS:
        return x->subject->drops >= SQT_FINDING_LEAST && !is_put_off(f, x->subject);
    case SQT_FINDING_BLOCKED:
        return sqt_holders_most(&f->holders) == SQT_HELD_BLOCKED;
    case SQT_FINDING_COMPUTING:
        return sqt_holders_most(&f->holders) == SQT_HELD_COMPUTING;
    case SQT_FINDING_NOT_RUNNING:
        return sqt_holders_most(&f->holders) == SQT_HELD_NOT_RUNNING;
    case SQT_FINDING_UNEVEN_LOAD:
        return is_uneven(f, x->subject);
    case SQT_FINDING_WHENS:
        break;
    }
    return 0;
}

int
sqt_finding_in_part(struct sqt_findings *f, const struct sqt_finding *x)
{
    switch (x->rule->when) {
    case SQT_FINDING_EACH:
    case SQT_FINDING_ONLY:
    case SQT_FINDING_WAIT:
        return 1;
    case SQT_FINDING_SLOWER:
        return 0; /* ONLY has the same stages */
    case SQT_FINDING_FARTHER:
    case SQT_FINDING_FAR:
    case SQT_FINDING_LOST:
    case SQT_FINDING_AGAIN:
    case SQT_FINDING_UNEVEN_LOAD:
    case SQT_FINDING_DROPS:
    case SQT_FINDING_RELOAD:
    case SQT_FINDING_VARY:
        return 0; /* about the whole trace */
    case SQT_FINDING_ACCEPTED_LATE:
        return 1;
    default:
        return findings_when(f, x);
    }
}

int
sqt_finding_is_told(const struct sqt_findings *f, const struct sqt_finding_rule *rule,
                    const struct sqt_subject *subject)
{
    for (unsigned i = 0; i < f->count; ++i) {
        const struct sqt_finding *const x = &f->found[i];
        if (x->rule == rule && x->subject == subject)
            return 1;
        if ((x->rule->stages & rule->stages) && (x->subject == subject || x->subject == &f->all || subject == &f->all))
            return 1;
    }
    return 0;
}

/* least: the share of all time that its claim takes at least, in %. */
static void
findings_try(struct sqt_findings *f, unsigned rule, struct sqt_subject *subject, double least)
{
    const struct sqt_finding x = {&sqt_finding_rules[rule], subject, sqt_finding_claim_of(f, subject, rule)};
    if (x.rule->when == SQT_FINDING_DROPS)
        x.claim->ns = sqt_finding_dropped(subject);
    if (f->count < SQT_FINDING_MOST && !sqt_finding_is_told(f, x.rule, subject) &&
        sqt_finding_share(f, x.claim) >= least && x.claim->ns / f->totals.count >= (uint64_t)x.rule->mean &&
        findings_when(f, &x))
        f->found[f->count++] = x;
}

/* Most time first; then by rule and name. */
static int
findings_compare(const void *a, const void *b)
{
    const struct sqt_finding *const x = a, *const y = b;
    if (x->claim->ns != y->claim->ns)
        return x->claim->ns < y->claim->ns ? 1 : -1;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    return x->subject == y->subject ? 0 : strcmp(x->subject->named.name, y->subject->named.name);
}

static void
findings_try_all(struct sqt_findings *f, double least)
{
    for (unsigned i = 0; i < SQT_FINDINGS; ++i) {
        const struct sqt_finding_rule *const rule = &sqt_finding_rules[i];
        for (struct sqt_name_entry *named = f->names[rule->by].first; named; named = named->next)
            if (!sqt_names_is_others(named))
                findings_try(f, i, (struct sqt_subject *)named, least);
        if (rule->by == SQT_FINDING_ALL)
            findings_try(f, i, &f->all, least);
    }
}

/* How much of all time no finding claims, in %. */
static double
findings_left(const struct sqt_findings *f)
{
    double left = 100;
    for (unsigned i = 0; i < f->count; ++i)
        left -= sqt_finding_share(f, f->found[i].claim);
    return left > 0 ? left : 0;
}

void
sqt_findings_find(struct sqt_findings *f)
{
    findings_try_all(f, SQT_FINDING_SHARE);
    if (f->count) {
        /* What stands behind a large cause. */
        const double least = findings_left(f) * SQT_FINDING_SHARE / 100;
        findings_try_all(f, least > SQT_FINDING_BEHIND ? least : SQT_FINDING_BEHIND);
    }
    sqt_findings_together(f);
    qsort(f->found, f->count, sizeof(*f->found), findings_compare);
}
