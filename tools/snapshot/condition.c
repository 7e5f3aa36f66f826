/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * condition.c - what --when asks for.
 */
#include <string.h>

#include "row/where.h"

#include "snapshot.h"

/* stall > TIME */
static int
condition_stall(struct snapshot_condition *c, const char *rest, char *error, size_t error_size)
{
    const char *wrong = "expected 'stall > TIME'";
    rest += strspn(rest, " ");
    if (*rest == '>') {
        rest += 1 + strspn(rest + 1, " ");
        if (sqt_where_number(SQT_TYPE_TIME, rest, strlen(rest), &c->longer, &wrong) == 0)
            return 0;
    }
    snprintf(error, error_size, "'%s': %s", c->text, wrong);
    return -1;
}

int
snapshot_condition_parse(struct snapshot_condition *c, const char *text, char *error, size_t error_size)
{
    const struct sqt_table *const tables[] = {&sqt_tables[SQT_TABLE_requests]};
    *c = (struct snapshot_condition){.text = text, .kind = SNAPSHOT_REQUEST};
    if (strcmp(text, "lost") == 0) {
        c->kind = SNAPSHOT_LOST;
        return 0;
    }
    if (strncmp(text, "stall", 5) == 0 && (!text[5] || strchr(" ><=!~", text[5]))) {
        c->kind = SNAPSHOT_STALL;
        return condition_stall(c, text + 5, error, error_size);
    }
    c->where = sqt_where_parse(text, tables, 1, error, error_size);
    return c->where ? 0 : -1;
}

void
snapshot_condition_free(struct snapshot_condition *c)
{
    sqt_where_free(c->where);
    c->where = NULL;
}
