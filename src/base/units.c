/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * units.c - see units.h.
 */
#include "units.h"

#include <string.h>

static const struct {
    const char *name;
    enum sqt_units units;
    int64_t factor;
} known[] = {
    {"ns", SQT_UNITS_TIME, 1},
    {"us", SQT_UNITS_TIME, 1000},
    {"ms", SQT_UNITS_TIME, 1000000},
    {"s", SQT_UNITS_TIME, INT64_C(1000000000)},
    {"min", SQT_UNITS_TIME, INT64_C(60000000000)},
    {"h", SQT_UNITS_TIME, INT64_C(3600000000000)},
    {"B", SQT_UNITS_BYTES, 1},
    {"KB", SQT_UNITS_BYTES, INT64_C(1) << 10},
    {"MB", SQT_UNITS_BYTES, INT64_C(1) << 20},
    {"GB", SQT_UNITS_BYTES, INT64_C(1) << 30},
    {"TB", SQT_UNITS_BYTES, INT64_C(1) << 40},
};

static int
factor_of(const char *unit, size_t length, enum sqt_units units, int64_t *factor, const char **error)
{
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); ++i)
        if (known[i].units == units && strlen(known[i].name) == length && memcmp(known[i].name, unit, length) == 0) {
            *factor = known[i].factor;
            return 0;
        }
    *error = units == SQT_UNITS_TIME    ? "the unit is none of ns, us, ms, s, min, h"
             : units == SQT_UNITS_BYTES ? "the unit is none of B, KB, MB, GB, TB"
                                        : "expected a number without a unit";
    return -1;
}

int
sqt_units_parse(const char *text, size_t length, enum sqt_units units, int64_t plain, int64_t *value,
                const char **error)
{
    const char *p = text, *const end = text + length;
    const int negative = p < end && *p == '-';
    p += negative;
    uint64_t digits = 0;
    unsigned decimals = 0, any = 0, point = 0;
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); ++p) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        if (digits > (UINT64_MAX - 9) / 10) {
            *error = "the number is too large";
            return -1;
        }
        digits = digits * 10 + (uint64_t)(*p - '0');
        decimals += point;
        any = 1;
    }
    if (!any) {
        *error = "expected a number";
        return -1;
    }
    int64_t factor = plain;
    if (p < end && factor_of(p, (size_t)(end - p), units, &factor, error) != 0)
        return -1;
    __int128 scaled = (__int128)digits * factor;
    for (; decimals; --decimals)
        scaled /= 10;
    if (scaled > INT64_MAX) {
        *error = "the number is too large";
        return -1;
    }
    *value = negative ? -(int64_t)scaled : (int64_t)scaled;
    return 0;
}
