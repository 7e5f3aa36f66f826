/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * snapshot-doc.c - the manual page and the completion of sqtrace-snapshot: see program-doc.h.
 */
#include "../snapshot/snapshot.h"
#include "program-doc.h"

int
main(int argc, char **argv)
{
    static const struct program_doc doc = {"snapshot", snapshot_option_infos, SNAPSHOT_OPTIONS, NULL, NULL};
    return program_doc(&doc, argc, argv);
}
