package litestream

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestLitestreamReplicatesAcknowledgedWrites starts Litestream on the store of a server that
// clients write to, kills both, restores the replica, and compares it with the responses
// that the clients received. It is not parallel, because it measures times.
func TestLitestreamReplicatesAcknowledgedWrites(t *testing.T) {
	for _, restarted := range []string{"nothing", "Litestream", "the server"} {
		t.Run(restarted+" was restarted", func(t *testing.T) {
			dir, restored := t.TempDir(), t.TempDir()
			config := litestreamConfig(t, dir)
			s := harness.Start(t, dir)
			alone := writeFor(s, t, 3*time.Second, "alone", nothing)
			replicator := startLitestream(t, config)
			end := map[string]func(){"nothing": nothing, "Litestream": func() { kill(t, replicator) }, "the server": func() { kill(t, s.Cmd) }}
			both := writeFor(s, t, 4*time.Second, "both", end[restarted])
			switch restarted {
			case "Litestream":
				both = append(both, writeFor(s, t, time.Second, "stopped", nothing)...)
				replicator = startLitestream(t, config)
			case "the server":
				s = restart(t, dir, s.Key)
			}
			var killed time.Time
			both = append(both, writeFor(s, t, 4*time.Second, "again", func() {
				killed = time.Now()
				kill(t, s.Cmd)
				kill(t, replicator)
			})...)
			t.Logf("p99 of a write without Litestream %v, with it %v; the WAL has %d MiB", p99(alone), p99(both), fileSize(t, harness.StorePath(dir)+"-wal")>>20)

			restore := litestream(t, "restore", "-config", config, "-integrity-check", "full", "-o", harness.StorePath(restored), harness.StorePath(dir))
			if output, err := restore.CombinedOutput(); err != nil {
				t.Fatalf("restore: %v\n%s\n%s", err, output, replicator.Stdout)
			}
			wantWrites(t, restored, killed, slices.Concat(alone, both))
			wantRetry(restart(t, restored, s.Key), t, alone)
		})
	}
}

func nothing() {}

// restart starts a server in dir, whose store has the key.
func restart(t *testing.T, dir, key string) *harness.Server {
	t.Helper()
	s := harness.Start(t, dir)
	s.Key = key
	return s
}

// litestreamConfig writes docs/deploy/litestream.yml with the store in dir and a replica in
// a temporary directory, and returns the path of the file.
func litestreamConfig(t *testing.T, dir string) string {
	t.Helper()
	text := strings.NewReplacer(
		"path: /var/lib/petstore/petstore.db", "path: "+harness.StorePath(dir),
		"path: /var/backups/petstore-litestream", "path: "+t.TempDir(),
	).Replace(harness.ReadFile(t, "../../docs/deploy/litestream.yml"))
	path := filepath.Join(t.TempDir(), "litestream.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startLitestream starts to replicate. The process is killed at the end of the test.
func startLitestream(t *testing.T, config string) *exec.Cmd {
	t.Helper()
	cmd := litestream(t, "replicate", "-config", config)
	cmd.Stdout = &harness.Buffer{}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// litestream returns a command of the program that make deps installs it.
func litestream(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), "../../bin/litestream", args...)
}

// kill kills a running process and waits until it has exited.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
