/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-client.h - hooks of transactions, from what a client asks to the last byte of its reply: look-ups, replies,
 * tunnels.
 *
 * http is a ClientHttpRequest, which has a member sqtrace of type ClientState.
 */
#ifndef SQT_SQUID_HOOKS_CLIENT_H
#define SQT_SQUID_HOOKS_CLIENT_H

#include "hooks-helpers.h"
#include "notes.h"
#include "trace-context.h"

namespace Sqtrace
{

/// The id of a transaction that has no name yet.  A request that could not be parsed has an HttpRequest of its own in the
/// end, for the error page, which access.log does not see.  Apart, since each hook of a transaction would have it.
template <class Http>
__attribute__((noinline, cold)) uint64_t
XactOfUnnamed(const Http &http)
{
    return http.al->request ? XactOf(http.al->request) : SQT_UNNAMED | http.sqtrace.xact;
}

/// the transaction's id: %master_xaction once access.log knows it
template <class Http>
inline uint64_t
XactOfClient(const Http &http)
{
    const uint64_t known = http.sqtrace.xact;
    return __builtin_expect(static_cast<int64_t>(known) > 0, 1) ? known : XactOfUnnamed(http); // not SQT_UNNAMED
}

/* ---- transactions: from the beginning to the verdict ---- */

template <class Http, class Manager>
inline void
TransactionBegins(Http &http, const Manager *manager)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    http.sqtrace.xact = SQT_UNNAMED | NextSerial<Transactions>();
    sqt_emit(SQT_EV_XACT_BEGIN, http.sqtrace.xact, manager ? ConnOf(manager->clientConnection) : 0, 0);
}

/// A method that Squid has no number for is its client's invention.  It gets a hash of its name, and the first of them in
/// a trace get a definition; the rest are OTHER.
template <class Method>
__attribute__((noinline, cold)) uint32_t
DefineMethod(const Method &method)
{
    const auto other = decltype(method.id())::METHOD_OTHER;
    const auto number = static_cast<uint32_t>(method.id());
    auto text = method.image();
    if (method.id() != other)
        return sqt_define(SQT_DEF_METHOD, number, text.c_str());
    const auto hash = static_cast<uint32_t>(sqt_hash(text.rawContent(), text.length())) | UINT32_C(1) << 31;
    const auto invented = sqt_define_invented(SQT_DEF_METHOD, hash, text.c_str());
    return invented ? invented : sqt_define(SQT_DEF_METHOD, number, "OTHER");
}

/// a request method as a number: its definition's text is that of %rm
template <class Method>
inline uint32_t
MethodOf(const Method &method)
{
    const auto number = static_cast<uint32_t>(method.id());
    const bool known = method.id() != decltype(method.id())::METHOD_OTHER && sqt_defined(SQT_DEF_METHOD, number);
    return known ? number : DefineMethod(method);
}

template <class RequestPointer>
inline void
EmitName(const RequestPointer &request, const uint64_t unnamed)
{
    sqt_emit(SQT_EV_XACT_NAMED, XactOf(request), unnamed, MethodOf(request->method));
    StayOnStack();
}

/// emits the caller's span if the value of its field traceparent is valid.  Apart, as few requests have that field.
template <class Value>
__attribute__((noinline, cold)) void
EmitContext(const uint64_t xact, const Value &value)
{
    sqt_traceparent context;
    const bool forwards = sqt_trace_context == SQT_CONTEXT_FORWARD && sqt_on(SQT_GROUP_SERVER) && value.size() < 256;
    const uint32_t forwarded = forwards ? SQT_CONTEXT_FORWARDED : 0;
    if (sqt_traceparent_parse(value.rawBuf(), value.size(), &context) == 0)
        sqt_emit_pair(SQT_PAIR(SQT_EV_TRACE_CONTEXT, SQT_EV_PART_TRACE_ID), xact, context.parent,
                      context.flags | forwarded, context.trace_high, context.trace_low, 0);
}

/// looks for the request's field traceparent
template <class Header>
__attribute__((noinline)) void
ContextIsLookedFor(const uint64_t xact, const Header &header)
{
    if (const auto *const field = ContextOf(header))
        EmitContext(xact, field->value);
}

