# SPDX-License-Identifier: GPL-2.0-or-later
#
# spec.awk - a spec file of Squid with the hooks as its last patches.
#
# patches: their names, with spaces between them.  apply: yes if %prep is to apply each by its number; with no, %autosetup
# or %autopatch does.  suffix: what its release ends with.  stamp: date and author of an entry for %changelog.

# Where a section begins.
function is_section(line)
{
    return line ~ /^%(package|description|prep|generate_buildrequires|conf|build|install|check|clean|files|changelog)([ \t]|$)/ ||
        line ~ /^%(pre|post|preun|postun|pretrans|posttrans|trigger[a-z]*|filetrigger[a-z]*|sourcelist|patchlist)([ \t]|$)/
}

{
    line[NR] = $0
    if (!first_section && is_section($0))
        first_section = NR
    if (!first_section && !in_macro) {
        if ($0 ~ /^%if/)
            ++depth
        else if ($0 ~ /^%endif/)
            --depth
        if ($0 ~ /^[Pp][Aa][Tt][Cc][Hh][0-9]+[ \t]*:/ && substr($0, 6) + 0 > highest)
            highest = substr($0, 6) + 0
    }
    # The next line goes on with this one.
    in_macro = $0 ~ /\\$/
    # Behind the last line of the preamble that no condition can leave out.
    if (!first_section && depth == 0 && !in_macro)
        tags_after = NR
    if (first_section && is_section($0)) {
        if (section == "%prep")
            prep_end = NR - 1
        section = $1
    }
}

# Tags that name the patches, from a number above all others.
function print_tags(i)
{
    number = highest < 9000 ? 9001 : highest + 1
    print "# The hooks of sqtrace."
    for (i = 1; i <= count; ++i)
        print "Patch" number + i - 1 ": " patch[i]
    print "BuildRequires: pkgconfig(libsqtrace)"
}

# %prep that applies them.
function print_applied(i)
{
    for (i = 1; i <= count; ++i)
        print "%patch -P " number + i - 1 " -p1"
}

# The tag Release with the suffix behind its value.
function with_suffix(text, value)
{
    match(text, /^[A-Za-z]+[ \t]*:[ \t]*/)
    value = substr(text, RLENGTH + 1)
    sub(/[ \t]+$/, "", value)
    # A macro without braces would take the suffix as its argument.
    if (value ~ /^%[a-z]/)
        value = "%{" substr(value, 2) "}"
    return substr(text, 1, RLENGTH) value suffix
}

END {
    count = split(patches, patch, " ")
    section = ""
    for (i = 1; i <= NR; ++i) {
        if (is_section(line[i])) {
            split(line[i], word, /[ \t]/)
            section = word[1]
        }
        if (i < first_section && line[i] ~ /^[Rr][Ee][Ll][Ee][Aa][Ss][Ee][ \t]*:/)
            line[i] = with_suffix(line[i])
        print line[i]
        if (i == tags_after)
            print_tags()
        if (i == prep_end && apply == "yes")
            print_applied()
        if (section == "%build" && is_section(line[i])) {
            print "export CPPFLAGS=\"${CPPFLAGS-} $(pkg-config --cflags libsqtrace)\""
            print "export LIBS=\"${LIBS-} $(pkg-config --variable=wraps libsqtrace) $(pkg-config --libs --static libsqtrace)\""
        }
        if (section == "%changelog" && is_section(line[i]))
            printf "* %s\n- With the patches of sqtrace.\n\n", stamp
    }
}
