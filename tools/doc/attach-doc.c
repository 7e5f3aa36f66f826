/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach-doc.c - the manual page and the completion of sqtrace-attach: see program-doc.h.
 */
#include <string.h>

#include "../attach/attach.h"
#include "program-doc.h"
#include "troff.h"

/* Stages and their functions, in the table's order. */
static int
attach_section(const char *line)
{
    const char *last = "";
    if (strcmp(line, "@STAGES@\n") != 0 && strcmp(line, "@STAGES@") != 0)
        return 0;
    for (unsigned i = 0; i < SQT_ATTACH_ROWS; ++i) {
        const char *const stage = sqt_attach_infos[i].stage;
        int known = 0;
        for (unsigned before = 0; before < i; ++before)
            known |= strcmp(sqt_attach_infos[before].stage, stage) == 0;
        if (known || strcmp(stage, last) == 0)
            continue;
        printf("%s%s", *last ? ", " : "", stage);
        last = stage;
    }
    puts(".");
    return 1;
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"attach", attach_option_infos, ATTACH_OPTIONS, attach_section, NULL};
    return program_doc(&doc, argc, argv);
}
