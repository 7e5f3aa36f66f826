/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * moment.c - see moment.h.
 */
#include "moment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define SECOND INT64_C(1000000000)
#define DAY_S INT64_C(86400)
/* Seconds after the start of a trace are fewer, seconds since 1970 more. */
#define LEAST_EPOCH (INT64_C(1000000000) * SECOND)
/* Times that are listed in an error. */
#define LISTED 4

/* ---- reading ---- */

/* So many digits; returns what follows, or NULL. */
static const char *
moment_digits(const char *p, unsigned count, int *value)
{
    *value = 0;
    for (; count; --count, ++p) {
        if (*p < '0' || *p > '9')
            return NULL;
        *value = 10 * *value + (*p - '0');
    }
    return p;
}

/* HH:MM[:SS[.FRACTION]] */
static const char *
moment_clock(const char *p, int64_t *ns)
{
    int hour, minute, second = 0;
    p = moment_digits(p, 2, &hour);
    p = p && *p == ':' ? moment_digits(p + 1, 2, &minute) : NULL;
    if (p && *p == ':')
        p = moment_digits(p + 1, 2, &second);
    if (!p || hour > 23 || minute > 59 || second > 59)
        return NULL;
    *ns = (hour * INT64_C(3600) + minute * 60 + second) * SECOND;
    if (*p == '.' && p[1] >= '0' && p[1] <= '9')
        for (int64_t one = SECOND / 10; *++p >= '0' && *p <= '9'; one /= 10)
            *ns += (*p - '0') * one;
    return p;
}

/* YYYY-MM-DD */
static const char *
moment_date(const char *p, struct moment *m)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    p = moment_digits(p, 4, &m->year);
    p = p && *p == '-' ? moment_digits(p + 1, 2, &m->month) : NULL;
    p = p && *p == '-' ? moment_digits(p + 1, 2, &m->day) : NULL;
    const int leap = m->year % 4 == 0 && (m->year % 100 != 0 || m->year % 400 == 0);
    if (!p || m->year < 1970 || m->year > 2200 || m->month < 1 || m->month > 12 || m->day < 1 || m->day > days[m->month - 1] ||
        (m->month == 2 && m->day == 29 && !leap))
        return NULL;
    return p;
}

/* Z, +HH, +HHMM or +HH:MM, to the end. */
static int
moment_zone(const char *p, int64_t *seconds)
{
    int hours, minutes = 0;
    if (strcmp(p, "Z") == 0) {
        *seconds = 0;
        return 0;
    }
    const int sign = *p == '+' ? 1 : *p == '-' ? -1 : 0;
    p = sign ? moment_digits(p + 1, 2, &hours) : NULL;
    if (p && *p)
        p = moment_digits(p + (*p == ':'), 2, &minutes);
    if (!p || *p || hours > 14 || minutes > 59)
        return -1;
    *seconds = sign * (hours * INT64_C(3600) + minutes * 60);
    return 0;
}

/* Seconds since 1970 of a date and a time of day in a zone without offset. */
static int64_t
moment_utc(const struct moment *m)
{
    struct tm tm = {.tm_year = m->year - 1900, .tm_mon = m->month - 1, .tm_mday = m->day};
    return (int64_t)timegm(&tm) + m->ns / SECOND;
}

static int
moment_fail(char *error, size_t size, const char *text)
{
    snprintf(error, size, "'%s' is no time; write 90s, -10min, 12:03:10, 2026-11-25T12:03:10 or seconds since 1970",
             text);
    return -1;
}

static int
parse_date(struct moment *m, const char *text, char *error, size_t error_size)
{
    const char *p = moment_date(text, m);
    int64_t zone;
    m->form = MOMENT_LOCAL;
    m->ns = 0;
    if (p && (*p == 'T' || *p == ' '))
        p = moment_clock(p + 1, &m->ns);
    if (!p)
        return moment_fail(error, error_size, text);
    if (!*p)
        return 0;
    if (moment_zone(p, &zone) != 0)
        return moment_fail(error, error_size, text);
    m->form = MOMENT_SINCE_1970;
    m->ns = (moment_utc(m) - zone) * SECOND + m->ns % SECOND;
    return 0;
}

