package ha_test

import (
	"fmt"
	"slices"
	"strings"
)

// table returns the observations of equal faults as rows of a Markdown table.
func table(observed []observation) string {
	groups := map[string][]observation{}
	for _, o := range observed {
		groups[o.name] = append(groups[o.name], o)
	}
	var rows []string
	for name, group := range groups {
		var sum observation
		var writes, reads []float64
		for _, o := range group {
			sum.Acknowledged, sum.Refused, sum.Unknown = sum.Acknowledged+o.Acknowledged, sum.Refused+o.Refused, sum.Unknown+o.Unknown
			sum.log = append(sum.log, o.log...)
			writes, reads = append(writes, o.writeGap.Seconds()), append(reads, o.readGap.Seconds())
		}
		rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %s | %s | %d |\n",
			name, len(group), sum.Acknowledged, sum.Refused, sum.Unknown, span(writes), span(reads), len(sum.log)))
	}
	slices.Sort(rows)
	return "\n| event | times | acknowledged | refused | unknown | s without a write | s without a read | log lines |\n|---|--:|--:|--:|--:|--:|--:|--:|\n" + strings.Join(rows, "")
}

// span returns the smallest and the greatest value.
func span(values []float64) string {
	return fmt.Sprintf("%.1f to %.1f", slices.Min(values), slices.Max(values))
}