template <class Http>
inline void
TransactionIsNamed(Http &http)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    EmitName(http.request, SQT_UNNAMED | http.sqtrace.xact);
    http.sqtrace.xact = XactOf(http.al->request);
    if (__builtin_expect(sqt_trace_context, 0))
        ContextIsLookedFor(http.sqtrace.xact, http.request->header);
}

/// opens a pair of events of a transaction
template <class Http>
inline void
Open(Http &http, const OpenPair pair, const unsigned event, const uint64_t arg, const uint32_t aux, Moment &moment)
{
    http.sqtrace.open |= pair;
    moment.emit(event, XactOfClient(http), arg, aux);
}

template <class Http>
inline void
Open(Http &http, const OpenPair pair, const unsigned event, const uint64_t arg, const uint32_t aux)
{
    Moment moment;
    Open(http, pair, event, arg, aux, moment);
}

/// Closes it if it is open: also when the group has been turned off since, or a later end would be one too many.
template <class Http>
inline void
Close(Http &http, const OpenPair pair, const unsigned event, const uint64_t arg, const uint32_t aux, Moment &moment)
{
    if (!(http.sqtrace.open & pair))
        return;
    http.sqtrace.open &= ~static_cast<uint32_t>(pair);
    if (sqt_on(SQT_GROUP_CLIENT))
        moment.emit(event, XactOfClient(http), arg, aux);
}

template <class Http>
inline void
Close(Http &http, const OpenPair pair, const unsigned event, const uint64_t arg, const uint32_t aux)
{
    Moment moment;
    Close(http, pair, event, arg, aux, moment);
}

template <class Http>
inline void
CalloutsBegin(Http &http)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        Open(http, AccessIsOpen, SQT_EV_ACCESS_BEGIN, 0, 0);
}

/// Several parts count together.  One that goes to the end of the object is as large as the object is, which is not known
/// yet: then only where it begins is said.
template <class Range>
__attribute__((noinline, cold)) void
EmitRange(const uint64_t xact, const Range &range)
{
    uint64_t bytes = 0, from = UINT64_MAX;
    for (const auto *const part : range.specs) {
        if (part->length >= 0)
            bytes += static_cast<uint64_t>(part->length);
        else if (static_cast<uint64_t>(part->offset) < from)
            from = static_cast<uint64_t>(part->offset);
    }
    const bool open = from != UINT64_MAX;
    sqt_emit(SQT_EV_RANGE, xact, open ? from : bytes, open);
    StayOnStack();
}

/// the request is checked, and its header was read
template <class Http>
inline void
CalloutsEnd(Http &http)
{
    Close(http, AccessIsOpen, SQT_EV_ACCESS_END, 0, 0);
    if (sqt_on(SQT_GROUP_CLIENT) && __builtin_expect(http.request->range != nullptr, 0))
        EmitRange(XactOfClient(http), *http.request->range);
}

/// a helper is asked: url_rewrite_program, or store_id_program
template <class Http>
inline void
RewriterIsAsked(Http &http, const bool storeId)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    Open(http, storeId ? StoreIdIsOpen : RewriteIsOpen, SQT_EV_REDIRECT_BEGIN, 0, storeId);
    NextHelperQuestion() = {XactOfClient(http), storeId ? SQT_WAITED_STORE_ID : SQT_WAITED_URL_REWRITE, nullptr};
}

/// the question is settled, perhaps without having been asked
template <class Http>
inline void
RewriterAnswers(Http &http, const bool storeId)
{
    Close(http, storeId ? StoreIdIsOpen : RewriteIsOpen, SQT_EV_REDIRECT_END, 0, storeId);
}

/// what an adaptation chain is given: aux of ADAPT_BEGIN and ADAPT_END
enum { RequestMessage = 0, ResponseMessage = 1 };

template <class Http>
inline void
LookupBegins(Http &http)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        Open(http, LookupIsOpen, SQT_EV_LOOKUP_BEGIN, 0, 0);
}

/// The store has answered; the verdict is still to come.  publicKey() makes the key that was looked for; a found entry
/// has it already.  Only the first look-up names the object: a second one, for a variant, has another key.
template <class Http, class Entry, class MakeKey>
inline void
LookupAnswered(Http &http, const Entry *entry, const MakeKey publicKey)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    http.sqtrace.found = entry != nullptr;
    if (!http.sqtrace.object)
        http.sqtrace.object = entry ? ObjectOf(static_cast<const unsigned char *>(entry->key)) : ObjectOf(publicKey());
}

