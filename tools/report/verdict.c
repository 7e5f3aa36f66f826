/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * verdict.c - whether a change was good: two traces compared over all requests, before any class.
 *
 * A class may be slower while all requests are faster, because requests moved to a faster class.  So the first sentence is
 * of all requests.  Tunnels are left out, because the time for which they are open is nobody's wait.  Requests are
 * compared in sections of equal numbers of them (sections.h), so idle time at the start of a trace does not count.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/whole.h"
#include "compare.h"
#include "row/facts.h"

/* What is summed up of each request beside its time; shares in millionths. */
enum { WHOLE_HIT, WHOLE_FAILED, WHOLE_SENT, WHOLE_HIT_SENT, WHOLE_REFUSED, WHOLE_ABORTED };
#define WHOLE_MILLION 1000000

/* A difference of the time that is smaller than this share of it does not matter. */
#define TIME_MATTERS 0.03
/* The same of failures, in millionths of all requests: 2 of 1,000. */
#define FAILED_MATTERS 2000
/* The same of the hit ratio, and of requests that are refused or given up: a percentage point. */
#define HIT_MATTERS 10000
/* Refused requests may take nearly no time.  They are the reason for a change of the time if their share of all requests
 * changed by this part of it. */
#define REFUSED_EXPLAINS 0.5
/* Traffic that differs by such a factor is another one. */
#define TRAFFIC_DIFFERS 1.5
/* Without a difference: what would have been noticed, as a share of the time, and in millionths of all requests. */
#define TIME_NOTICED 0.1
#define FAILED_NOTICED (2 * FAILED_MATTERS)
/* A class that gained or lost this share of the requests, in percent, is named. */
#define MOVED_LEAST 2
/* Durations that are kept for exact percentiles. */
#define WHOLE_BUDGET (1u << 20)
/* Of each interval, so that the five of time, failures and hits hold together with 95 %, and all seven with 93 %. */
#define WHOLE_CONFIDENCE 0.99

struct report_whole {
    struct sqt_distributions set;
    struct sqt_sections sections;
    uint64_t classes[SQT_CLASSES], count;
    int64_t first_ns, last_ns;
};

struct report_whole *
whole_new(void)
{
    struct report_whole *const w = sqt_zeroed(1, sizeof(*w));
    w->set.budget = WHOLE_BUDGET;
    w->sections.set = &w->set;
    return w;
}

void
whole_free(struct report_whole *w)
{
    if (w)
        sqt_sections_free(&w->sections);
    free(w);
}

static int64_t
whole_or_0(union sqt_cell cell)
{
    return cell.number == SQT_CELL_MISSING || cell.number < 0 ? 0 : cell.number;
}

/* By Squid or by the server: the client did not get what it asked for. */
static int
whole_is_refused(const union sqt_cell *row, enum sqt_class class)
{
    const int64_t status = row[SQT_CELL(requests, status)].number;
    return class == SQT_CLASS_DENIED || (status >= 400 && status < 500);
}

void
whole_take(struct report_whole *w, const union sqt_cell *row, enum sqt_class class)
{
    const char *const outcome = row[SQT_CELL(requests, outcome)].text;
    const int64_t sent = whole_or_0(row[SQT_CELL(requests, sent_bytes)]),
                  begin = row[SQT_CELL(requests, time_s)].number;
    /* Whoever answers with 500 or more, the client got nothing. */
    const int failed = outcome == sqt_outcome_names[SQT_OUTCOME_ERROR] ||
                       outcome == sqt_outcome_names[SQT_OUTCOME_TIMEOUT] ||
                       row[SQT_CELL(requests, status)].number >= 500;
    const int hit = SQT_HITS >> class & 1;
    int64_t parts[SQT_PARTS] = {0};
    ++w->count;
    ++w->classes[class];
    w->first_ns = w->count == 1 || begin < w->first_ns ? begin : w->first_ns;
    w->last_ns = w->count == 1 || begin > w->last_ns ? begin : w->last_ns;
    if (class == SQT_CLASS_TUNNEL)
        return;
    parts[WHOLE_HIT] = hit ? WHOLE_MILLION : 0;
    parts[WHOLE_FAILED] = failed ? WHOLE_MILLION : 0;
    parts[WHOLE_SENT] = sent;
    parts[WHOLE_HIT_SENT] = hit ? sent : 0;
    parts[WHOLE_REFUSED] = !failed && whole_is_refused(row, class) ? WHOLE_MILLION : 0;
    parts[WHOLE_ABORTED] = !failed && outcome == sqt_outcome_names[SQT_OUTCOME_ABORTED] ? WHOLE_MILLION : 0;
    sqt_sections_add(&w->sections, whole_or_0(row[SQT_CELL(requests, total_ns)]), parts);
}

