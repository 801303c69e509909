package image

import (
	"archive/tar"
	"errors"
	"io"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

// TestImage builds the image with make image, in a storage of its own, and runs it.
func TestImage(t *testing.T) {
	p := newPodman(t)
	p.buildImage(t)
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
	container := strings.TrimSpace(p.run(t, "create", "petstore"))
	archive := tar.NewReader(strings.NewReader(p.run(t, "export", container)))
	files := map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		harness.Check(t, err)
		switch header.Typeflag {
		case tar.TypeReg:
			content, err := io.ReadAll(archive)
			harness.Check(t, err)
			files[header.Name] = string(content)
		case tar.TypeDir:
			if header.Name == "data/" && header.Uid != 65532 {
				t.Errorf("the user %d owns /data, want 65532", header.Uid)
			}
		default:
			t.Errorf("the image contains %s, which is neither a file nor a folder", header.Name)
		}
	}
	want := map[string]string{
		"petstore":                          harness.ReadFile(t, "../../bin/image/petstore"),
		"etc/ssl/certs/ca-certificates.crt": harness.ReadFile(t, "/etc/ssl/certs/ca-certificates.crt"),
		"licenses.txt":                      harness.ReadFile(t, "../../bin/image/licenses.txt"),
	}
	if !cmp.Equal(want, files) {
		t.Errorf("the image contains %d files, want the three of make image", len(files))
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+)` \\|").FindAllStringSubmatch(harness.ReadFile(t, "../../docs/licenses.md"), -1) {
		if _, text, found := strings.Cut(files["licenses.txt"], "=== "+row[1]+" ===\n\n"); !found || strings.HasPrefix(text, "\n\n===") {
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
