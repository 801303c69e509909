package simulation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"example.com/petstore/repository/storetest"
)

// Each patch in testdata is a defect, which the simulation of the last commit must find in as many seeds
// as the ordinary test has.
func TestSimulationFindsPlantedDefects(t *testing.T) {
	if number(t, "PETSTORE_TEST_SEEDS", seeds) <= seeds {
		t.Skipf("builds the simulation for each defect: set PETSTORE_TEST_SEEDS to more than %d", seeds)
	}
	failed := regexp.MustCompile(`PETSTORE_TEST_SEED=(\d+) .*\n.*`)
	for _, patch := range patches(t) {
		t.Run(filepath.Base(patch), func(t *testing.T) {
			code := t.TempDir()
			git(t, "clone", "-q", "../..", code)
			git(t, "-C", code, "apply", patch)
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestCommitPath$", "./repository/simulation")
			cmd.Dir, cmd.Env = code, append(os.Environ(), fmt.Sprint("PETSTORE_TEST_SEEDS=", seeds))
			out, err := cmd.CombinedOutput()
			if seed := failed.Find(out); err == nil || seed == nil {
				t.Errorf("the simulation does not find it: %v\n%s", err, out)
			} else {
				t.Logf("with the defect, %s", seed)
			}
		})
	}
}

// TestPlantedDefectsApply finds the patches that a change of the code has made useless.
func TestPlantedDefectsApply(t *testing.T) {
	t.Parallel()
	for _, patch := range patches(t) {
		t.Run(filepath.Base(patch), func(t *testing.T) { git(t, "-C", "../..", "apply", "--check", patch) })
	}
}

// patches returns the patches of testdata.
func patches(t *testing.T) []string {
	t.Helper()
	folder, err := filepath.Abs("testdata")
	storetest.Check(t, err)
	found, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil || len(found) != 11 {
		t.Fatalf("got the patches %v and %v, want eleven", found, err)
	}
	return found
}

func git(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
