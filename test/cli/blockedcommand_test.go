package cli

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
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
			dir := harness.NewStore(t)
			_, pipe := harness.FullPipe(t)
			cmd := harness.CommandWithTimeout(t, dir, strings.Fields(args)...)
			cmd.Stdout, cmd.Stderr = pipe, pipe
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, "the command has written to the store", func() bool { return harness.QueryInt(t, dir, written) > 0 })
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			var err error
			harness.Eventually(t, "a signal has ended the command", func() bool {
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
