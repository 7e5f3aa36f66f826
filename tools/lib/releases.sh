# SPDX-License-Identifier: GPL-2.0-or-later
#
# releases.sh - the releases of Squid that the hooks fit, as patches/releases lists them.  Needs say.sh and data, the
# folder that holds patches/.

# Lines "RELEASE RANGE SUM", oldest release first.
release_lines()
{
    grep -v '^#' "$data/patches/releases"
}

# The releases, in one line.
known_releases()
{
    release_lines | cut -d ' ' -f 1 | tr '\n' ' ' | sed 's/ $//'
}

# The ranges, in one line of text.  A range without an end is the head of development.
known_ranges()
{
    release_lines | cut -d ' ' -f 2 | uniq | sed '/-/!s/$/ (in development)/; s/-/ to /' | tr '\n' ',' | sed 's/,$//; s/,/, /g'
}

# The SHA-256 of the archive of release $1, or nothing.
release_sum()
{
    release_lines | sed -n "s/^$(escaped "$1") [^ ]* \([0-9a-f]\{64\}\)\$/\1/p"
}

# The releases whose archive has a known SHA-256, one a line; with a range $1 only the newest of that.
releases_with_sums()
{
    release_lines | awk -v range="${1-}" '
        $3 == "-" { next }
        range == "" { print $1 }
        range == $2 { newest = $1 }
        END { if (newest != "") print newest }'
}

# The newest release whose archive has a known SHA-256: tools/demo builds it, and tools/check builds it first.
newest_release()
{
    releases_with_sums '' | sort -rV | head -n 1
}

# A release as a regular expression.
escaped()
{
    echo "$1" | sed 's/\./\\./g'
}

# find_range RELEASE: sets range, which serves it, hooks_of, the release whose hooks it takes, and is_known, yes or no.
# A release that is not listed is served by the range of its major version, or by the newest if it is newer than all.
# Returns 1 if there is none.
find_range()
{
    range=
    hooks_of=$1
    is_known=no
    found_range=$(
        release_lines | awk -v release="$1" '
            # 5.4.1 is between 5.4 and 5.5.
            function number(text, part) { split(text, part, "."); return (part[1] * 1000 + part[2]) * 1000 + part[3] }
            function major(text) { return int(number(text) / 1000000) }
            # As text: the numbers 6.1 and 6.10 are the same.
            $1 "" == release "" { print $2, release, "yes"; known = 1; exit }
            major($1) == major(release) { ours = $2 }
            number($1) > number(newest) { newest = $1; newest_range = $2 }
            END {
                if (known)
                    exit
                if (ours == "" && number(release) > number(newest))
                    ours = newest_range
                split(ours, ends, "-")
                if (ours != "")
                    print ours, number(release) < number(ends[1]) ? ends[1] : release, "no"
            }'
    )
    [ -n "$found_range" ] || return 1
    # shellcheck disable=SC2086 # three words
    set -- $found_range
    range=$1 hooks_of=$2 is_known=$3
}

# need_range RELEASE WHAT: the same, or an error that names WHAT has that release.
need_range()
{
    find_range "$1" || die "there are no hooks for $2; there is: $(known_ranges)"
}
