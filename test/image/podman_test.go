package image

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// A podman is the options of podman for a storage of its own.
type podman []string

// newPodman returns a podman with a storage in a temporary directory, whose containers and
// images are removed at the end of the test.
func newPodman(t *testing.T) podman {
	t.Helper()
	dir, err := os.MkdirTemp("", "p") //nolint:usetesting // --runroot has at most 50 characters
	harness.Check(t, err)
	p := podman{"--root", dir + "/root", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp", "--runtime", "runc"}
	t.Cleanup(func() {
		for _, args := range [][]string{{"rm", "--all", "--force", "--volumes", "--time", "0"}, {"volume", "rm", "--all", "--force"}, {"rmi", "--all", "--force"}} {
			cleanup := exec.CommandContext(context.WithoutCancel(t.Context()), "podman", slices.Concat(p, args)...)
			if output, err := cleanup.CombinedOutput(); err != nil {
				t.Errorf("podman %v: %v %s", args, err, output)
			}
		}
		harness.Check(t, os.RemoveAll(dir))
	})
	return p
}

// buildImage runs make image.
func (p podman) buildImage(t *testing.T) {
	t.Helper()
	engine := "ENGINE=podman " + strings.Join(p, " ")
	build := exec.CommandContext(t.Context(), "make", "-C", "../..", "image", "VERSION=v0.0.1", "COMMIT=abc", engine)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, output)
	}
}

// command returns a command of podman. A container uses the network of the host, and limits
// that no host has to raise.
func (p podman) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if args[0] == "run" {
		args = slices.Insert(args, 1, "--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
	}
	return exec.CommandContext(t.Context(), "podman", slices.Concat(p, args)...)
}

// run runs a command of podman and returns its standard output. It fails the test unless
// podman exits with 0.
func (p podman) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := p.command(t, args...)
	cmd.Stderr = t.Output()
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("podman %v: %v (make deps installs it)", args, err)
	}
	return string(stdout)
}

// log returns what the container petstore has written to standard error.
func (p podman) log(t *testing.T) string {
	t.Helper()
	output, err := p.command(t, "logs", "petstore").CombinedOutput()
	if err != nil {
		t.Fatalf("podman logs: %v %s", err, output)
	}
	return string(output)
}

// waitUntilServing waits until the container petstore serves requests, and returns its URL.
func (p podman) waitUntilServing(t *testing.T) (url string) {
	t.Helper()
	pattern := regexp.MustCompile(`"msg":"serving",.*"address":"([^"]+)"`)
	harness.Eventually(t, "the container serves", func() bool {
		found := pattern.FindStringSubmatch(p.log(t))
		if found != nil {
			url = "http://" + found[1]
		}
		return found != nil
	})
	return url
}

// documentedPodmanCommand returns a command of docs/operations.md, with a free port of the
// host instead of the published one, and without the folders for temporary files that
// podman adds, but docker does not.
func documentedPodmanCommand(t *testing.T, name string) []string {
	t.Helper()
	command := regexp.MustCompile(`(?m)^podman (` + name + ` .*)$`).FindStringSubmatch(harness.ReadFile(t, "../../docs/operations.md"))
	if command == nil {
		t.Fatalf("docs/operations.md has no podman %s", name)
	}
	return strings.Fields(strings.NewReplacer(
		"--publish 8080:8080", "--env PETSTORE_SERVER_ADDRESS=127.0.0.1:0 --env PETSTORE_ADMIN_ADDRESS=",
		"--read-only", "--read-only --read-only-tmpfs=false",
	).Replace(command[1]))
}