void
whole_finish(struct report_whole *w)
{
    sqt_sections_finish(&w->sections);
}

/* ---- what differs ---- */

/* -1: less, 1: more, 0: the same, or not by much. */
static int
verdict_sign(const struct sqt_difference *d, double matters)
{
    return d->verdict != SQT_VERDICT_DIFFERENT || fabs(d->value) < matters ? 0 : d->value > 0 ? 1 : -1;
}

struct verdict {
    const struct sqt_sections *a, *b;
    int known;                                /* there are enough requests */
    int time, failed, hits, refused, aborted; /* signs */
    struct sqt_difference mean, failures;
    const char *name; /* of the statistic that the time is told by */
    const struct sqt_estimate *from, *to;
    int tail; /* sign of the 99th percentile, if it goes against that statistic */
};

static int
verdict_of_time(const struct sqt_estimate *a, const struct sqt_estimate *b)
{
    const struct sqt_difference d = sqt_sections_difference(a, b, WHOLE_CONFIDENCE);
    return verdict_sign(&d, TIME_MATTERS * a->value);
}

static struct sqt_difference
verdict_of_part(const struct verdict *v, unsigned part)
{
    return sqt_sections_difference(&v->a->parts[part], &v->b->parts[part], WHOLE_CONFIDENCE);
}

static int
verdict_sign_of_part(const struct verdict *v, unsigned part)
{
    const struct sqt_difference d = verdict_of_part(v, part);
    return verdict_sign(&d, HIT_MATTERS);
}

/* Whether a larger difference than that would have been noticed. */
static int
verdict_is_sure(const struct sqt_difference *d, double noticed)
{
    return d->verdict != SQT_VERDICT_UNKNOWN && -d->low <= noticed && d->high <= noticed;
}

/* The time is told by the mean, which all waits are in; else by the median or the 99th percentile, if only these differ. */
static struct verdict
verdict_find(const struct report_whole *a, const struct report_whole *b)
{
    struct verdict v = {.a = &a->sections, .b = &b->sections};
    const struct {
        const char *name;
        const struct sqt_estimate *from, *to;
    } statistics[] = {{"mean", &v.a->mean, &v.b->mean},
                      {"median", &v.a->median, &v.b->median},
                      {"99th percentile", &v.a->p99, &v.b->p99}};
    v.known = v.a->mean.freedom > 0 && v.b->mean.freedom > 0;
    for (unsigned i = 0; i < 3; ++i) {
        const int sign = verdict_of_time(statistics[i].from, statistics[i].to);
        if (v.time || (!sign && i))
            continue;
        v.time = sign;
        v.name = statistics[i].name;
        v.from = statistics[i].from;
        v.to = statistics[i].to;
    }
    const int p99 = verdict_of_time(&v.a->p99, &v.b->p99);
    v.tail = p99 == -v.time ? p99 : 0;
    v.mean = sqt_sections_difference(&v.a->mean, &v.b->mean, WHOLE_CONFIDENCE);
    v.failures = verdict_of_part(&v, WHOLE_FAILED);
    v.failed = verdict_sign(&v.failures, FAILED_MATTERS);
    v.hits = verdict_sign_of_part(&v, WHOLE_HIT);
    v.refused = verdict_sign_of_part(&v, WHOLE_REFUSED);
    v.aborted = verdict_sign_of_part(&v, WHOLE_ABORTED);
    return v;
}

/* ---- sentences ---- */

static double
verdict_percent(const struct sqt_sections *s, unsigned part)
{
    return s->parts[part].value / WHOLE_MILLION * 100;
}

/* Why the time says nothing of the change; NULL: it does.  What is refused, or a client gives up, is over soon. */
static const char *
verdict_unlike(const struct verdict *v)
{
    const double refused = fabs(v->b->parts[WHOLE_REFUSED].value - v->a->parts[WHOLE_REFUSED].value) / WHOLE_MILLION;
    if (v->failed < 0 && v->refused > 0)
        return "Not comparable, because more requests are refused";
    if (!v->time)
        return NULL;
    if (v->refused == -v->time && refused * v->from->value >= REFUSED_EXPLAINS * fabs(v->to->value - v->from->value))
        return v->refused > 0 ? "Not comparable, because more requests are refused"
                              : "Not comparable, because fewer requests are refused";
    if (v->aborted == -v->time)
        return v->aborted > 0 ? "Not comparable, because clients give up more requests"
                              : "Not comparable, because clients give up fewer requests";
    return NULL;
}