/// the verdict: an entry was found and its header is here, or the transaction will do without
template <class Http>
inline void
LookupEnds(Http &http, const bool found)
{
    Close(http, LookupIsOpen, SQT_EV_LOOKUP_END, http.sqtrace.object, found);
}

/// the header of a found entry is here, or could not be read from the disk
template <class Http>
inline void
HeaderIsFound(Http &http, const bool good)
{
    LookupEnds(http, good);
    if (!good)
        http.sqtrace.missed = SQT_MISS_SWAP_FAIL;
}

/* ---- why a look-up is no hit ---- */

/// whether it is the client that wants a newer entry than Squid would; said just before EntryIsStale asks
inline bool &
ClientWantsNewer()
{
    static bool wants = false;
    return wants;
}

/// the freshness of an entry is known
inline void
FreshnessIsJudged(const bool clientWantsNewer)
{
    ClientWantsNewer() = clientWantsNewer;
}

/// an entry was found, but it is not fresh enough
template <class Http>
inline void
EntryIsStale(Http &http)
{
    if (sqt_on(SQT_GROUP_CLIENT) && !http.sqtrace.missed)
        http.sqtrace.missed = ClientWantsNewer() ? SQT_MISS_RELOAD : SQT_MISS_STALE;
}

template <class Http>
__attribute__((noinline)) uint8_t
WhyNoHit(const Http &http)
{
    auto &request = *http.request;
    if (http.redirect.status)
        return SQT_MISS_NONE;
    if (!request.method.respMaybeCacheable())
        return SQT_MISS_METHOD;
    if (request.flags.noCache && !request.flags.internal)
        return !request.flags.cachable && request.maybeCacheable() ? SQT_MISS_CACHE_DENY : SQT_MISS_NO_CACHE;
    if (const auto entry = http.storeEntry())
        return entry->mayStartHitting() ? SQT_MISS_UNUSABLE : SQT_MISS_UNSHAREABLE;
    if (http.sqtrace.found)
        return SQT_MISS_UNUSABLE;
    return request.vary_headers.isEmpty() ? SQT_MISS_ABSENT : SQT_MISS_VARY;
}

/// The transaction goes on as a miss.  Only the first reason counts: a stale entry may turn into a miss afterwards.
template <class Http>
inline void
LookupMisses(Http &http)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    http.sqtrace.follows = false;
    if (!http.sqtrace.missed)
        http.sqtrace.missed = WhyNoHit(http);
}

/// Why there was no hit, at the end; entry, which may be nil, has the reply.  What a server sent for one client alone
/// was not in the store before, and is not there afterwards.
template <class Http, class Entry>
inline uint32_t
ReasonOfMiss(const Http &http, const Entry *entry)
{
    const bool alone = http.sqtrace.missed == SQT_MISS_ABSENT && entry && http.request && http.request->hier.code &&
                       !entry->mayStartHitting();
    return alone ? static_cast<uint32_t>(SQT_MISS_UNCACHEABLE) : http.sqtrace.missed;
}

/* ---- replies ---- */

/// said once for each source
template <class Http>
inline void
EmitReady(Http &http, const uint32_t source, Moment &moment)
{
    Close(http, AccessIsOpen, SQT_EV_ACCESS_END, 0, 0, moment);
    Close(http, LookupIsOpen, SQT_EV_LOOKUP_END, http.sqtrace.object, source == SQT_REPLY_STORE, moment);
    if (http.sqtrace.ready == static_cast<int>(source))
        return;
    http.sqtrace.ready = static_cast<int8_t>(source);
    http.sqtrace.follows = false;
    moment.emit(SQT_EV_REPLY_READY, XactOfClient(http), 0, source);
}

template <class Http>
inline void
EmitReady(Http &http, const uint32_t source)
{
    Moment moment;
    EmitReady(http, source, moment);
}

