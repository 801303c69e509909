package linearizability

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository/enginetest"
	"example.com/petstore/test/harness"
)

var planted = flag.Bool("planted", false, "whether to build petstore with each bug of testdata, and to find it")

// TestPlantedBugsAreFound shows that the judge can fail: it builds petstore with each patch of testdata
// and sends requests until a history is impossible.
func TestPlantedBugsAreFound(t *testing.T) {
	if !*planted {
		t.Skip("-planted builds petstore with each bug, which takes a minute each")
	}
	for _, patch := range patches(t) {
		database := enginetest.New(t)
		bug := strings.TrimSuffix(filepath.Base(patch), ".patch")
		t.Run(bug, func(t *testing.T) {
			if driver, _, isOfOne := strings.Cut(bug, "-"); isOfOne && driver != database.Driver {
				t.Skip("the bug needs " + driver)
			}
			s := startService(t, database, 2, buildWith(t, patch))
			clients := s.clients(t)
			found, path := 0, page(t, database.Driver+"_")
			s.run(t, clients, 500, func() bool {
				problems, err := clients.History.Check(path)
				if err != nil {
					t.Error(err)
				}
				if len(problems) > 0 {
					found = clients.History.Len()
					t.Log(problems[0])
				}
				return found > 0 || clients.History.Len() >= 300_000
			})
			if found == 0 {
				t.Fatalf("the bug was not found in %s", clients.History)
			}
			t.Logf("found in %d operations", found)
			clients.History.store(t, path)
		})
	}
}

// patches returns the patches of testdata.
func patches(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.patch")
	harness.Check(t, err)
	if len(found) != 10 {
		t.Fatalf("got the patches %q, want ten", found)
	}
	return found
}

// TestPlantedBugsApply finds the patches that a change of the code has made useless.
func TestPlantedBugsApply(t *testing.T) {
	t.Parallel()
	for _, patch := range patches(t) {
		patch, err := filepath.Abs(patch)
		harness.Check(t, err)
		if output, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "apply", "--check", patch).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", patch, err, output)
		}
	}
}

// buildWith returns petstore, built from the last commit with a patch.
func buildWith(t *testing.T, patch string) (program string) {
	t.Helper()
	patch, err := filepath.Abs(patch)
	harness.Check(t, err)
	dir := t.TempDir()
	program = filepath.Join(dir, "petstore")
	for _, args := range [][]string{
		{"git", "clone", "-q", "../..", filepath.Join(dir, "code")},
		{"git", "-C", filepath.Join(dir, "code"), "apply", patch},
		{"go", "build", "-C", filepath.Join(dir, "code"), "-tags", "nomsgpack", "-pgo=off", "-o", program, "./cmd/petstore"},
	} {
		if output, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		}
	}
	return program
}
