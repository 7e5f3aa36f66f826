/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ids.h - how the hooks name what they speak of.
 *
 * Ids come from the object at hand.  Squid's current code context is used only where a hook's caller has just made
 * it right, because after disk completions it is that of another transaction, or of none.
 *
 * Everything is a template over Squid's classes, so that this header needs none of Squid's and suits every version.
 */
#ifndef SQT_SQUID_IDS_H
#define SQT_SQUID_IDS_H

#include "../trace/sqtrace.h"
#include "state.h"

#include <new>
#include <string.h>

namespace Sqtrace
{

/// whether anything is traced: for lines that prepare what hooks further down need
inline bool
Tracing()
{
    return sqt_on(~UINT32_C(0));
}

/// While it lives and anything is traced, the current code context is the given one, unless that is nil; afterwards it
/// is again what it was: the caller may have been interrupted by another transaction's completion.
template <class Context>
class RightContext
{
public:
    /// right is a pointer of any kind to a context
    template <class Pointer>
    explicit RightContext(const Pointer &right) : set_(Tracing() && set(right)) {}
    ~RightContext()
    {
        if (set_)
            restore();
    }
    RightContext(const RightContext &) = delete;
    RightContext &operator=(const RightContext &) = delete;

private:
    typedef typename Context::Pointer Saved;

    template <class Pointer>
    bool
    set(const Pointer &right)
    {
        if (!(right != nullptr) || right.getRaw() == Context::Current().getRaw())
            return false;
        replace(right);
        return true;
    }

    /// out of line, so that no register is saved for it where it is not needed
    template <class Pointer>
    __attribute__((noinline)) void
    replace(const Pointer &right)
    {
        new (&saved_) Saved(Context::Current());
        Context::Reset(right);
    }

    __attribute__((noinline)) void
    restore()
    {
        Context::Reset(saved_);
        saved_.~Saved();
    }

    union {
        Saved saved_; ///< if set_
    };
    const bool set_;
};

/// what the serial numbers below count
enum SerialKind { Transactions, StoreIos, Lookups, DiskOperations };

/// the next serial number of its kind in this process, from 1
template <SerialKind Kind>
inline uint64_t
NextSerial()
{
    static uint64_t last = 0;
    return ++last;
}

/// %master_xaction of a request (a pointer of any kind to HttpRequest), 0 if there is none
template <class RequestPointer>
inline uint64_t
XactOf(const RequestPointer &request)
{
    return request != nullptr ? static_cast<uint64_t>(request->masterXaction->id.value) : 0;
}

/// Said after an event that a hook emits last: the call stays a call and does not become a jump, so that a stack shows
/// the line of the hook (tests/e2e/lib/witness.py).  Costs no instruction where nothing is emitted.
inline void
StayOnStack()
{
    __asm__ volatile("");
}

/// id of a Comm::Connection, 0 if there is none
template <class ConnectionPointer>
inline uint64_t
ConnOf(const ConnectionPointer &conn)
{
    return conn != nullptr ? static_cast<uint64_t>(conn->id.value) : 0;
}

/// the master transaction that a code context belongs to, 0 if it is of another kind (a connection, a listener)
template <class ContextPointer>
inline uint64_t
XactOfContext(const ContextPointer &context)
{
    if (!(context != nullptr))
        return 0;
    const auto gist = context->codeContextGist();
    return gist.scope && gist.scope[0] == 'm' && gist.scope[1] == 'a' ? gist.value : 0; // "master"
}

/// keyed hash of a store key, which is an MD5; 0 without one
template <class Key>
inline uint64_t
ObjectOf(const Key *key)
{
    return key ? sqt_hash_key(reinterpret_cast<const unsigned char *>(key)) : 0;
}

/// the number of something that squid.conf names
inline uint32_t
NumberOfName(const char *name)
{
    return static_cast<uint32_t>(sqt_hash(name, strlen(name)) & INT32_MAX);
}

} // namespace Sqtrace

#endif