/// a hit: its verdict is known
template <class Http, class Entry>
inline void
HitIsReady(Http &http, const Entry &entry, const int line = __builtin_LINE())
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    Moment moment;
    if (entry.mem_status) // IN_MEMORY
        moment.emit(SQT_EV_MEM_HIT, XactOfClient(http),
                    entry.objectLen() >= 0 ? static_cast<uint64_t>(entry.objectLen()) : UINT64_MAX, 0);
    EmitReady(http, SQT_REPLY_STORE, moment);
    StayOnStack(line);
}

/// the same of a cached error
template <class Http, class Entry>
inline void
NegativeHitIsReady(Http &http, const Entry &entry, const int line = __builtin_LINE())
{
    http.sqtrace.missed = SQT_MISS_NEGATIVE;
    HitIsReady(http, entry, line);
}

/// a stale entry turns out to be good enough
template <class Http>
inline void
StoredReplyIsReady(Http &http)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    EmitReady(http, SQT_REPLY_STORE);
    StayOnStack();
}

/// The transaction waits for the reply that another one, perhaps of another kid, brings into entry.  It goes on with
/// HeaderIsFound, or where it revalidates with StoredReplyIsReady, ReplyIsAllowed or LookupMisses.
template <class Http, class Entry>
inline void
FollowsAnother(Http &http, const Entry &entry, const int kid)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    const Bringer &elsewhere = entry.mem_obj->sqtrace;
    http.sqtrace.follows = true;
    if (elsewhere.xact)
        sqt_emit(SQT_EV_COLLAPSED, XactOfClient(http), elsewhere.xact, elsewhere.kid);
    else
        sqt_emit(SQT_EV_COLLAPSED, XactOfClient(http), XactOf(entry.mem_obj->request), static_cast<uint32_t>(kid));
    StayOnStack();
}

/// Squid itself made an error page
template <class Http>
inline void
ErrorPageIsReady(Http &http)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    http.sqtrace.flags |= SQT_XACT_ERROR_PAGE;
    EmitReady(http, SQT_REPLY_MADE);
    StayOnStack();
}

/// Squid itself says yes to a CONNECT that it will bump
template <class Http>
inline void
BumpIsAnswered(Http &http, const size_t size)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    http.sqtrace.flags |= SQT_XACT_INTERNAL;
    Moment moment;
    EmitReady(http, SQT_REPLY_MADE, moment);
    Open(http, ReplyWriteIsOpen, SQT_EV_REPLY_WRITE, size, 1, moment);
}

/// the result code so far, which Squid 5 keeps in the ClientHttpRequest until it is logged
template <class Http>
inline auto
TagsSoFar(const Http &http, int) -> decltype((http.logType))
{
    return http.logType;
}

template <class Http>
inline auto
TagsSoFar(const Http &http, long) -> decltype((http.al->cache.code))
{
    return http.al->cache.code;
}

/// A reply is on its way to the client; said for all replies, so that those which neither came from a server nor had
/// a hook of their own (cache manager, icons, redirects, PURGE, TRACE) have their moment, too.
/// saysError(): the reply names a Squid error, which is Squid's own page unless it came from a server or is a hit.
template <class Http, class Entry, class SaysError>
inline void
ReplyIsAllowed(Http &http, const Entry &entry, const SaysError saysError)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    const auto request = http.request;
    if (!TagsSoFar(http, 0).isTcpHit() && !entry.mem().baseReply().sources && saysError())
        http.sqtrace.flags |= SQT_XACT_ERROR_PAGE;
    if (http.sqtrace.follows) { // a revalidation of another one
        EmitReady(http, SQT_REPLY_STORE);
        StayOnStack();
        return;
    }
    if (http.sqtrace.ready == SQT_REPLY_STORE || (request && request->hier.code))
        return; // it is ready since it was found, or since ReplyHeaderIsParsed
    if (request && entry.mem().request == request && !request->flags.internal)
        return; // FwdState tried, and ForwardingErrorIsReady said so
    http.sqtrace.flags |= SQT_XACT_INTERNAL;
    EmitReady(http, SQT_REPLY_MADE);
    StayOnStack();
}

template <class Http>
inline void
ReplyWriteBegins(Http &http, const size_t size, const bool header)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        Open(http, ReplyWriteIsOpen, SQT_EV_REPLY_WRITE, size, header);
}

