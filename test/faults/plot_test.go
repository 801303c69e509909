package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A plot is a number of series of samples at equal intervals.
type plot struct {
	names  []string
	values [][]float64 // by series
}

func newPlot(names ...string) *plot { return &plot{names, make([][]float64, len(names))} }

func (p *plot) add(values ...float64) {
	for i, value := range values {
		p.values[i] = append(p.values[i], value)
	}
}

// series returns the values of a series.
func (p *plot) series(name string) []float64 { return p.values[slices.Index(p.names, name)] }

// wantFlat expects that the median of the last quarter is at most 1.25 times that of the second
// quarter, plus one. A latency depends on what else the machine does: at most twice, plus 100 ms.
func (p *plot) wantFlat(t *testing.T) {
	t.Helper()
	for i, values := range p.values {
		n := len(values)
		before, after := median(values[n/4:n/2]), median(values[3*n/4:])
		limit := 1.25*before + 1
		if strings.HasSuffix(p.names[i], " in ms") {
			limit = 2*before + 100
		}
		if after > limit {
			t.Errorf("%s grew from %.1f to %.1f", p.names[i], before, after)
		}
	}
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// String returns the median of the second and of the last quarter of each series.
func (p *plot) String() string {
	var parts []string
	for i, values := range p.values {
		n := len(values)
		parts = append(parts, fmt.Sprintf("%s %.1f, then %.1f", p.names[i], median(values[n/4:n/2]), median(values[3*n/4:])))
	}
	return strings.Join(parts, "; ")
}

// svg draws each series from 0 to its maximum.
func (p *plot) svg(length time.Duration) string {
	const width, height, gap = 700, 60, 40
	text := &strings.Builder{}
	total := len(p.names)*(height+gap) + 10
	fmt.Fprintf(text, `<svg xmlns="http://www.w3.org/2000/svg" width="740" height="%d" viewBox="0 0 740 %d" font-family="system-ui, sans-serif" font-size="13" fill="#222">`+"\n", total, total)
	fmt.Fprintf(text, "<title>Resources during %v of mixed load</title>\n<rect width=\"740\" height=\"%d\" fill=\"#fff\"/>\n", length, total)
	for i, values := range p.values {
		top := i*(height+gap) + 30
		highest := max(slices.Max(values), 1e-9)
		fmt.Fprintf(text, `<text x="20" y="%d">%s, at most %.1f</text>`+"\n", top-8, p.names[i], highest)
		fmt.Fprintf(text, `<path d="M20 %dh%d" stroke="#bbb"/><polyline fill="none" stroke="#4a7fb5" stroke-width="1.5" points="`, top+height, width)
		for n, value := range values {
			fmt.Fprintf(text, "%.1f,%.1f ", 20+float64(n)*width/float64(max(len(values)-1, 1)), float64(top)+height*(1-value/highest))
		}
		text.WriteString("\"/>\n")
	}
	text.WriteString("</svg>\n")
	return text.String()
}
