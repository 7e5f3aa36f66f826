/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * line.c - see line.h.
 */
#include "line.h"

#include <string.h>

#include "date.h"

/* No request takes longer, and no log is from later: ns. */
#define MOST_TOOK INT64_C(315360000000000000) /* 10 years */
#define MOST_SECONDS INT64_C(8589934592)      /* 2^33: the year 2242 */
#define MOST_DIGITS 18
#define SECOND INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)

/* ---- pieces ---- */

static int
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Where the text behind a field is, at or after `at`; NULL: nowhere. */
static const char *
line_find(const struct sqt_log_item *item, const char *at, const char *end)
{
    while (!item->quoted) {
        at = memchr(at, *item->text, (size_t)(end - at));
        if (!at || (size_t)(end - at) < item->length)
            return NULL;
        if (item->length == 1 || memcmp(at, item->text, item->length) == 0)
            return at;
        ++at;
    }
    for (; at < end; ++at) {
        if (*at == '\\')
            ++at;
        else if ((size_t)(end - at) >= item->length && memcmp(at, item->text, item->length) == 0)
            return at;
    }
    return NULL;
}

/* A number that the next field follows at once. */
static const char *
line_number_end(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        ++at;
    while (at < end && (is_digit(*at) || *at == '.'))
        ++at;
    return at;
}

static const char *
line_date_end(const struct sqt_log_item *item, const char *at, const char *end)
{
    int64_t seconds;
    return at + sqt_log_date(at, (size_t)(end - at), item->argument ? item->argument : SQT_LOG_DATE_USUAL, 1, &seconds);
}

/* The end of a field; NULL: it has none. */
static const char *
line_field_end(const struct sqt_log_format *f, const struct sqt_log_item *item, const char *at, const char *end)
{
    const int last = item == &f->items[f->count - 1];
    if ((item->field == SQT_LOG_DATE || item->field == SQT_LOG_DATE_GMT) && line_date_end(item, at, end) > at)
        return line_date_end(item, at, end);
    /* Fields are padded with spaces on the left. */
    if (item->length && *item->text == ' ')
        while (at < end && *at == ' ')
            ++at;
    if (item->length)
        return line_find(item, at, end);
    return last ? end : line_number_end(at, end);
}

static struct sqt_log_slice
line_slice(const char *from, const char *to)
{
    while (from < to && *from == ' ')
        ++from;
    while (to > from && to[-1] == ' ')
        --to;
    if (to - from == 1 && *from == '-')
        to = from;
    return (struct sqt_log_slice){from, (size_t)(to - from)};
}

int
sqt_log_line_split(const struct sqt_log_format *f, const char *line, size_t length,
                   struct sqt_log_slice slices[SQT_LOG_FIELDS])
{
    const char *at = line, *const end = line + length;
    memset(slices, 0, SQT_LOG_FIELDS * sizeof(*slices));
    if (length < f->head_length || (f->head_length && memcmp(at, f->head, f->head_length) != 0))
        return -1;
    at += f->head_length;
    for (unsigned i = 0; i < f->count; ++i) {
        const struct sqt_log_item *const item = &f->items[i];
        const char *const field_end = line_field_end(f, item, at, end);
        if (!field_end || (size_t)(end - field_end) < item->length ||
            memcmp(field_end, item->text ? item->text : "", item->length) != 0)
            return -1;
        if (!slices[item->field].length)
            slices[item->field] = line_slice(at, field_end);
        at = field_end + item->length;
    }
    return 0;
}

/* ---- numbers ---- */

/* A number of units with decimals.  Returns 0, or -1 if it is none. */
static int
line_decimal(struct sqt_log_slice s, int64_t unit, int64_t *value)
{
    size_t i = 0;
    int64_t whole = 0, part = 0;
    *value = SQT_LOG_UNKNOWN;
    if (!s.length)
        return 0;
    if (*s.at == '-') { /* a clock stepped back meanwhile */
        for (i = 1; i < s.length && is_digit(s.at[i]);)
            ++i;
        return i == s.length ? 0 : -1;
    }
    for (; i < s.length && is_digit(s.at[i]); ++i)
        whole = i < MOST_DIGITS ? whole * 10 + (s.at[i] - '0') : -1;
    if (!i || i > MOST_DIGITS)
        return -1;
    if (i < s.length && s.at[i] == '.')
        for (int64_t scale = unit / 10; ++i < s.length && is_digit(s.at[i]); scale /= 10)
            part += (s.at[i] - '0') * scale;
    if (i != s.length || __builtin_mul_overflow(whole, unit, value))
        return -1;
    return __builtin_add_overflow(*value, part, value) ? -1 : 0;
}

static int
line_duration(struct sqt_log_slice s, int64_t *ns)
{
    return line_decimal(s, MILLISECOND, ns) == 0 && (*ns == SQT_LOG_UNKNOWN || *ns <= MOST_TOOK) ? 0 : -1;
}

/* "12,3,40": the sum of the times of adaptation services. */
static int
line_durations(struct sqt_log_slice s, int64_t *ns)
{
    int64_t sum = 0, one;
    *ns = SQT_LOG_UNKNOWN;
    if (!s.length)
        return 0;
    for (const char *at = s.at, *const end = s.at + s.length; at < end;) {
        const char *const comma = memchr(at, ',', (size_t)(end - at)), *const to = comma ? comma : end;
        if (line_duration(line_slice(at, to), &one) != 0 || sum > MOST_TOOK)
            return -1;
        sum += one == SQT_LOG_UNKNOWN ? 0 : one;
        at = comma ? comma + 1 : end;
    }
    *ns = sum;
    return 0;
}

/* ---- times ---- */

