/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-access.h - hooks of access checks that deny: which ACL was checked last.
 */
#ifndef SQT_SQUID_HOOKS_ACCESS_H
#define SQT_SQUID_HOOKS_ACCESS_H

#include "hooks-client.h"
#include "hooks-loop.h"

/// up to 6, Squid's name of the ACL that was checked last, which may be nil
extern const char *AclMatchedName;

namespace Sqtrace
{

/// the definition of the ACL that the check ended with; 0: there is none, or names=off
template <class Answer>
inline auto
LastAcl(const Answer &answer, int) -> decltype(answer.lastCheckedName->length(), uint32_t())
{
    return answer.lastCheckedName ? NumberOfAcl(answer.lastCheckedName->rawContent(), answer.lastCheckedName->length())
                                  : 0;
}

template <class Answer>
inline uint32_t
LastAcl(const Answer &, long)
{
    return AclMatchedName ? NumberOfAcl(AclMatchedName, strlen(AclMatchedName)) : 0;
}

/// http_access denies the request or asks who the client is, or http_reply_access denies the reply
template <class Http, class Answer>
inline void
AccessIsDenied(Http &http, const Answer &answer, const bool reply)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    if (const uint32_t acl = LastAcl(answer, 0))
        sqt_emit(SQT_EV_DENIED, XactOfClient(http), acl, reply);
}

} // namespace Sqtrace

#endif
