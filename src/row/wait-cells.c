/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * wait-cells.c - the row of a wait for a helper, an adaptation service or a name server.
 */
#include "cells.h"

#include <string.h>

/* The kind that a definition begins with, and where its name begins; NULL if it is none. */
static const char *
wait_kind(const char *definition, const char **name)
{
    for (unsigned i = 0; definition && i < SQT_WAITED_KINDS; ++i) {
        const size_t length = strlen(sqt_waited_names[i]);
        if (strncmp(definition, sqt_waited_names[i], length) == 0 && definition[length] == ' ') {
            *name = definition + length + 1;
            return sqt_waited_names[i];
        }
    }
    *name = definition;
    return NULL;
}

const char *
sqt_query_name(uint32_t type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } types[] = {{1, "A"}, {5, "CNAME"}, {12, "PTR"}, {28, "AAAA"}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); ++i)
        if (types[i].type == type)
            return types[i].name;
    return type ? "other" : NULL;
}

#define CELL(name) row[SQT_CELL(waits, name)]

/* Of one that never got to a child all time is that of the queue; of one that waits for another's answer nothing is known. */
static void
wait_parts(union sqt_cell *row, const struct sqt_wait *wait)
{
    const int64_t total = wait->end - wait->begin;
    const int64_t queue = wait->given == SQT_MISSING ? 0 : wait->given - wait->begin;
    CELL(queue_ns).number = CELL(service_ns).number = CELL(total_ns).number = SQT_CELL_MISSING;
    if (sqt_wait_unknown(wait))
        return;
    CELL(total_ns).number = total;
    if (wait->given != SQT_MISSING) {
        CELL(queue_ns).number = queue;
        CELL(service_ns).number = total - queue;
    } else if (wait->def == SQT_DEF_SERVICE) {
        CELL(queue_ns).number = 0;
        CELL(service_ns).number = total;
    } else if (wait->depth != SQT_MISSING) {
        CELL(queue_ns).number = total;
    }
}

void
sqt_wait_cells(union sqt_cell *row, const struct sqt_wait *wait)
{
    const char *const definition = sqt_origin_text(wait->origin, wait->def, wait->who);
    CELL(time_s).number = wait->begin;
    CELL(kid).number = wait->origin->identity.kid;
    CELL(xid).number = wait->xact && !(wait->xact & SQT_UNNAMED) ? (int64_t)wait->xact : SQT_CELL_MISSING;
    CELL(kind).text = sqt_waited_names[SQT_WAITED_ADAPTATION];
    CELL(name).text = definition;
    if (wait->def == SQT_DEF_WAITED)
        CELL(kind).text = wait_kind(definition, &CELL(name).text);
    wait_parts(row, wait);
    CELL(depth).number = wait->depth == SQT_MISSING ? SQT_CELL_MISSING : wait->depth;
    CELL(query).text = sqt_query_name(wait->query);
    CELL(acl).text = wait->acl ? sqt_origin_text(wait->origin, SQT_DEF_ACL, wait->acl) : NULL;
    CELL(outcome).text = sqt_wait_outcome_names[wait->outcome];
}
