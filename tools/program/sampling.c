/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sampling.c - see sampling.h.
 */
#include "sampling.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLING_WHOLE 1000000000
#define SECOND INT64_C(1000000000)

/* "0.1", "10%": billionths. */
static int
sampling_share(const struct options *o, unsigned option, uint64_t *threshold)
{
    const char *const text = o->given[option];
    char *end = NULL;
    if (!text)
        return 0;
    const int plain = *text && strspn(text, "0123456789.") == strcspn(text, "%");
    double value = plain ? strtod(text, &end) : -1;
    if (plain && *end == '%') {
        value /= 100;
        ++end;
    }
    if (!plain || end == text || *end || !(value >= 0 && value <= 1))
        return options_fail(o, "--%s: '%s': expected a share from 0 to 1, as in 0.1 or 10%%", o->infos[option].name,
                            text);
    *threshold = sqt_otlp_threshold((uint64_t)(value * SAMPLING_WHOLE + 0.5));
    return 0;
}

int
sampling_take(const struct options *o, const unsigned numbers[SAMPLING_OPTIONS], const char *needs,
              struct sqt_otlp_sampling *sampling)
{
    memset(sampling, 0, sizeof(*sampling));
    for (unsigned i = 0; i < SAMPLING_OPTIONS && needs; ++i)
        if (o->given[numbers[i]])
            return options_fail(o, "--%s goes with %s", o->infos[numbers[i]].name, needs);
    sampling->failed = o->given[numbers[SAMPLING_FAILED]] != NULL;
    sampling->stages = o->given[numbers[SAMPLING_STAGES]] != NULL;
    sampling->rest = sqt_otlp_threshold(0);
    if (options_number(o, numbers[SAMPLING_SLOW], SQT_UNITS_TIME, SECOND, 1, &sampling->slow) != 0 ||
        sampling_share(o, numbers[SAMPLING_SAMPLE], &sampling->head) != 0 ||
        sampling_share(o, numbers[SAMPLING_REST], &sampling->rest) != 0)
        return -1;
    if (o->given[numbers[SAMPLING_REST]] && !sampling->slow && !sampling->failed)
        return options_fail(o, "--%s goes with --%s or --%s", o->infos[numbers[SAMPLING_REST]].name,
                            o->infos[numbers[SAMPLING_SLOW]].name, o->infos[numbers[SAMPLING_FAILED]].name);
    return 0;
}