/* "Better: ", from both signs: whoever fails does not care how fast it was. */
static const char *
verdict_word(const struct verdict *v)
{
    if (v->failed > 0)
        return v->time < 0 ? "Worse, because more requests fail, though the time fell" : "Worse";
    if (verdict_unlike(v))
        return verdict_unlike(v);
    if (v->time > 0)
        return v->failed < 0 ? "Slower, but fewer requests fail" : "Worse";
    if (v->time < 0 || v->failed < 0)
        return "Better";
    return verdict_is_sure(&v->mean, TIME_NOTICED * v->a->mean.value) ? "No difference" : "No difference is certain";
}

/* In percent; a time falls by all of it at most. */
static int
verdict_change(double part)
{
    return part < -1 ? -100 : (int)lround((part < 1e6 ? part : 1e6) * 100);
}

/* What may be hidden in the noise. */
static void
verdict_put_unsure(FILE *out, const struct verdict *v)
{
    const double mean = v->a->mean.value;
    if (mean > 0 && !verdict_is_sure(&v->mean, TIME_NOTICED * mean))
        fprintf(out, " (from %+d %% to %+d %% is possible)", verdict_change(v->mean.low / mean),
                verdict_change(v->mean.high / mean));
}

static void
verdict_put_time(FILE *out, const struct verdict *v)
{
    char from[WORDS_ROOM], to[WORDS_ROOM], share[WORDS_ROOM];
    words_time(v->from->value, from);
    words_time(v->to->value, to);
    if (!v->time) {
        fprintf(out, "the mean time of a request was %s and is %s", from, to);
        verdict_put_unsure(out, v);
    } else if (v->from->value < 1)
        fprintf(out, "the %s time of a request went from %s to %s", v->name, from, to);
    else
        fprintf(out, "the %s time of a request went from %s to %s (%s%s)", v->name, from, to,
                v->time > 0 ? "+" : "\xe2\x88\x92",
                words_share(fabs(v->to->value - v->from->value) / v->from->value, share));
}

/* A share of the requests, which may be small: "0.034 %". */
static const char *
verdict_share(const struct sqt_sections *s, unsigned part, char text[WORDS_ROOM])
{
    const double percent = verdict_percent(s, part);
    if (percent > 0 && percent < 0.0001)
        return strcpy(text, "under 0.0001 %");
    snprintf(text, WORDS_ROOM, percent < 9.95 ? "%.2g %%" : "%.0f %%", percent);
    return text;
}

static void
verdict_put_failed(FILE *out, const struct verdict *v)
{
    char from[WORDS_ROOM], to[WORDS_ROOM];
    verdict_share(v->a, WHOLE_FAILED, from);
    verdict_share(v->b, WHOLE_FAILED, to);
    if (v->failed)
        fprintf(out, ", and failures (errors, time-outs, status 500 or more) went from %s to %s of the requests", from,
                to);
    else if (v->a->parts[WHOLE_FAILED].value > 0 || v->b->parts[WHOLE_FAILED].value > 0)
        fprintf(out, ". The share of failures (errors, time-outs, status 500 or more) %s: %s and %s",
                verdict_is_sure(&v->failures, FAILED_NOTICED) ? "did not change" : "may differ by chance", from, to);
    else
        fputs(", and no request failed", out);
}

/* Requests that nobody was served with. */
static void
verdict_put_unserved(FILE *out, const struct verdict *v)
{
    char from[WORDS_ROOM], to[WORDS_ROOM];
    if (v->refused)
        fprintf(out, " Refused requests (denied, or status 400 to 499) went from %s to %s of all.",
                verdict_share(v->a, WHOLE_REFUSED, from), verdict_share(v->b, WHOLE_REFUSED, to));
    if (v->aborted)
        fprintf(out, " Requests that clients gave up went from %s to %s of all.",
                verdict_share(v->a, WHOLE_ABORTED, from), verdict_share(v->b, WHOLE_ABORTED, to));
}

static char *
verdict_first(const struct verdict *v)
{
    char *text = NULL, from[WORDS_ROOM], to[WORDS_ROOM];
    size_t size;
    if (!v->known)
        return sqt_copied("Too few requests to say whether the change was good.");
    FILE *const out = sqt_text_stream(&text, &size);
    fprintf(out, "%s: ", verdict_word(v));
    verdict_put_time(out, v);
    verdict_put_failed(out, v);
    fputs(".", out);
    verdict_put_unserved(out, v);
    if (v->tail && v->time)
        fprintf(out, " But the slowest take %s: the 99th percentile went from %s to %s.",
                v->tail > 0 ? "longer" : "less", words_time(v->a->p99.value, from), words_time(v->b->p99.value, to));
    fclose(out);
    return text;
}

