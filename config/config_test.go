package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"example.com/petstore/internal/test/testkit"
)

func TestExampleFileDescribesEverySettingInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("petstore.example.yaml")
	check(t, err)
	var document yaml.Node
	check(t, yaml.Unmarshal(text, &document))
	var got []string
	for section := range slices.Chunk(document.Content[0].Content, 2) {
		commented := 0 // the line of the previous setting; a setting on the next line shares its comment
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

// defaults returns the values of the example file, which has every setting.
func defaults(t *testing.T) Config {
	t.Helper()
	c, err := Load(Options{File: "petstore.example.yaml"})
	check(t, err)
	return c
}

func TestMain(m *testing.M) {
	for _, entry := range os.Environ() { // remove the settings of the environment of the tests
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PETSTORE_") {
			_ = os.Unsetenv(name) // fails only for an invalid name
		}
	}
	os.Exit(m.Run())
}

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

func wantDefaults(t *testing.T, o Options) {
	t.Helper()
	wantConfig(t, defaults(t), o)
}

func wantConfig(t *testing.T, want Config, o Options) {
	t.Helper()
	got, err := Load(o)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "petstore.yaml"), text)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

var check = testkit.Check
