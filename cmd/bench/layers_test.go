package main

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestLayerTableHasTheTimeOfARequest(t *testing.T) {
	t.Parallel()
	const (
		module  = "example.com/petstore/"
		server  = "net/http.(*conn).serve"
		handler = module + "delivery/http.(*API).mount.(*API).ginHandler.func4"
		gorm    = "gorm.io/gorm.(*DB).Raw"
		list    = module + "repository.reader[int64].page"
	)
	lists := sampled(
		sample(1000, "runtime.memmove", "bufio.(*Reader).Peek", server),                      // a library that the layer calls
		sample(3000, "runtime.mallocgc", module+"delivery/http.(*API).beginRequest", server), // the innermost of two layers
		sample(6000, module+"usecase.(*Keys).Authenticate", module+"delivery/http.(*API).mount.(*API).admit.func3", server),
		sample(4000, gorm+" "+list, module+"usecase.(*Pets).List", handler, server), // inlined functions
		sample(5000, "runtime.cgocall", "github.com/mattn/go-sqlite3._Cfunc__sqlite3_step_internal", gorm, list, handler, server),
		sample(7000, module+"delivery/http.serveQuery["+module+"internal/binding.X,"+module+"usecase.X]", handler, server), // type arguments
		sample(8000, "runtime.gcBgMarkWorker"),
		sample(9000), // without its functions
	)
	posts := sampled(sample(500, module+"internal/record.AppendRecords", module+"repository.(*collector).add", server))
	got := layerTable([]rowProfile{
		{"List/store=sqlite/load=64", 1, lists},
		{"Post/store=postgres/load=64", 4, posts},
		{"List/store=sqlite/load=64", 1, lists},
		{"List/store=sqlite/load=64", 2, sampled()},
	})
	want := `| layer | List sqlite | Post postgres |
|---|---|---|
| net/http and Gin | 0.5 | 0.0 |
| middleware | 1.5 | 0.0 |
| authentication | 3.0 | 0.0 |
| handler and page cache | 3.5 | 0.0 |
| binding | 0.0 | 0.0 |
| use case | 0.0 | 0.0 |
| repository | 2.0 | 0.0 |
| statement | 2.5 | 0.0 |
| encoding | 0.0 | 0.1 |
| response | 0.0 | 0.0 |
| runtime | 8.5 | 0.0 |
| total | 21.5 | 0.1 |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// sampled returns a CPU profile with samples.
func sampled(samples ...*profile.Sample) *profile.Profile { return &profile.Profile{Sample: samples} }

// sample returns a sample of some nanoseconds. It has a location for each frame, the innermost first. A frame names the functions
// that were inlined before the function that contains them, separated by spaces.
func sample(nanoseconds int64, frames ...string) *profile.Sample {
	s := &profile.Sample{Value: []int64{1, nanoseconds}}
	for _, frame := range frames {
		location := &profile.Location{}
		for name := range strings.SplitSeq(frame, " ") {
			location.Line = append(location.Line, profile.Line{Function: &profile.Function{Name: name}})
		}
		s.Location = append(s.Location, location)
	}
	return s
}
