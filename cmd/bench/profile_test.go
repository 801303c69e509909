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

func TestProfilesOfAllTurnsAreOne(t *testing.T) {
	t.Parallel()
	var encoded bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&encoded, 0); err != nil {
		t.Fatal(err)
	}
	var asked []string
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = w.Write(encoded.Bytes())
	}))
	defer admin.Close()
	l := &lab{duration: 2 * time.Second}
	for _, s := range []*server{{admin: admin.URL}, {}, {admin: admin.URL}} {
		if err := <-l.profile(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 2 || asked[0] != "/debug/pprof/profile?seconds=2" {
		t.Errorf("asked for %v, want two profiles of a turn", asked)
	}
	file := filepath.Join(t.TempDir(), "all.pgo")
	if err := l.writeProfile(file); err != nil {
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
			t.Errorf("the profile tells that the program stood in %s", m.File)
		}
	}
}

func total(p *profile.Profile) (sum int64) {
	for _, sample := range p.Sample {
		sum += sample.Value[0]
	}
	return sum
}
