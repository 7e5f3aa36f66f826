# SPDX-License-Identifier: GPL-2.0-or-later
#
# common.gp - what all plots share.  Each loads it with
#   NAME     of the figure
#   OUTPUT   file to draw: SVG or PDF if its name says so, else PNG; NAME.png if empty
#   INPUT    what to read, made by sqtrace-dump; the standard input if empty or "-"
#   NARROW, UNTITLED  may be set to anything: a picture for a phone; one that stands below its title
# and finds the rows in $DATA, their columns' names in HEADER, and title and axes set as the comments say.

if (OUTPUT eq "") { OUTPUT = NAME . ".png" }
if (INPUT eq "" || INPUT eq "-") { INPUT = "/dev/stdin" }

# set terminal @TERMINAL, anew after PICTURE_WIDE or PICTURE_HIGH was changed; both in points of an SVG.
PICTURE_WIDE = exists("NARROW") ? 400 : 760
PICTURE_HIGH = exists("NARROW") ? 360 : 430
ENDING = strlen(OUTPUT) > 4 ? OUTPUT[strlen(OUTPUT)-3:] : ""
TERMINAL = ENDING eq ".svg" ? "svg noenhanced size PICTURE_WIDE,PICTURE_HIGH dynamic background rgb 'white' font 'sans,13'" : \
    ENDING eq ".pdf" ? "pdfcairo noenhanced size (22.0 * PICTURE_WIDE / 760)cm,(12.0 * PICTURE_HIGH / 430)cm font 'sans,11'" : \
    "pngcairo noenhanced size (1100.0 * PICTURE_WIDE / 760),(600.0 * PICTURE_HIGH / 430) font 'sans,11'"
set terminal @TERMINAL
set output OUTPUT

# The standard input can be read only once, so its lines go to $DATA first.
set datafile separator "\001"
set datafile commentschars ""
set table $DATA
plot INPUT using (stringcolumn(1)) with table
unset table
set datafile commentschars "#"
set datafile separator "\t"
set datafile missing "-"

# Text after "key: " of a comment line.
noted(line, key) = line[1:strlen(key)+4] eq "# " . key . ": " ? line[strlen(key)+5:strlen(line)] : ""
HEADER = ""
ROWS = 0
TITLE = NAME
XLABEL = ""
YLABEL = ""
do for [i=1:|$DATA|] {
    LINE = $DATA[i]
    if (LINE[1:1] eq "#") {
        if (strlen(noted(LINE, "title"))) { TITLE = noted(LINE, "title") }
        if (strlen(noted(LINE, "x"))) { XLABEL = noted(LINE, "x") }
        if (strlen(noted(LINE, "y"))) { YLABEL = noted(LINE, "y") }
    } else {
        if (HEADER eq "") { HEADER = LINE } else { ROWS = ROWS + 1 }
    }
}
# Of fewer values a percentile is not drawn; tools/report/least.def has the same numbers.
least(percentile) = percentile eq "p50" ? 10 : percentile eq "p90" ? 50 : percentile eq "p99" ? 100 : percentile eq "p99.9" ? 1000 : 0
if (ROWS < 1) {
    print "there are no rows: nothing to draw"
    exit status 1
}

set key autotitle columnhead
# Where the locale has no UTF-8, gnuplot would warn of a degree sign that nobody draws.
LOCALE = system("echo \"${LC_ALL:-${LC_CTYPE:-$LANG}}\"")
if (strstrt(LOCALE, "UTF") || strstrt(LOCALE, "utf")) { set encoding utf8 }
if (!exists("UNTITLED")) { set title TITLE }
set xlabel XLABEL
set ylabel YLABEL
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror out
# The round step of at most four parts of an axis of that length: a phone has room for no more numbers where there is an
# axis to the right, too.
round_step(raw, ten) = raw <= ten ? ten : raw <= 2 * ten ? 2 * ten : raw <= 5 * ten ? 5 * ten : 10 * ten
four(length) = length > 0 ? round_step(length / 4.0, 10.0 ** floor(log10(length / 4.0))) : 1
# Where the key goes: set key @KEY.
KEY = exists("NARROW") ? "outside top center horizontal reverse Left samplen 2" : "outside right top reverse Left"

# Colours that colour-blind people can tell apart; a curve has the same in all figures.
COLOURS = " hits:#0072b2 misses:#d55e00 all:#555555 in:#009e73 out:#cc79a7 swap_ins:#009e73 swap_outs:#cc79a7" . \
    " swaps:#009e73 opened:#009e73 hits_200:#0072b2 hits_304:#56b4e9 dhr:#0072b2 bhr:#e69f00 disk:#0072b2" . \
    " memory:#56b4e9 ims:#009e73 negative:#d55e00 refresh:#e69f00 never:#0072b2 in_first:#0072b2 out_first:#e69f00 "
OTHERS = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #555555 #f0e442"
colour_at(p, n) = COLOURS[p+strlen(n)+2:p+strlen(n)+8]
colour(n, i) = strstrt(COLOURS, " " . n . ":") ? colour_at(strstrt(COLOURS, " " . n . ":"), n) : word(OTHERS, (i - 1) % 8 + 1)
# "swap_ins" -> "swap ins"; what curves of some names are called.
called(s) = s eq "dhr" ? "of requests" : s eq "bhr" ? "of bytes" : spaced(s)
spaced(s) = strstrt(s, "_") ? s[1:strstrt(s, "_")-1] . " " . spaced(s[strstrt(s, "_")+1:strlen(s)]) : s
