/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * told.c - see told.h.
 */
#include "told.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *const sqt_harm_names[SQT_HARMS] = {"waiting", "failure", "standstill", "waste", "resource"};
const char *const sqt_pattern_names[SQT_PATTERNS] = {"throughout", "once", "recurring", "since", "growing"};

/* The place of the finding with least weight. */
static unsigned
told_least(const struct sqt_tolds *tolds)
{
    unsigned least = 0;
    for (unsigned i = 1; i < tolds->count; ++i)
        if (tolds->told[i]->weight < tolds->told[least]->weight)
            least = i;
    return least;
}

struct sqt_told *
sqt_tolds_add(struct sqt_tolds *tolds, const char *cause, enum sqt_harm harm, uint64_t weight)
{
    unsigned at = tolds->count;
    if (at == SQT_TOLD_MOST) {
        at = told_least(tolds);
        if (tolds->told[at]->weight >= weight)
            return NULL;
    } else {
        tolds->told[tolds->count++] = sqt_zeroed(1, sizeof(struct sqt_told));
    }
    const struct sqt_told made = {.cause = cause,
                                  .harm = harm,
                                  .share = SQT_CELL_MISSING,
                                  .p50 = SQT_CELL_MISSING,
                                  .p99 = SQT_CELL_MISSING,
                                  .weight = weight,
                                  .order = at};
    *tolds->told[at] = made;
    return tolds->told[at];
}

void
sqt_told_fill(struct sqt_told *told, const struct sqt_told *from)
{
    const struct sqt_told kept = *told;
    *told = *from;
    told->cause = kept.cause;
    told->harm = kept.harm;
    told->weight = kept.weight;
    told->order = kept.order;
}

void
sqt_told_print(char text[SQT_TOLD_TEXT], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, SQT_TOLD_TEXT, format, arguments);
    va_end(arguments);
}

int
sqt_told_names(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = length ? strstr(text, name) : NULL; at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return 1;
    return 0;
}

struct sqt_told *
sqt_tolds_find(const struct sqt_tolds *tolds, const char *cause, const char *culprit, uint64_t waiting)
{
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if ((!cause || strcmp(told->cause, cause) == 0) && (!culprit || sqt_told_names(told->culprit, culprit)) &&
            told->waiting >= waiting)
            return told;
    }
    return NULL;
}

struct sqt_told *
sqt_tolds_larger(struct sqt_tolds *tolds, const char *culprit, uint64_t waiting)
{
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if (told->harm == SQT_HARM_WAITING && told->waiting > waiting && *culprit &&
            (sqt_told_names(told->culprit, culprit) || sqt_told_names(culprit, told->culprit)))
            return told;
    }
    return NULL;
}

/* Whether that is what a standstill looks like to those who wait. */
static int
is_within(const struct sqt_told *told, const struct sqt_told *standstill)
{
    static const char *const causes[] = {"accept_wait", "loop_blocked", "loop_computing", "not_running", "reply_wait"};
    const int64_t slack = 1000000000;
    if (told->since < standstill->since - slack || told->until > standstill->until + slack)
        return 0;
    for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); ++i)
        if (strcmp(told->cause, causes[i]) == 0)
            return 1;
    return 0;
}

/* All that waited in it weighs as much as the largest of those that go. */
static void
tolds_take_in(struct sqt_tolds *tolds, struct sqt_told *standstill)
{
    unsigned left = 0;
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if (told == standstill || !is_within(told, standstill)) {
            tolds->told[left++] = told;
            continue;
        }
        standstill->weight = told->weight > standstill->weight ? told->weight : standstill->weight;
        sqt_freed(told);
    }
    tolds->count = left;
}

void
sqt_tolds_in_standstills(struct sqt_tolds *tolds)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        if (tolds->told[i]->harm == SQT_HARM_STANDSTILL) {
            const struct sqt_told *const at = tolds->told[i];
            tolds_take_in(tolds, tolds->told[i]);
            for (i = 0; tolds->told[i] != at; ++i)
                ;
        }
}

uint64_t
sqt_tolds_most(const struct sqt_tolds *tolds)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < tolds->count; ++i)
        most = tolds->told[i]->weight > most ? tolds->told[i]->weight : most;
    return most;
}

