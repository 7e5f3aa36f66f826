/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * objects.h - what the hooks' arguments and results are.
 *
 * Without a provider of traces, the hooks do nothing, and the compiler leaves them out.
 */
#ifndef SQUID_SRC_TRACE_OBJECTS_H
#define SQUID_SRC_TRACE_OBJECTS_H

#include "trace/state-waits.h"
#include "trace/state.h"

#include <sys/types.h>

namespace Trace
{

/// what kind of process this is
enum KidKind { KID_SINGLE, KID_WORKER, KID_DISKER, KID_COORDINATOR };

/// the process that traces
struct Process {
    int kid = 0;
    KidKind kind = KID_SINGLE;
    const char *service = nullptr;       ///< squid -n
    const char *version = nullptr;       ///< Squid's
    const char *host = nullptr;          ///< unique_hostname, else visible_hostname, else nil
    const char *configuration = nullptr; ///< squid.conf; a provider's own configuration may be beside it
    uid_t user = 0;                      ///< cache_effective_user
};

/// the helper that a transaction waits for
enum Waited { WAITED_AUTH, WAITED_EXTERNAL_ACL, WAITED_CERT_GENERATION, WAITED_CERT_VALIDATION };

/// why nothing is kept of an object that may be stored
enum Unkept { UNKEPT_TOO_LARGE, UNKEPT_TOO_SMALL, UNKEPT_OPEN_FILES, UNKEPT_DESCRIPTORS };

/// what a trace remembers of a tunnel
struct Tunnel {};

/// how the answers of neighbors ended
enum NeighborsOutcome { NeighborsAnswered, NeighborsTimedOut, NeighborsNotExpected };

/// what the store asks a disk for
struct Question {};

/// gives the length of a queue
typedef int QueueLength();

/// an object that lives as long as what it is about
struct Span {
    Span() {}
    template <class... What>
    explicit Span(const What &...)
    {
    }
    ~Span() {}
    Span(const Span &) = delete;
    Span &operator=(const Span &) = delete;
};

/// the answer of a disk is being delivered
struct Delivery : Span {
    using Span::Span;
};

/// the completion that is being delivered is a time-out
struct TimeOut : Span {
    using Span::Span;
};

/// diskd serves a question
struct DiskdService : Span {
    using Span::Span;
    template <class Message>
    void endsWith(Message &) const
    {
    }
};

/// a neighbor's query is being answered
struct QueryService : Span {};

/// an ACL is being checked
struct AclCheck : Span {
    using Span::Span;
};

/// the values of an ACL are being read
struct AclReading : Span {};

/// serve() answers a neighbor's query
template <class Serve>
inline void
QueryIsServed(const Serve serve)
{
    serve();
}

/// whether it ran the caller again, in the right context, because something is traced and the current one is another
template <class Context, class Pointer, class Function>
inline bool
HasRunIn(const Pointer &, const Function)
{
    return false;
}

/* ---- the life of a trace ---- */

/// A process starts, or is reconfigured; eachSecond() and log(level, text) are for the provider to call.
template <class Log>
inline void
Configure(const Process &, const bool /* starting */, void (*)() /* eachSecond */, const Log)
{
}

inline void
Poll()
{
}

inline void
ASecondIsOver()
{
}

/// logs are rotated
inline void
Rotate()
{
}

/// the process ends in order
inline void
Stop()
{
}

/// the process dies of a signal: called in the handler
inline void
Off()
{
}

} // namespace Trace

#endif
