/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * names.c - names of files; see run.h.
 *
 *   .requests.2026-11-26-RING-000000.parquet.part         being written
 *   requests.2026-11-26-RING-000000.parquet               whole, of this run or of one that was killed
 *   RING-FIRST-END-PART.requests.2026-11-26.sealed        sealed
 *   table=requests/date=2026-11-26/host=HOST/RING-FIRST-END-PART.parquet       published; of a merged file PART is a time
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "run.h"

#define DAY_SECONDS INT64_C(86400)

void
ship_name_prefix(char prefix[31], const char *table, int64_t day)
{
    char date[16] = "none";
    struct tm tm;
    const time_t seconds = day == SHIP_NO_DAY ? 0 : (time_t)(day * DAY_SECONDS);
    if (day != SHIP_NO_DAY && gmtime_r(&seconds, &tm))
        strftime(date, sizeof(date), "%Y-%m-%d", &tm);
    snprintf(prefix, 31, "%.16s.%.12s", table, date);
}

static int
name_parse_sealed(struct ship_name *n, const char *text)
{
    int end = 0;
    n->sealed = sscanf(text, "%32[0-9a-f]-%" SCNu64 "-%" SCNu64 "-%u.%31[a-z_].%15[-0-9a-z].sealed%n", n->ring,
                       &n->first, &n->end, &n->part, n->table, n->date, &end) == 6 &&
                end && !text[end] && strlen(n->ring) == 32;
    return n->sealed;
}

int
ship_name_parse(struct ship_name *n, const char *text)
{
    char date[32]; /* "2026-11-26-RING" would be taken whole by one conversion */
    int end = 0, year = 0, month = 0, day = 0;
    memset(n, 0, sizeof(*n));
    if (name_parse_sealed(n, text))
        return 1;
    memset(n, 0, sizeof(*n));
    text += *text == '.';
    if (sscanf(text, "%31[a-z_].%d-%d-%d-%32[0-9a-f]-%u.parquet%n", n->table, &year, &month, &day, n->ring, &n->part,
               &end) == 6 &&
        end)
        snprintf(date, sizeof(date), "%04d-%02d-%02d", year, month, day);
    else if (sscanf(text, "%31[a-z_].none-%32[0-9a-f]-%u.parquet%n", n->table, n->ring, &n->part, &end) == 3 && end)
        snprintf(date, sizeof(date), "none");
    else
        return 0;
    snprintf(n->date, sizeof(n->date), "%.15s", date);
    n->whole = !text[end];
    return strlen(n->ring) == 32 && (n->whole || strcmp(text + end, ".part") == 0);
}

void
ship_name_sealed(char text[SHIP_NAME_ROOM], const struct ship_name *n)
{
    snprintf(text, SHIP_NAME_ROOM, "%s-%012" PRIu64 "-%012" PRIu64 "-%u.%s.%s.sealed", n->ring, n->first, n->end,
             n->part, n->table, n->date);
}

void
ship_name_public(char text[SHIP_NAME_ROOM], const struct ship_name *n)
{
    snprintf(text, SHIP_NAME_ROOM, "%s-%012" PRIu64 "-%012" PRIu64 "-%u.parquet", n->ring, n->first, n->end, n->part);
}

int
ship_name_parse_public(struct ship_name *n, const char *text)
{
    char again[SHIP_NAME_ROOM];
    memset(n, 0, sizeof(*n));
    if (sscanf(text, "%32[0-9a-f]-%" SCNu64 "-%" SCNu64 "-%u.parquet", n->ring, &n->first, &n->end, &n->part) != 4)
        return 0;
    ship_name_public(again, n);
    return strcmp(again, text) == 0 && strlen(n->ring) == 32 && n->first < n->end;
}

/* The character that stands at *text, or is escaped there, and *text behind it; 0 if it cannot be of a host. */
static char
name_next(const char **text)
{
    unsigned value = 0;
    if (**text != '%')
        return *(*text)++;
    if (sscanf(*text + 1, "%2X", &value) != 1 || strspn(*text + 1, "0123456789ABCDEF") < 2)
        return 0;
    *text += 3;
    return (char)value;
}

int
ship_name_is_host(const char *text)
{
    char host[SHIP_HOST_ROOM], again[SHIP_HOST_ROOM];
    const char *at = text;
    size_t used = 0;
    while (*at && used + 1 < sizeof(host))
        if ((host[used++] = name_next(&at)) == 0)
            return 0;
    host[used] = '\0';
    ship_name_host(again, host);
    return strcmp(again, text) == 0;
}

void
ship_name_host(char text[SHIP_HOST_ROOM], const char *host)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t used = 0;
    snprintf(text, SHIP_HOST_ROOM, "%s", SHIP_NONE);
    for (; host && *host && used + 4 <= SHIP_HOST_ROOM; ++host)
        used += (size_t)snprintf(text + used, SHIP_HOST_ROOM - used, strchr(plain, *host) ? "%c" : "%%%02X",
                                 (unsigned char)*host);
}
