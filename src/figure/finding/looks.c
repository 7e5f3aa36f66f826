/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * looks.c - the list of looks for harm, see look.h.
 */
#include "look.h"

const struct sqt_look *const sqt_looks[] = {&sqt_look_silent, &sqt_look_withheld, &sqt_look_queries, &sqt_look_compare,
                                            NULL};
