//go:build cgo

package cli

import (
	"context"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

// If the command failed, a script would create a second key.
func TestPrintedKeyIsNoErrorIfItsIDCannotBeRead(t *testing.T) {
	t.Parallel()
	store, err := repository.Open(t.Context(), sqlite.New(storePath(t.TempDir())), repository.Options{})
	check(t, err)
	defer func() { check(t, store.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as a signal after the key was created would do
	var stdout, stderr strings.Builder
	in := &invocation{Program: Program{Stdout: &stdout, Stderr: &stderr}}
	check(t, in.printKey(ctx, usecase.NewKeys(store, store.Keys(), usecase.Now), 0, "secret", nil))
	const want = "the id of the new API key is unknown ("
	if stdout.String() != "secret\n" || !strings.Contains(stderr.String(), want) {
		t.Errorf("got %q and on standard error %q, want the secret and %q", &stdout, &stderr, want)
	}
}
