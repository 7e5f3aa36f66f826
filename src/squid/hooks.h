/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks.h - the hooks that patches/ put into Squid, each a line that reads as a sentence.
 *
 * With tracing off a hook costs one test of a global.  The events and their fields are those of events.def.
 */
#ifndef SQT_SQUID_HOOKS_H
#define SQT_SQUID_HOOKS_H

#include "hooks-adaptation.h"
#include "hooks-client.h"
#include "hooks-digests.h"
#include "hooks-neighbors.h"
#include "hooks-server.h"
#include "hooks-rock.h"
#include "hooks-samples.h"
#include "hooks-store.h"

namespace Sqtrace
{

/// the event loop is about to wait for descriptors, msec at most
inline void
LoopWaits(const int msec)
{
    if (!sqt_on(SQT_GROUP_SYSCALL | SQT_GROUP_LOOP))
        return;
    if (sqt_on(SQT_GROUP_SYSCALL))
        sqt_calls_tell();
    if (!sqt_on(SQT_GROUP_LOOP))
        return;
    const uint64_t most = msec < 0 ? UINT64_MAX : static_cast<uint64_t>(msec);
    const sqt_activity &longest = sqt_loop.longest;
    if (longest.name)
        sqt_emit_pair(SQT_PAIR(SQT_EV_WAIT_BEGIN, SQT_EV_PART_ACTIVITY), 0, most, 0, longest.begin,
                      longest.begin + longest.took, sqt_name(SQT_DEF_ACTIVITY, longest.name));
    else
        sqt_emit(SQT_EV_WAIT_BEGIN, 0, most, 0);
    sqt_loop.longest.name = nullptr;
}

/// the wait is over; ready is negative after an error
inline void
LoopWorks(const int ready)
{
    if (sqt_on(SQT_GROUP_LOOP)) {
        sqt_emit(SQT_EV_WAIT_END, 0, ready < 0 ? 0 : static_cast<uint64_t>(ready), 0);
        sqt_loop_begins();
    }
}

/// the event loop has done something: what came before, since it waited or since the last of these
inline void
LoopDid(const char *what)
{
    if (sqt_on(SQT_GROUP_LOOP))
        sqt_activity_ends(what);
}

} // namespace Sqtrace

#endif
