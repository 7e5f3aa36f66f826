/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * checks.c - what must hold in every trace, and whether it does; and evidence, which may be unusual.  As sentences.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/distribution.h"
#include "base/memory.h"
#include "figure/stat/places.h"

/* Values kept before they become histograms: 2 MiB. */
#define BUDGET ((size_t)1 << 18)
/* Fewer swaps than this in either half say nothing. */
#define LEAST 30
/* A swap that is open longer than this when the trace of its process ends waits for a slow client, or lost its end. */
#define OPEN_LONG INT64_C(10000000000) /* 10 s */

/* The first delays of the swaps of one way at one cache_dir, by the number of bits of their sizes. */
struct place {
    struct place *next;
    int out;
    char name[SQT_PLACE_NAME];
    struct sqt_distribution by_size[65];
};

struct checks {
    struct sqt_distributions set;
    struct place *places, **places_end; /* in the order in which they were met */
    struct sqt_places names;
    struct place *of_name[SQT_PLACES + 1][2]; /* in, out */
    uint64_t requests, lost, unfinished;
    uint64_t swaps, ios;
    uint64_t bad_requests, bad_swaps, bad_ios;
    struct open {
        uint64_t count;
        int64_t longest; /* ns, for which one was open */
    } open_swaps, open_diskops;
    uint64_t diskops, lost_diskops;
};

static void
checks_start(struct sqt_job *job)
{
    struct checks *const c = job->state = sqt_zeroed(1, sizeof(*c));
    c->set.budget = BUDGET;
    c->places_end = &c->places;
}

/* Whether what began then is asked for.  What began nobody knows when is in the whole trace, and in no part of it. */
static int
checks_wants(const struct sqt_job *job, int64_t begin)
{
    return begin >= job->since && begin < job->until && (begin != SQT_MISSING || job->until == INT64_MAX);
}

/* What was open from begin to the end of the trace of its process. */
static void
count_open(struct open *open, int64_t begin, int64_t end)
{
    ++open->count;
    open->longest = end - begin > open->longest ? end - begin : open->longest;
}

/* Whether the parts are not negative and add up to the whole. */
static int
adds_up(const union sqt_cell *row, uint64_t columns, int64_t whole)
{
    for (uint64_t left = columns; left; left &= left - 1)
        if (row[__builtin_ctzll(left)].number < 0 && row[__builtin_ctzll(left)].number != SQT_CELL_MISSING)
            return 0;
    return sqt_row_sum(row, columns) == whole;
}

static void
checks_request(struct sqt_job *job, const struct sqt_request_fact *r)
{
    struct checks *const c = job->state;
    if (!checks_wants(job, r->begin))
        return;
    if (sqt_durations_unknown(r->outcome)) {
        ++c->lost;
        return;
    }
    ++*(r->outcome == SQT_OUTCOME_UNFINISHED ? &c->unfinished : &c->requests);
    c->bad_requests += !adds_up(r->row, sqt_parts_of_total, r->end - r->begin);
}

static struct place *
checks_place_of(struct checks *c, const struct sqt_swap_fact *s)
{
    const unsigned number = sqt_place_number(&c->names, s->place);
    struct place **const p = &c->of_name[number][s->out];
    if (!*p) {
        *p = sqt_zeroed(1, sizeof(**p));
        (*p)->out = s->out;
        memcpy((*p)->name, c->names.names[number], sizeof((*p)->name));
        *c->places_end = *p;
        c->places_end = &(*p)->next;
    }
    return *p;
}

#define SWAP(name) s->row[SQT_CELL(swaps, name)].number

