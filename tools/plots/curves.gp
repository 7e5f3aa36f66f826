# SPDX-License-Identifier: GPL-2.0-or-later
#
# curves.gp - a line for each curve; a script loads it with, besides what common.gp wants,
#   SUFFIX   of the columns to draw: "_per_s" draws hits_per_s as the curve "hits"
#   DASHED   of those to draw dashed beside them, and what both are called; "" for none
#   DOTTED   of those to draw dotted, and what they are called; need not be set
#   YMAX     end of the y axis; "*" for any
# The first column is x: time, sizes from-to, or values up to.

load FOLDER . "common.gp"
if (!exists("DOTTED")) { DOTTED = "" }

# Whether column k has a value anywhere; a median, one that is not 0.
zero(s) = strstrt(SUFFIX, "_p50") == 1 && s + 0 == 0
has(k) = int(sum [i=1:|$DATA|] ($DATA[i][1:1] ne "#" && word($DATA[i], k) ne "-" && (word($DATA[i], k) eq word(HEADER, k) || !zero(word($DATA[i], k)))))
place(c) = int(sum [k=1:words(HEADER)] (word(HEADER, k) eq c ? k : 0))
has_any(c) = place(c) ? has(place(c)) > 1 : 0
# A value, but no percentile of too few.
told(c, suffix) = strstrt(suffix, "_p90_ms") == 1 && column(c . "_count") < least("p90") ? NaN : column(c . suffix)
ends(s, t) = strlen(s) > strlen(t) && s[strlen(s)-strlen(t)+1:strlen(s)] eq t
CURVES = ""
do for [k=1:words(HEADER)] {
    COLUMN = word(HEADER, k)
    # The header row has a value too.
    if (ends(COLUMN, SUFFIX)) {
        CURVE = COLUMN[1:strlen(COLUMN)-strlen(SUFFIX)]
        # A curve whose medians are all 0 has its other values.
        if (has(k) > 1 || (DASHED ne "" && has_any(CURVE . word(DASHED, 1))) || (DOTTED ne "" && has_any(CURVE . word(DOTTED, 1)))) {
            CURVES = CURVES . " " . CURVE
        }
    }
}
if (words(CURVES) < 1) {
    print "there are no rows: nothing to draw"
    exit status 1
}

FIRST = word(HEADER, 1)
x(unused) = FIRST eq "from_bytes" ? (column("from_bytes") + column("to_bytes")) / 2 : column(FIRST)
stats $DATA using (x(0)) name "X" nooutput
# The least median, and the greatest of all values.
LOW = 0
MOST = 0
do for [c in CURVES] {
    stats $DATA using (column(c . SUFFIX)) name "Y" nooutput
    LOW = (LOW == 0 && c eq word(CURVES, 1)) || Y_min < LOW ? Y_min : LOW
    do for [suffix in SUFFIX . " " . word(DASHED, 1) . " " . word(DOTTED, 1)] {
        stats $DATA using (told(c, suffix) >= 0 ? told(c, suffix) : 0) name "Y" nooutput
        MOST = Y_max > MOST ? Y_max : MOST
    }
}
if (FIRST eq "time_s") {
    HALF = X_records > 1 ? (X_max - X_min) / (X_records - 1) / 2 : 0.5
    set xrange [X_min - HALF > 0 ? X_min - HALF : 0 : X_max + HALF]
    set yrange [0:@YMAX]
}
if (FIRST eq "from_bytes") {
    if (X_max > 16384) {
        set logscale x 2
        set xrange [X_min / 1.2 : X_max * 1.2]
    } else {
        set xrange [0:X_max * 1.05]
        set xtics ("0" 0)
        do for [k=1:16:exists("NARROW") ? 2 : 1] { set xtics add (sprintf("%d kiB", k) k * 1024) }
    }
    set yrange [0:@YMAX]
}
UPTO = FIRST ne "time_s" && FIRST ne "from_bytes"
if (UPTO) {
    set logscale x
    START = FIRST eq "size_bytes" ? 1 : 0.001
    set xrange [X_min > START ? X_min : START : X_max > START ? X_max * 1.05 : START * 10]
    if (FIRST eq "size_bytes") {
        set logscale x 2
    } else {
        # 1, 2, 5, 10, ... where there are few decades, else 1, 10, 100, ...
        set format x "%g"
        set xtics (0.001)
        do for [k=-3:7] { do for [m in X_max < 300 * (X_min > START ? X_min : START) ? "1 2 5" : "1"] {
            set xtics add (m * 10.0**k)
        } }
    }
    set yrange [0:100]
}
# 512 B, 1 kiB, 2 kiB, ..., or as many of them as fit side by side.
if ((UPTO ? FIRST eq "size_bytes" : FIRST eq "from_bytes") && X_max > 16384) {
    set xtics (1)
    OCTAVES = log(X_max / (X_min > 1 ? X_min : 1)) / log(2)
    do for [k=0:40:exists("NARROW") ? (OCTAVES > 12 ? 4 : 3) : OCTAVES > 16 ? 4 : OCTAVES > 8 ? 2 : 1] {
        set xtics add (sprintf("%d %sB", 2**(k % 10), word("'' ki Mi Gi Ti", k / 10 + 1)) 2.0**k)
    }
}
# Curves far apart.
if (!UPTO && LOW > 0 && MOST / LOW > 30 && ends(SUFFIX, "_ms")) {
    set logscale y
    set yrange [LOW / 2:*]
    set format y "%g"
}
if (MOST == 0 && !UPTO && YMAX eq "*") { set yrange [0:1] }
set key @KEY

STYLE = UPTO ? "lines lw 2" : "linespoints lw 2 pt (4 + i) ps 0.8"
N = words(CURVES)
# Once for each curve, since it goes through all rows; solid() is called for each row.
array SEEN[N]
do for [i=1:N] { SEEN[i] = has_any(word(CURVES, i) . SUFFIX) }
solid(i) = SEEN[i] ? column(word(CURVES, i) . SUFFIX) : NaN
titled(i) = called(word(CURVES, i)) . (SEEN[i] ? "" : " (median 0)")
DOTS = DOTTED eq "" ? "" : ', for [i=1:N] $DATA using (x(0)):(column(word(CURVES, i) . word(DOTTED, 1))) with lines ' . \
    'dt 3 lw 2 lc rgb colour(word(CURVES, i), i) notitle, keyentry with lines dt 3 lw 2 lc rgb "black" title word(DOTTED, 2)'
if (DASHED eq "") {
    plot for [i=1:N] $DATA using (x(0)):(solid(i)) with @STYLE \
        lc rgb colour(word(CURVES, i), i) title titled(i)
} else {
    plot for [i=1:N] $DATA using (x(0)):(solid(i)) with @STYLE \
            lc rgb colour(word(CURVES, i), i) title titled(i), \
         for [i=1:N] $DATA using (x(0)):(told(word(CURVES, i), word(DASHED, 1))) with lines dt 2 lw 1.3 \
            lc rgb colour(word(CURVES, i), i) notitle, \
         keyentry with lines lw 2 lc rgb "black" title spaced(word(DASHED, 2)), \
         keyentry with lines dt 2 lw 1.3 lc rgb "black" title spaced(word(DASHED, 3)) @DOTS
}
