/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hook_form.h - whether a unit of records has a form that a hook emits.
 *
 * Tests use it on the records that they make, so that they test what a Squid writes.
 */
#ifndef SQT_HOOK_FORM_H
#define SQT_HOOK_FORM_H

#include "format/format.h"

/* Checks a unit: its parts, their order, empty fields, flags.  room: records from unit on; a unit must not need more.
 * Returns NULL if a hook emits such a unit, else a text that says why not, which lasts until the next call. */
const char *hook_form_error(const struct sqt_record *unit, size_t room);

#endif
