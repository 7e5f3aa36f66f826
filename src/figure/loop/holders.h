/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * holders.h - what holds the event loop: a disk call, an activity, an ACL, or that Squid does not run.
 */
#ifndef SQT_HOLDERS_H
#define SQT_HOLDERS_H

#include "figure/stat/names.h"
#include "model/model.h"

#define SQT_HOLDERS 256 /* names of their own */

struct sqt_holders {
    struct sqt_names names;
    int64_t parts[SQT_LOOP_PARTS], throttled; /* ns of samples in which the loop was held */
};

/* What the loop is mostly held by. */
enum sqt_held_by { SQT_HELD_BY_NOTHING, SQT_HELD_BLOCKED, SQT_HELD_COMPUTING, SQT_HELD_NOT_RUNNING };

void sqt_holders_init(struct sqt_holders *holders);
void sqt_holders_add(struct sqt_holders *holders, const struct sqt_loop_sample_row *sample);
enum sqt_held_by sqt_holders_most(const struct sqt_holders *holders);

/* Who holds it most in that way, or why Squid does not run. */
const char *sqt_holders_name(const struct sqt_holders *holders, enum sqt_held_by by);

/* The same, if it held it for so many ns; NULL: nobody did. */
const char *sqt_holders_known(const struct sqt_holders *holders, enum sqt_held_by by, int64_t ns);

/* What to do about a holder of that name; NULL: nothing in particular. */
const char *sqt_holder_advice(const char *holder);
void sqt_holders_free(struct sqt_holders *holders);

#endif
