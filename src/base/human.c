/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * human.c - see human.h.
 */
#include "human.h"

#include <stdint.h>
#include <stdio.h>

#include "digits.h"
#include "whole.h"

/* Three digits, or a large number in groups. */
static const char *
human_put(char text[SQT_HUMAN_ROOM], double value, int whole, const char *space, const char *unit)
{
    const int decimals = value >= 99.95 || whole ? 0 : value >= 9.995 ? 1 : 2;
    char grouped[32];
    if (value >= 999.5)
        snprintf(text, SQT_HUMAN_ROOM, "%s%s%s", sqt_grouped((uint64_t)sqt_whole(value + 0.5), grouped), space, unit);
    else
        snprintf(text, SQT_HUMAN_ROOM, "%.*f%s%s", decimals, value, space, unit);
    return text;
}

const char *
sqt_human_time(char text[SQT_HUMAN_ROOM], double ns, const char *space, const char *micro)
{
    static const double units[] = {1e9, 1e6, 1e3, 1};
    const char *const names[] = {"s", "ms", micro, "ns"};
    unsigned unit = 0;
    /* What would be rounded to 1,000 of a unit is 1 of the next. */
    while (unit < 3 && ns < 0.9995 * units[unit])
        ++unit;
    return human_put(text, ns / units[unit], unit == 3, space, names[unit]);
}

const char *
sqt_human_bytes(char text[SQT_HUMAN_ROOM], double bytes)
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB"};
    unsigned unit = 0;
    while (unit < 4 && bytes >= 999.5) {
        bytes /= 1024;
        ++unit;
    }
    return human_put(text, bytes, unit == 0, " ", names[unit]);
}
