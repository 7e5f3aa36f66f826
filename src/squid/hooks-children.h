/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-children.h - hooks of the processes of helpers: started, and ended although nobody asked them to.
 *
 * Squid notices the end of a child by its pipe, and takes its exit status when the signal comes.  Whichever is first, the
 * status is known to one of the two: to the kernel, or to the list of those that were reaped last.
 */
#ifndef SQT_SQUID_HOOKS_CHILDREN_H
#define SQT_SQUID_HOOKS_CHILDREN_H

#include "hooks-helpers.h"

#include <sys/wait.h>

namespace Sqtrace
{

/// children whose exit status was taken last
struct Reaped {
    enum { Most = 16 };
    struct {
        pid_t pid;
        int status;
    } child[Most];
    unsigned next;
};

inline Reaped &
ReapedChildren()
{
    static Reaped reaped = {};
    return reaped;
}

/// Squid has taken the status of a child of any kind; pid: of none, if it is not above 0
inline void
ChildIsReaped(const pid_t pid, const int status)
{
    if (pid <= 0 || !Tracing())
        return;
    Reaped &reaped = ReapedChildren();
    reaped.child[reaped.next].pid = pid;
    reaped.child[reaped.next].status = status;
    reaped.next = (reaped.next + 1) % Reaped::Most;
}

/// how a child ended, as CHILD_DIED tells it
inline uint64_t
ExitOf(const pid_t pid)
{
    siginfo_t info;
    info.si_pid = 0;
    for (const auto &child : ReapedChildren().child)
        if (child.pid == pid)
            return WIFSIGNALED(child.status) ? SQT_EXIT_SIGNAL + static_cast<unsigned>(WTERMSIG(child.status))
                                             : static_cast<unsigned>(WEXITSTATUS(child.status));
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid)
        return SQT_EXIT_UNKNOWN;
    return info.si_code == CLD_EXITED ? static_cast<unsigned>(info.si_status) & 255
                                      : SQT_EXIT_SIGNAL + static_cast<unsigned>(info.si_status);
}

/// the kind of a helper by the name that Squid itself has for it, and what squid.conf calls it
inline HelperQuestion
KindOfHelper(const char *id)
{
    static const struct {
        const char *id;
        enum sqt_waited kind;
        const char *name;
    } known[] = {{"redirector", SQT_WAITED_URL_REWRITE, nullptr},
                 {"store_id", SQT_WAITED_STORE_ID, nullptr},
                 {"basicauthenticator", SQT_WAITED_AUTH, "basic"},
                 {"digestauthenticator", SQT_WAITED_AUTH, "digest"},
                 {"ntlmauthenticator", SQT_WAITED_AUTH, "ntlm"},
                 {"negotiateauthenticator", SQT_WAITED_AUTH, "negotiate"},
                 {"external_acl_type", SQT_WAITED_EXTERNAL_ACL, nullptr},
                 {"sslcrtd_program", SQT_WAITED_CERT_GENERATION, nullptr},
                 {"ssl_crt_validator", SQT_WAITED_CERT_VALIDATION, nullptr}};
    for (const auto &one : known)
        if (strcmp(id, one.id) == 0)
            return {0, one.kind, one.name};
    return {0, SQT_WAITED_HELPER, nullptr};
}

/// the number of a helper that nobody asks now: that of the last question, or by its kind
template <class Helper>
inline uint32_t
NumberOfIdle(const Helper &helper)
{
    const HelperAsked &last = LastAsked(&helper);
    if (last.helper == &helper && sqt_defined(SQT_DEF_WAITED, last.who))
        return last.who;
    return NumberOfHelper(KindOfHelper(helper.id_name), helper);
}

/// a child of the helper is started
template <class Helper>
inline void
ChildStarts(const Helper &helper, const pid_t pid)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    sqt_emit(SQT_EV_CHILD_STARTED, static_cast<uint64_t>(pid), helper.childs.n_running, NumberOfIdle(helper));
    StayOnStack();
}

/// a child of the helper has ended, and Squid had not asked it to
template <class Helper, class Child>
inline void
ChildDies(const Helper &helper, const Child &child)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    sqt_emit(SQT_EV_CHILD_DIED, static_cast<uint64_t>(child.pid), ExitOf(child.pid),
             NumberOfIdle(helper) | (child.stats.replies ? 0 : SQT_CHILD_SILENT));
    StayOnStack();
}

} // namespace Sqtrace

#endif
