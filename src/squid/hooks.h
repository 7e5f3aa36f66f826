/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks.h - the hooks that patches/ put into Squid, each a line that reads as a sentence.
 *
 * With tracing off a hook costs one test of a global.  The events and their fields are those of events.def.
 */
#ifndef SQT_SQUID_HOOKS_H
#define SQT_SQUID_HOOKS_H

#include "hooks-client.h"
#include "hooks-server.h"
#include "hooks-store.h"

namespace Sqtrace
{

/// the event loop is about to wait for descriptors, msec at most
inline void
LoopWaits(const int msec)
{
    if (sqt_on(SQT_GROUP_LOOP))
        sqt_emit(SQT_EV_WAIT_BEGIN, 0, msec < 0 ? UINT64_MAX : static_cast<uint64_t>(msec), 0);
}

/// the wait is over; ready is negative after an error
inline void
LoopWorks(const int ready)
{
    if (sqt_on(SQT_GROUP_LOOP))
        sqt_emit(SQT_EV_WAIT_END, 0, ready < 0 ? 0 : static_cast<uint64_t>(ready), 0);
}

} // namespace Sqtrace

#endif
