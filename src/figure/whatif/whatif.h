/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * whatif.h - the parts of table `whatif`: each gets what it needs of the trace, and adds its rows at the end.
 */
#ifndef SQT_WHATIF_H
#define SQT_WHATIF_H

#include "pass/family.h"
#include "settings.h"

/* A forecast is made if today's setting is computed that well: points of hit ratio, and percent of a wait. */
#define SQT_WHATIF_POINTS 5
#define SQT_WHATIF_PERCENT 20

/* Nothing of a row is known yet. */
void sqt_whatif_clear(union sqt_cell *row);

/* The same, but for its texts.  value, now: NULL if there is none. */
void sqt_whatif_words(union sqt_cell *row, const char *setting, const char *value, const char *now, const char *bound,
                      const char *method);

/* From the first time to the last, in hours; 0 if none came, which is first > last.  Times of a broken trace may be as far
 * apart as they can be. */
double sqt_whatif_hours(int64_t first, int64_t last);

/* A number as a cell has it: the nearest that there is, and missing if it is none. */
int64_t sqt_whatif_whole(double number);

/* The settings of a job: those of the command line, else nothing is set. */
void sqt_whatif_settings(const struct sqt_job *job, struct sqt_settings *settings);

/* Adds what the trace has of that process, where the command line has nothing. */
void sqt_whatif_settings_of(const struct sqt_job *job, struct sqt_settings *settings, const struct sqt_origin *origin);

/* Times of a broken trace may be any; whether a sum of these is one, too. */
int sqt_whatif_believes(int64_t begin, int64_t end);

/* Whether rows about the setting are wanted: --whatif may have named another one. */
int sqt_whatif_wants(const struct sqt_job *job, const char *setting);

/* What a value is, beside a point of the curve: the value now; where the curve bends. */
#define SQT_WHATIF_TODAY 1u
#define SQT_WHATIF_KNEE 2u

/* Hands a row over: as it is, or in a figure as a point of its curve.  value: of the setting, as a number. */
void sqt_whatif_row(struct sqt_job *job, const union sqt_cell *row, int64_t value, unsigned marks);

/* ---- children of helpers, and connections to adaptation services ---- */

struct sqt_whatif_children;
struct sqt_whatif_children *sqt_whatif_children_new(struct sqt_job *job);
void sqt_whatif_children_wait(struct sqt_whatif_children *children, const struct sqt_wait *wait);
/* Says which number of children is worth it for "<kind> <name>", as in "8 children instead of 4: 4100 ms become 300 ms in the
 * mean."  waited_ns: by all clients; what saves less than 5 % of that is not worth it.  Returns 0 if none is, or if no
 * forecast is made.  No more waits may come then. */
int sqt_whatif_children_advice(struct sqt_whatif_children *children, const char *who, double waited_ns, char *text,
                               size_t size);
/* Adds the rows, unless the job has no table, and frees it. */
void sqt_whatif_children_finish(struct sqt_whatif_children *children);

/* ---- collapsed_forwarding ---- */

struct sqt_access;
struct sqt_whatif_collapsed;
struct sqt_whatif_collapsed *sqt_whatif_collapsed_new(struct sqt_job *job);
void sqt_whatif_collapsed_request(struct sqt_whatif_collapsed *collapsed, const struct sqt_access *access,
                                  const struct sqt_xact *xact);
/* Adds the row, and frees it. */
void sqt_whatif_collapsed_finish(struct sqt_whatif_collapsed *collapsed);

/* ---- what is kept: connections to servers, DNS answers ---- */

struct sqt_whatif_kept;
struct sqt_whatif_kept *sqt_whatif_kept_new(struct sqt_job *job);
void sqt_whatif_kept_request(struct sqt_whatif_kept *kept, const struct sqt_xact *xact);
void sqt_whatif_kept_closed(struct sqt_whatif_kept *kept, const struct sqt_closed_row *row);
/* Adds the rows, and frees it. */
void sqt_whatif_kept_finish(struct sqt_whatif_kept *kept);

/* ---- limits: refresh_pattern, the type of a cache_dir ---- */

struct sqt_whatif_bounds;
struct sqt_whatif_bounds *sqt_whatif_bounds_new(struct sqt_job *job);
void sqt_whatif_bounds_request(struct sqt_whatif_bounds *bounds, const struct sqt_xact *xact);
/* Adds the rows, and frees it. */
void sqt_whatif_bounds_finish(struct sqt_whatif_bounds *bounds);

#endif
