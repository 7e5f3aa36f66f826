/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks-helpers.h - hooks of helpers: rewriters, authenticators, external ACLs, makers and checkers of certificates.
 *
 * Helpers know neither who asks them nor what squid.conf calls them.  So a hook says both just before a question is
 * submitted; nothing else is submitted in between.  A use ends once: with its answer, or at the latest with its object.
 */
#ifndef SQT_SQUID_HOOKS_HELPERS_H
#define SQT_SQUID_HOOKS_HELPERS_H

#include "ids.h"

namespace Sqtrace
{

/// what will be submitted next
struct HelperQuestion {
    uint64_t xact;
    enum sqt_waited kind;
    const char *name; ///< nil: that of the program
};

inline HelperQuestion &
NextHelperQuestion()
{
    static HelperQuestion question = {0, SQT_WAITED_HELPER, nullptr};
    return question;
}

/// a question for the request is submitted next; name: what squid.conf calls the helper, nil for that of its program
template <class RequestPointer>
inline void
HelperIsToBeAsked(const enum sqt_waited kind, const RequestPointer &request, const char *name = nullptr)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        NextHelperQuestion() = {XactOf(request), kind, name};
}

/// the same for an external ACL, whose answer may be refreshed while nobody waits for it
template <class RequestPointer>
inline void
ExternalAclIsToBeAsked(const RequestPointer &request, const char *name, const bool inBackground)
{
    if (sqt_on(SQT_GROUP_CLIENT))
        NextHelperQuestion() = {inBackground ? 0 : XactOf(request), SQT_WAITED_EXTERNAL_ACL, name};
}

inline const char *
AfterLastSlash(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/// whether a program of that name runs scripts: python3, perl5.36, sh, ...
inline bool
RunsScripts(const char *name)
{
    static const char *const known[] = {"bash", "dash", "env", "node", "perl", "php", "python", "ruby", "sh"};
    for (const char *const one : known) {
        const size_t length = *name == *one ? strlen(one) : 0;
        if (length && strncmp(name, one, length) == 0 && !name[length + strspn(name + length, "0123456789.")])
            return true;
    }
    return false;
}

/// Whether an argument may be the name of a script.  What is an option, sets a variable or is code itself may hold a secret.
inline bool
MayBeScript(const char *argument)
{
    return *argument != '-' && !argument[strcspn(argument, "= \t;")];
}

/// The program's name without its folder; of one that runs scripts, that of the script, if it is the first argument behind
/// options and variables.
template <class Word>
inline const char *
NameOfProgram(const Word *word)
{
    const char *name = AfterLastSlash(word->key);
    const char *const program = name;
    while (RunsScripts(name)) {
        do {
            word = word->next;
            // what follows is code, and no file
            if (word && (strcmp(word->key, "-c") == 0 || strcmp(word->key, "-e") == 0 || strcmp(word->key, "-r") == 0))
                return program;
        } while (word && (*word->key == '-' || strchr(word->key, '=')));
        if (!word || !MayBeScript(word->key))
            return program;
        name = AfterLastSlash(word->key);
    }
    return name;
}

/// the number of the helper that gets the question
template <class Helper>
inline uint32_t
NumberOfHelper(const HelperQuestion &question, const Helper &helper)
{
    if (question.name)
        return sqt_waited_number(question.kind, question.name);
    return sqt_waited_number(question.kind, helper.cmdline ? NameOfProgram(helper.cmdline) : helper.id_name);
}

/// which helper was asked last, and its number: of one of several that share a place
struct HelperAsked {
    const void *helper;
    uint32_t who;
};

inline HelperAsked &
LastAsked(const void *helper)
{
    static HelperAsked asked[16] = {};
    return asked[reinterpret_cast<uintptr_t>(helper) / 64 % 16];
}

inline void
EmitHelperBegin(HelperUse &use, const bool again)
{
    use.serial = NextSerial<HelperUses>();
    use.given = 0;
    sqt_emit(SQT_EV_HELPER_BEGIN, use.xact, use.serial, use.who | (again ? UINT32_C(1) << 31 : 0));
    StayOnStack();
}

/// a question comes to the helper; again: it was asked before, and the answer was of no use
template <class Helper>
inline void
HelperIsAsked(HelperUse &use, const Helper &helper, const bool again)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    HelperQuestion &question = NextHelperQuestion();
    if (!again) {
        use.xact = question.xact;
        use.who = NumberOfHelper(question, helper);
        LastAsked(&helper) = {&helper, use.who};
        question = {0, SQT_WAITED_HELPER, nullptr};
    }
    use.depth = static_cast<uint32_t>(helper.stats.queue_size);
    EmitHelperBegin(use, again);
}

/// the request waits for the answer to another one's question, which is the same
template <class RequestPointer>
inline SQT_KEEPS_LINE void
QuestionIsShared(HelperUse &use, const enum sqt_waited kind, const RequestPointer &request, const char *name)
{
    if (!sqt_on(SQT_GROUP_CLIENT))
        return;
    use.xact = XactOf(request);
    use.who = sqt_waited_number(kind, name);
    EmitHelperBegin(use, false);
}

/// a child gets the question
inline void
ChildIsAsked(HelperUse &use)
{
    if (use.serial)
        use.given = sqt_read_clock(sqt_clock);
}

inline void
HelperUseEnds(HelperUse &use, const enum sqt_wait_outcome outcome)
{
    if (!use.serial)
        return;
    if (sqt_on(SQT_GROUP_CLIENT))
        sqt_emit_pair(SQT_PAIR(SQT_EV_HELPER_END, SQT_EV_PART_HELPER), use.xact, use.serial, outcome, use.given,
                      use.depth, 0);
    use.serial = 0;
    StayOnStack();
}

/// Result: Helper::ResultCode; no is its "ERR", broken its "BH"
template <class Result>
inline void
HelperAnswers(HelperUse &use, const Result result, const Result no, const Result broken)
{
    HelperUseEnds(use, result == no ? SQT_WAIT_ERR : result == broken ? SQT_WAIT_BROKEN : SQT_WAIT_OK);
}

/// the answer did not come in time
inline void
HelperTimesOut(HelperUse &use)
{
    HelperUseEnds(use, SQT_WAIT_TIMEOUT);
}

/// the child ended, or there is none any more
inline void
HelperDies(HelperUse &use)
{
    HelperUseEnds(use, SQT_WAIT_DIED);
}

/// the answer to another request's question is here
inline void
SharedAnswerIsHere(HelperUse &use)
{
    HelperUseEnds(use, SQT_WAIT_SHARED);
}

inline OwnHelperUse::~OwnHelperUse()
{
    HelperUseEnds(*this, SQT_WAIT_ABANDONED);
}

} // namespace Sqtrace

#endif
