//go:build cgo

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

func TestRestoreSaysWhetherItCanGoBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := storePath(dir) + ".replaced-1"
	store, err := repository.Open(t.Context(), sqlite.New(kept), repository.Options{})
	if err == nil {
		err = store.Close()
	}
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // by a signal after the store was replaced
	want := "\nkept " + kept + "\nto go back, run petstore restore " + kept
	if got := describeKept(ctx, storePath(dir), []string{kept}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	check(t, os.Truncate(kept, 20_000))
	want = fmt.Sprintf("\nkept %s\nrestore would reject it: verify %[1]s: the database is damaged", kept)
	if got := describeKept(ctx, storePath(dir), []string{kept}); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}
