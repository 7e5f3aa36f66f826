/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-digests.h - hooks of cache digests: the peers' that are looked up and fetched, and the own one.
 *
 * Work of the main thread is told in one record when it is done, with its duration.  Entries that are put into the own
 * digest are added up and told with the step of the rebuild that does it: a store has millions of them.
 */
#ifndef SQT_SQUID_HOOKS_DIGESTS_H
#define SQT_SQUID_HOOKS_DIGESTS_H

#include "hooks-neighbors.h"

namespace Sqtrace
{

/// when the work began that a hook below tells of, 0 if nothing is traced
inline uint64_t
DigestWorkBegins()
{
    return sqt_on(SQT_GROUP_DIGEST) ? sqt_read_clock(sqt_clock) : 0;
}

/* ---- digests of peers ---- */

/// tells of work since begin; what follows begins now
template <class RequestPointer>
inline void
EmitDigestWork(uint64_t &begin, const unsigned event, const RequestPointer &request, const uint32_t aux)
{
    sqt_emit(event, XactOf(request), sqt_read_clock(sqt_clock) - begin, aux);
    begin = sqt_read_clock(sqt_clock);
}

template <class RequestPointer>
inline void
DigestKeyIsMade(uint64_t &begin, const RequestPointer &request)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        EmitDigestWork(begin, SQT_EV_DIGEST_KEY, request, 0);
}

/// there: whether there was a digest to look in, of a peer that may be asked
template <class RequestPointer, class Peer>
inline void
DigestIsLookedUp(uint64_t &begin, const RequestPointer &request, const Peer *peer, const bool there, const bool hit)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        EmitDigestWork(begin, there ? SQT_EV_DIGEST_LOOKUP : SQT_EV_DIGEST_NONE, request,
                       NumberOfPeer(peer) | (hit ? SQT_DIGEST_SAYS_HIT : 0));
}

/// A peer is asked for an object; hit: the digest of one said that it has it.  Which one is in the request, and not in
/// the connection, which if it is used again remembers how it was chosen the first time.
template <class RequestPointer, class Peer>
inline void
PeerIsAsked(const RequestPointer &request, const Peer *peer, const bool hit, const bool parent)
{
    if (!hit || !sqt_on(SQT_GROUP_DIGEST) || strcmp(request->hier.cd_host, peer->host) != 0)
        return;
    sqt_emit(SQT_EV_DIGEST_HIT, XactOf(request), parent, NumberOfPeer(peer));
    StayOnStack();
}

template <class RequestPointer, class Peer>
inline void
DigestFetchBegins(const RequestPointer &request, const Peer *peer)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        sqt_emit(SQT_EV_DIGEST_FETCH_BEGIN, XactOf(request), 0, NumberOfPeer(peer));
}

/// bytes of the digest have come; without a 200 the old one is still good
template <class RequestPointer, class Size>
inline SQT_KEEPS_LINE void
DigestFetchEnds(const RequestPointer &request, const Size bytes, const bool replied200, const bool failed)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        sqt_emit(SQT_EV_DIGEST_FETCH_END, XactOf(request), static_cast<uint64_t>(bytes),
                 failed       ? SQT_DIGEST_FAILED
                 : replied200 ? SQT_DIGEST_NEW
                              : SQT_DIGEST_SAME);
}

/* ---- the own digest ---- */

/// entries of the store that were looked at since a step of the rebuild was told: refused, added
struct DigestUpdates {
    uint64_t entries;
    uint64_t ticks;
};

inline DigestUpdates *
UntoldDigestUpdates()
{
    static DigestUpdates updates[2];
    return updates;
}

/// an entry of the store was put into the digest, or not
inline void
DigestIsUpdated(const uint64_t begin, const bool added)
{
    if (!sqt_on(SQT_GROUP_DIGEST))
        return;
    DigestUpdates &updates = UntoldDigestUpdates()[added];
    ++updates.entries;
    updates.ticks += sqt_read_clock(sqt_clock) - begin;
}

inline void
EmitRebuild(const uint64_t begin, const sqt_digest_step step)
{
    sqt_record unit[3] = {};
    unsigned records = 1;
    unit[0].event = SQT_EV_DIGEST_REBUILD;
    unit[0].arg = sqt_read_clock(sqt_clock) - begin;
    unit[0].aux = step;
    for (unsigned added = 0; added < 2; ++added) {
        DigestUpdates &updates = UntoldDigestUpdates()[added];
        if (!updates.entries)
            continue;
        unit[records].event = SQT_EV_PART_DIGEST_UPDATES;
        unit[records].id = updates.entries;
        unit[records].arg = updates.ticks;
        unit[records++].aux = added;
        updates = DigestUpdates();
    }
    sqt_emit_unit(unit, records);
}

/// it is emptied
inline void
DigestRebuildBegins(const uint64_t begin)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        EmitRebuild(begin, SQT_DIGEST_BEGUN);
}

/// by some more entries; done: these were the last
inline void
DigestIsRebuilt(const uint64_t begin, const bool done)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        EmitRebuild(begin, done ? SQT_DIGEST_DONE : SQT_DIGEST_MORE);
}

/// its head is written
inline void
DigestRewriteBegins(const uint64_t begin, const size_t bytes)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        sqt_emit(SQT_EV_DIGEST_REWRITE, bytes, sqt_read_clock(sqt_clock) - begin, SQT_DIGEST_BEGUN);
}

/// by some more bytes, up to that offset of its size
template <class Size>
inline void
DigestIsRewritten(const uint64_t begin, const int bytes, const int offset, const Size size)
{
    if (sqt_on(SQT_GROUP_DIGEST))
        sqt_emit(SQT_EV_DIGEST_REWRITE, static_cast<uint64_t>(bytes), sqt_read_clock(sqt_clock) - begin,
                 static_cast<Size>(offset) >= size ? SQT_DIGEST_DONE : SQT_DIGEST_MORE);
}

} // namespace Sqtrace

#endif
