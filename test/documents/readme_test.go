package documents

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// TestReadmeExamples runs the curl examples of the README, in order and with one server,
// and expects the lines that the README shows after each.
func TestReadmeExamples(t *testing.T) {
	t.Parallel()
	readme := harness.ReadFile(t, "../../README.md")
	s := harness.Start(t, t.TempDir())
	examples := 0
	for _, block := range strings.Split(readme, "```sh\n")[1:] {
		commands, rest, _ := strings.Cut(block, "```\n")
		if !strings.Contains(commands, "curl ") {
			continue
		}
		shown, isShown := strings.CutPrefix(rest, "```\n")
		if !isShown {
			t.Errorf("the README shows no response of:\n%s", commands)
			continue
		}
		shown, _, _ = strings.Cut(shown, "```")
		examples++
		wantLines(t, commands, harness.Shell(t, t.TempDir(), commands, "KEY="+s.Key, "URL="+s.URL+"/v1"), shown)
	}
	if examples < 4 {
		t.Errorf("got %d examples, want at least 4", examples)
	}
}

// normalize removes carriage returns and replaces times, which differ between runs.
func normalize(output string) string {
	timestamp := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	return timestamp.ReplaceAllString(strings.ReplaceAll(output, "\r", ""), "TIME")
}

// wantLines expects the lines of shown, in this order, in the output of curl. It may have
// other lines only if it has the headers of a response.
func wantLines(t *testing.T, commands, output, shown string) {
	t.Helper()
	rest := strings.Split(normalize(output), "\n")
	lines := strings.Split(normalize(shown), "\n")
	if !strings.Contains(commands, "curl -si") && len(rest) != len(lines) {
		t.Errorf("%sgot %d lines\n%s\nwant %d lines", commands, len(rest), output, len(lines))
	}
	for _, line := range lines {
		i := slices.Index(rest, line)
		if i < 0 {
			t.Fatalf("%sgot\n%s\nwant next the line %q", commands, output, line)
		}
		rest = rest[i+1:]
	}
}
