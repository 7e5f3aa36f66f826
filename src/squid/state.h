/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * state.h - what the hooks remember in Squid's objects.
 *
 * Squid's headers include this one and state-waits.h alone, so that most of Squid does not depend on the hooks.
 */
#ifndef SQT_SQUID_STATE_H
#define SQT_SQUID_STATE_H

#include <stdint.h>

namespace Sqtrace
{

/// What an open pair of events of a transaction is remembered by, so that it is closed exactly once.
enum OpenPair {
    AccessIsOpen = 1,
    RewriteIsOpen = 2,
    StoreIdIsOpen = 4,
    LookupIsOpen = 8,
    ReplyWriteIsOpen = 16,
    AdaptationIsOpen = 32
};

/// what sqtrace keeps in each ClientHttpRequest
struct ClientState {
    uint64_t xact = 0;    ///< its id: a serial and SQT_UNNAMED until its request is parsed, then %master_xaction
    uint64_t object = 0;  ///< keyed hash of the public key that was looked for first; 0 without a look-up
    uint32_t open = 0;    ///< OpenPair bits
    uint32_t flags = 0;   ///< sqt_xact_flags that are known before the end
    int8_t ready = -1;    ///< where the reply that is ready comes from (sqt_reply_source); -1: none is
    uint8_t missed = 0;   ///< why the look-up was no hit (sqt_miss); 0: it was one, or is not over
    bool found = false;   ///< the last look-up found an entry
    bool follows = false; ///< it waits for the reply that another transaction brings
};

/// what sqtrace keeps in each StoreIOState
struct SwapState {
    uint64_t serial = 0;     ///< sio; 0: not traced, or over
    uint64_t handedOver = 0; ///< bytes given to the store so far (swap-out)
    uint64_t completed = 0;  ///< bytes that it has written (swap-out)
    bool out = false;        ///< a swap-out
    bool gone = false;       ///< the writer left before the end (swap-out)
    bool closeAsked = false;
    bool ended = false;       ///< over but for the blocks that are outstanding (rock)
    uint16_t outstanding = 0; ///< blocks asked for and not done (rock; its queue holds 1,024)
    int16_t error = 0;        ///< how it ended (rock)
};

/// which block of a stored image an I/O request is about
struct Block {
    uint64_t sio = 0;    ///< 0: not traced
    uint64_t offset = 0; ///< in the stored image
    uint32_t size = 0;
    uint32_t operation = 0; ///< the disk operation that moves it, once it is queued; 0: not traced
};

/// what travels with a disk operation that a thread or another process does, and comes back with its result
struct Operation {
    uint32_t serial = 0; ///< 0: not traced
    uint32_t clock = 0;  ///< which clock to stamp with, 0 for none: then nothing below is set
    // stamps; 0: none
    uint64_t moved; ///< from the second queue into the first (aufs)
    uint64_t begin; ///< taken up
    uint64_t end;   ///< done
    uint64_t back;  ///< put into the queue of results (aufs, a rock disker)
};

/// the transaction that brings a store entry, if that is one of another kid
struct Bringer {
    uint64_t xact = 0; ///< 0: none, or not known
    uint32_t kid = 0;
};

/// what sqtrace keeps in each Client, the job that talks to a server
struct ServerState {
    uint64_t conn = 0;  ///< the connection, which the job gives up before it ends
    uint32_t tries = 0; ///< which try this is, from 1
    bool waitsForBody = false;
    bool adapting = false; ///< the response is in an adaptation chain
    bool done = false;
};

/// a DNS look-up that is outstanding
struct Lookup {
    uint64_t serial = 0; ///< 0: none, or not traced
    uint64_t xact = 0;
};

/// what sqtrace keeps in each PortCfg, which is a listening port
struct ListenerState {
    uint32_t number = 0; ///< of its definition; 0: not known yet, or one of too many
    bool putOff = false; ///< its accept is put off until descriptors are free
};

} // namespace Sqtrace

#endif
