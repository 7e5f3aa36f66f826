/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wall.c - see wall.h.
 */
#include "wall.h"

#include <stdio.h>
#include <time.h>

#include "digits.h"

#define SECOND INT64_C(1000000000)

static char *
wall_zone(char *p, long seconds)
{
    const long minutes = (seconds < 0 ? -seconds : seconds) / 60;
    return p + snprintf(p, 16, "%c%02ld:%02ld", seconds < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

char *
sqt_put_wall(char *p, int64_t ns, unsigned decimals)
{
    const int64_t part = (ns % SECOND + SECOND) % SECOND;
    const time_t seconds = (time_t)((ns - part) / SECOND);
    struct tm tm;
    if (!localtime_r(&seconds, &tm))
        return sqt_put_seconds(p, ns);
    p += strftime(p, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    if (decimals) {
        *p++ = '.';
        sqt_put_nine(p, (uint32_t)part);
        p += decimals;
    }
    return wall_zone(p, tm.tm_gmtoff);
}
