package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
)

func TestExampleFileHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{File: "petstore.example.yaml"})
}

func TestExampleFileDescribesEverySettingInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("petstore.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var got []string
	for section := range slices.Chunk(document.Content[0].Content, 2) {
		commented := 0 // the last line that belongs to a comment: no blank line precedes it
		for pair := range slices.Chunk(section[1].Content, 2) {
			key := section[0].Value + "." + pair[0].Value
			got = append(got, key)
			if pair[0].HeadComment == "" && pair[0].Line != commented+1 {
				t.Errorf("%s has no comment", key)
			}
			commented = pair[0].Line
		}
	}
	if diff := cmp.Diff(Keys(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func defaults() (c Config) {
	c.Server = Server{
		Address:           "127.0.0.1:8080",
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		RequestTimeout:    10 * time.Second,
		ShutdownTimeout:   20 * time.Second,
	}
	c.Admin.Address = "127.0.0.1:9090"
	c.Database = Database{Driver: "sqlite", DSN: "petstore.db", MaxOpenConns: 4, Migrate: true}
	c.Cache.MaxBytes = 16 << 20
	c.Changes.Retention, c.Changes.StreamsPerKey = 7*24*time.Hour, 10
	c.RateLimit.Window = time.Minute
	c.Docs.Enabled = true
	c.Log = Log{Level: "info", Format: "json"}
	return c
}

func TestMain(m *testing.M) {
	for _, entry := range os.Environ() { // the settings of the caller
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PETSTORE_") {
			_ = os.Unsetenv(name) // fails only for an invalid name
		}
	}
	os.Exit(m.Run())
}

// checkProblems compares the problems that Load returns with want.
func checkProblems(t *testing.T, options Options, want ...string) {
	t.Helper()
	_, err := Load(options)
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	if diff := cmp.Diff(want, invalid.Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// wantDefaults expects Load to return the defaults of all settings.
func wantDefaults(t *testing.T, o Options) {
	t.Helper()
	got, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// writeConfig writes a YAML file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "petstore.yaml"), text)
}

// write writes a file and returns its path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
