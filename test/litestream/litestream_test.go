package litestream

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

// maxLoss is the greatest age of writes that may be missing in the replica after the kill. Every write that was
// acknowledged earlier must be there. docs/deploy/litestream.yml copies every second.
const maxLoss = 5 * time.Second

// TestLitestreamReplicatesAcknowledgedWrites starts Litestream on the store of a server while clients
// write. It kills both, restores the replica, and looks for the animals whose responses the clients have
// received. It is not parallel, because it measures times.
func TestLitestreamReplicatesAcknowledgedWrites(t *testing.T) {
	for _, restarted := range []string{"nothing", "Litestream", "the server"} {
		t.Run(restarted+" was restarted", func(t *testing.T) {
			dir, restored := t.TempDir(), t.TempDir()
			config, address := litestreamConfig(t, dir), harness.FreeAddress(t)
			serve := func() *harness.Server { return harness.Start(t, dir, "--set", "server.address="+address) }
			replicate := func() *harness.Server {
				cmd := litestream(t, "replicate", "-config", config)
				cmd.Stderr = &harness.Buffer{}
				cmd.Stdout = cmd.Stderr
				return harness.Launch(t, cmd, "")
			}
			s, replicator := serve(), replicate()
			history, url := linearizability.NewHistory(), s.URL
			history.Uncertain = true
			c := &linearizability.Clients{History: history, URLs: []func() string{func() string { return url }}, Keys: []string{s.Key}}
			stop := c.Start(t.Context(), 16)
			defer stop()
			wantWrites := func() {
				t.Helper()
				start := time.Now()
				testkit.WaitUntil(t, "writes are acknowledged", func() bool { return len(history.Since(start).Acknowledged(false)) > 500 })
			}
			wantWrites()
			switch restarted {
			case "Litestream":
				replicator.Kill()
				wantWrites()
				replicator = replicate()
			case "the server":
				s.Kill()
				s = serve()
			}
			wantWrites()
			mustBeThere := linearizability.Monotonic()
			<-time.After(maxLoss)
			s.Kill()
			replicator.Kill()
			stop() // the outcome of some writes stays unknown

			restore := litestream(t, "restore", "-config", config, "-integrity-check", "full", "-o", harness.StorePath(restored),
				harness.StorePath(dir))
			if output, err := restore.CombinedOutput(); err != nil {
				t.Fatalf("restore: %v\n%s\n%s", err, output, replicator.Log)
			}
			harness.Start(t, restored).Stop(t)
			lost, err := history.Lost(t.Context(), harness.OpenSQLite(t, harness.StorePath(restored)), mustBeThere)
			testkit.Equal(t, "acknowledged animals that are not there", 0, lost, err)
		})
	}
}

// litestreamConfig writes docs/deploy/litestream.yml with the store in dir and a replica in a temporary
// directory. It returns the path of the file.
func litestreamConfig(t *testing.T, dir string) string {
	t.Helper()
	text := strings.NewReplacer(
		"path: /var/lib/petstore/petstore.db", "path: "+harness.StorePath(dir),
		"path: /var/backups/petstore-litestream", "path: "+t.TempDir(),
	).Replace(harness.ReadFile(t, "../../docs/deploy/litestream.yml"))
	folder := t.TempDir()
	harness.WriteFile(t, folder, "litestream.yml", text)
	return filepath.Join(folder, "litestream.yml")
}

// litestream returns a command of Litestream, of the version in docs/deploy/litestream.yml. It does not use
// go run, which does not pass signals on.
func litestream(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	folder, err := filepath.Abs("../../bin")
	testkit.Check(t, err)
	module := regexp.MustCompile(`github\.com/benbjohnson/litestream/cmd/litestream@\S+`).FindString(
		harness.ReadFile(t, "../../docs/deploy/litestream.yml"))
	harness.Shell(t, folder, "go install "+module, "GOBIN="+folder)
	return exec.CommandContext(t.Context(), filepath.Join(folder, "litestream"), args...)
}
