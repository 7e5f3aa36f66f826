# SPDX-License-Identifier: GPL-2.0-or-later
#
# place-hunks.awk - puts the hunks of one patch of patches/ into a source tree of Squid.
#
# root=TREE verdicts=FILE awk -v release=7.7 -v fuzz=0 -f place-hunks.awk PATCH
#
# A hunk has no line numbers.  Its place is the function that its "@@" line names and the lines around it, which must be
# there exactly once.  Each file that a hunk changes is written beside itself, with the suffix .hooked, and its name is
# printed.  What became of each hunk goes to the file `verdicts`: the verdict, a tab, what to tell, and the hook on a
# line of its own.  With fuzz, up to that many of the outermost lines may differ, but the verdict is then "changed".
#
# Without root the hunks of that release are printed, as they stand in the patch.

# A release as a number: 6.13 is 6013000, and 5.4.1 is 5004001.
function number(text, part)
{
    split(text, part, ".")
    return (part[1] * 1000 + part[2]) * 1000 + part[3]
}

# Whether the releases that text names, such as "5 6.9-6.12 7-", contain this one.
function covers(text,    spec, n, i, dash, from, to)
{
    n = split(text, spec, " ")
    for (i = 1; i <= n; i++) {
        dash = index(spec[i], "-")
        from = dash ? substr(spec[i], 1, dash - 1) : spec[i]
        to = dash ? substr(spec[i], dash + 1) : spec[i]
        if ((from == "" || number(release) >= number(from)) &&
            (to == "" || number(release) <= number(to) + (to ~ /\./ ? 0 : 999999)))
            return 1
    }
    return 0
}

# Lines that differ only as Squid 5 and later versions spell the same thing are the same.
function plain(text)
{
    gsub(/HERE << /, "", text)
    gsub(/NULL/, "nullptr", text)
    return text
}