static double
verdict_bytes(const struct sqt_sections *s)
{
    const double sent = s->parts[WHOLE_SENT].value;
    return sent > 0 ? 100 * s->parts[WHOLE_HIT_SENT].value / sent : 0;
}

static void
verdict_hits(struct lines *lines, const struct verdict *v)
{
    const double a = verdict_percent(v->a, WHOLE_HIT), b = verdict_percent(v->b, WHOLE_HIT);
    lines_add(lines, "Hit ratio: %.1f %% of the requests before, %.1f %% after%s; of the bytes %.1f %% and %.1f %%.", a,
              b, v->hits || !v->known ? "" : ", which may be chance", verdict_bytes(v->a), verdict_bytes(v->b));
}

static double
whole_rate(const struct report_whole *w)
{
    return w->last_ns > w->first_ns ? (double)w->count / ((double)(w->last_ns - w->first_ns) / 1e9) : 0;
}

/* Requests a second. */
static const char *
verdict_rate(double rate, char text[WORDS_ROOM])
{
    char number[32];
    if (rate < 0.001)
        return strcpy(text, rate > 0 ? "under 0.001" : "0");
    snprintf(text, WORDS_ROOM, "%.3g", rate);
    return rate < 999.5 ? text : strcpy(text, sqt_grouped((uint64_t)sqt_whole(rate + 0.5), number));
}

static int
verdict_differs(double a, double b)
{
    return a > 0 && b > 0 && (a / b > TRAFFIC_DIFFERS || b / a > TRAFFIC_DIFFERS);
}

/* Two different loads cannot be compared. */
static void
verdict_traffic(struct lines *lines, const struct report_whole *a, const struct report_whole *b)
{
    char from[SQT_HUMAN_ROOM], to[SQT_HUMAN_ROOM], before[WORDS_ROOM], after[WORDS_ROOM];
    const double bytes_a = a->sections.parts[WHOLE_SENT].value, bytes_b = b->sections.parts[WHOLE_SENT].value;
    const double rate_a = whole_rate(a), rate_b = whole_rate(b);
    sqt_human_bytes(from, bytes_a);
    sqt_human_bytes(to, bytes_b);
    const int differs = verdict_differs(bytes_a, bytes_b) || verdict_differs(rate_a, rate_b);
    lines_add(lines, "Load: %s requests a second before, %s after, of %s and %s.%s", verdict_rate(rate_a, before),
              verdict_rate(rate_b, after), from, to,
              differs ? " The load differs, so the change may not be the only reason." : "");
}

/* "misses from 58 % to 41 %", of the classes that gained or lost most. */
static void
verdict_moved(struct lines *lines, const struct report_whole *a, const struct report_whole *b)
{
    char *text = NULL;
    size_t size;
    unsigned count = 0;
    FILE *const out = sqt_text_stream(&text, &size);
    uint64_t told = 0;
    for (;;) {
        unsigned most = SQT_CLASSES;
        double by = MOVED_LEAST;
        for (unsigned c = 0; c < SQT_CLASSES; ++c) {
            const double x = 100.0 * (double)a->classes[c] / (double)a->count;
            const double y = 100.0 * (double)b->classes[c] / (double)b->count;
            if (!(told >> c & 1) && fabs(y - x) >= by) {
                by = fabs(y - x);
                most = c;
            }
        }
        if (most == SQT_CLASSES || count == 4)
            break;
        told |= UINT64_C(1) << most;
        fprintf(out, "%s %s went from %.0f %% to %.0f %%", count++ ? "," : "", words_class(most),
                100.0 * (double)a->classes[most] / (double)a->count,
                100.0 * (double)b->classes[most] / (double)b->count);
    }
    fclose(out);
    if (count)
        lines_add(lines,
                  "What moved:%s of all requests. So the sentences by class compare other requests before and after.",
                  text);
    free(text);
}

void
compare_whole(struct lines *lines, const struct report_trace *a, const struct report_trace *b)
{
    const struct verdict v = verdict_find(a->whole, b->whole);
    char *const first = verdict_first(&v);
    lines_add(lines, "%s", first);
    free(first);
    if (!a->whole->count || !b->whole->count)
        return;
    verdict_hits(lines, &v);
    verdict_moved(lines, a->whole, b->whole);
    verdict_traffic(lines, a->whole, b->whole);
}
