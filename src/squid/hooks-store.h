/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-store.h - hooks of the store: swap-ins and swap-outs, block by block.
 *
 * sio is a StoreIOState, which has a member sqtrace of type SwapState.
 */
#ifndef SQT_SQUID_HOOKS_STORE_H
#define SQT_SQUID_HOOKS_STORE_H

#include "hooks-diskops.h"

#include <stdio.h>

namespace Sqtrace
{

template <class Dir>
__attribute__((noinline, cold)) void
DefineDir(const Dir &dir)
{
    char text[1024];
    snprintf(text, sizeof text, "%s %s", dir.type(), dir.path ? dir.path : "-");
    sqt_define(SQT_DEF_DIR, static_cast<uint32_t>(dir.index), text);
}

/// the number of a cache_dir, whose type and path are defined when it is first met
template <class Dir>
inline uint32_t
DirOf(const Dir &dir)
{
    const uint32_t number = static_cast<uint32_t>(dir.index);
    if (!sqt_defined(SQT_DEF_DIR, number))
        DefineDir(dir);
    return number;
}

/// where no record of the store defines a cache_dir, those of disk operations need it all the same
template <class Dir>
inline void
DirIsMet(const Dir &dir)
{
    if (sqt_on(SQT_GROUP_DISKOP))
        DirOf(dir);
}

/// emits a record of an I/O that another thread or process did, with its stamps, or left undone in time
__attribute__((noinline)) inline void
EmitStamps(const unsigned event, const uint64_t sio, const uint64_t arg, const uint32_t aux)
{
    const sqt_io_stamps stamps = sqt_io_take();
    if (stamps.timed_out)
        sqt_emit(event, sio, arg, aux | SQT_IO_TIMED_OUT);
    else
        sqt_emit_pair_at(stamps.noticed, SQT_PAIR(event, SQT_EV_PART_DISKOP_IO), sio, arg, aux, stamps.service_begin,
                         stamps.service_end, stamps.copy);
}

/// emits a record of an I/O that is done, wherever it ran
inline void
EmitCompletion(const unsigned event, const uint64_t sio, const uint64_t arg, const uint32_t aux)
{
    if (sqt_io_is_pending())
        EmitStamps(event, sio, arg, aux);
    else
        sqt_emit(event, sio, arg, aux);
    StayOnStack();
}

/// A disk call that the main thread made itself is over; one of another thread or process has stamps now.
inline void
DiskCallIsOver(const uint32_t what, const int dir)
{
    if (sqt_has_new_sample() && !sqt_io_is_pending())
        sqt_part_was_disk_call(what, static_cast<uint32_t>(dir));
}

template <class Sio, class Dir, class Entry>
inline void
EmitOpen(Sio &sio, const Dir &dir, const Entry &entry, const uint64_t xact, const bool out, const bool update = false)
{
    sio.sqtrace.serial = NextSerial<StoreIos>();
    sio.sqtrace.out = out;
    sqt_emit_pair(SQT_PAIR(out ? SQT_EV_SWAPOUT_OPEN : SQT_EV_SWAPIN_OPEN, SQT_EV_PART_SWAP_FILE), sio.sqtrace.serial,
                  xact, DirOf(dir), ObjectOf(static_cast<const unsigned char *>(entry.key)),
                  static_cast<uint32_t>(sio.swap_filen), update);
    StayOnStack();
}

/// a swap-in opens its file for the transaction of the (right) code context
template <class Sio, class Dir, class Entry, class ContextPointer>
inline void
SwapInOpens(Sio &sio, const Dir &dir, const Entry &entry, const ContextPointer &context)
{
    if (!Tracing())
        return;
    if (sqt_on(SQT_GROUP_STORE))
        EmitOpen(sio, dir, entry, XactOfContext(context), false);
    else
        DirIsMet(dir);
    OperationIsAskedFor(SQT_DISK_OPEN, sio.sqtrace.serial, dir.index, sqt_on(SQT_GROUP_STORE));
}

/// The transaction that brings an entry.  The marker of a Vary response has no request of its own; it is made in the
/// context of the transaction that brings the response.
template <class Entry, class ContextPointer>
inline uint64_t
XactThatBrings(const Entry &entry, const ContextPointer &context)
{
    const uint64_t xact = entry.mem_obj ? XactOf(entry.mem_obj->request) : 0;
    return xact ? xact : XactOfContext(context);
}

/// a swap-out creates its file
template <class Sio, class Dir, class Entry, class ContextPointer>
inline void
SwapOutOpens(Sio &sio, const Dir &dir, const Entry &entry, const ContextPointer &context)
{
    if (!Tracing())
        return;
    if (sqt_on(SQT_GROUP_STORE))
        EmitOpen(sio, dir, entry, XactThatBrings(entry, context), true);
    else
        DirIsMet(dir);
    OperationIsAskedFor(SQT_DISK_CREATE, sio.sqtrace.serial, dir.index, sqt_on(SQT_GROUP_STORE));
}

template <class Sio, class Entry, class ContextPointer>
void
EmitSwapInIsOpen(Sio &sio, const Entry &entry, const ContextPointer &context)
{
    SwapInOpens(sio, entry.disk(), entry, context);
    sqt_emit_too(SQT_EV_SWAPIN_OPENED, sio.sqtrace.serial, 0, 0);
}

template <class Sio, class Entry, class ContextPointer>
void
EmitSwapOutIsOpen(Sio &sio, const Entry &entry, const ContextPointer &context)
{
    SwapOutOpens(sio, entry.disk(), entry, context);
    sqt_emit_too(SQT_EV_SWAPOUT_OPENED, sio.sqtrace.serial, 0, 0);
}

/// a swap of a store that opens nothing (rock), and so has not said that it opens
template <class Sio, class Entry, class ContextPointer>
inline void
SwapInIsOpen(Sio &sio, const Entry &entry, const ContextPointer &context)
{
    if (!sqt_on(SQT_GROUP_STORE) || sio.sqtrace.serial)
        return;
    EmitSwapInIsOpen(sio, entry, context);
    StayOnStack();
}

template <class Sio, class Entry, class ContextPointer>
inline void
SwapOutIsOpen(Sio &sio, const Entry &entry, const ContextPointer &context)
{
    if (!sqt_on(SQT_GROUP_STORE) || sio.sqtrace.serial)
        return;
    EmitSwapOutIsOpen(sio, entry, context);
    StayOnStack();
}

/// whether records of this swap are wanted: its open was traced, too
template <class Sio>
inline bool
IsTraced(const Sio &sio)
{
    return sqt_on(SQT_GROUP_STORE) && sio.sqtrace.serial;
}

/// an open or a create is done, or failed
template <class Sio, class File>
inline void
SwapFileIsOpen(const Sio &sio, const File &file)
{
    DiskCallIsOver(sio.sqtrace.out ? SQT_DISK_CREATE : SQT_DISK_OPEN, sio.swap_dirn);
    if (IsTraced(sio))
        EmitCompletion(sio.sqtrace.out ? SQT_EV_SWAPOUT_OPENED : SQT_EV_SWAPIN_OPENED, sio.sqtrace.serial, 0,
                       file.error());
}

/// the store gave no file; dir is negative where none was chosen
inline void
SwapIsRefused(const uint64_t xact, const int dir, const bool out)
{
    if (!sqt_on(SQT_GROUP_STORE))
        return;
    sqt_emit(SQT_EV_SWAP_REFUSED, xact, static_cast<uint32_t>(dir), out);
    StayOnStack();
}

template <class ContextPointer>
inline void
SwapInIsRefused(const ContextPointer &context, const int dir)
{
    if (sqt_on(SQT_GROUP_STORE))
        SwapIsRefused(XactOfContext(context), dir, false);
}

template <class Entry, class ContextPointer>
inline void
SwapOutIsRefused(const Entry &entry, const ContextPointer &context)
{
    if (sqt_on(SQT_GROUP_STORE))
        SwapIsRefused(XactThatBrings(entry, context), entry.swap_dirn, true);
}

template <class Entry, class ContextPointer>
__attribute__((noinline, cold)) void
EmitNotKept(const Entry &entry, const uint32_t why, const ContextPointer &context)
{
    sqt_emit(SQT_EV_NOT_KEPT, XactThatBrings(entry, context), 0, why);
    StayOnStack();
}

/// an entry that may be stored will not be, and why() says for what reason
template <class Entry, class Why, class ContextPointer>
inline void
EntryIsNotKept(const Entry &entry, const Why &why, const ContextPointer &context)
{
    if (sqt_on(SQT_GROUP_STORE))
        EmitNotKept(entry, why(), context);
}

template <class Sio>
inline void
BlockIsAskedFor(const Sio &sio, const int64_t offset, const size_t size)
{
    if (!Tracing())
        return;
    const bool told = IsTraced(sio);
    if (told)
        sqt_emit(SQT_EV_SWAPIN_READ, sio.sqtrace.serial, static_cast<uint64_t>(offset), static_cast<uint32_t>(size));
    OperationIsAskedFor(SQT_DISK_READ, sio.sqtrace.serial, sio.swap_dirn, told);
}

/// a block that was asked for at offset is here; length is negative after a failure
template <class Sio>
inline void
BlockIsRead(const Sio &sio, const int64_t offset, const int64_t length)
{
    DiskCallIsOver(SQT_DISK_READ, sio.swap_dirn);
    if (IsTraced(sio))
        EmitCompletion(SQT_EV_SWAPIN_READ_DONE, sio.sqtrace.serial, static_cast<uint64_t>(offset),
                       IoBytes(length, length < 0));
}

/// Writes append, so the offset of each is the sum of those before it.
template <class Sio>
inline void
BlockIsHandedOver(Sio &sio, const size_t size)
{
    const bool told = IsTraced(sio);
    if (told)
        sqt_emit(SQT_EV_SWAPOUT_WRITE, sio.sqtrace.serial, sio.sqtrace.handedOver, static_cast<uint32_t>(size));
    OperationIsAskedFor(SQT_DISK_WRITE, sio.sqtrace.serial, sio.swap_dirn, told);
    if (sio.sqtrace.serial)
        sio.sqtrace.handedOver += size;
}

template <class Sio>
inline void
BlockIsWritten(Sio &sio, const bool failed, const size_t size)
{
    DiskCallIsOver(SQT_DISK_WRITE, sio.swap_dirn);
    if (!sio.sqtrace.serial)
        return;
    if (IsTraced(sio))
        EmitCompletion(SQT_EV_SWAPOUT_WRITTEN, sio.sqtrace.serial, sio.sqtrace.completed,
                       static_cast<uint32_t>(size) | (failed ? SQT_IO_FAILED : 0));
    sio.sqtrace.completed += size;
}

/// the store is asked to close the file
template <class Sio>
inline void
SwapFileCloses(Sio &sio)
{
    if (!Tracing())
        return;
    const bool told = IsTraced(sio) && !sio.sqtrace.closeAsked;
    if (sio.sqtrace.serial)
        sio.sqtrace.closeAsked = true;
    if (told)
        sqt_emit(sio.sqtrace.out ? SQT_EV_SWAPOUT_CLOSE : SQT_EV_SWAPIN_CLOSE, sio.sqtrace.serial, 0, sio.sqtrace.gone);
    OperationIsAskedFor(SQT_DISK_CLOSE, sio.sqtrace.serial, sio.swap_dirn, told);
}

template <class Sio>
inline void
SwapFileIsClosed(const Sio &sio, const int error)
{
    DiskCallIsOver(SQT_DISK_CLOSE, sio.swap_dirn);
    if (IsTraced(sio))
        EmitCompletion(sio.sqtrace.out ? SQT_EV_SWAPOUT_CLOSED : SQT_EV_SWAPIN_CLOSED, sio.sqtrace.serial,
                       sio.sqtrace.completed, static_cast<uint32_t>(error < 0 ? -error : error));
}

template <class Dir>
inline void
SwapFileIsUnlinked(const Dir &dir, const int file)
{
    if (sqt_on(SQT_GROUP_STORE))
        sqt_emit(SQT_EV_UNLINK, DirOf(dir), static_cast<uint32_t>(file), 0);
    else
        DirIsMet(dir);
    OperationIsAskedFor(SQT_DISK_UNLINK, 0, dir.index, sqt_on(SQT_GROUP_STORE));
}

/// the call that removes a file is back; where a queue took the operation, that is not its end
template <class Dir>
inline void
UnlinkCallReturns(const Dir &dir, const int file)
{
    DiskCallIsOver(SQT_DISK_UNLINK, dir.index);
    if (sqt_on(SQT_GROUP_STORE) && (!sqt_on(SQT_GROUP_DISKOP) || CurrentQuestion().asked))
        sqt_emit(SQT_EV_UNLINKED, DirOf(dir), static_cast<uint32_t>(file), 0);
    CurrentQuestion().asked = Question::Nothing;
}

template <class Entry>
inline void
EntryIsReleased(const Entry &entry)
{
    if (sqt_on(SQT_GROUP_STORE))
        sqt_emit(SQT_EV_RELEASE, ObjectOf(static_cast<const unsigned char *>(entry.key)),
                 entry.swap_filen < 0 ? UINT64_MAX : static_cast<uint64_t>(entry.swap_filen),
                 static_cast<uint32_t>(entry.swap_dirn));
}

/* ---- indexes of cache_dirs ---- */

/// how long a rebuild took, in ms; up to 5, Squid does not say when it began
template <class Counts, class Time>
inline auto
RebuildTook(const Counts &counts, const Time &now, int) -> decltype(counts.startTime.tv_sec, uint64_t())
{
    const auto ms = (now.tv_sec - counts.startTime.tv_sec) * 1000 + (now.tv_usec - counts.startTime.tv_usec) / 1000;
    return counts.startTime.tv_sec && ms > 0 ? static_cast<uint64_t>(ms) : 0;
}

template <class Counts, class Time>
inline uint64_t
RebuildTook(const Counts &, const Time &, long)
{
    return 0;
}

/// the index of a cache_dir is rebuilt
template <class Dir, class Counts, class Time>
inline void
DirIsRebuilt(const Dir &dir, const Counts &counts, const Time &now)
{
    if (!sqt_on(SQT_GROUP_STORE))
        return;
    sqt_emit(SQT_EV_DIR_REBUILT, counts.scancount > 0 ? static_cast<uint64_t>(counts.scancount) : 0,
             RebuildTook(counts, now, 0), DirOf(dir));
    StayOnStack();
}

/// swap.state of all cache_dirs is written
inline void
SwapLogsAreWritten(const int entries, const double seconds)
{
    if (!sqt_on(SQT_GROUP_STORE))
        return;
    sqt_emit(SQT_EV_SWAP_LOGS_WRITTEN, entries > 0 ? static_cast<uint64_t>(entries) : 0,
             seconds > 0 ? static_cast<uint64_t>(seconds * 1e6) : 0, 0);
    StayOnStack();
}

} // namespace Sqtrace

#endif
