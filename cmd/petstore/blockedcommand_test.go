package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSecondSignalEndsCommandWhoseOutputBlocks(t *testing.T) {
	t.Parallel()
	for args, written := range map[string]string{
		"keys create --name n":      "SELECT count(*) FROM api_keys",
		"seed --count 1 --orders 0": "SELECT count(*) FROM pets",
		"seed --count 9000":         "SELECT count(*) FROM pets", // its standard error blocks
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			dir := dirWithStore(t)
			_, pipe := fullPipe(t)
			cmd := commandWithTimeout(t, dir, strings.Fields(args)...)
			cmd.Stdout, cmd.Stderr = pipe, pipe
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, "the command has written to the store", func() bool { return queryInt(t, dir, written) > 0 })
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			var err error
			waitUntil(t, "a signal has ended the command", func() bool {
				_ = cmd.Process.Signal(syscall.SIGTERM) // a later one than the second if that came too early
				select {
				case err = <-ended:
					return true
				case <-time.After(100 * time.Millisecond):
					return false
				}
			})
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
				t.Errorf("got %v, want that the signal ended the process", err)
			}
		})
	}
}
