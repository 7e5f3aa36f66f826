/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-life.h - hooks of what happens to Squid as a whole: why it ends, lists that it reads, indexes that it rebuilds.
 */
#ifndef SQT_SQUID_HOOKS_LIFE_H
#define SQT_SQUID_HOOKS_LIFE_H

#include "ids.h"

#include <stdio.h>

namespace Sqtrace
{

/// Squid ends itself; why: what it says of it in cache.log, nil if nothing
inline void
SquidGivesUp(const char *why)
{
    if (Tracing())
        sqt_gives_up(why ? why : "");
}

/// the same, because of an assertion
inline void
SquidFails(const char *what, const char *file, const int line)
{
    char why[200];
    if (!Tracing())
        return;
    snprintf(why, sizeof why, "assertion failed: %s:%d: \"%s\"", file, line, what);
    sqt_gives_up(why);
}

/* ---- lists of ACLs ---- */

/// so many values, or so many microseconds, make a list worth a record
enum { ListValues = 1000, ListMicroseconds = 10000 };

/// a list that was read before tracing began, or while its ACL's definition has no trace to go to
struct ListRead {
    uint64_t values, microseconds;
    char name[SQT_SERVER_TEXT + 1];
};

/// those that wait for the trace to begin; of too many, the last take the place of the last one
struct ListsRead {
    enum { Most = 16 };
    ListRead list[Most];
    unsigned count;
};

inline ListsRead &
UntoldLists()
{
    static ListsRead lists = {};
    return lists;
}

/// values that lists in files have had so far
inline uint64_t &
ValuesRead()
{
    static uint64_t count = 0;
    return count;
}

inline void
ValueIsRead()
{
    ++ValuesRead();
}

inline uint64_t
Microseconds()
{
    return sqt_read_clock(SQT_CLOCK_MONOTONIC) / 1000;
}

inline void
EmitListRead(const ListRead &list)
{
    const uint32_t acl = sqt_names == SQT_NAMES_OFF ? 0 : sqt_define_acl(list.name, strlen(list.name));
    sqt_emit(SQT_EV_LIST_READ, list.values, list.microseconds, acl);
    StayOnStack();
}

/// the trace has begun, perhaps: lists that were read before are told
inline void
ListsAreTold()
{
    ListsRead &lists = UntoldLists();
    for (unsigned i = 0; sqt_on(SQT_GROUP_LOOP) && i < lists.count; ++i)
        EmitListRead(lists.list[i]);
    lists.count = 0;
}

/// the values of an ACL are read from squid.conf and its files as long as this lives
class AclIsRead
{
public:
    AclIsRead() : values(ValuesRead()), since(Microseconds()) {}

    /// that is over; up to 6, names are arrays of characters
    template <size_t Size>
    void as(const char (&name)[Size]) const
    {
        as(name, strlen(name));
    }
    /// from 7 on, names are SBufs
    template <class Text>
    void as(const Text &name) const
    {
        as(name.rawContent(), name.length());
    }

private:
    void as(const char *name, const size_t length) const
    {
        ListRead list = {ValuesRead() - values, Microseconds() - since, ""};
        if (list.values < ListValues && list.microseconds < ListMicroseconds)
            return;
        const size_t size = length < SQT_SERVER_TEXT ? length : SQT_SERVER_TEXT;
        memcpy(list.name, name, size);
        list.name[size] = 0;
        if (sqt_on(SQT_GROUP_LOOP))
            EmitListRead(list);
        else
            keep(list);
    }
    void keep(const ListRead &list) const
    {
        ListsRead &lists = UntoldLists();
        if (lists.count < ListsRead::Most)
            ++lists.count;
        lists.list[lists.count - 1] = list;
    }

    const uint64_t values, since;
};

} // namespace Sqtrace

#endif
