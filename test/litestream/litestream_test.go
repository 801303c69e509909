package litestream

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

// maxLoss is how long before the kill a write must have been acknowledged to be in the
// replica. docs/deploy/litestream.yml copies every second.
const maxLoss = 5 * time.Second

// TestLitestreamReplicatesAcknowledgedWrites starts Litestream on the store of a server that
// clients write to, kills both, restores the replica, and compares it with the responses
// that the clients received. It is not parallel, because it measures times.
func TestLitestreamReplicatesAcknowledgedWrites(t *testing.T) {
	for _, restarted := range []string{"nothing", "Litestream", "the server"} {
		t.Run(restarted+" was restarted", func(t *testing.T) {
			dir, restored := t.TempDir(), t.TempDir()
			config := litestreamConfig(t, dir)
			s := harness.Start(t, dir)
			rex := func(s *harness.Server) string {
				status, body, err := s.Post(t.Context(), harness.PetBody("Rex"), "Idempotency-Key", "rex")
				if err != nil || status != http.StatusCreated {
					t.Fatal(status, body, err)
				}
				return body
			}
			added, key := rex(s), s.Key
			replicator := startLitestream(t, config)
			var url atomic.Value
			url.Store(s.URL)
			book := ledger.New()
			c := ledger.NewClients(book, "", key)
			c.Uncertain, c.URL = true, func() string { return url.Load().(string) }
			stop := c.Start(t.Context(), 16)
			defer stop()
			wantWrites := func() {
				t.Helper()
				start := time.Now()
				harness.Eventually(t, "writes are acknowledged", func() bool { return len(book.Writes(start)) > 500 })
			}
			wantWrites()
			switch restarted {
			case "Litestream":
				kill(t, replicator)
				wantWrites()
				replicator = startLitestream(t, config)
			case "the server":
				s.Kill()
				s = harness.Start(t, dir)
				url.Store(s.URL)
			}
			wantWrites()
			const mayBeLost = 1 // the period
			book.Begin("before the kill")
			<-time.After(maxLoss)
			s.Kill()
			kill(t, replicator)
			stop() // the outcome of some writes stays unknown

			restore := litestream(t, "restore", "-config", config, "-integrity-check", "full", "-o", harness.StorePath(restored), harness.StorePath(dir))
			if output, err := restore.CombinedOutput(); err != nil {
				t.Fatalf("restore: %v\n%s\n%s", err, output, replicator.Stdout)
			}
			again := harness.Start(t, restored)
			again.Key = key
			if got := rex(again); got != added {
				t.Errorf("the retry of a request: got %s, want %s", got, added)
			}
			again.Stop(t)
			db := harness.OpenSQLite(t, harness.StorePath(restored))
			if _, err := db.ExecContext(t.Context(), "DELETE FROM pets WHERE name = 'Rex'"); err != nil { // which no writer added
				t.Fatal(err)
			}
			results, err := book.Check(t.Context(), db, ledger.AtTheEnd)
			harness.Check(t, err)
			t.Logf("%d of %d writes that were acknowledged in the last %v before the kill are lost", len(results[mayBeLost].Lost), results[mayBeLost].Acknowledged, maxLoss)
			results[mayBeLost].Lost = nil
			for _, r := range results {
				if err := r.Err(); err != nil {
					t.Error(err)
				}
			}
		})
	}
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
	harness.Check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// startLitestream starts to replicate. The process is killed at the end of the test.
func startLitestream(t *testing.T, config string) *exec.Cmd {
	t.Helper()
	cmd := litestream(t, "replicate", "-config", config)
	cmd.Stdout = &harness.Buffer{}
	cmd.Stderr = cmd.Stdout
	harness.Check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// install installs the version of Litestream that docs/deploy/litestream.yml names in bin.
var install = sync.OnceValues(func() (path string, err error) {
	text, err := os.ReadFile("../../docs/deploy/litestream.yml")
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs("../../bin")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "install", regexp.MustCompile(`github\.com/benbjohnson/litestream/cmd/litestream@\S+`).FindString(string(text)))
	cmd.Env = append(os.Environ(), "GOBIN="+folder)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd, err, output)
	}
	return filepath.Join(folder, "litestream"), nil
})

// litestream returns a command of Litestream.
func litestream(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := install()
	harness.Check(t, err)
	return exec.CommandContext(t.Context(), path, args...)
}

// kill kills a running process and waits until it has exited.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}
