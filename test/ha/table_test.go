package ha_test

import (
	"fmt"
	"slices"
	"strings"
)

// table returns the observations of equal faults as rows of a Markdown table.
func table(observed []observation) string {
	var names []string
	groups := map[string][]observation{}
	for _, o := range observed {
		name := o.Name
		if name == "" {
			name = "(before)"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		groups[name] = append(groups[name], o)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("\n| event | times | acknowledged | refused | unknown | lost | doubled | s without a write | s without a read | log lines |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var all observation
	row := func(name string, times int, sum observation, writes, reads string) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %s | %s | %d |\n",
			name, times, sum.Acknowledged, sum.Refused, sum.Unknown, len(sum.Lost), len(sum.Doubled), writes, reads, len(sum.log))
	}
	for _, name := range names {
		var sum observation
		var writes, reads []float64
		for _, o := range groups[name] {
			sum.add(o)
			writes, reads = append(writes, o.writeGap.Seconds()), append(reads, o.readGap.Seconds())
		}
		all.add(sum)
		row(name, len(groups[name]), sum, span(writes), span(reads))
	}
	row("all", len(observed), all, "", "")
	return b.String()
}

func (o *observation) add(other observation) {
	o.Add(other.Result)
	o.log = append(o.log, other.log...)
}

// span returns the smallest and the greatest value.
func span(values []float64) string {
	return fmt.Sprintf("%.1f to %.1f", slices.Min(values), slices.Max(values))
}
