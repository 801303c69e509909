package postgres

import (
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestKilledCopyToPostgresAndBackBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	harness.WriteFile(t, dir, "dsn", newPostgresDSN(t)+"\n")
	var tables []string
	for _, flags := range [][]string{{"--to-file", "dsn"}, {"--from-file", "dsn", "--to", "back.db"}} {
		for lines := 1; lines < 6; lines += 2 {
			cmd, stderr, ended := harness.StartCopy(t, dir, lines, flags...)
			_ = cmd.Process.Kill()
			if err := <-ended; err == nil || strings.Contains(stderr.String(), "petstore:") {
				t.Errorf("copy %v: got %v and stderr %q, want it killed", flags, err, stderr)
			}
		}
		stdout := harness.MustRun(t, dir, append([]string{"copy"}, flags...)...)
		if _, copied, _ := strings.Cut(stdout, "\n"); strings.HasPrefix(copied, "pets: 40000 rows, SHA-256 ") && !strings.Contains(stdout, "hunter2") {
			tables = append(tables, copied)
		}
	}
	if len(tables) != 2 || tables[0] != tables[1] {
		t.Errorf("got the tables %q, want the same twice, and no password", tables)
	}
	harness.WantSameExports(t, dir, "back.db")
}