static void
checks_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    struct checks *const c = job->state;
    if (!checks_wants(job, s->begin))
        return;
    if (sqt_durations_unknown(s->outcome))
        return;
    ++c->swaps;
    const int64_t parts[] = {SWAP(open_ns), SWAP(first_io_ns), SWAP(rest_io_ns), SWAP(idle_ns), SWAP(close_ns)};
    int64_t sum = 0, least = 0;
    for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); ++i)
        if (parts[i] != SQT_CELL_MISSING) {
            sum += parts[i];
            least = parts[i] < least ? parts[i] : least;
        }
    c->bad_swaps += sum != s->end - s->begin || least < 0;
    if (s->outcome == SQT_OUTCOME_UNFINISHED) {
        count_open(&c->open_swaps, s->begin, s->end);
        return;
    }
    if (s->outcome != SQT_OUTCOME_COMPLETE || SWAP(first_delay_ns) == SQT_CELL_MISSING || SWAP(size_bytes) <= 0)
        return;
    const unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)SWAP(size_bytes));
    sqt_distribution_add(&c->set, &checks_place_of(c, s)->by_size[bits], SWAP(first_delay_ns));
}

static void
checks_io(struct sqt_job *job, const struct sqt_io_fact *i)
{
    struct checks *const c = job->state;
    if (!checks_wants(job, i->row[SQT_CELL(ios, time_s)].number))
        return;
    ++c->ios;
    if (i->row[SQT_CELL(ios, queue_ns)].number != SQT_CELL_MISSING)
        c->bad_ios += !adds_up(i->row, UINT64_C(7) << SQT_CELL(ios, queue_ns), i->row[SQT_CELL(ios, total_ns)].number);
}

static void
diskop(struct sqt_job *job, const struct sqt_diskop_fact *d)
{
    struct checks *const c = job->state;
    if (!checks_wants(job, d->begin))
        return;
    ++c->diskops;
    if (d->outcome == SQT_OUTCOME_UNFINISHED)
        count_open(&c->open_diskops, d->begin, d->end);
    c->lost_diskops += sqt_diskop_lost(d);
}

/* ---- sentences ---- */

#define CELL(name) row[SQT_CELL(checks, name)]

static void
checks_say(struct sqt_job *job, const char *check, int64_t holds, int64_t unusual, uint64_t count, const char *sentence)
{
    union sqt_cell row[SQT_CELLS(checks)];
    CELL(check).text = check;
    CELL(holds).number = holds;
    CELL(count).number = (int64_t)count;
    CELL(sentence).text = sentence;
    CELL(kind).text = holds == SQT_CELL_MISSING ? "evidence" : "invariant";
    CELL(unusual).number = unusual;
    sqt_job_row(job, row);
}

/* Says what must hold, and that it does if the count of what does not is 0. */
static void
say_invariant(struct sqt_job *job, const char *check, uint64_t bad, const char *sentence)
{
    checks_say(job, check, !bad, SQT_CELL_MISSING, bad, sentence);
}

static void
say_evidence(struct sqt_job *job, const char *check, int unusual, uint64_t count, const char *sentence)
{
    checks_say(job, check, SQT_CELL_MISSING, unusual, count, sentence);
}

/* Compares the larger half of the swaps with the smaller one.  If the first delay does not know the size, half of the
 * larger ones wait longer than the median of the smaller ones, give or take what chance does. */
static void
first_delay(struct sqt_job *job, struct checks *c, struct place *p)
{
    struct sqt_distribution small = {0}, large = {0};
    uint64_t all = 0, below = 0;
    unsigned split = 0;
    char text[400];
    for (unsigned i = 0; i < 65; ++i)
        all += p->by_size[i].count;
    while (split < 65 && (below + p->by_size[split].count) * 2 <= all)
        below += p->by_size[split++].count;
    /* Sizes of `split` bits and more are the larger half, unless nothing is below them. */
    if (below < LEAST)
        ++split;
    for (unsigned i = 0; i < 65; ++i)
        sqt_distribution_add_all(&c->set, i < split ? &small : &large, &p->by_size[i]);
    if (small.count >= LEAST && large.count >= LEAST) {
        const int64_t m_small = sqt_distribution_median(&small), m_large = sqt_distribution_median(&large);
        const double above = 1 - (double)sqt_distribution_upto(&large, m_small) / (double)large.count;
        const double variance = 0.25 / (double)small.count + 0.25 / (double)large.count;
        const double excess = (above > 0.5 ? above - 0.5 : 0.5 - above) - 0.15;
        /* By far more than chance: four times its standard deviation. */
        const int depends = excess > 0 && excess * excess > 16 * variance &&
                            (m_large > m_small + m_small / 4 || m_small > m_large + m_large / 4);
        snprintf(
            text, sizeof(text),
            "%s %s: the first delay %s on the size. Of %llu objects of %llu bytes or more, %.0f %% waited longer than "
            "the median of the smaller ones (medians %.3f ms and %.3f ms)",
            p->out ? "swap-outs to" : "swap-ins from", p->name, depends ? "depends" : "does not depend",
            (unsigned long long)large.count, 1ULL << (split - 1), 100 * above, (double)m_large / 1e6,
            (double)m_small / 1e6);
        say_evidence(job, "first-delay", depends, all, text);
    }
    if (small.count)
        sqt_distribution_drop(&c->set, &small);
    if (large.count)
        sqt_distribution_drop(&c->set, &large);
}

