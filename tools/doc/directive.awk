# SPDX-License-Identifier: GPL-2.0-or-later
#
# directive.awk - the manual page sqtrace_log(5), from the directive's documentation in the patch of Squid's cf.data.pre.
#
#     awk -v version=VERSION -v date=DATE -f directive.awk 0010-configuration.patch
#
# A parameter is a line that begins with a tab and four spaces.  Its text stands behind it, after tabs.  Lines of the
# example begin with two tabs.

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/--/, "\\-\\-", text)
    gsub(/sqtrace-/, "sqtrace\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

function print_heads() {
    print ".\\\" Made by tools/doc/directive.awk."
    print ".TH SQTRACE_LOG 5 \"" date "\" \"sqtrace " version "\" \"sqtrace\""
    print ".SH NAME"
    print "sqtrace_log \\- the directive that makes Squid record a trace, in sqtrace.conf or squid.conf"
    print ".SH SYNOPSIS"
    print ".B sqtrace_log"
    print ".IR DIRECTORY \" [\" name = value ]..."
    print ".SH DESCRIPTION"
    print "This line of"
    print ".IR sqtrace.conf ,"
    print "or of"
    print ".IR squid.conf ,"
    print "is for a Squid that is patched with sqtrace."
    blank = 1
}

# Where a blank line was: the next line begins a paragraph.
function paragraph() {
    if (blank)
        print ".PP"
    blank = 0
}

$0 == "+DOC_END" { inside = 0 }
inside { take(substr($0, 2)) }
$0 == "+NAME: sqtrace_log" { found = 1 }
found && $0 == "+DOC_START" {
    inside = 1
    print_heads()
}

function take(line) {
    if (line ~ /^\tFormat: /)
        return
    if (line == "") {
        blank = 1
    } else if (line ~ /^\t    [a-z_]+=/) {
        if (!parameters++)
            print ".SH PARAMETERS"
        print ".TP"
        split(substr(line, 6), part, "\t")
        print ".BI " substr(part[1], 1, index(part[1], "=")) " \"" substr(part[1], index(part[1], "=") + 1) "\""
        sub(/^[^\t]*\t*/, "", line)
        sub(/^    [^\t]*\t*/, "", line)
        blank = 0
        if (line != "")
            print escaped(line)
    } else if (line ~ /^\tExample:/) {
        print ".SH EXAMPLE"
        print ".nf"
        blank = 0
    } else if (line ~ /^\t\t\t\t/) {
        print escaped(substr(line, 5))
    } else {
        paragraph()
        sub(/^\t+/, "", line)
        print escaped(line)
    }
}

END {
    print ".fi"
    print ".SH SEE ALSO"
    print ".BR sqtrace\\-dump (1),"
    print ".BR sqtrace\\-report (1),"
    print ".BR sqtrace (5)"
}
