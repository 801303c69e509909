package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplainReturnsEachSettingWithItsSource(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "server:\n  idle_timeout: 120s\n  trusted_proxies: [10.0.0.0/8, \"::1\"]\nlog: {level: \"warn\"}")
	got := explain(t, Options{
		File:      path,
		Environ:   []string{"PETSTORE_RATE_LIMIT_REQUESTS=5", "PETSTORE_ADMIN_ADDRESS="},
		Overrides: map[string]string{"docs.enabled": "false", "database.dsn": "other.db"},
	})
	for _, want := range []Value{
		{"server.address", "127.0.0.1:8080", "default"},
		{"server.idle_timeout", "120s", path + ":2"},
		{"server.trusted_proxies", "10.0.0.0/8,::1", path + ":3"},
		{"server.tls_key_file", "", "default"},
		{"admin.address", "", "PETSTORE_ADMIN_ADDRESS"},
		{"database.max_open_conns", "4", "default"},
		{"database.dsn", "(hidden)", "command line"},
		{"auth.bootstrap_key", "", "default"},
		{"cache.max_bytes", "16777216", "default"},
		{"rate_limit.requests", "5", "PETSTORE_RATE_LIMIT_REQUESTS"},
		{"api.get_pet_sunset", "2030-12-05T00:00:00Z", "default"},
		{"docs.enabled", "false", "command line"},
		{"log.level", "warn", path + ":4"},
	} {
		if got[want.Key] != want {
			t.Errorf("got %v, want %v", got[want.Key], want)
		}
	}
}

func TestExplainReturnsEverySettingInOrder(t *testing.T) {
	t.Parallel()
	values, err := Explain(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, value := range values {
		got = append(got, value.Key)
	}
	if diff := cmp.Diff(Keys(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoadAcceptsExplainedValues(t *testing.T) {
	t.Parallel()
	overrides := map[string]string{}
	for key, value := range explain(t, Options{}) {
		overrides[key] = value.Text
	}
	wantDefaults(t, Options{Overrides: overrides})
}

func TestExplainHidesSecrets(t *testing.T) {
	t.Parallel()
	key := "petstore_" + strings.Repeat("hunter2", 7)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, options := range []Options{
		{Environ: []string{"PETSTORE_AUTH_BOOTSTRAP_KEY=" + key}},
		{Environ: []string{"PETSTORE_AUTH_BOOTSTRAP_KEY_FILE=" + file}},
		{Overrides: map[string]string{"auth.bootstrap_key": key}},
		{Overrides: map[string]string{"auth.bootstrap_key": "hunter2"}},
		{Overrides: map[string]string{"server.production_url": "https://pets:hunter2@example.com"}},
		{Overrides: map[string]string{"server.tls_cert_file": "https://pets:hunter2@example.com"}},
		{File: writeConfig(t, "auth:\n  bootstrap_key: "+key)},
	} {
		values, _ := Explain(options)
		for _, value := range values {
			if strings.Contains(value.Text, "hunter2") || strings.Contains(value.Source, "hunter2") {
				t.Errorf("the value contains the secret: %v", value)
			}
		}
	}
}

func TestExplainReturnsValuesWithProblems(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "server: {read_timeout: 10}")
	values, err := Explain(Options{File: path, Overrides: map[string]string{"log.level": "loud", "no.such": "x"}})
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || len(invalid.Problems) != 3 {
		t.Errorf("got %v, want three problems", err)
	}
	got := map[string]Value{}
	for _, value := range values {
		got[value.Key] = value
	}
	for _, want := range []Value{
		{"server.read_timeout", "(invalid)", path + ":1"},
		{"log.level", "(invalid)", "command line"},
		{"log.format", "json", "default"},
	} {
		if got[want.Key] != want {
			t.Errorf("got %v, want %v", got[want.Key], want)
		}
	}
}

func explain(t *testing.T, o Options) map[string]Value {
	t.Helper()
	values, err := Explain(o)
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]Value{}
	for _, value := range values {
		byKey[value.Key] = value
	}
	return byKey
}
