package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzFile loads a file with any text. The settings are valid, or each problem names its key or
// the file, its source and a remedy, in one line.
func FuzzFile(f *testing.F) {
	example, err := os.ReadFile("petstore.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(example), "", "server:\n  address: :8080\n", "server: {address: [1, 2]}", "a: &a {b: *a}", "--- \n---\n", "server:\n  address: 1\n  address: 2\n",
		"database: {driver: postgres, dsn: 'postgres://u:secret@h/d'}", "rate_limit: {requests: -1, window: 1h1ms}", "cache: {max_bytes: 1e3}", "? [a]\n: b",
		"server: {trusted_proxies: [10.0.0.0/8, x]}", "log: {level: \"\x00\"}", "api: {get_pet_sunset: 2030-02-30}", "<<: {server: 1}", "!!binary x", "\xff",
	} {
		f.Add([]byte(seed))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(folder, "petstore.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Options{File: path})
		var invalid *InvalidError
		if err == nil {
			return
		}
		if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
			t.Fatalf("got %v, want an InvalidError with problems", err)
		}
		for _, p := range invalid.Problems {
			if p.Source == "" || p.Remedy == "" || strings.ContainsAny(p.where()+p.Remedy, "\n\x00\x1b") {
				t.Fatalf("got the problem %+q, want a source and a remedy in one line", p)
			}
		}
		if _, explained := Explain(Options{File: path}); explained == nil {
			t.Fatal("Explain finds no problem, Load does")
		}
	})
}
