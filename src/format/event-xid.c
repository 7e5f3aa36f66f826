/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * event-xid.c - see event-xid.h.
 */
#include "event-xid.h"

enum sqt_event_names
sqt_event_names_of(unsigned number)
{
    const struct sqt_event_info *const event = number < SQT_EVENTS ? &sqt_events[number] : NULL;
    if (!event)
        return SQT_NAMES_NONE;
    if (event->id.kind == SQT_KIND_XACT)
        return SQT_NAMES_XACT;
    if (event->id.kind == SQT_KIND_SIO)
        return event->arg.kind == SQT_KIND_XACT ? SQT_NAMES_OPENS_SIO : SQT_NAMES_SIO;
    if (event->arg.kind == SQT_KIND_SIO)
        return SQT_NAMES_OPENS_OP;
    return number == SQT_EV_DISKOP_END || number == SQT_EV_DISKOP_LATE ? SQT_NAMES_OP : SQT_NAMES_NONE;
}
