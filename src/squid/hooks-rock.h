/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-rock.h - hooks of rock stores, and of what the workers of an SMP Squid share.
 *
 * A rock store is one file of slots.  A slot holds a block of a stored image behind a header of its own, which is in
 * no offset and no size here.  Nothing is opened or closed for a swap, so it may end while a block of it is
 * outstanding; the record of its end then follows that block's.
 *
 * request is a ReadRequest or WriteRequest with a member sqtrace of type Block.
 */
#ifndef SQT_SQUID_HOOKS_ROCK_H
#define SQT_SQUID_HOOKS_ROCK_H

#include "hooks-store.h"

namespace Sqtrace
{

/* ---- swaps ---- */

/// the header of a stored entry is to be rewritten: sio reads the old one (out: false) or writes the new one
template <class Sio, class Dir, class Entry, class ContextPointer>
inline void
HeaderUpdateOpens(Sio &sio, const Dir &dir, const Entry &entry, const ContextPointer &context, const bool out)
{
    if (!sqt_on(SQT_GROUP_STORE))
        return;
    EmitOpen(sio, dir, entry, XactOfContext(context), out, true);
    sqt_emit_too(out ? SQT_EV_SWAPOUT_OPENED : SQT_EV_SWAPIN_OPENED, sio.sqtrace.serial, 0, 0);
}

template <class Sio, class Request>
inline void
NoteAsked(Sio &sio, Request &request, const uint64_t offset, const size_t size)
{
    request.sqtrace.sio = sio.sqtrace.serial;
    request.sqtrace.offset = offset;
    request.sqtrace.size = static_cast<uint32_t>(size);
    ++sio.sqtrace.outstanding;
}

/// A slot is to be read; the request starts at offset of the stored image.  A file with an error refuses it.
template <class Sio, class File, class Request>
inline void
SlotIsAskedFor(Sio &sio, const File &file, Request &request, const int64_t offset)
{
    if (!Tracing())
        return;
    const bool told = IsTraced(sio) && !file.error();
    if (told) {
        NoteAsked(sio, request, static_cast<uint64_t>(offset), request.len);
        sqt_emit(SQT_EV_SWAPIN_READ, sio.sqtrace.serial, request.sqtrace.offset, request.sqtrace.size);
    }
    OperationIsAskedFor(SQT_DISK_READ, sio.sqtrace.serial, sio.swap_dirn, told);
}

/// emits what is handed over; with the first slot of a swap, how many bytes each has before those of the stored image
inline void
EmitHandedOver(const Block &block, const size_t before)
{
    if (block.offset)
        sqt_emit(SQT_EV_SWAPOUT_WRITE, block.sio, block.offset, block.size);
    else
        sqt_emit_pair(SQT_PAIR(SQT_EV_SWAPOUT_WRITE, SQT_EV_PART_SLOT), block.sio, block.offset, block.size, 0, before,
                      0);
}

/// A slot is to be written, size bytes of it the stored image's.
template <class Sio, class File, class Request>
inline void
SlotIsHandedOver(Sio &sio, const File &file, Request &request, const size_t size)
{
    const bool told = IsTraced(sio) && !file.error();
    if (told) {
        NoteAsked(sio, request, sio.sqtrace.handedOver, size);
        EmitHandedOver(request.sqtrace, request.len - size);
    }
    OperationIsAskedFor(SQT_DISK_WRITE, sio.sqtrace.serial, sio.swap_dirn, told);
    sio.sqtrace.handedOver += size;
}

/// emits the end of a swap that is over and has no block outstanding
template <class Sio>
inline void
EndIfIdle(Sio &sio)
{
    if (!sio.sqtrace.ended || sio.sqtrace.outstanding)
        return;
    SwapFileIsClosed(sio, sio.sqtrace.gone ? 0 : sio.sqtrace.error);
    sio.sqtrace.serial = 0;
}

template <class Sio, class Request>
inline void
EmitDone(const unsigned event, Sio &sio, const Request &request, const uint32_t bytes)
{
    if (IsTraced(sio))
        EmitCompletion(event, sio.sqtrace.serial, request.sqtrace.offset, bytes);
    --sio.sqtrace.outstanding;
    EndIfIdle(sio);
}

/// length is negative after a failure
template <class Sio, class Request>
inline void
SlotIsRead(Sio &sio, const Request &request, const int length)
{
    if (request.sqtrace.sio)
        EmitDone(SQT_EV_SWAPIN_READ_DONE, sio, request, IoBytes(length, length < 0));
}

template <class Sio, class Request>
inline void
SlotIsWritten(Sio &sio, const Request &request, const bool failed)
{
    if (!request.sqtrace.sio)
        return;
    if (!failed)
        sio.sqtrace.completed += request.sqtrace.size;
    EmitDone(SQT_EV_SWAPOUT_WRITTEN, sio, request, IoBytes(request.sqtrace.size, failed));
}

/// the swap is over, but for the blocks that are outstanding
template <class Sio>
inline void
SwapEnds(Sio &sio, const int error)
{
    if (!sio.sqtrace.serial)
        return;
    sio.sqtrace.ended = true;
    sio.sqtrace.error = static_cast<int16_t>(error);
    EndIfIdle(sio);
}

/* ---- I/O that a disker does: message is an IpcIoMsg ---- */

template <class Message>
void
EmitLateAnswer(const Message &message)
{
    const Operation &operation = message.sqtOperation;
    const auto known = TimedOutBlocks().find(operation.serial);
    if (known == TimedOutBlocks().end())
        return;
    const Block block = known->second;
    TimedOutBlocks().erase(known);
    const uint64_t noticed = sqt_read_clock(sqt_clock);
    const bool failed = message.xerrno != 0;
    EmitOperationEnd(SQT_EV_DISKOP_LATE, operation, noticed, IoBytes(message.len, failed));
    if (sqt_on(SQT_GROUP_STORE) && block.sio) {
        sqt_io_done(operation.begin, operation.end, CopyOf(operation), noticed);
        EmitCompletion(SQT_EV_IO_LATE, block.sio, block.offset, IoBytes(block.size, failed));
    }
}

/// an answer for which nobody waits any more; one for another process (this one's predecessor) is not ours to tell
template <class Message>
inline void
AnswerIsLate(const Message &message, const pid_t self)
{
    if (message.workerPid == self)
        EmitLateAnswer(message);
    StayOnStack();
}

/* ---- entries that several kids share while they are brought ----
 *
 * slice is the one in the shared table of transients whose number is the entry's.  That table holds entries and no
 * content, so its slices are free: size and next, 32 bits each, hold the transaction's id and its kid. */

static const unsigned KidBits = 16;

template <class Slice, class ContextPointer>
inline void
EntryIsBrought(Slice &slice, const int kid, const ContextPointer &context)
{
    const uint64_t xact = Tracing() ? XactOfContext(context) : 0;
    slice.size = static_cast<uint32_t>(xact);
    slice.next = static_cast<int32_t>((xact >> 32 << KidBits) | static_cast<uint32_t>(kid));
}

template <class Memory, class Slice>
inline void
EntryIsBroughtElsewhere(Memory &memory, const Slice &slice)
{
    if (!Tracing())
        return;
    const uint32_t next = static_cast<uint32_t>(slice.next);
    memory.sqtrace.xact = slice.size | static_cast<uint64_t>(next >> KidBits) << 32;
    memory.sqtrace.kid = next & ((1u << KidBits) - 1);
}

/// The code context of the first who waits for an entry, nil if nobody does: for what begins when another worker says
/// that it has come.
template <class Client, class Context, class Memory>
inline Context
ContextOfFirst(const Memory &memory)
{
    for (auto node = Tracing() ? memory.clients.head : nullptr; node; node = node->next) {
        const auto &context = static_cast<const Client *>(node->data)->_callback.codeContext;
        if (XactOfContext(context))
            return context;
    }
    return nullptr;
}

} // namespace Sqtrace

#endif