# The function, class or struct that begins on this line, or "".
function begins(text)
{
    if (text !~ /^[A-Za-z_]/ || text ~ /^template/ || text ~ /;[ \t]*$/)
        return ""
    if (index(text, "(")) {
        sub(/[ \t]*\(.*/, "", text)
        return match(text, /[A-Za-z0-9_:~]+$/) ? substr(text, RSTART) : ""
    }
    if (!match(text, /(class|struct|union|enum) +[A-Za-z0-9_:]+/))
        return ""
    text = substr(text, RSTART, RLENGTH)
    sub(/.* /, "", text)
    sub(/:+$/, "", text)
    return text
}

function broken(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text >"/dev/stderr"
    failed = 1
    exit 1
}

# ---- reading the patch ----

# The releases that the next hunk, or all hunks of the next file, are for.
/^# only / {
    if ($0 !~ /^# only [-0-9. ]+: ./)
        broken("expected `# only RELEASES: why'")
    text = substr($0, 8)
    sub(/:.*/, "", text)
    next_is_for = covers(text)
    tagged = skipped = 1
    next
}
# A file that some distributions have taken out: it needs no hooks there.
/^# optional/ {
    if ($0 !~ /^# optional: ./)
        broken("expected `# optional: why'")
    next_is_optional = tagged = skipped = 1
    next
}
# Where the file is in other releases.
/^# file / {
    if ($0 !~ /^# file [-0-9. ]+: [^ ]+$/)
        broken("expected `# file RELEASES: PATH'")
    text = substr($0, 8)
    sub(/:.*/, "", text)
    if (covers(text))
        target = $NF
    next
}
/^#/ && target != "" { broken("expected `# only RELEASES: why' or `# optional: why' or `# file RELEASES: PATH'") }
/^--- [^ ]|^@@/ { tagged = 0 }
tagged { broken("expected a line that begins with --- or @@ after `# only' or `# optional'") }
/^--- [^ ]/ {
    file_is_for = next_is_for
    file_is_optional = next_is_optional
    next_is_for = 1
    next_is_optional = 0
    skipped = 1
    next
}
/^\+\+\+ [^ ]/ {
    target = $2
    sub("^[^/]*/", "", target)
    next
}
/^@@/ {
    if (target == "")
        broken("a hunk before the name of its file")
    skipped = !file_is_for || !next_is_for
    next_is_for = 1
    if (skipped)
        next
    if (next_is_optional)
        broken("expected a line that begins with --- after `# optional'")
    file[++hunks] = target
    if (file_is_optional)
        optional[target] = 1
    name[hunks] = $0
    sub(/^@@ *(-[0-9, ]*\+[0-9, ]*@@)? */, "", name[hunks])
    size[hunks] = 0
    if (!(target in seen)) {
        seen[target] = 1
        files[++file_count] = target
    }
    next
}
skipped || target == "" { next }
/^[-+ ]/ || $0 == "" {
    op[hunks, ++size[hunks]] = $0 == "" ? " " : substr($0, 1, 1)
    line[hunks, size[hunks]] = substr($0, 2)
    next
}
{ broken("expected a line that begins with a space, + or -") }

BEGIN {
    root = ENVIRON["root"]
    verdicts = ENVIRON["verdicts"]
    next_is_for = file_is_for = skipped = 1
}

# ---- looking for a place ----

# Reads the file into now[1..lines], with what it is plainly, and the function that each line is in.
function read_file(path,    text, function_name, got)
{
    lines = 0
    function_name = ""
    while ((got = (getline text < path)) > 0) {
        now[++lines] = text
        plainly[lines] = plain(text)
        heads[lines] = begins(text)
        if (heads[lines] != "")
            function_name = heads[lines]
        within[lines] = function_name
    }
    close(path)
    within[0] = ""
    return got == 0
}

# The old lines of hunk h without its outermost lines, at most cut at either end: old[1..old_count].  first_change is
# the place among them of the first line that is removed, or before which one is added.
function take_old_lines(h, cut,    i, before, after, changed)
{
    before = after = 0
    for (i = 1; i <= size[h] && op[h, i] == " "; i++)
        before++
    for (i = size[h]; i > before && op[h, i] == " "; i--)
        after++
    top_cut = before < cut ? before : cut
    bottom_cut = after < cut ? after : cut
    old_count = first_change = 0
    for (i = top_cut + 1; i <= size[h] - bottom_cut; i++) {
        if (op[h, i] != " " && !first_change)
            first_change = old_count + 1
        if (op[h, i] != "+")
            old[++old_count] = plain(line[h, i])
    }
}

# Whether a hunk at this place is in one of the functions that its name lists.
function is_within(h, place,    wanted, n, i, j)
{
    if (name[h] == "")
        return 1
    n = split(name[h], wanted, / *\| */)
    for (i = 1; i <= n; i++) {
        if (within[place + first_change - 2] == wanted[i])
            return 1
        for (j = 0; j < old_count; j++)
            if (heads[place + j] == wanted[i])
                return 1
    }
    return 0
}

# Looks for the old lines, in the hunk's function or anywhere.  Returns the first place; sets found, how many there are.
function look(h, anywhere,    place, i, first)
{
    found = 0
    for (place = 1; place <= lines - old_count + 1; place++) {
        for (i = 1; i <= old_count && plainly[place + i - 1] == old[i];)
            i++
        if (i > old_count && (anywhere || is_within(h, place)) && ++found == 1)
            first = place
    }
    return first
}

# The line of hunk h that is a hook, or the first that it adds.
function hook_of(h,    i, first)
{
    for (i = 1; i <= size[h]; i++) {
        if (op[h, i] != "+" || line[h, i] == "")
            continue
        if (line[h, i] ~ /Sqtrace::|sqt_/)
            return line[h, i]
        if (first == "")
            first = line[h, i]
    }
    return first
}

function tell(h, verdict, place, text,    hook)
{
    hook = hook_of(h)
    sub(/^ */, "", hook)
    printf "%s\t%s%s: %s\n\t    %s\n", verdict, file[h], (place ? ":" place : ""), text, hook >verdicts
}

# Finds the place of a hunk and says how; 0: it has none.
function place_of(h,    place, cut)
{
    for (cut = 0; cut <= fuzz; cut++) {
        take_old_lines(h, cut)
        if (!old_count || (cut && !top_cut && !bottom_cut))
            break
        place = look(h, 0)
        if (found == 1 && !cut)
            tell(h, "in place", place + first_change - 1, "")
        else if (found > 1)
            tell(h, "changed", place + first_change - 1, found " places look like this, in " name[h])
        else if (found)
            tell(h, "changed", place + first_change - 1, "the lines around it changed, in " name[h])
        if (found)
            return place
        place = look(h, 1)
        if (found == 1) {
            tell(h, cut ? "changed" : "moved", place + first_change - 1, "is in another function: " \
                within[place + first_change - 2] ", and not " name[h])
            return place
        }
    }
    tell(h, "lost", 0, "nothing like the lines around it is there, in " name[h])
    return 0
}

# ---- changing files ----

# Notes what hunk h does to the old line `place` and those after it: gone[] and added[], before a line.
function note(h, place,    i, at, text)
{
    at = place
    for (i = top_cut + 1; i <= size[h] - bottom_cut; i++) {
        if (op[h, i] == "+") {
            text = line[h, i] "\n"
            if (at in by && by[at] != h)
                clash(h, at)
            by[at] = h
            added[at] = added[at] text
        } else {
            if (op[h, i] == "-") {
                if (at in gone)
                    clash(h, at)
                gone[at] = 1
            }
            at++
        }
    }
}

function clash(h, at)
{
    printf "%s: two hunks change line %d of %s\n", FILENAME, at, file[h] >"/dev/stderr"
    failed = 1
}

function write_file(path,    i)
{
    printf "" >path
    for (i = 1; i <= lines + 1; i++) {
        if (i in added)
            printf "%s", added[i] >path
        if (i <= lines && !(i in gone))
            print now[i] >path
    }
    close(path)
}

function print_hunks(    h, i)
{
    for (h = 1; h <= hunks; h++) {
        if (file[h] != file[h - 1])
            printf "--- a/%s\n+++ b/%s\n", file[h], file[h]
        print "@@" (name[h] == "" ? "" : " ") name[h]
        for (i = 1; i <= size[h]; i++)
            print op[h, i] line[h, i]
    }
}

END {
    if (failed)
        exit 1
    if (root == "") {
        print_hunks()
        exit
    }
    printf "" >verdicts
    for (f = 1; f <= file_count; f++) {
        split("", gone)
        split("", added)
        split("", by)
        placed = 0
        there = read_file(root "/" files[f])
        for (h = 1; h <= hunks; h++) {
            if (file[h] != files[f] || (!there && files[f] in optional))
                continue
            if (!there) {
                tell(h, "lost", 0, "this file is not there")
            } else if ((place = place_of(h))) {
                note(h, place)
                placed = 1
            }
        }
        if (placed) {
            write_file(root "/" files[f] ".hooked")
            print files[f]
        }
    }
    close(verdicts)
    exit failed
}
