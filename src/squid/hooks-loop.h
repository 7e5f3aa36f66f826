/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-loop.h - the hooks of the event loop.
 *
 * With tracing off a hook costs one test of a global.  The events and their fields are those of events.def.
 */
#ifndef SQT_SQUID_HOOKS_LOOP_H
#define SQT_SQUID_HOOKS_LOOP_H

#include "../trace/sqtrace.h"

#include <string.h>

namespace Sqtrace
{

/// the event loop is about to wait for descriptors, msec at most
inline void
LoopWaits(const int msec)
{
    if (sqt_on(SQT_GROUP_SYSCALL | SQT_GROUP_LOOP))
        sqt_loop_waits(msec);
}

/// the wait is over; ready is negative after an error
inline void
LoopWorks(const int ready)
{
    if (sqt_on(SQT_GROUP_LOOP))
        sqt_loop_works(ready);
}

/// the event loop has done something: what came before, since it waited or since the last of these
inline void
LoopDid(const char *what)
{
    if (sqt_on(SQT_GROUP_LOOP))
        sqt_activity_ends(what);
}

/// a part of an activity begins, of which samples are told apart
inline void
PartBegins()
{
    if (sqt_has_new_sample())
        sqt_part_begins();
}

inline void
TellAcl(const char *name)
{
    sqt_part_was_acl(name, strlen(name));
}

/// from 7 on, names are SBufs
template <class Text>
__attribute__((noinline, cold)) void
TellAcl(const Text &name)
{
    sqt_part_was_acl(name.rawContent(), name.length());
}

/// the check of an ACL is over
template <class Text>
inline void
AclIsChecked(const Text &name)
{
    if (sqt_has_new_sample())
        TellAcl(name);
}

/// a line, or a buffer full of them, is written to a log of module stdio
inline void
LogIsWritten()
{
    if (sqt_has_new_sample())
        sqt_part_was("write to a log");
}

} // namespace Sqtrace

#endif