const char *
sqt_told_when(char *text, size_t size, const struct sqt_told *told)
{
    const double since = (double)told->since / 1e9, until = (double)told->until / 1e9;
    switch (told->pattern) {
    case SQT_PATTERN_ONCE:
        snprintf(text, size, "From %.1f s to %.1f s of the trace", since, until);
        break;
    case SQT_PATTERN_RECURRING:
        snprintf(text, size, "Again and again from %.1f s to %.1f s of the trace", since, until);
        break;
    case SQT_PATTERN_SINCE:
        snprintf(text, size, "Since %.1f s of the trace", since);
        break;
    case SQT_PATTERN_GROWING:
        snprintf(text, size, "More and more since %.1f s of the trace", since);
        break;
    default:
        snprintf(text, size, "All the time");
    }
    return text;
}

void
sqt_tolds_cut(struct sqt_tolds *tolds, int64_t begin, int64_t end)
{
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        if (told->now) /* its age is that of what waits */
            continue;
        told->since = told->since < begin ? begin : told->since < end ? told->since : end;
        told->until = told->until < end ? told->until : end;
    }
}

static int
told_compare(const void *a, const void *b)
{
    const struct sqt_told *const x = *(struct sqt_told *const *)a, *const y = *(struct sqt_told *const *)b;
    if (x->now != y->now)
        return x->now < y->now ? 1 : -1;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->culprit, y->culprit);
}

void
sqt_tolds_sort(struct sqt_tolds *tolds)
{
    if (tolds->count)
        qsort(tolds->told, tolds->count, sizeof(*tolds->told), told_compare);
}

/* Whether it is about waiting that is its own, and is over. */
static int
is_own_waiting(const struct sqt_told *told)
{
    return told->harm == SQT_HARM_WAITING && told->weight <= told->waiting && !told->now &&
           strcmp(told->cause, "one_worker") != 0;
}

void
sqt_tolds_spend(struct sqt_tolds *tolds, uint64_t ns)
{
    unsigned left = 0;
    double spent = 0;
    for (unsigned i = 0; i < tolds->count; ++i) {
        struct sqt_told *const told = tolds->told[i];
        const double waiting = (double)told->waiting;
        if (is_own_waiting(told) && spent > 0 && spent + waiting / 2 > (double)ns) {
            sqt_freed(told);
            continue;
        }
        spent += is_own_waiting(told) && *told->culprit ? waiting : 0;
        tolds->told[left++] = told;
    }
    tolds->count = left;
}

static const char *
told_text(const char *text)
{
    return *text ? text : NULL;
}

#define CELL(name) row[SQT_CELL(findings, name)]

static void
told_row(struct sqt_job *job, const struct sqt_told *told, int64_t rank)
{
    union sqt_cell row[SQT_CELLS(findings)];
    CELL(rank).number = rank;
    CELL(cause).text = told->cause;
    CELL(culprit).text = told_text(told->culprit);
    CELL(share_pct).number = told->share;
    CELL(cost_p50_ms).number = told->p50;
    CELL(cost_p99_ms).number = told->p99;
    CELL(sentence).text = told->sentence;
    CELL(advice).text = told_text(told->advice);
    CELL(command).text = told->command;
    CELL(time_s).number = told->since;
    CELL(until_s).number = told->until;
    CELL(pattern).text = sqt_pattern_names[told->pattern];
    CELL(harm).text = sqt_harm_names[told->harm];
    CELL(requests).number = (int64_t)told->requests;
    CELL(failures).number = (int64_t)told->failures;
    CELL(waiting_s).number = told->waiting < INT64_MAX ? (int64_t)told->waiting : INT64_MAX;
    CELL(lasts).number = told->now;
    CELL(state).text = NULL;
    sqt_job_row(job, row);
}

void
sqt_tolds_rows(const struct sqt_tolds *tolds, struct sqt_job *job)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        told_row(job, tolds->told[i], i + 1);
}

void
sqt_tolds_free(struct sqt_tolds *tolds)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        sqt_freed(tolds->told[i]);
    tolds->count = 0;
}
