/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sampling.h - options that say of which requests OpenTelemetry is told, and how much.
 */
#ifndef SQT_PROGRAM_SAMPLING_H
#define SQT_PROGRAM_SAMPLING_H

#include "options.h"
#include "otlp/ids.h"

enum sampling_option {
    SAMPLING_SAMPLE,
    SAMPLING_SLOW,
    SAMPLING_FAILED,
    SAMPLING_REST,
    SAMPLING_STAGES,
    SAMPLING_OPTIONS
};

/* numbers: of these options in the program's table.  needs: the option without which they make no sense; NULL: it is
 * given.  Returns 0 with *sampling filled in, or -1 with a line in the options' error. */
int sampling_take(const struct options *options, const unsigned numbers[SAMPLING_OPTIONS], const char *needs,
                  struct sqt_otlp_sampling *sampling);

#endif