template <class Http>
inline void
ReplyIsWritten(Http &http, const size_t size)
{
    Close(http, ReplyWriteIsOpen, SQT_EV_REPLY_WRITTEN, size, 0);
}

/// a whole reply is written past Http::Stream: an error page or the answer to a CONNECT
template <class RequestPointer>
inline void
BareReplyBegins(const RequestPointer &request, const size_t size)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    sqt_emit(SQT_EV_REPLY_READY, XactOf(request), 0, SQT_REPLY_MADE);
    sqt_emit_too(SQT_EV_REPLY_WRITE, XactOf(request), size, 1);
}

/// that reply will be an error page; http may be gone (a CbcPointer)
template <class HttpPointer>
inline void
BareErrorPageIsReady(const HttpPointer &http)
{
    if (sqt_on(SQT_GROUP_CLIENT) && http.valid())
        http->sqtrace.flags |= SQT_XACT_ERROR_PAGE;
}

template <class RequestPointer, class Flag>
inline void
BareReplyIsWritten(const RequestPointer &request, const size_t size, const Flag flag)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_REPLY_WRITTEN, XactOf(request), size, flag ? 1 : 0);
}

/* ---- tunnels ---- */

/// what sqtrace keeps in each TunnelStateData; times are ticks, 0: none
struct Tunnel {
    bool open = false;        ///< its trace says that bytes may flow
    bool timesOut = false;    ///< a time-out ends it
    bool clientSpoke = false; ///< the client sent bytes
    uint32_t pool = 0;        ///< the delay pool that held it back last
    uint64_t asked = 0;       ///< when the server got the client's first bytes; before, when the tunnel opened
    uint64_t answered = 0;    ///< from then until the server's first bytes
    uint64_t heldSince = 0;   ///< Squid reads no more from the server, because of its pool
    uint64_t pause = 0;       ///< the last time in which it did not, until it is known whether bytes were there
    uint64_t resumed = 0;     ///< when that was over
    uint64_t held = 0;        ///< how long it did not although bytes were there, in all
    uint64_t unsentSince = 0; ///< bytes wait for the server to take them
    uint64_t unsent = 0;      ///< how long bytes did, in all
    uint64_t uploaded = 0;    ///< bytes that the client sent
    bool notTls = false;      ///< what the server sends is not TLS
    uint8_t headerSize = 0;   ///< bytes that are known of the header of the next record
    uint8_t header[5];        ///< these bytes
    uint32_t recordLeft = 0;  ///< bytes of the present record that are still to come
    uint64_t restSince = 0;   ///< Squid waits for the rest of a record
    uint64_t rest = 0;        ///< how long it did, in all
    uint64_t restBytes = 0;   ///< bytes that came after such waits
};

/// http may be gone (a CbcPointer)
template <class RequestPointer, class HttpPointer, class ConnectionPointer>
inline void
TunnelOpens(Tunnel &tunnel, const RequestPointer &request, const HttpPointer &http, const ConnectionPointer &server)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    tunnel.open = true;
    tunnel.asked = sqt_read_clock(sqt_clock);
    if (http.valid())
        http->sqtrace.flags |= SQT_XACT_TUNNEL;
    sqt_emit(SQT_EV_TUNNEL_BEGIN, XactOf(request), ConnOf(server), 0);
}

/// adds a time that is over, if it had begun
inline void
AddSince(uint64_t &since, uint64_t &all)
{
    if (since)
        all += sqt_read_clock(sqt_clock) - since;
    since = 0;
}

/// The header of a record is known as far as it goes: its type, version and length.  The largest record of TLS 1.2 has 2 KB
/// more than 16 KB.
inline void
RecordHeaderGrows(Tunnel &tunnel)
{
    const uint8_t *const header = tunnel.header;
    tunnel.notTls = header[0] < 20 || header[0] > 24 || (tunnel.headerSize > 1 && header[1] != 3);
    if (tunnel.headerSize < sizeof(tunnel.header))
        return;
    tunnel.headerSize = 0;
    tunnel.recordLeft = static_cast<uint32_t>(header[3]) << 8 | header[4];
    if (tunnel.recordLeft > 18432)
        tunnel.notTls = true;
}

