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
#include "state-waits.h"
#include "state.h"

#include <string.h>

namespace Sqtrace
{

/// whether anything is traced: for lines that prepare what hooks further down need
inline bool
Tracing()
{
    return sqt_on(~UINT32_C(0));
}

/// what HasRunIn() does where the context is another one
template <class Context, class Pointer, class Function>
__attribute__((noinline)) void
RunIn(const Pointer &right, const Function again)
{
    const struct Restoring {
        typename Context::Pointer was = Context::Current();
        ~Restoring() { Context::Reset(was); } // after an exception, too
    } restoring;
    const typename Context::Pointer stays(right.getRaw()); // whatever happens to right
    Context::Reset(stays);
    again();
}

/// Runs again what has only just begun, in the context that is right (a pointer of any kind to one), if anything is
/// traced and the current one is another; not if right is nil.  Returns whether it did; its caller then returns.
/// Afterwards the context is what it was: the caller may have been interrupted by another transaction's completion.
template <class Context, class Pointer, class Function>
inline bool
HasRunIn(const Pointer &right, const Function again)
{
    if (!Tracing() || !(right != nullptr) || right.getRaw() == Context::Current().getRaw())
        return false;
    RunIn<Context>(right, again);
    return true;
}

/// what the serial numbers below count
enum SerialKind { Transactions, StoreIos, Lookups, DiskOperations, HelperUses };

/// the next serial number of its kind in this process, from 1
template <SerialKind Kind>
inline uint64_t
NextSerial()
{
    static uint64_t last = 0;
    return ++last;
}

/// Said of a hook that GCC 14 makes into a function of its own first, with other parameters, and puts in line afterwards: it
/// loses the line of the hook then, so that no stack shows it (tests/e2e/lib/witness.py).  The code is the same.
#define SQT_KEEPS_LINE __attribute__((always_inline))

/// %master_xaction of a request (a pointer of any kind to HttpRequest), 0 if there is none
template <class RequestPointer>
inline uint64_t
XactOf(const RequestPointer &request)
{
    return request != nullptr ? static_cast<uint64_t>(request->masterXaction->id.value) : 0;
}

/// Said after an event that a hook emits last: the call stays a call and does not become a jump, so that a stack shows
/// the line of the hook (tests/e2e/lib/witness.py).  With that line, the same hook before the same code elsewhere in a
/// function does not become one with it, either.  Costs no instruction where nothing is emitted.
inline void
StayOnStack(const int line = 0)
{
    __asm__ volatile("" : : "g"(line));
}

/// What a hook emits in one moment: the first record reads the clock, the others are of the same time.
class Moment
{
public:
    void emit(const unsigned event, const uint64_t id, const uint64_t arg, const uint32_t aux)
    {
        if (begun_)
            sqt_emit_too(event, id, arg, aux);
        else
            sqt_emit(event, id, arg, aux);
        begun_ = true;
        StayOnStack();
    }

private:
    bool begun_ = false;
};

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
