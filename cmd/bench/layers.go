package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A layer is a part of the way of a request through petstore. Its functions are those whose name contains one of the texts.
type layer struct {
	name      string
	functions []string
}

// layers are all layers. A function that is in several of them belongs to the first. A function that is in none, such as those of
// GORM and of the allocator, belongs to the layer of its caller.
var layers = []layer{
	{"net/http and Gin", []string{"net/http.(*conn).serve", "net/http.(*connReader).backgroundRead", "net/http.(*Server).Serve", "/gin.(*Engine)"}},
	{"middleware", []string{"/internal/server.", "/internal/serve.", "/delivery/http.(*API).beginRequest", "/delivery/http.discardBody"}},
	{"authentication", []string{".(*API).admit.", "/usecase.(*Keys)", "/repository.(*keyCache)"}},
	{"handler and page cache", []string{".(*API).ginHandler."}},
	{"binding", []string{"/internal/binding.", "/delivery/http.bindBody"}},
	{"use case", []string{"/usecase."}},
	{"repository", []string{"/repository.", "/repository/"}},
	{"statement", []string{"database/sql.", "/go-sqlite3.", "/pgx/"}},
	{"encoding", []string{"/internal/record.", "/delivery/http.encodePage", "/delivery/http.newEncodedPage", "/delivery/http.pageETag"}},
	{"response", []string{"/delivery/http.writeBody", "/delivery/http.writePage", "net/http.(*response).finishRequest"}},
	{"runtime", nil}, // the scheduler and the garbage collector, which no layer calls
}

// layerOf returns the index of the layer of a sample: the layer of its innermost function that belongs to one.
func layerOf(s *profile.Sample) int {
	for _, location := range s.Location {
		for _, line := range location.Line { // several lines if functions were inlined
			name, _, _ := strings.Cut(line.Function.Name, "[") // type arguments name other packages
			contained := func(text string) bool { return strings.Contains(name, text) }
			if i := slices.IndexFunc(layers, func(l layer) bool { return slices.ContainsFunc(l.functions, contained) }); i >= 0 {
				return i
			}
		}
	}
	return len(layers) - 1
}

// A rowProfile is the CPU profile of petstore in a run of a row.
type rowProfile struct {
	row      string
	requests int
	*profile.Profile
}

// layerTable returns the processor time of a request by layer in microseconds, as a table in Markdown with a column for each row.
func layerTable(profiles []rowProfile) string {
	var rows []string
	requests, used := map[string]int{}, map[string][]int64{} // by row; used has the nanoseconds of each layer, and of all
	for _, p := range profiles {
		if requests[p.row] == 0 {
			rows, used[p.row] = append(rows, p.row), make([]int64, len(layers)+1)
		}
		requests[p.row] += p.requests
		for _, s := range p.Sample {
			used[p.row][layerOf(s)] += s.Value[1]
			used[p.row][len(layers)] += s.Value[1]
		}
	}
	var table strings.Builder
	line := func(title string, cell func(row string) string) {
		table.WriteString("| " + title + " |")
		for _, row := range rows {
			table.WriteString(" " + cell(row) + " |")
		}
		table.WriteByte('\n')
	}
	line("layer", strings.NewReplacer("/store=", " ", "/load=64", "").Replace)
	table.WriteString("|" + strings.Repeat("---|", 1+len(rows)) + "\n")
	for i, l := range append(slices.Clone(layers), layer{name: "total"}) {
		line(l.name, func(row string) string { return fmt.Sprintf("%.1f", float64(used[row][i])/1000/float64(requests[row])) })
	}
	return table.String()
}