/// Follows the TLS records that the server sends.  One that has begun and is not whole says that more is under way, which no
/// idle tunnel has.
inline void
RecordsAreRead(Tunnel &tunnel, const char *data, size_t size)
{
    while (size && !tunnel.notTls) {
        const size_t part = tunnel.recordLeft < size ? tunnel.recordLeft : size;
        tunnel.recordLeft -= static_cast<uint32_t>(part);
        data += part;
        size -= part;
        if (!size)
            break;
        tunnel.header[tunnel.headerSize++] = static_cast<uint8_t>(*data++);
        --size;
        RecordHeaderGrows(tunnel);
    }
}

inline void
TunnelServerSent(Tunnel &tunnel, const char *data, const size_t size)
{
    if (!tunnel.answered)
        tunnel.answered = sqt_read_clock(sqt_clock) - tunnel.asked;
    /* Bytes that come later than that were not there while Squid did not read. */
    if (tunnel.pause && sqt_read_clock(sqt_clock) - tunnel.resumed < tunnel.pause)
        tunnel.held += tunnel.pause;
    tunnel.pause = 0;
    if (tunnel.restSince)
        tunnel.restBytes += size;
    AddSince(tunnel.restSince, tunnel.rest);
    RecordsAreRead(tunnel, data, size);
    if (tunnel.notTls)
        tunnel.rest = tunnel.restBytes = 0;
}

inline void
TunnelClientSent(Tunnel &tunnel, const size_t size)
{
    tunnel.unsentSince = sqt_read_clock(sqt_clock);
    if (!tunnel.clientSpoke && !tunnel.answered)
        tunnel.asked = tunnel.unsentSince;
    tunnel.clientSpoke = true;
    tunnel.uploaded += size;
}

/// whether the trace that knows the tunnel goes on
inline bool
TunnelIsTraced(Tunnel &tunnel)
{
    tunnel.open = tunnel.open && sqt_on(SQT_GROUP_CLIENT);
    return tunnel.open;
}

/// bytes came from one end, and go to the other
inline void
TunnelCopies(Tunnel &tunnel, const bool fromServer, const char *data, const size_t size)
{
    if (!TunnelIsTraced(tunnel))
        return;
    if (fromServer)
        TunnelServerSent(tunnel, data, size);
    else
        TunnelClientSent(tunnel, size);
}

/// the server has taken all that the client sent so far, or takes no more
inline void
TunnelServerTookAll(Tunnel &tunnel)
{
    if (TunnelIsTraced(tunnel))
        AddSince(tunnel.unsentSince, tunnel.unsent);
}

/// the pool of what is read from that end; 0: none
template <class End>
inline auto
PoolOfTunnel(const End &end, int) -> decltype(static_cast<uint32_t>(end.delayId.pool()))
{
    return end.delayId.pool();
}

/// a Squid without delay pools
template <class End>
inline uint32_t
PoolOfTunnel(const End &, long)
{
    return 0;
}

/// a delay pool is empty: nothing is read from that end, but for a byte now and then
template <class End>
inline void
TunnelIsHeldBack(Tunnel &tunnel, const End &end)
{
    if (!TunnelIsTraced(tunnel) || tunnel.heldSince)
        return;
    tunnel.heldSince = sqt_read_clock(sqt_clock);
    tunnel.pool = PoolOfTunnel(end, 0);
}

/// Squid waits for bytes from an end that no pool holds back
inline void
TunnelReads(Tunnel &tunnel, const bool fromServer)
{
    if (!TunnelIsTraced(tunnel) || !fromServer)
        return;
    if (tunnel.heldSince) {
        tunnel.resumed = sqt_read_clock(sqt_clock);
        tunnel.pause = tunnel.resumed - tunnel.heldSince;
        tunnel.heldSince = 0;
    }
    if (!tunnel.notTls && (tunnel.recordLeft || tunnel.headerSize))
        tunnel.restSince = sqt_read_clock(sqt_clock);
}

