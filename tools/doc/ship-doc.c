/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ship-doc.c - the manual page and the completion of sqtrace-ship: see program-doc.h.
 */
#include <stdio.h>

#include "../ship/ship.h"
#include "program-doc.h"

static void
ship_doc_names(void)
{
    fputs("    --table) names='", stdout);
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].things)
            printf(" %s", sqt_tables[i].name);
    fputs("' ;;\n", stdout);
}

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"ship", ship_option_infos, SHIP_OPTIONS, NULL, ship_doc_names};
    return program_doc(&doc, argc, argv);
}
