/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * looks.c - the list of looks for harm, see look.h.
 */
#include "look.h"

const struct sqt_look *const sqt_looks[] = {
#define SQT_LOOK(name) &sqt_look_##name,
#include "looks.def"
    NULL};