template <class RequestPointer>
inline void
TunnelCloses(Tunnel &tunnel, const RequestPointer &request)
{
    if (!TunnelIsTraced(tunnel))
        return;
    tunnel.open = false;
    AddSince(tunnel.unsentSince, tunnel.unsent);
    AddSince(tunnel.restSince, tunnel.rest);
    sqt_record unit[4];
    unit[0].event = SQT_EV_TUNNEL_END;
    unit[0].id = XactOf(request);
    unit[0].arg = tunnel.answered;
    unit[0].aux = tunnel.timesOut;
    unit[1].event = SQT_EV_PART_TUNNEL_HELD;
    unit[1].id = 0;
    unit[1].arg = tunnel.held;
    unit[1].aux = tunnel.pool;
    unit[2].event = SQT_EV_PART_TUNNEL_UPLOAD;
    unit[2].id = tunnel.uploaded;
    unit[2].arg = tunnel.unsent;
    unit[2].aux = 0;
    unit[3].event = SQT_EV_PART_TUNNEL_DOWNLOAD;
    unit[3].id = tunnel.restBytes;
    unit[3].arg = tunnel.rest;
    unit[3].aux = 0;
    sqt_emit_unit(unit,
                  tunnel.notTls || !tunnel.answered ? 3 : 4); /* of what is not TLS, nothing is known of its rest */
}

/* ---- the end of a transaction ---- */

/// a result code as a number: its definition's text is that of %Ss
template <class Tags>
inline uint32_t
TagOf(const Tags &tags)
{
    const uint32_t tag = static_cast<uint32_t>(tags.oldType) | (tags.err.ignored ? 1u << 5 : 0) |
                         (tags.err.timedout ? 1u << 6 : 0) | (tags.err.aborted ? 1u << 7 : 0) |
                         (tags.collapsingHistory.collapsed() ? 1u << 8 : 0);
    return sqt_defined(SQT_DEF_TAG, tag) ? tag : sqt_define(SQT_DEF_TAG, tag, tags.c_str());
}

/// the three records of the end; al: what access.log prints
template <class LogEntryPointer>
inline void
EmitEnd(const LogEntryPointer &al, const uint64_t xact, const uint64_t size, const uint64_t object,
        const uint32_t flags)
{
    const auto &tags = al->cache.code;
    sqt_record unit[3];
    unit[0].event = SQT_EV_XACT_END;
    unit[0].id = xact;
    unit[0].arg = TagOf(tags);
    unit[0].aux = static_cast<uint32_t>(al->http.code);
    unit[1].event = SQT_EV_PART_XACT_SIZES;
    unit[1].id = size;
    unit[1].arg = al->http.clientReplySz.messageTotal();
    unit[1].aux = static_cast<uint32_t>(al->requestAttempts);
    unit[2].event = SQT_EV_PART_XACT_FLAGS;
    unit[2].id = object;
    unit[2].arg = ConnOf(al->tcpClient);
    unit[2].aux = flags | (tags.err.aborted * static_cast<uint32_t>(SQT_XACT_ABORTED)) |
                  (tags.err.timedout * static_cast<uint32_t>(SQT_XACT_TIMEDOUT)) |
                  (tags.collapsingHistory.collapsed() * static_cast<uint32_t>(SQT_XACT_COLLAPSED));
    sqt_emit_unit(unit, 3);
}

/// the transaction is being logged; entry is the store entry that its reply came from, or nil
template <class Http, class Entry>
inline void
TransactionEnds(Http &http, const Entry *entry)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    if (http.sqtrace.open) {
        Close(http, AccessIsOpen, SQT_EV_ACCESS_END, 0, 0);
        RewriterAnswers(http, false);
        RewriterAnswers(http, true);
        Close(http, AdaptationIsOpen, SQT_EV_ADAPT_END, 0, RequestMessage);
        LookupEnds(http, false);
        Close(http, ReplyWriteIsOpen, SQT_EV_REPLY_WRITTEN, 0, 1);
    }
    const auto &al = http.al;
    uint64_t size = UINT64_MAX;
    if (entry && entry->mem_obj && entry->objectLen() >= 0)
        size = static_cast<uint64_t>(entry->contentLen());
    else if (al->reply != nullptr && al->reply->content_length >= 0)
        size = static_cast<uint64_t>(al->reply->content_length);
    if (__builtin_expect(sqt_note_count, 0))
        EmitNotes(XactOfClient(http), al->notes);
    EmitEnd(al, XactOfClient(http), size, http.sqtrace.object,
            http.sqtrace.flags | ReasonOfMiss(http, entry) << SQT_XACT_MISS_SHIFT);
}

} // namespace Sqtrace

#endif