int
moment_parse(struct moment *m, const char *text, char *error, size_t error_size)
{
    const char *wrong = NULL;
    const size_t digits = strspn(text, "0123456789");
    *m = (struct moment){.form = MOMENT_TIME_OF_DAY};
    if (digits == 4 && text[4] == '-')
        return parse_date(m, text, error, error_size);
    if (digits && text[digits] == ':') {
        const char *const rest = moment_clock(text, &m->ns);
        return rest && !*rest ? 0 : moment_fail(error, error_size, text);
    }
    if (sqt_units_parse(text, strlen(text), SQT_UNITS_TIME, SECOND, &m->ns, &wrong) != 0) {
        if (text[0] >= 'a' && text[0] <= 'z')
            return moment_fail(error, error_size, text);
        snprintf(error, error_size, "'%s': %s", text, wrong);
        return -1;
    }
    const int plain = !text[strspn(text, "0123456789.")];
    m->form = text[0] == '-' ? MOMENT_BEFORE_END : plain && m->ns >= LEAST_EPOCH ? MOMENT_SINCE_1970 : MOMENT_AFTER_START;
    if (m->form == MOMENT_BEFORE_END)
        m->ns = -m->ns;
    return 0;
}

/* ---- which time it is ---- */

/* How far the zone's clocks are ahead then. */
static int64_t
offset_at(int64_t seconds)
{
    const time_t t = (time_t)seconds;
    struct tm tm;
    return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* All moments, in s since 1970, at which clocks of the reader's zone show that date and time: none, one or two. */
static unsigned
moment_at(const struct moment *m, int64_t at[2])
{
    const int64_t shown = moment_utc(m);
    const int64_t offsets[2] = {offset_at(shown - DAY_S), offset_at(shown + DAY_S)};
    unsigned count = 0;
    for (unsigned i = 0; i < 2; ++i)
        if ((i == 0 || offsets[1] != offsets[0]) && offset_at(shown - offsets[i]) == offsets[i])
            at[count++] = shown - offsets[i];
    return count;
}

/* Writes "2026-10-25T02:30:00+0200". */
static void
moment_put(char *text, size_t size, int64_t seconds)
{
    const time_t t = (time_t)seconds;
    struct tm tm;
    if (!localtime_r(&t, &tm) || !strftime(text, size, "%Y-%m-%dT%H:%M:%S%z", &tm))
        snprintf(text, size, "%lld", (long long)seconds);
}

struct candidates {
    int64_t at[LISTED]; /* s since 1970 */
    unsigned count;     /* more than LISTED: those are not kept */
};

static void
candidates_add(struct candidates *c, const struct moment *m, const struct moment_trace *trace, int within)
{
    int64_t at[2];
    const unsigned count = moment_at(m, at);
    for (unsigned i = 0; i < count; ++i) {
        const int64_t since_start = at[i] * SECOND + m->ns % SECOND - trace->start_ns;
        if (within && (since_start < 0 || (trace->last_ns >= 0 && since_start > trace->last_ns)))
            continue;
        if (c->count < LISTED)
            c->at[c->count] = at[i];
        ++c->count;
    }
}

/* That time of each day of the trace. */
static void
candidates_of_days(struct candidates *c, const struct moment *m, const struct moment_trace *trace, int within)
{
    const int64_t first = trace->start_ns / SECOND;
    const int64_t last = first + (trace->last_ns > 0 ? trace->last_ns / SECOND : 0);
    const int64_t first_day = (first + offset_at(first)) / DAY_S, last_day = (last + offset_at(last)) / DAY_S;
    for (int64_t day = first_day; day <= last_day && c->count <= LISTED; ++day) {
        const time_t noon = (time_t)(day * DAY_S + DAY_S / 2);
        struct tm tm;
        if (!gmtime_r(&noon, &tm))
            continue;
        struct moment then = *m;
        then.year = tm.tm_year + 1900;
        then.month = tm.tm_mon + 1;
        then.day = tm.tm_mday;
        candidates_add(c, &then, trace, within);
    }
}

static int
candidates_choose(const struct candidates *c, int64_t part, const struct moment_trace *trace, int64_t *ns, char *error,
                  size_t size)
{
    if (c->count == 1) {
        *ns = c->at[0] * SECOND + part - trace->start_ns;
        return 0;
    }
    if (!c->count) {
        snprintf(error, size, "the clocks never showed that time: summer time began");
        return -1;
    }
    int used = snprintf(error, size, "that time was more than once; write one of");
    for (unsigned i = 0; i < c->count && i < LISTED && used > 0 && (size_t)used < size; ++i) {
        char text[64];
        moment_put(text, sizeof(text), c->at[i]);
        used += snprintf(error + used, size - (size_t)used, "%s %s", i ? "," : "", text);
    }
    if (c->count > LISTED && used > 0 && (size_t)used < size)
        snprintf(error + used, size - (size_t)used, ", ...");
    return -1;
}

int
moment_resolve(const struct moment *m, const struct moment_trace *trace, int64_t *ns, char *error, size_t size)
{
    struct candidates c = {{0}, 0};
    switch (m->form) {
    case MOMENT_NONE:
        return 0;
    case MOMENT_AFTER_START:
        *ns = m->ns;
        return 0;
    case MOMENT_SINCE_1970:
        *ns = m->ns - trace->start_ns;
        return 0;
    case MOMENT_BEFORE_END:
        if (trace->last_ns < 0) {
            snprintf(error, size, "the end is not known before all is read; write the trace to a file first");
            return -1;
        }
        *ns = trace->last_ns - m->ns;
        return 0;
    case MOMENT_LOCAL:
        candidates_add(&c, m, trace, 0);
        if (c.count > 1) { /* clocks were set back: the trace may have one of the two only */
            struct candidates inside = {{0}, 0};
            candidates_add(&inside, m, trace, 1);
            c = inside.count == 1 ? inside : c;
        }
        break;
    case MOMENT_TIME_OF_DAY:
        candidates_of_days(&c, m, trace, 1);
        if (!c.count)
            candidates_of_days(&c, m, trace, 0);
        break;
    }
    return candidates_choose(&c, m->ns % SECOND, trace, ns, error, size);
}

/* ---- options ---- */

int
moment_take(const struct options *o, unsigned option, struct moment *m)
{
    char error[256];
    m->form = MOMENT_NONE;
    if (o->given[option] && moment_parse(m, o->given[option], error, sizeof(error)) != 0)
        return options_fail(o, "--%s: %s", o->infos[option].name, error);
    return 0;
}

static int
window_end(const struct moment *m, const char *option, const struct moment_trace *trace, int64_t *ns, char *error,
           size_t size)
{
    char why[256];
    if (moment_resolve(m, trace, ns, why, sizeof(why)) == 0)
        return 0;
    snprintf(error, size, "%s: %s", option, why);
    return -1;
}

int
moment_window(const struct moment *since, const struct moment *until, const struct moment_trace *trace,
              int64_t *since_ns, int64_t *until_ns, char *error, size_t size)
{
    /* A damaged trace may begin at any time; then no time of day is right anyway. */
    struct moment_trace sane = *trace;
    if (sane.start_ns < 0 || sane.start_ns > INT64_MAX / 2)
        sane.start_ns = 0;
    trace = &sane;
    *since_ns = INT64_MIN;
    *until_ns = INT64_MAX;
    if (window_end(since, "--since", trace, since_ns, error, size) != 0 ||
        window_end(until, "--until", trace, until_ns, error, size) != 0)
        return -1;
    if (*since_ns < *until_ns)
        return 0;
    snprintf(error, size, "--since is not before --until");
    return -1;
}

int
moment_misses(const struct moment_trace *trace, int64_t since_ns, int64_t until_ns, char *text, size_t size)
{
    char first[64], last[64];
    if (trace->start_ns < 0 || trace->start_ns > INT64_MAX / 2)
        return 0;
    if (since_ns <= trace->last_ns && until_ns > 0)
        return 0;
    moment_put(first, sizeof(first), trace->start_ns / SECOND);
    moment_put(last, sizeof(last), (trace->start_ns + trace->last_ns) / SECOND);
    snprintf(text, size, "%s: the trace is from %s to %s",
             until_ns <= 0 ? "--until is before its start" : "--since is after its end", first, last);
    return 1;
}
