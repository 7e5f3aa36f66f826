/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * identity.c - see identity.h.
 */
#include "identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct sqt_origin_identity {
    struct sqt_identity_cells cells; /* row is missing */
    char ring[2 * 16 + 1];
};

static void
identity_of(struct sqt_origin_identity *one, const struct sqt_origin *origin)
{
    static const char digits[] = "0123456789abcdef";
    union sqt_cell *const cells = one->cells.cells;
    for (unsigned i = 0; i < 16; ++i) {
        one->ring[2 * i] = digits[origin->shown_ring[i] >> 4];
        one->ring[2 * i + 1] = digits[origin->shown_ring[i] & 15];
    }
    cells[SQT_IDENTITY_host].text = sqt_origin_text(origin, SQT_DEF_HOST, 0);
    cells[SQT_IDENTITY_service].text = origin->identity.service[0] ? origin->identity.service : NULL;
    cells[SQT_IDENTITY_ring].text = one->ring;
    cells[SQT_IDENTITY_kid].number = origin->identity.kid;
    cells[SQT_IDENTITY_row].number = SQT_CELL_MISSING;
    cells[SQT_IDENTITY_time_ns].number = sqt_origin_wall_ns(origin);
}

static int
identity_same_text(union sqt_cell a, union sqt_cell b)
{
    return a.text && b.text && strcmp(a.text, b.text) == 0;
}

/* Leaves of `all` what holds for another process, too. */
static void
identity_share(union sqt_cell *all, const union sqt_cell *one)
{
    static const enum sqt_identity_cell texts[] = {SQT_IDENTITY_host, SQT_IDENTITY_service, SQT_IDENTITY_ring};
    for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); ++i)
        if (!identity_same_text(all[texts[i]], one[texts[i]]))
            all[texts[i]].text = NULL;
    if (all[SQT_IDENTITY_kid].number != one[SQT_IDENTITY_kid].number)
        all[SQT_IDENTITY_kid].number = SQT_CELL_MISSING;
}

/* What all processes share. */
static const struct sqt_origin_identity *
identity_common(struct sqt_identities *ids)
{
    struct sqt_origin_identity one;
    if (ids->common)
        return ids->common;
    struct sqt_origin_identity *const all = ids->common = sqt_zeroed(1, sizeof(*all));
    unsigned count = 0;
    for (size_t i = 0; ids->stream && i < sqt_stream_origins(ids->stream); ++i) {
        const struct sqt_origin *const origin = sqt_stream_origin(ids->stream, i);
        if (ids->kid >= 0 && origin->identity.kid != ids->kid)
            continue;
        memset(&one, 0, sizeof(one));
        identity_of(count++ ? &one : all, origin);
        if (count > 1)
            identity_share(all->cells.cells, one.cells.cells);
    }
    if (!count)
        all->cells.cells[SQT_IDENTITY_kid].number = SQT_CELL_MISSING;
    all->cells.cells[SQT_IDENTITY_row].number = SQT_CELL_MISSING;
    all->cells.cells[SQT_IDENTITY_time_ns].number =
        ids->stream ? (int64_t)sqt_stream_start_ns(ids->stream) : SQT_CELL_MISSING;
    return all;
}

/* A later segment may say what an earlier one could not: the host is looked for again until it is known. */
static const struct sqt_origin_identity *
identity_known(struct sqt_identities *ids, const struct sqt_origin *origin)
{
    if (origin->index >= ids->count) {
        ids->known = sqt_resized(ids->known, (origin->index + 1) * sizeof(struct sqt_origin_identity *));
        while (ids->count <= origin->index)
            ids->known[ids->count++] = NULL;
    }
    struct sqt_origin_identity **const one = &ids->known[origin->index];
    if (!*one)
        identity_of(*one = sqt_zeroed(1, sizeof(**one)), origin);
    else if (!(*one)->cells.cells[SQT_IDENTITY_host].text)
        (*one)->cells.cells[SQT_IDENTITY_host].text = sqt_origin_text(origin, SQT_DEF_HOST, 0);
    return *one;
}

void
sqt_identity(struct sqt_identities *ids, const struct sqt_row_source *source, struct sqt_identity_cells *cells)
{
    *cells = (source->origin ? identity_known(ids, source->origin) : identity_common(ids))->cells;
    if (source->record <= (INT64_MAX - SQT_ROW_INDEXES) / SQT_ROW_INDEXES && source->index < SQT_ROW_INDEXES)
        cells->cells[SQT_IDENTITY_row].number = (int64_t)(source->record * SQT_ROW_INDEXES + source->index);
    union sqt_cell *const start = &cells->cells[SQT_IDENTITY_time_ns];
    if (source->later_ns && start->number != SQT_CELL_MISSING)
        start->number -= source->later_ns;
}

void
sqt_identities_forget(struct sqt_identities *ids, const struct sqt_origin *origin)
{
    if (origin->index < ids->count) {
        free(ids->known[origin->index]);
        ids->known[origin->index] = NULL;
    }
    free(ids->common); /* its texts may be the origin's */
    ids->common = NULL;
}

void
sqt_identities_free(struct sqt_identities *ids)
{
    for (size_t i = 0; i < ids->count; ++i)
        free(ids->known[i]);
    free(ids->known);
    free(ids->common);
}
