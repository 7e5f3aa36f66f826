/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spell.h - when something happened to some of all requests: since, until and pattern, from sums by windows.
 */
#ifndef SQT_SPELL_H
#define SQT_SPELL_H

#include "when.h"

/* What happened in the time from `since` to `until` of a finding. */
struct sqt_spell {
    uint64_t met, all; /* requests */
};

/* Sets since, until and pattern of a finding from two series: those that it met, at least one, and all.  A window is bad
 * where it has at least half of the share that it has of the whole; windows are as wide as a few of those that it met
 * need.  After sqt_when_sort(). */
struct sqt_spell sqt_spell_tell(struct sqt_told *told, const struct sqt_when *when, uint32_t met, uint32_t all);

/* 100 * part / whole; 0 without a whole. */
static inline double
sqt_spell_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

#endif
