package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/repository/storetest"
)

// Each patch in testdata is a defect of one file, which the simulation must find in as many seeds as
// the ordinary test has.
func TestSimulationFindsPlantedDefects(t *testing.T) {
	if number(t, "PETSTORE_TEST_SEEDS", seeds) <= seeds {
		t.Skipf("builds the simulation for each defect: set PETSTORE_TEST_SEEDS to more than %d", seeds)
	}
	failed := regexp.MustCompile(`PETSTORE_TEST_SEED=(\d+) .*\n.*`)
	for _, patch := range patches(t) {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestCommitPath$", "-overlay="+overlay(t, patch), ".")
			cmd.Env = append(os.Environ(), fmt.Sprint("PETSTORE_TEST_SEEDS=", seeds))
			out, err := cmd.CombinedOutput()
			if seed := failed.Find(out); err == nil || seed == nil {
				t.Errorf("the simulation does not find it: %v\n%s", err, out)
			} else {
				t.Logf("with the defect, %s", seed)
			}
		})
	}
}

// patches returns the patches of testdata.
func patches(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.patch")
	if err != nil || len(found) != 11 {
		t.Fatalf("got the patches %v and %v, want eleven", found, err)
	}
	return found
}

// TestPlantedDefectsApply finds the patches that a change of the code has made useless.
func TestPlantedDefectsApply(t *testing.T) {
	t.Parallel()
	for _, patch := range patches(t) {
		overlay(t, patch)
	}
}

// overlay applies a patch to a copy of its file, and returns the argument of go test -overlay that
// uses the copy.
func overlay(t *testing.T, patch string) string {
	t.Helper()
	content, err := os.ReadFile(patch)
	storetest.Check(t, err)
	file, _, _ := strings.Cut(strings.TrimPrefix(string(content), "--- a/"), "\n")
	original, err := filepath.Abs("../../" + file)
	storetest.Check(t, err)
	source, err := os.ReadFile(original)
	storetest.Check(t, err)
	folder := t.TempDir()
	patched, overlay := filepath.Join(folder, file), filepath.Join(folder, "overlay.json")
	storetest.Check(t, os.MkdirAll(filepath.Dir(patched), 0o700))
	storetest.Check(t, os.WriteFile(patched, source, 0o600))
	cmd := exec.CommandContext(t.Context(), "git", "apply")
	cmd.Dir, cmd.Stdin = folder, strings.NewReader(string(content))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: patched}})
	storetest.Check(t, err)
	storetest.Check(t, os.WriteFile(overlay, list, 0o600))
	return overlay
}
