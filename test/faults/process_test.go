package faults

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// A server is a running petstore serve.
type server struct {
	*harness.Server
	admin string        // the URL of the admin listener
	ready time.Duration // from the start of the process until /readyz was 200
}

// petstore returns a command that runs petstore in a folder, with additional environment
// variables.
func petstore(t *testing.T, folder string, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := harness.Command(context.WithoutCancel(t.Context()), folder, args...)
	cmd.Env = append(append(cmd.Env, "PETSTORE_ADMIN_ADDRESS=127.0.0.1:0"), environ...)
	return cmd
}

// start starts a server in a folder and waits until it is ready. key is that of an earlier
// server on the store. The process is killed when the test ends.
func start(t *testing.T, folder, key string, environ ...string) *server {
	t.Helper()
	cmd := petstore(t, folder, environ, "serve", "--first-key")
	cmd.Stderr = &harness.Buffer{WithoutAccessLog: true}
	begun := time.Now()
	s := &server{Server: harness.StartCommand(t, cmd)}
	if key != "" {
		s.Key = key
	}
	harness.EventuallyWithin(t, 30*time.Second, "the server is ready", func() bool { return s.IsReady(t.Context()) })
	s.ready = time.Since(begun)
	s.admin = s.AdminURL(t)
	return s
}