static void
swap_ends(struct sqt_job *job, const struct open *open)
{
    char text[200];
    if (open->count)
        snprintf(text, sizeof(text), "%llu %s still open when the trace of %s process ended, the longest for %.3f s",
                 (unsigned long long)open->count, open->count == 1 ? "swap was" : "swaps were",
                 open->count == 1 ? "its" : "their", (double)open->longest / 1e9);
    else
        snprintf(text, sizeof(text), "every swap that began has ended");
    say_evidence(job, "disk-ends", open->longest > OPEN_LONG, open->count, text);
}

static void
diskop_ends(struct sqt_job *job, const struct checks *c)
{
    const struct open *const open = &c->open_diskops;
    char text[250], lost[80] = "";
    if (c->lost_diskops)
        snprintf(lost, sizeof(lost), "; %llu of them never came back (see diskops-lost)",
                 (unsigned long long)c->lost_diskops);
    if (open->count)
        snprintf(text, sizeof(text),
                 "%llu of %llu disk operations were still open when the trace of their process ended, the longest for "
                 "%.3f s%s",
                 (unsigned long long)open->count, (unsigned long long)c->diskops, (double)open->longest / 1e9, lost);
    else
        snprintf(text, sizeof(text), "every disk operation that began has ended");
    say_evidence(job, "diskop-ends", c->lost_diskops != 0, open->count, text);
}

static void
checks_finish(struct sqt_job *job)
{
    struct checks *const c = job->state;
    char text[400];
    snprintf(text, sizeof(text), "%llu requests have ended, %llu were open when the trace ended, %llu are lost",
             (unsigned long long)c->requests, (unsigned long long)c->unfinished, (unsigned long long)c->lost);
    say_evidence(job, "requests", 0, c->requests, text);
    snprintf(text, sizeof(text), "%llu of %llu requests have stages that do not add up to their totals",
             (unsigned long long)c->bad_requests, (unsigned long long)(c->requests + c->unfinished));
    say_invariant(job, "stages", c->bad_requests, text);
    snprintf(text, sizeof(text),
             "%llu of %llu swaps, and %llu of %llu blocks, have parts that do not add up to their totals",
             (unsigned long long)c->bad_swaps, (unsigned long long)c->swaps, (unsigned long long)c->bad_ios,
             (unsigned long long)c->ios);
    say_invariant(job, "disk-parts", c->bad_swaps + c->bad_ios, text);
    swap_ends(job, &c->open_swaps);
    diskop_ends(job, c);
    sqt_places_note(&c->names, job);
    for (struct place *p = c->places, *next; p; p = next) {
        next = p->next;
        first_delay(job, c, p);
        for (unsigned i = 0; i < 65; ++i)
            if (p->by_size[i].count)
                sqt_distribution_drop(&c->set, &p->by_size[i]);
        sqt_freed(p);
    }
    sqt_freed(c);
}

const struct sqt_family sqt_family_checks = {.where = {SQT_TABLE_checks},
                                             .start = checks_start,
                                             .request = checks_request,
                                             .swap = checks_swap,
                                             .io = checks_io,
                                             .diskop = diskop,
                                             .finish = checks_finish};
