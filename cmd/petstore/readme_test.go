package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeSaysWhatHappens runs the README's curl examples, one after the other
// against one server, and expects of each the lines that the README shows for it.
func TestReadmeSaysWhatHappens(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, t.TempDir())
	examples := 0
	for _, block := range strings.Split(string(readme), "```sh\n")[1:] {
		commands, rest, _ := strings.Cut(block, "```\n")
		if !strings.Contains(commands, "curl ") {
			continue
		}
		shown, isShown := strings.CutPrefix(rest, "```\n")
		if !isShown {
			t.Errorf("the README does not show what this answers:\n%s", commands)
			continue
		}
		shown, _, _ = strings.Cut(shown, "```")
		examples++
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
		cmd.Env = append(os.Environ(), "KEY="+s.key, "URL="+s.url+"/v1")
		answer, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v (the examples need curl)", commands, err)
		}
		wantLines(t, commands, string(answer), shown)
	}
	if examples < 5 {
		t.Errorf("found only %d examples", examples)
	}
}

// normal is what curl printed with each body on a line of its own and without the
// times of day, which no page can know.
func normal(answers string) string {
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	return moment.ReplaceAllString(strings.NewReplacer("\r", "", "}{", "}\n{", "}[", "}\n[", "]{", "]\n{").Replace(answers), "TIME")
}

// wantLines expects every shown line in the answer, which may have more headers.
func wantLines(t *testing.T, commands, answer, shown string) {
	t.Helper()
	got := map[string]bool{}
	for line := range strings.Lines(normal(answer)) {
		got[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(normal(shown)) {
		if !got[strings.TrimSpace(line)] {
			t.Errorf("%sthe README shows %q, the answer was\n%s", commands, line, answer)
		}
	}
}
