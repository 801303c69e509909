//go:build cgo

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/sqlite"
)

func TestErrorOfTheStoreNamesCauseAndRemedy(t *testing.T) {
	t.Parallel()
	busy := domain.Unavailable(fmt.Errorf("begin: %w", sqlite3.Error{Code: sqlite3.ErrBusy}))
	const locked = "the store pets.db: it is locked by another process: stop that process, then try again"
	for _, test := range []struct {
		err  error
		want string
	}{
		{busy, locked},
		{fmt.Errorf("keys: %w", busy), locked},
		{interruptedOr(t.Context(), busy, "added 1 of 2 animals"), locked + ": added 1 of 2 animals"},
		{domain.Unavailable(errors.New("unknown")), "the store pets.db: unknown"},
		{domain.Unavailable(context.Canceled), "interrupted"},
		{interruptedOr(t.Context(), errors.New("write: failed"), "incomplete"), "write: failed: incomplete"},
		{domain.PetNotFound(1), domain.PetNotFound(1).Error()},
	} {
		if got := storeError(test.err, sqlite.New("pets.db")); got.Error() != test.want {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
	if err := storeError(nil, sqlite.New("pets.db")); err != nil {
		t.Errorf("got %v for no error", err)
	}
}

// run runs a command that must succeed, and returns its output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var output, failure strings.Builder
	if code := Run(t.Context(), Program{Args: args, Stdout: &output, Stderr: &failure}); code != 0 {
		t.Fatalf("%v: got code %d: %s", args, code, failure.String())
	}
	return output.String()
}

func TestCommandIsTheCallerOfItsChanges(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, pets := "database.dsn="+filepath.Join(folder, "pets.db"), filepath.Join(folder, "pets.ndjson")
	check(t, os.WriteFile(pets, []byte(`{"name":"Rex","categoryId":7}`+"\n"), 0o600))
	run(t, "migrate", "up", "--set", store)
	run(t, "import", pets, "--set", store)
	run(t, "seed", "--count", "1", "--orders", "0", "--set", store)
	changes := run(t, "export", "--type", "changes", "-", "--set", store)
	for i, line := range strings.Split(strings.TrimSpace(changes), "\n") {
		caller := []string{"command:import", "command:seed"}[min(i, 1)]
		if !strings.Contains(line, `"type":"pet.added"`) || !strings.Contains(line, `"caller":"`+caller+`","pet":{"id":`) {
			t.Errorf("got the change %s, want that %s has added an animal", line, caller)
		}
	}
	testkit.Equal(t, "the number of changes", 2, strings.Count(changes, "\n"))
}
