package harness

import (
	"os/exec"
	"strings"
	"testing"
)

// StartUntil starts a command and waits until a condition of what it has written to standard error
// holds, or until it has ended.
func StartUntil(t *testing.T, cmd *exec.Cmd, description string, condition func(stderr string) bool) (stderr *Buffer, ended <-chan error) {
	t.Helper()
	stderr = &Buffer{}
	cmd.Stderr = stderr
	Check(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	Eventually(t, description, func() bool { return len(done) > 0 || condition(stderr.String()) })
	return stderr, done
}

// StartCopy starts petstore copy with flags and waits until it has written n lines of progress,
// or has ended.
func StartCopy(t *testing.T, dir string, n int, flags ...string) (cmd *exec.Cmd, stderr *Buffer, ended <-chan error) {
	t.Helper()
	cmd = Command(t.Context(), dir, append([]string{"copy"}, flags...)...)
	stderr, ended = StartUntil(t, cmd, "rows are copied", func(progress string) bool { return strings.Count(progress, "\n") >= n })
	return cmd, stderr, ended
}

// WantSameExports expects the same animals and orders in the default store in dir and in the
// one in file.
func WantSameExports(t *testing.T, dir, file string) {
	t.Helper()
	for _, records := range []string{"pets", "orders"} {
		want, _, _ := Run(t, dir, "export", "--format", "csv", "--type", records)
		got, stderr, code := Run(t, dir, "export", "--format", "csv", "--type", records, "--set", "database.dsn="+file)
		if code != 0 || got != want || strings.Count(got, "\n") < 2 {
			t.Errorf("export of %s: got code %d, %d bytes, stderr %q; want the %d bytes of the source", records, code, len(got), stderr, len(want))
		}
	}
}
