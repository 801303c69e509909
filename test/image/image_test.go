package image

import (
	"context"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// TestImage builds the image with make image, in a storage of its own, and runs it.
func TestImage(t *testing.T) {
	p := newPodman(t)
	build := exec.CommandContext(t.Context(), "make", "-C", "../..", "image", "VERSION=v0.0.1", "COMMIT=abc", "ENGINE=podman "+strings.Join(p, " "))
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, output)
	}
	t.Run("contains the program, certificates and licenses only", func(t *testing.T) { wantImageFiles(t, p) })
	t.Run("has the size that the README names", func(t *testing.T) { wantImageSize(t, p) })
	t.Run("has the version of the build", func(t *testing.T) {
		want := "petstore v0.0.1 (commit abc, " + runtime.Version() + ")\n"
		if got := p.run(t, "run", "--rm", "petstore", "version"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("keeps the store in its volume", func(t *testing.T) { wantStoreInVolume(t, p) })
}

// wantImageFiles expects that the image contains the files of make image and no others, and
// that its user owns the folder of the store.
func wantImageFiles(t *testing.T, p podman) {
	dir := t.TempDir()
	p.run(t, "export", "--output", dir+"/image.tar", strings.TrimSpace(p.run(t, "create", "petstore")))
	got := harness.Shell(t, dir, "mkdir image && tar -xf image.tar -C image && cd image && find . ! -type d | sort")
	if want := "./etc/ssl/certs/ca-certificates.crt\n./licenses.txt\n./petstore\n"; got != want {
		t.Errorf("the image contains %s, want the files of make image", got)
	}
	for name, source := range map[string]string{
		"petstore": "../../bin/image/petstore", "licenses.txt": "../../bin/image/licenses.txt",
		"etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt",
	} {
		if harness.ReadFile(t, filepath.Join(dir, "image", name)) != harness.ReadFile(t, source) {
			t.Errorf("the image has another %s than %s", name, source)
		}
	}
	if data := harness.Shell(t, dir, "tar -tvf image.tar --numeric-owner data/"); !strings.Contains(data, " 65532/65532 ") {
		t.Errorf("got %s, want /data of the user 65532", data)
	}
	licenses := harness.ReadFile(t, filepath.Join(dir, "image", "licenses.txt"))
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+)` \\|").FindAllStringSubmatch(harness.ReadFile(t, "../../docs/licenses.md"), -1) {
		if _, text, found := strings.Cut(licenses, "=== "+row[1]+" ===\n\n"); !found || strings.HasPrefix(text, "\n\n===") {
			t.Errorf("licenses.txt does not contain the license of %s", row[1])
		}
	}
}

func wantImageSize(t *testing.T, p podman) {
	documented := regexp.MustCompile(`\((\d+) MB\)`).FindStringSubmatch(harness.ReadFile(t, "../../README.md"))
	if documented == nil {
		t.Fatal("the README names no size")
	}
	megabytes, _ := strconv.ParseFloat(documented[1], 64)
	size, err := strconv.ParseFloat(strings.TrimSpace(p.run(t, "image", "inspect", "--format", "{{.Size}}", "petstore")), 64)
	if err != nil || math.Abs(size/1e6-megabytes) > megabytes/10 {
		t.Errorf("the image has %.0f bytes, %v; the README says %s", size, err, documented[0])
	}
}

// wantStoreInVolume runs the commands of docs/operations.md, uses the API and imports from
// standard input, stops and removes the container, and starts another on the same volume.
func wantStoreInVolume(t *testing.T, p podman) {
	run, createKey := documentedPodmanCommand(t, "run"), documentedPodmanCommand(t, "exec")
	p.run(t, run...)
	s := &harness.Server{URL: p.waitUntilServing(t)}
	s.Key = harness.KeyPattern.FindString(p.run(t, createKey...))
	s.AddPet(t, "Rex")
	p.run(t, "healthcheck", "run", "petstore") // runs the HEALTHCHECK of the image; fails if the service is not ready
	importTom := p.command(t, "exec", "--interactive", "petstore", "/petstore", "import", "-", "--format", "ndjson")
	importTom.Stdin = strings.NewReader(harness.PetBody("Tom"))
	if output, err := importTom.CombinedOutput(); err != nil {
		t.Errorf("import: %v %s", err, output)
	}

	p.run(t, "stop", "--time", "30", "petstore") // SIGTERM, and SIGKILL after 30 s
	if code := p.run(t, "inspect", "--format", "{{.State.ExitCode}}", "petstore"); code != "0\n" {
		t.Errorf("got the exit status %s after SIGTERM, want 0: %s", code, p.log(t))
	}
	p.run(t, "rm", "petstore")
	p.run(t, run...)
	s.URL = p.waitUntilServing(t)
	const pets = `[{"id":1,"name":"Rex","categoryId":1},{"id":2,"name":"Tom","categoryId":1}]`
	if status, body, err := s.Do(t.Context(), http.MethodGet, "/v1/pets", ""); err != nil || body != pets {
		t.Errorf("got %d %s %v, want %s", status, body, err, pets)
	}
}

// A podman is the options of podman for a storage of its own.
type podman []string

// newPodman returns a podman with a storage in a temporary directory. Its containers and images are removed
// when the test ends.
func newPodman(t *testing.T) podman {
	t.Helper()
	dir, err := os.MkdirTemp("", "p") //nolint:usetesting // --runroot has at most 50 characters
	testkit.Check(t, err)
	p := podman{"--root", dir + "/root", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp", "--runtime", "runc"}
	t.Cleanup(func() {
		for _, args := range [][]string{
			{"rm", "--all", "--force", "--volumes", "--time", "0"},
			{"volume", "rm", "--all", "--force"},
			{"rmi", "--all", "--force"},
		} {
			cleanup := exec.CommandContext(context.WithoutCancel(t.Context()), "podman", slices.Concat(p, args)...)
			if output, err := cleanup.CombinedOutput(); err != nil {
				t.Errorf("podman %v: %v %s", args, err, output)
			}
		}
		testkit.Check(t, os.RemoveAll(dir))
	})
	return p
}

// command returns a command of podman. The container uses the network of the host. Its limits are so low that
// each host allows them.
func (p podman) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if args[0] == "run" {
		args = slices.Insert(args, 1, "--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
	}
	cmd := exec.CommandContext(t.Context(), "podman", slices.Concat(p, args)...)
	cmd.Env = append(os.Environ(), "DISABLE_HC_SYSTEMD=true") // no timer for the HEALTHCHECK, which needs systemd
	return cmd
}

// run runs a command of podman and returns its standard output. If podman does not exit with 0, it fails
// the test.
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

// log returns the output of the container petstore, with its standard error.
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
	testkit.WaitUntil(t, "the container serves", func() bool {
		found := pattern.FindStringSubmatch(p.log(t))
		if found != nil {
			url = "http://" + found[1]
		}
		return found != nil
	})
	return url
}

// documentedPodmanCommand returns a command of docs/operations.md with a free port of the host instead of
// the published port. With --read-only, podman adds folders for temporary files, and docker does not. So the
// command tells podman to add none.
func documentedPodmanCommand(t *testing.T, name string) []string {
	t.Helper()
	command := regexp.MustCompile(`(?m)^podman (` + name + ` .*)$`).FindStringSubmatch(harness.ReadFile(t, "../../docs/operations.md"))
	if command == nil {
		t.Fatalf("docs/operations.md has no podman %s", name)
	}
	return strings.Fields(strings.NewReplacer(
		"--publish 8080:8080", "--env PETSTORE_SERVER_ADDRESS="+harness.FreeAddress(t)+" --env PETSTORE_ADMIN_ADDRESS=",
		"--read-only", "--read-only --read-only-tmpfs=false",
	).Replace(command[1]))
}
