/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * date.c - see date.h.
 */
#include "date.h"

#include <string.h>
#include <time.h>

struct date {
    const char *at, *end;
    int64_t year, month, day, hour, minute, second, zone_s, zoned, since_1970, known;
};

/* Up to `most` digits, at least one. */
static int
date_number(struct date *d, unsigned most, int64_t *number)
{
    unsigned n = 0;
    int64_t value = 0;
    for (; d->at < d->end && n < most && *d->at >= '0' && *d->at <= '9'; ++n)
        value = value * 10 + (*d->at++ - '0');
    *number = value;
    return n ? 0 : -1;
}

static int
date_month(struct date *d)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int64_t i = 0; i < 12 && d->end - d->at >= 3; ++i)
        if (memcmp(names + 3 * i, d->at, 3) == 0) {
            d->month = i + 1;
            d->at += 3;
            return 0;
        }
    return -1;
}

/* "+0130", "+01:30" or "Z" */
static int
date_zone(struct date *d)
{
    int64_t hours, minutes;
    d->zoned = 1;
    if (d->at < d->end && *d->at == 'Z') {
        ++d->at;
        return 0;
    }
    if (d->at == d->end || (*d->at != '+' && *d->at != '-'))
        return -1;
    const int east = *d->at++ == '+';
    if (date_number(d, 2, &hours) != 0)
        return -1;
    d->at += d->at < d->end && *d->at == ':';
    if (date_number(d, 2, &minutes) != 0)
        return -1;
    d->zone_s = (hours * 60 + minutes) * (east ? 60 : -60);
    return 0;
}

static int date_take(struct date *d, const char *format);

static int
date_take_one(struct date *d, char letter)
{
    switch (letter) {
    case 'Y':
        return date_number(d, 4, &d->year);
    case 'm':
        return date_number(d, 2, &d->month);
    case 'b':
    case 'h':
        return date_month(d);
    case 'e':
        d->at += d->at < d->end && *d->at == ' ';
        return date_number(d, 2, &d->day);
    case 'd':
        return date_number(d, 2, &d->day);
    case 'H':
        return date_number(d, 2, &d->hour);
    case 'M':
        return date_number(d, 2, &d->minute);
    case 'S':
        return date_number(d, 2, &d->second);
    case 's':
        d->known = 1;
        return date_number(d, 10, &d->since_1970);
    case 'z':
        return date_zone(d);
    case 'F':
        return date_take(d, "%Y-%m-%d");
    case 'T':
        return date_take(d, "%H:%M:%S");
    case '%':
        return d->at < d->end && *d->at == '%' ? (++d->at, 0) : -1;
    default:
        return -1;
    }
}

static int
date_take(struct date *d, const char *format)
{
    for (; *format; ++format) {
        if (*format == '%') {
            if (date_take_one(d, *++format) != 0)
                return -1;
        } else if (d->at < d->end && *d->at == *format) {
            ++d->at;
        } else {
            return -1;
        }
    }
    return 0;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar: whole years from March on, so that the leap day is the last. */
static int64_t
date_days(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    const int64_t from_march = (month + 9) % 12;
    return 365 * year + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5 + day - 1 - 719468;
}

/* Seconds that clocks of the reader's zone are ahead of UTC at that time of theirs. */
static int64_t
date_reader_zone(const struct date *d, int64_t seconds)
{
    struct tm tm = {.tm_year = (int)d->year - 1900,
                    .tm_mon = (int)d->month - 1,
                    .tm_mday = (int)d->day,
                    .tm_hour = (int)d->hour,
                    .tm_min = (int)d->minute,
                    .tm_sec = (int)d->second,
                    .tm_isdst = -1};
    const time_t time = mktime(&tm);
    return time == (time_t)-1 ? 0 : seconds - (int64_t)time;
}

size_t
sqt_log_date(const char *text, size_t length, const char *format, int gmt, int64_t *seconds)
{
    struct date d = {.at = text, .end = text + length};
    if (date_take(&d, format) != 0)
        return 0;
    if (d.known) {
        *seconds = d.since_1970;
        return (size_t)(d.at - text);
    }
    if (d.year < 1970 || d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || d.hour > 24 || d.minute > 60 ||
        d.second > 61)
        return 0;
    *seconds = date_days(d.year, d.month, d.day) * 86400 + d.hour * 3600 + d.minute * 60 + d.second;
    *seconds -= d.zoned || gmt ? d.zone_s : date_reader_zone(&d, *seconds);
    return (size_t)(d.at - text);
}
