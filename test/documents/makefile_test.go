package documents

import (
	"os/exec"
	"strings"
	"testing"
)

func TestMakefilePassesTheVersionToTheLinker(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"build", "static", "image", "release"} {
		commands, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "-n", target, "VERSION=v1.2.3", "COMMIT=abc").Output()
		if want := "-X main.version=v1.2.3 -X main.commit=abc"; err != nil || !strings.Contains(string(commands), want) {
			t.Errorf("make %s: %v, %s does not contain %s", target, err, commands, want)
		}
	}
}

func TestReleaseRequiresVersionOfThreeNumbers(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1.0.0", "v1.0", "v1.0.0-dirty", "bc3ebdc"} {
		output, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "release", "VERSION="+version).CombinedOutput()
		if err == nil || !strings.Contains(string(output), `VERSION must be vX.Y.Z, not "`+version+`"`) {
			t.Errorf("VERSION=%s: got %v %s, want an error with the format", version, err, output)
		}
	}
}
