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

/// the ACL that is being checked now, and the function that knows the number of its name; nullptr: none is
struct Checked {
    const void *name;
    uint32_t (*number)(const void *);
};

inline Checked &
CheckedAcl()
{
    static Checked checked = {nullptr, nullptr};
    return checked;
}

inline uint32_t
NumberOfAcl(const char *name, const size_t length)
{
    return sqt_names == SQT_NAMES_OFF ? 0 : sqt_define_acl(name, length);
}

/// up to 6, names are arrays of characters
inline uint32_t
NumberOfAclNamed(const void *name)
{
    return NumberOfAcl(static_cast<const char *>(name), strlen(static_cast<const char *>(name)));
}

/// from 7 on, names are SBufs
template <class Text>
uint32_t
NumberOfAclNamedBy(const void *name)
{
    const Text &text = *static_cast<const Text *>(name);
    return NumberOfAcl(text.rawContent(), text.length());
}

__attribute__((noinline, cold)) inline void
LearnAcl(sqt_known_acl &known, const Checked &acl)
{
    known.name = acl.name;
    known.number = acl.number(acl.name);
}

/// shows live readers the ACL that is being checked now, and returns what they saw before
inline uint32_t
ShowAcl(const Checked &acl)
{
    if (!sqt_acl_now)
        return 0;
    const uint32_t before = *sqt_acl_now;
    sqt_known_acl &known = sqt_known_acls[(reinterpret_cast<uintptr_t>(acl.name) >> 4) % SQT_KNOWN_ACLS];
    if (known.name != acl.name)
        LearnAcl(known, acl);
    __atomic_store_n(sqt_acl_now, known.number, __ATOMIC_RELAXED);
    return before;
}

/// an ACL is being checked as long as this lives, however the check ends; then the one around it is, if there is one
class AclCheck
{
public:
    __attribute__((always_inline)) explicit AclCheck(const char *name) : around(CheckedAcl())
    {
        CheckedAcl() = {name, NumberOfAclNamed};
        shown = ShowAcl(CheckedAcl());
        PartBegins();
    }
    template <class Text>
    __attribute__((always_inline)) explicit AclCheck(const Text &name) : around(CheckedAcl())
    {
        CheckedAcl() = {&name, NumberOfAclNamedBy<Text>};
        shown = ShowAcl(CheckedAcl());
        PartBegins();
    }
    ~AclCheck()
    {
        CheckedAcl() = around;
        if (sqt_acl_now)
            __atomic_store_n(sqt_acl_now, shown, __ATOMIC_RELAXED);
    }
    AclCheck(const AclCheck &) = delete;
    AclCheck &operator=(const AclCheck &) = delete;

private:
    const Checked around;
    uint32_t shown; ///< to live readers, before this
};

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

/// lines that cache.log got so far
inline uint64_t &
CacheLogLines()
{
    static uint64_t lines = 0;
    return lines;
}

/// a line of cache.log is written
inline void
LineIsLogged()
{
    ++CacheLogLines();
    if (sqt_has_new_sample())
        sqt_part_was("write to cache.log");
}

} // namespace Sqtrace

#endif
