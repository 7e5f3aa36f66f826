/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-adaptation.h - hooks of adaptation by ICAP and eCAP services.
 *
 * A chain is open until the last byte of what it makes of a message is here.  An adapted request counts as here with
 * its header: the server side asks for its body, and client_body says what that waits for.
 */
#ifndef SQT_SQUID_HOOKS_ADAPTATION_H
#define SQT_SQUID_HOOKS_ADAPTATION_H

#include "hooks-client.h"

#include <stdio.h>

namespace Sqtrace
{

/// the request is given to a chain of services
template <class Http>
inline void
RequestIsToBeAdapted(Http &http)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        Open(http, AdaptationIsOpen, SQT_EV_ADAPT_BEGIN, 0, RequestMessage);
}

/// it is back, or a response in its stead is here in full; or the chain failed
template <class Http>
inline void
RequestIsAdapted(Http &http)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        Close(http, AdaptationIsOpen, SQT_EV_ADAPT_END, 0, RequestMessage);
}

/// the chain answers with a request, with a response instead of one, or not at all (instead is nil)
template <class Http, class Reply>
inline void
RequestAdaptationIsAnswered(Http &http, const Reply *instead)
{
    if (!instead || !(instead->body_pipe != nullptr))
        RequestIsAdapted(http);
}

/// a server's response is given to a chain of services
template <class RequestPointer>
inline void
ResponseIsToBeAdapted(ServerState &state, const RequestPointer &request)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    state.adapting = true;
    sqt_emit(SQT_EV_ADAPT_BEGIN, XactOf(request), 0, ResponseMessage);
}

/// it is back in full, or the chain failed, or nobody waits for it any more
template <class RequestPointer>
inline void
ResponseIsAdapted(ServerState &state, const RequestPointer &request)
{
    if (!state.adapting)
        return;
    state.adapting = false;
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_ADAPT_END, XactOf(request), 0, ResponseMessage);
}

inline __attribute__((noinline, cold)) uint32_t
DefineService(const uint32_t number, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, "service-%08x", static_cast<unsigned>(number));
    return sqt_define_named(SQT_DEF_SERVICE, number, sqt_names == SQT_NAMES_OFF ? text : name);
}

/// the number of a service; config is what squid.conf says of it
template <class ServiceConfig>
inline uint32_t
NumberOfService(const ServiceConfig &config)
{
    const char *const name = config.key.termedBuf();
    const uint32_t number = NumberOfName(name) | 1; // not 0, "other"
    return sqt_defined(SQT_DEF_SERVICE, number) ? number : DefineService(number, name);
}

/// the next service of a chain is given the message
template <class Request, class ServiceConfig>
inline void
ServiceIsAsked(const Request *request, const ServiceConfig &config, const int step)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit(SQT_EV_ADAPT_SERVICE, XactOf(request), NumberOfService(config), static_cast<uint32_t>(step));
}

/// Squid has begun, or stopped, to use a service; how: its own word for why it stopped
template <class ServiceConfig>
inline void
ServiceChanges(const ServiceConfig &config, const bool up, const char *how)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    sqt_emit(SQT_EV_SERVICE_STATE, 0, NumberOfService(config),
             up            ? SQT_SERVICE_UP
             : *how == 's' ? SQT_SERVICE_SUSPENDED
                           : SQT_SERVICE_DOWN);
    StayOnStack();
}

/// the service takes the request's message; waited: it could not at first
template <class Request>
inline void
ServiceTakes(const Request &request, const bool waited)
{
    if (waited && sqt_on(SQT_GROUP_CLIENT)) {
        sqt_emit(SQT_EV_ADAPT_ADMITTED, XactOf(&request), 0, 0);
        StayOnStack();
    }
}

/// the service that was asked last cannot do it, or will not
template <class Request>
inline void
ServiceFails(const Request *request)
{
    if (sqt_on(SQT_GROUP_CLIENT)) {
        sqt_emit(SQT_EV_ADAPT_FAILED, XactOf(request), 0, SQT_WAIT_FAILED);
        StayOnStack();
    }
}

/// the service that was asked last has ended in the middle of its answer, whose begin may be with the client already
template <class Request>
inline void
ServiceCutsAnswer(const Request &request)
{
    if (sqt_on(SQT_GROUP_CLIENT)) {
        sqt_emit(SQT_EV_ADAPT_FAILED, XactOf(request), 0, SQT_WAIT_CUT);
        StayOnStack();
    }
}

/// al: of the transaction whose service does not answer in time, nil for OPTIONS
template <class LogEntryPointer>
inline void
ServiceTimesOut(const LogEntryPointer &al)
{
    if (sqt_on(SQT_GROUP_CLIENT) && al != nullptr) {
        sqt_emit(SQT_EV_ADAPT_FAILED, XactOf(al->request), 0, SQT_WAIT_TIMEOUT);
        StayOnStack();
    }
}

} // namespace Sqtrace

#endif
