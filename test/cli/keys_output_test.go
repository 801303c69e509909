package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

func TestKeyIsNotCreatedIfStandardOutputIsNull(t *testing.T) {
	t.Parallel()
	for _, redirection := range []string{">&-", ">/dev/null"} {
		dir := harness.NewStore(t)
		for _, args := range []string{"keys create --name n", "keys rotate 1", "serve --first-key"} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			cmd := harness.CommandAfter(ctx, dir, "exec "+redirection, strings.Fields(args)...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Run(); err == nil || !strings.HasPrefix(errs.String(), "petstore: standard output is closed or /dev/null") {
				t.Errorf("%s %s: got %v, %q; want the error", args, redirection, err, errs.String())
			}
		}
		if n := harness.QueryInt(t, dir, "SELECT count(*) FROM api_keys"); n != 0 {
			t.Errorf("got %d keys in the store, want none", n)
		}
	}
}