/* Digits of a second: ns. */
static int
line_subsecond(const struct sqt_log_format *f, struct sqt_log_slice s, int64_t *ns)
{
    unsigned decimals = 3;
    int64_t value = 0, unit = SECOND;
    for (unsigned i = 0; i < f->count; ++i)
        if (f->items[i].field == SQT_LOG_MILLISECONDS)
            decimals = f->items[i].decimals;
    for (; decimals && unit > 1; --decimals)
        unit /= 10;
    *ns = 0;
    if (!s.length)
        return 0;
    if (line_decimal(s, 1, &value) != 0 || value < 0 || value >= SECOND / unit)
        return -1;
    *ns = value * unit;
    return 0;
}

static int
line_date(const struct sqt_log_format *f, const struct sqt_log_slice *slices, int64_t *seconds)
{
    for (unsigned i = 0; i < f->count; ++i) {
        const struct sqt_log_item *const item = &f->items[i];
        const struct sqt_log_slice *const s = &slices[item->field];
        if (item->field != SQT_LOG_DATE && item->field != SQT_LOG_DATE_GMT)
            continue;
        if (sqt_log_date(s->at, s->length, item->argument ? item->argument : SQT_LOG_DATE_USUAL,
                         item->field == SQT_LOG_DATE_GMT, seconds) == 0)
            return -1;
        return 0;
    }
    return -1;
}

/* When the line was written, and when the request began. */
static int
line_times(const struct sqt_log_format *f, const struct sqt_log_slice *slices, struct sqt_logged *l)
{
    int64_t seconds = SQT_LOG_UNKNOWN, part;
    if (line_subsecond(f, slices[SQT_LOG_MILLISECONDS], &part) != 0)
        return -1;
    if (slices[SQT_LOG_SECONDS].length) {
        if (line_decimal(slices[SQT_LOG_SECONDS], 1, &seconds) != 0)
            return -1;
    } else if ((f->has[SQT_LOG_DATE] || f->has[SQT_LOG_DATE_GMT]) && line_date(f, slices, &seconds) != 0)
        return -1;
    if (line_decimal(slices[SQT_LOG_START], SECOND, &l->begin) != 0)
        return -1;
    if (l->begin != SQT_LOG_UNKNOWN && l->begin > MOST_SECONDS * SECOND)
        return -1;
    if (seconds != SQT_LOG_UNKNOWN) {
        if (seconds < 0 || seconds > MOST_SECONDS)
            return -1;
        l->at = seconds * SECOND + part;
    } else if (l->begin != SQT_LOG_UNKNOWN) {
        l->at = l->begin + (l->took == SQT_LOG_UNKNOWN ? 0 : l->took);
    } else {
        return -1;
    }
    if (l->took != SQT_LOG_UNKNOWN)
        l->begin = l->at - l->took;
    else if (l->begin == SQT_LOG_UNKNOWN)
        l->begin = l->at;
    else if (l->begin <= l->at)
        l->took = l->at - l->begin;
    return l->begin > l->at || l->at > MOST_SECONDS * SECOND ? -1 : 0;
}

static int
has_space(struct sqt_log_slice s)
{
    return s.length && memchr(s.at, ' ', s.length);
}

int
sqt_log_line_numbers(const struct sqt_log_format *f, const struct sqt_log_slice slices[SQT_LOG_FIELDS],
                     struct sqt_logged *l)
{
    const struct {
        enum sqt_log_field field;
        int64_t *value;
    } durations[] = {{SQT_LOG_TOOK, &l->took},
                     {SQT_LOG_DNS, &l->dns},
                     {SQT_LOG_PEER, &l->peer},
                     {SQT_LOG_SERVER_SIDE, &l->server_side}},
      numbers[] = {{SQT_LOG_SENT, &l->sent},        {SQT_LOG_HEADERS, &l->headers}, {SQT_LOG_STATUS, &l->status},
                   {SQT_LOG_TRIES, &l->tries},      {SQT_LOG_XID, &l->xid},         {SQT_LOG_KID, &l->kid},
                   {SQT_LOG_RECEIVED, &l->received}};
    for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); ++i)
        if (line_duration(slices[durations[i].field], durations[i].value) != 0)
            return -1;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
        if (line_decimal(slices[numbers[i].field], 1, numbers[i].value) != 0)
            return -1;
    if (line_durations(slices[SQT_LOG_ADAPTING], &l->adapting) != 0)
        return -1;
    /* Where a value has a space that it should not have, the others are not what they seem. */
    if (has_space(slices[SQT_LOG_METHOD]) || has_space(slices[SQT_LOG_TAG]) || has_space(slices[SQT_LOG_HIERARCHY]))
        return -1;
    return line_times(f, slices, l);
}

struct sqt_log_slice
sqt_log_host(struct sqt_log_slice url)
{
    const char *at = url.at, *const end = url.at + url.length;
    const char *const scheme = url.length ? memchr(at, ':', url.length) : NULL;
    const int has_scheme = scheme && end - scheme >= 3 && scheme[1] == '/' && scheme[2] == '/';
    if (has_scheme)
        at = scheme + 3;
    const char *to = at;
    while (to < end && *to != '/' && *to != '?' && *to != '#')
        ++to;
    const char *const user = at < to ? memchr(at, '@', (size_t)(to - at)) : NULL;
    if (user)
        at = user + 1;
    const char *port = to;
    while (port > at && is_digit(port[-1]))
        --port;
    const int has_port = port < to && port > at && port[-1] == ':';
    if (has_port)
        to = port - 1;
    else if (!has_scheme) /* as error:invalid-request */
        to = at;
    return (struct sqt_log_slice){at, (size_t)(to - at)};
}
