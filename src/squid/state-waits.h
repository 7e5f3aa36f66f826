/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * state-waits.h - what the hooks remember in what waits for a helper or a name server.
 */
#ifndef SQT_SQUID_STATE_WAITS_H
#define SQT_SQUID_STATE_WAITS_H

#include <stdint.h>

namespace Sqtrace
{

/// a helper that is asked
struct HelperUse {
    uint64_t xact = 0;   ///< the transaction that waits; 0: none
    uint64_t serial = 0; ///< of the use; 0: not asked now, or not traced
    uint64_t given = 0;  ///< when a child got the question, in ticks; 0: not yet
    uint32_t who = 0;    ///< definition
    uint32_t depth = 0;  ///< questions that waited for a child when it came
};

/// the same, in an object that may go before there is an answer
struct OwnHelperUse : HelperUse {
    ~OwnHelperUse();
};

/// a query to a name server
struct Query {
    uint64_t xact = 0;       ///< the transaction that waits; 0: none
    uint64_t sent = 0;       ///< in ticks; 0: not sent, answered, or not traced
    uint32_t who = 0;        ///< definition; bit 31: the query was sent before
    uint32_t acl = 0;        ///< definition of the ACL whose check asks; 0: none does
    unsigned short type = 0; ///< as in the DNS
    int server = -1;         ///< place among Squid's name servers
    ~Query();
};

} // namespace Sqtrace

#endif
