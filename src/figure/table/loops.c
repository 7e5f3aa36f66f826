/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loops.c - the table of passes of the event loop.
 *
 * Squid has one loop: whatever blocks it blocks everyone.  Where one disk call is at least half of the longest
 * activity, the disk call is named, because it says more.
 */
#include <stdio.h>
#include <string.h>

#include "loops.h"

static void
longest_of(const struct sqt_loop_row *p, struct sqt_longest *longest)
{
    longest->name[0] = '\0';
    longest->ns = SQT_CELL_MISSING;
    if (p->disk_ns && p->disk_ns >= p->activity_ns / 2) {
        const char *const dir = sqt_origin_text(p->origin, SQT_DEF_DIR, p->dir);
        snprintf(longest->name, SQT_LONGEST_NAME, "%s on cache_dir %u (%.*s)", sqt_disk_op_names[p->disk_call],
                 (unsigned)p->dir, dir ? (int)strcspn(dir, " ") : 1, dir ? dir : "?");
        longest->ns = p->disk_ns;
    } else if (p->activity != UINT32_MAX) {
        const char *const name = sqt_origin_text(p->origin, SQT_DEF_ACTIVITY, p->activity);
        snprintf(longest->name, SQT_LONGEST_NAME, "%s", name ? name : "unknown");
        longest->ns = p->activity_ns;
    }
}

#define CELL(name) row[SQT_CELL(loops, name)]

void
sqt_loop_cells(union sqt_cell *row, const struct sqt_loop_row *p, struct sqt_longest *longest)
{
    longest_of(p, longest);
    CELL(time_s).number = p->begin;
    CELL(kid).number = p->origin->identity.kid;
    CELL(wait_ns).number = p->unknown ? SQT_CELL_MISSING : p->work - p->begin;
    CELL(work_ns).number = p->unknown ? SQT_CELL_MISSING : p->end - p->work;
    CELL(ready_fds).number = (int64_t)p->ready;
    CELL(longest_activity).text = longest->name[0] ? longest->name : NULL;
    CELL(longest_ns).number = p->unknown ? SQT_CELL_MISSING : longest->ns;
}

static void
loop_row(void *context, const struct sqt_loop_row *p)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(loops)];
    struct sqt_longest longest;
    sqt_loop_cells(row, p, &longest);
    if (sqt_job_wants(job, p->begin, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_loops = {
    .where = {SQT_TABLE_loops}, .where_count = 1, .consumer = {.loop = loop_row}};
