/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * objects.h - sqtrace as the provider of traces: the life of a trace in a process, and what hooks' arguments are.
 *
 * The trace is configured in sqtrace.conf, beside squid.conf.
 */
#ifndef TRACE_PROVIDER_OBJECTS_H
#define TRACE_PROVIDER_OBJECTS_H

#include "admin.h"
#include "ids.h"

namespace Trace
{

constexpr auto KID_SINGLE = SQT_KID_SINGLE;
constexpr auto KID_WORKER = SQT_KID_WORKER;
constexpr auto KID_DISKER = SQT_KID_DISKER;
constexpr auto KID_COORDINATOR = SQT_KID_COORDINATOR;

constexpr auto WAITED_AUTH = SQT_WAITED_AUTH;
constexpr auto WAITED_EXTERNAL_ACL = SQT_WAITED_EXTERNAL_ACL;
constexpr auto WAITED_CERT_GENERATION = SQT_WAITED_CERT_GENERATION;
constexpr auto WAITED_CERT_VALIDATION = SQT_WAITED_CERT_VALIDATION;

constexpr auto UNKEPT_TOO_LARGE = SQT_UNKEPT_TOO_LARGE;
constexpr auto UNKEPT_TOO_SMALL = SQT_UNKEPT_TOO_SMALL;
constexpr auto UNKEPT_OPEN_FILES = SQT_UNKEPT_OPEN_FILES;
constexpr auto UNKEPT_DESCRIPTORS = SQT_UNKEPT_DESCRIPTORS;

/// the process that traces
struct Process {
    int kid = 0;
    unsigned kind = KID_SINGLE;
    const char *service = nullptr;
    const char *version = nullptr;
    const char *host = nullptr;
    const char *configuration = nullptr;
    uid_t user = 0;
};

/// the line of sqtrace.conf that is being read
inline char *&
LineLeft()
{
    static char *left = nullptr;
    return left;
}

inline void
BeginLine(const char *words)
{
    static char line[4096];
    snprintf(line, sizeof(line), "%s", words);
    LineLeft() = line;
}

/// the next word of that line; nil: there is none
inline const char *
NextWord()
{
    return strtok_r(LineLeft(), " \t\r\n", &LineLeft());
}

inline void
Configure(const Process &ours, const bool starting, void (*eachSecond)(), sqt_log_function *log)
{
    static sqt_config *config = nullptr;
    FreeDirective(config);
    ReadConfFile(config, ours.configuration, ours.user, false, BeginLine, NextWord);
    sqt_process process = {};
    process.kid = ours.kid;
    process.kid_kind = ours.kind;
    process.service = ours.service;
    process.squid_version = ours.version;
    process.host = ours.host;
    Configure(config, process, starting, log);
    EachSecond() = eachSecond;
    ASecondIsOver();
}

inline void
Poll()
{
    sqt_poll();
}

inline void
Rotate()
{
    sqt_rotate();
}

inline void
Off()
{
    sqt_off();
}

} // namespace Trace

#endif
