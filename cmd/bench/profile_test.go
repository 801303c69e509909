package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestProfilesOfAllRunsAreMerged(t *testing.T) {
	t.Parallel()
	var encoded bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&encoded, 0); err != nil {
		t.Fatal(err)
	}
	var requested []string
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.String())
		_, _ = w.Write(encoded.Bytes())
	}))
	defer admin.Close()
	h := &harness{duration: 2 * time.Second}
	for _, s := range []*process{{admin: admin.URL}, {}, {admin: admin.URL}} {
		if err := <-h.profile(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if len(requested) != 2 || requested[0] != "/debug/pprof/profile?seconds=2" {
		t.Errorf("requested %v, want two profiles of a run", requested)
	}
	file := filepath.Join(t.TempDir(), "all.pgo")
	if err := h.writeProfile(file); err != nil {
		t.Fatal(err)
	}
	one, err := profile.ParseData(encoded.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := profile.ParseData(written)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := total(one), total(all); a == 0 || b != 2*a {
		t.Errorf("all profiles count %d, one %d", b, a)
	}
	for _, m := range all.Mapping {
		if m.File != filepath.Base(m.File) {
			t.Errorf("the profile contains the folder of the program: %s", m.File)
		}
	}
}

func total(p *profile.Profile) (sum int64) {
	for _, sample := range p.Sample {
		sum += sample.Value[0]
	}
	return sum
}
