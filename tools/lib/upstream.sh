# SPDX-License-Identifier: GPL-2.0-or-later
#
# upstream.sh - the hooks as an interface of Squid's own, without sqtrace's names, for Squid's maintainers.  Needs say.sh,
# series.sh and lib.
#
# A hook's call and arguments stay what they are; names change:
#
#   Sqtrace::RequestIsSent(...)     Trace::RequestIsSent(...)
#   <squid/hooks-server.h>          "trace/hooks-server.h", in Squid's own tree
#   Lookup sqtrace;                 Lookup trace;
#
# In src/trace/ is what each hook does without a provider: nothing.  With -DTRACE_PROVIDER, these headers include
# <trace-provider/...> instead: a provider's own, of which sqtrace's are made here, too.

# Changes sqtrace's names to those of the interface, from stdin to stdout.
general_names()
{
    sed -e 's|Sqtrace|Trace|g' \
        -e 's|<squid/admin.h>|"trace/objects.h"|; s|<squid/\([a-z-]*\.h\)>|"trace/\1"|' \
        -e 's#SQT_\(WAITED\|KID\|UNKEPT\)_#Trace::\1_#g' \
        -e 's| (sqt_[a-z_]*)||; s|sqt_xact_flags|properties|; s| and SQT_UNNAMED||; s|what sqtrace|what a trace|' \
        -e 's|\(enum \)\{0,1\}\<sqt_waited\>|Waited|g' \
        -e 's|sqt_poll()|Trace::Poll()|; s|sqt_rotate()|Trace::Rotate()|; s|sqt_off()|Trace::Off()|' \
        -e 's|\<sqtrace\>|trace|g; s|\<sqtrace\([A-Z]\)|trace\1|g; s|\<sqt\([A-Z]\)|trace\1|g' \
        -e 's|^Author: the trace project|Author: the sqtrace project|'
}

# upstream_patches PATCHES TO: the patches of PATCHES in the folder TO, with those names.
upstream_patches()
{
    mkdir -p "$2" || die "$2: cannot make this directory"
    for patch in "$1"/*.patch; do
        case ${patch##*/} in
        0010-*) patch=$(echo "$1"/upstream/0010-*.patch) ;;
        esac
        general_names <"$patch" >"$2/${patch##*/}" || die "$2: cannot be written"
    done
}

# hooks_in SERIES: the names of functions and types of the interface that the composed series uses, in one line.
hooks_in()
{
    cat "$1"/*.patch | sed -n 's/^+//p' | grep -o 'Trace::[A-Za-z_]*' | sed 's/.*:://' | sort -u | tr '\n' ' '
}

# interface_header HEADER HOOKS: HEADER of src/squid as a header of src/trace.
interface_header()
{
    header=${1##*/}
    guard=SQUID_SRC_TRACE_$(echo "${header%.h}" | tr 'a-z-' A-Z_)_H
    printf '/* SPDX-License-Identifier: GPL-2.0-or-later\n *\n'
    # What the file is for, as its own first comment says it.
    sed -n '/^ \* [a-z-]*\.h - /,/^ \*\(\/\|$\)/p' "$1" | sed '/^ \*\(\/\|$\)/d' | general_names
    printf ' */\n#ifndef %s\n#define %s\n\n' "$guard" "$guard"
    printf '#if defined(TRACE_PROVIDER)\n#include <trace-provider/%s>\n#else\n\n' "$header"
    case $header in
    state*)
        printf '#include <cstdint>\n\nnamespace Trace\n{\n'
        general_names <"$1" | sed -n '/^namespace/,/^} \/\/ namespace/p' | sed '1,2d; $d; /^    ~.*;$/d'
        ;;
    *)
        # A file that includes one of sqtrace's headers has the hooks of those that it includes, too.
        sed -n 's|^#include "\(hooks-[a-z]*\.h\)"|#include "trace/\1"|p' "$1"
        printf '#include "trace/objects.h"\n\nnamespace Trace\n{\n'
        general_names <"$1" | awk -v used="$2" -f "$lib/interface.awk"
        echo
        ;;
    esac
    printf '} // namespace Trace\n\n#endif /* TRACE_PROVIDER */\n\n#endif /* %s */\n' "$guard"
}

# objects_header PATCHES: what is written by hand of the interface.
objects_header()
{
    sed -n '1,/^#define/p' "$1/upstream/objects.h"
    printf '\n#if defined(TRACE_PROVIDER)\n#include <trace-provider/objects.h>\n#else\n'
    sed '1,/^#define/d; $d' "$1/upstream/objects.h"
    printf '#endif /* TRACE_PROVIDER */\n\n#endif /* SQUID_SRC_TRACE_OBJECTS_H */\n'
}

# write_interface HEADERS PATCHES HOOKS FOLDER: the headers of the interface, with those hooks.
write_interface()
{
    mkdir -p "$4" || die "$4: cannot make this directory"
    objects_header "$2" >"$4/objects.h"
    written=" $(sed -n 's/^\([A-Za-z]*\)(.*/\1/p' "$2/upstream/objects.h" | tr '\n' ' ')"
    generated=
    for hook in $3; do
        case $written in
        *" $hook "*) ;;
        *) generated="$generated $hook" ;;
        esac
    done
    for header in "$1"/hooks-*.h "$1"/state*.h; do
        interface_header "$header" "$generated" >"$4/${header##*/}" || die "$4: cannot be written"
    done
}

# add_interface HEADERS PATCHES SERIES: src/trace/ as the first patch of the composed series.
add_interface()
{
    write_interface "$1" "$2" "$(hooks_in "$3")" "$3/.interface"
    {
        printf 'Description: Interface for tracing: what hooks call, and what they do without a provider\n'
        printf ' src/trace/ declares each hook. Without a provider, a hook does nothing.\n'
        printf 'Author: the sqtrace project\n---\n'
        (cd "$3/.interface" && ls) | while read -r header; do
            diff -u --label /dev/null --label "b/src/trace/$header" /dev/null "$3/.interface/$header"
        done
    } >"$3/0001-interface.patch"
    {
        echo 0001-interface.patch
        cat "$3/series"
    } >"$3/series.new" && mv "$3/series.new" "$3/series" || die "$3: cannot be written"
}

# write_provider HEADERS PATCHES FOLDER: sqtrace's own hooks under the names of the interface, in FOLDER/trace-provider.
write_provider()
{
    mkdir -p "$3/trace-provider" || die "$3: cannot make this directory"
    for header in "$1"/*.h; do
        sed -e 's|Sqtrace|Trace|g; s|"../trace/sqtrace.h"|<trace/sqtrace.h>|' \
            -e 's#\(\.\|->\)sqtrace\>#\1trace#g; s|\<sqtrace\([A-Z]\)|trace\1|g; s|\<sqt\([A-Z]\)|trace\1|g' \
            "$header" >"$3/trace-provider/${header##*/}" || die "$3: cannot be written"
    done
    cp "$2/upstream/provider.h" "$3/trace-provider/objects.h" || die "$3: cannot be written"
}
