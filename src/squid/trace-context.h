/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace-context.h - the header field traceparent: for the hooks of clients, which record it, and of servers, which send it on.
 */
#ifndef SQTRACE_SQUID_TRACE_CONTEXT_H
#define SQTRACE_SQUID_TRACE_CONTEXT_H

#include <strings.h>

namespace Sqtrace
{

/// whether it is a field traceparent, for which Squid has no number
template <class Field>
inline bool
IsContext(const Field &field)
{
    static const char name[] = "traceparent";
    const size_t size = sizeof(name) - 1;
    return field.id == decltype(field.id)::OTHER && field.name.length() == size &&
           strncasecmp(field.name.rawContent(), name, size) == 0;
}

/// the header's field traceparent; nil if it has none, or several, which say nothing
template <class Header>
inline auto
ContextOf(const Header &header) -> decltype(&**header.entries.begin())
{
    decltype(&**header.entries.begin()) found = nullptr;
    for (auto i = header.entries.begin(); i != header.entries.end(); ++i) {
        if (!*i || !IsContext(**i)) // a field that was deleted is nil
            continue;
        if (found)
            return nullptr;
        found = &**i;
    }
    return found;
}

} // namespace Sqtrace

#endif
