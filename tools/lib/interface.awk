# SPDX-License-Identifier: GPL-2.0-or-later
#
# interface.awk - of a header of src/squid, what Squid's own tree has of it without a provider of traces: the same hooks
# with the same arguments, without bodies.
#
# awk -v used="NAME..." -f interface.awk HEADER
#
# Only functions named in `used` are printed, each with its comment.

BEGIN {
    n = split(used, name, " ")
    for (i = 1; i <= n; i++)
        wanted[name[i]] = 1
}

# One parameter without its name, which stays as a comment: a compiler warns of names that are not used.
function unnamed(text,    value, found)
{
    gsub(/^[ \n]+|[ \n]+$/, "", text)
    value = ""
    if (match(text, / = .*$/)) {
        value = substr(text, RSTART)
        text = substr(text, 1, RSTART - 1)
    }
    if (match(text, /\(&[A-Za-z0-9_]+\)/))
        return substr(text, 1, RSTART + 1) substr(text, RSTART + RLENGTH - 1)
    if (!match(text, /[A-Za-z0-9_]+$/) || RSTART == 1)
        return text value
    found = substr(text, RSTART)
    text = substr(text, 1, RSTART - 1)
    return text (text ~ / $/ ? "" : " ") "/* " found " */" value
}

# The text between the parentheses of a function, each parameter without its name.
function parameters(text,    i, c, depth, one, out)
{
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c ~ /[(<]/)
            depth++
        if (c ~ /[)>]/)
            depth--
        if (c == "," && !depth) {
            out = out unnamed(one) ", "
            one = ""
        } else {
            one = one c
        }
    }
    return one ~ /[^ ]/ ? out unnamed(one) : out
}

/^\/\/\/ / { comment = comment $0 "\n"; next }
/^template </ { head = head $0 "\n"; next }
/^inline |^__attribute__/ { type = $0; next }
/^[A-Za-z][A-Za-z0-9]*\(/ && type != "" {
    signature = $0
    while (signature !~ /\)$/ && (getline more) > 0)
        signature = signature " " more
    found = signature
    sub(/\(.*/, "", found)
    inside = substr(signature, length(found) + 2, length(signature) - length(found) - 2)
    if (found in wanted) {
        sub(/^__attribute__\(\([^)]*\)\) /, "inline ", type)
        sub(/ SQT_KEEPS_LINE /, " ", type)
        printf "\n%s%s%s\n%s(%s)\n{\n", comment, head, type, found, parameters(inside)
        if (type !~ / void$/)
            print "    return {};"
        print "}"
    }
    comment = head = type = ""
    next
}
{ comment = head = type = "" }
