/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parts.c - what an origin is made of; see origin.h.
 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>

#include "sources.h"

void
sqt_part_free(struct sqt_part *part)
{
    free(part->name);
    free(part);
}

/* By sequence; those of the same sequence (a left-over of an unfinished segment) by their names. */
static int
before(const struct sqt_part *a, const struct sqt_part *b)
{
    if (a->header.sequence != b->header.sequence)
        return a->header.sequence < b->header.sequence;
    if (a->fd >= 0 && a->fd == b->fd)
        return a->begin < b->begin;
    return strcmp(a->name, b->name) < 0;
}

int
sqt_joined_add(struct sqt_joined *j, struct sqt_part *part)
{
    if (j->part_count == j->part_room) {
        const size_t room = j->part_room ? j->part_room * 2 : 8;
        struct sqt_part **const larger = realloc(j->parts, room * sizeof(*larger));
        if (!larger) {
            sqt_part_free(part);
            return -1;
        }
        j->parts = larger;
        j->part_room = room;
    }
    for (size_t i = 0; part->fd < 0 && i < j->part_count; ++i)
        if (j->parts[i]->fd < 0 && j->parts[i]->device == part->device && j->parts[i]->inode == part->inode) {
            sqt_part_free(part);
            return 0;
        }
    j->unsorted |= j->part_count > j->part_next && before(part, j->parts[j->part_count - 1]);
    j->parts[j->part_count++] = part;
    return 1;
}

void
sqt_joined_forget_parts(struct sqt_joined *j)
{
    const size_t read = j->part_next - 1;
    for (size_t i = 0; i < read; ++i)
        sqt_part_free(j->parts[i]);
    memmove(j->parts, j->parts + read, (j->part_count - read) * sizeof(struct sqt_part *));
    j->part_count -= read;
    j->part_next = 1;
    sqt_sources_forget_segments(j->sources, read);
}

static int
by_sequence(const void *a, const void *b)
{
    const struct sqt_part *const x = *(struct sqt_part *const *)a, *const y = *(struct sqt_part *const *)b;
    return before(x, y) ? -1 : before(y, x);
}

void
sqt_joined_sort(struct sqt_joined *j)
{
    if (j->unsorted)
        qsort(j->parts + j->part_next, j->part_count - j->part_next, sizeof(*j->parts), by_sequence);
    j->unsorted = 0;
}

void
sqt_joined_rewind(struct sqt_joined *j)
{
    sqt_ahead_drop(j);
    if (j->segment_open)
        sqt_segment_leave(&j->segment);
    j->segment_open = 0;
    for (size_t i = 0; i < j->part_next; ++i)
        j->parts[i]->resume = 0;
    if (j->unpacker && !j->unpacker->spare)
        j->unpacker->spare = j->buffer;
    else
        free(j->buffer);
    j->buffer = NULL;
    j->part_next = 0;
    j->started = j->damaged = j->finished = j->lost_pending = j->totals_valid = 0;
    j->told_suspect = j->told_table = j->told_open = j->told_gone = j->told_refused = 0;
    j->rescans = 0;
    j->next = j->last_ticks = 0;
    j->gap_seen = UINT64_MAX;
    j->last_ns = j->first_ns;
    j->count = j->skip = j->left = 0;
    j->ring.text_taken = 0;
}

void
sqt_joined_free(struct sqt_joined *j)
{
    sqt_joined_rewind(j);
    for (size_t i = 0; i < j->part_count; ++i)
        sqt_part_free(j->parts[i]);
    free(j->parts);
    sqt_ring_close(&j->ring);
    free(j->ring_name);
    free(j->named_by);
    sqt_dictionary_free(&j->dictionary);
    free(j);
}
