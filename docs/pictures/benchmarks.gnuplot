# Draws the ratios of the table in docs/benchmarks.md as bars: make pictures.
set terminal svg size 480,760 font "Helvetica,Arial,sans-serif,11" background rgb "#ffffff"
set output "docs/pictures/benchmarks.svg"
set datafile separator "|"
set logscale x
set xrange [0.5:22]
set xtics (0.5, 1, 2, 4, 8, 16) textcolor rgb "#1f2328"
set yrange [] reverse
set ytics textcolor rgb "#1f2328" scale 0
set xlabel "times as fast as plain Gin and GORM" offset -8,0 textcolor rgb "#1f2328"
set border 1 linecolor rgb "#727b86"
set grid xtics linecolor rgb "#d0d7de"
unset key
name(text) = text[2:strlen(text)-2]
plot "< grep '^|.*store=.*load=' docs/benchmarks.md | grep -v rps | sed 's/store=//; s/load=//'" using ($5 > 1 ? 1 : $5):0:($5 > 1 ? 1 : $5):($5 > 1 ? $5 : 1):($0 - 0.35):($0 + 0.35):ytic(name(strcol(2))) \
    with boxxyerror fillstyle solid 1 linecolor rgb "#4a7fb5", \
  "" using ($5 > 1 ? $5 : 1):0:(sprintf("%.1f", $5)) with labels left offset 0.5,0 font ",9" textcolor rgb "#1f2328"
