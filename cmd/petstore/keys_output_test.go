package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

func TestKeyIsNotCreatedIfStandardOutputIsNull(t *testing.T) {
	t.Parallel()
	for _, redirection := range []string{">&-", ">/dev/null"} {
		dir := dirWithStore(t)
		for _, args := range []string{"keys create --name n", "keys rotate 1", "serve --first-key"} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			cmd := commandAfter(ctx, dir, "exec "+redirection, strings.Fields(args)...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Run(); err == nil || !strings.HasPrefix(errs.String(), "petstore: standard output is closed or /dev/null") {
				t.Errorf("%s %s: got %v, %q; want the error", args, redirection, err, errs.String())
			}
		}
		if n := queryInt(t, dir, "SELECT count(*) FROM api_keys"); n != 0 {
			t.Errorf("got %d keys in the store, want none", n)
		}
	}
}

// brokenPipe returns the write end of a pipe whose read end is closed.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	return writer
}
