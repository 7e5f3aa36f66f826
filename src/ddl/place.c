/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * place.c - see place.h.
 */
#include "place.h"

#include "base/memory.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the folder; %s: the table. */
static const struct {
    const char *pattern, *words;
} place_layouts[SQT_DDL_LAYOUTS] = {
    [SQT_DDL_ONE_OUTPUT] = {"%s/*.parquet", "TABLE/*.parquet"},
    [SQT_DDL_OUTPUTS] = {"*/%s/*.parquet", "*/TABLE/*.parquet"},
    [SQT_DDL_PARTITIONS] = {"table=%s/date=*/host=*/*.parquet", "table=TABLE/date=*/host=*/*.parquet"},
};

const char *
sqt_ddl_place_pattern(const struct sqt_ddl_place *p, enum sqt_table_number table, char pattern[SQT_DDL_PATTERN])
{
    char behind[192];
    snprintf(behind, sizeof(behind), place_layouts[p->layout].pattern, sqt_tables[table].name);
    snprintf(pattern, SQT_DDL_PATTERN, "%s/%s", p->folder, behind);
    return pattern;
}

/* A folder that cannot be listed has no files, unless there is no memory. */
static int
place_error(const char *path, int error)
{
    (void)path;
    if (error == ENOMEM)
        sqt_no_memory();
    return 0;
}

/* Whether files lie there in that way; notes of which tables. */
static int
place_look(struct sqt_ddl_place *p, enum sqt_ddl_layout layout)
{
    int any = 0;
    p->layout = layout;
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        char pattern[SQT_DDL_PATTERN];
        glob_t found;
        p->has[i] = 0;
        if (sqt_tables[i].figure || !sqt_tables[i].things)
            continue;
        const int result = glob(sqt_ddl_place_pattern(p, i, pattern), GLOB_NOSORT, place_error, &found);
        if (result == GLOB_NOSPACE)
            sqt_no_memory();
        if (result == 0) {
            p->has[i] = 1;
            any = 1;
            globfree(&found);
        }
    }
    return any;
}

static int
place_fail(char *error, size_t size, const char *folder, const char *text)
{
    snprintf(error, size, "%.300s: %s", folder, text);
    return -1;
}

int
sqt_ddl_place_find(struct sqt_ddl_place *p, const char *folder, char *error, size_t size)
{
    struct sqt_ddl_place other;
    char text[256];
    int found = 0;
    if (!realpath(folder, p->folder))
        return place_fail(error, size, folder, strerror(errno));
    if (strpbrk(p->folder, "'\"\\*?[]{}`") || strpbrk(p->folder, "\n\r"))
        return place_fail(error, size, folder,
                          "SQL engines take quotes, braces, brackets, * and ? in a path for something else; "
                          "give the folder another name");
    other = *p;
    for (unsigned i = 0; i < SQT_DDL_LAYOUTS; ++i) {
        if (!place_look(&other, i))
            continue;
        if (found++) {
            snprintf(text, sizeof(text), "it has files as %s and as %s; keep them in two folders",
                     place_layouts[p->layout].words, place_layouts[i].words);
            return place_fail(error, size, folder, text);
        }
        *p = other;
    }
    return found ? 0
                 : place_fail(error, size, folder,
                              "no files of --format=parquet: TABLE/*.parquet, */TABLE/*.parquet or "
                              "table=TABLE/date=*/host=*/*.parquet");
}
