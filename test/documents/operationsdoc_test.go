package documents

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// petstoreCommand matches a petstore command in a shell, with its arguments.
var petstoreCommand = regexp.MustCompile(`^(?:sudo -u petstore |PETSTORE_\S+ )?(?:bin/)?petstore (.*)`)

// TestCommandsOfPagesAreValid parses the command line of each petstore command of the README
// and of docs/operations.md.
func TestCommandsOfPagesAreValid(t *testing.T) {
	t.Parallel()
	pages := harness.ReadFile(t, "../../README.md") + harness.ReadFile(t, "../../docs/operations.md")
	commands := map[string]bool{}
	for _, block := range strings.Split(pages, "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, " #")
			if args := petstoreCommand.FindStringSubmatch(line); args != nil {
				commands[wantValidCommandLine(t, strings.Fields(args[1]))] = true
			}
		}
	}
	for _, want := range []string{"backup", "restore", "export", "import", "create", "rotate", "serve", "seed", "copy"} {
		if !commands[want] {
			t.Errorf("found no command %s", want)
		}
	}
}

// wantValidCommandLine expects that args are a command with valid flags and arguments: then the
// error is that of the last one. It returns the name of the command.
func wantValidCommandLine(t *testing.T, args []string) string {
	t.Helper()
	_, stderr, _ := harness.Run(t, t.TempDir(), append(args, "--set", "invalid")...)
	if stderr != "petstore: a --set has no =: write it as KEY=VALUE\n" {
		t.Errorf("petstore %s: %s", strings.Join(args, " "), stderr)
	}
	if args[0] == "keys" || args[0] == "migrate" {
		return args[1]
	}
	return args[0]
}

// TestReleaseContainsTheFilesOfItsPages checks the links of the pages, but not those to what is
// for the source code only.
func TestReleaseContainsTheFilesOfItsPages(t *testing.T) {
	t.Parallel()
	_, list, _ := strings.Cut(harness.ReadFile(t, "../../scripts/release"), "\nfiles=(\n")
	list, _, _ = strings.Cut(list, "\n)")
	released := strings.Fields(list)
	for _, file := range released {
		if _, err := os.Stat("../../" + file); err != nil {
			t.Error(err)
		}
	}
	source := []string{"Dockerfile", "CONTRIBUTING.md"}
	for _, page := range []string{"README.md", "docs/operations.md"} {
		links := regexp.MustCompile(`\]\(([^):#]+)[)#]`).FindAllStringSubmatch(harness.ReadFile(t, "../../"+page), -1)
		if len(links) == 0 || !slices.Contains(released, page) {
			t.Errorf("%s has %d links, or is not in the release", page, len(links))
		}
		for _, link := range links {
			target := path.Join(path.Dir(page), link[1])
			contains := func(file string) bool { return target == file || strings.HasPrefix(target, file+"/") }
			if !slices.ContainsFunc(released, contains) && !slices.Contains(source, target) {
				t.Errorf("%s refers to %s, which is not in the release", page, target)
			}
		}
	}
}
