package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSignalStopsCommandWhoseOutputBlocks(t *testing.T) {
	t.Parallel()
	for args, test := range map[string]struct{ written, stderr string }{
		"keys create --name n":      {"SELECT count(*) FROM api_keys", "petstore: the API key was created but not printed: the write is blocked: revoke it, "},
		"seed --count 1 --orders 0": {"SELECT count(*) FROM pets", "petstore: the work is done, but standard output could not be written (the write is blocked): added 1 animals and 0 orders in "},
		"seed --count 9000":         {"SELECT count(*) FROM pets", ""}, // its standard error blocks
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			dir := dirWithStore(t)
			_, pipe := fullPipe(t)
			cmd := commandWithTimeout(t, dir, strings.Fields(args)...)
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = pipe, &stderr
			if test.stderr == "" {
				cmd.Stdout, cmd.Stderr = nil, pipe
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, "the command has written to the store", func() bool { return queryInt(t, dir, test.written) > 0 })
			signalled := time.Now()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if took := time.Since(signalled); took > 4*time.Second || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("got %v after %s, stderr %q; want exit code 1 within 4s and %q", err, took, stderr.String(), test.stderr)
			}
		})
	}
}
