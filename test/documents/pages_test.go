package documents

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestEveryPackageOfTestsIsDescribed(t *testing.T) {
	t.Parallel()
	var described, found []string
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+) `).FindAllStringSubmatch(harness.ReadFile(t, "../doc.go"), -1) {
		if row[1] != "package" {
			described = append(described, row[1])
		}
	}
	folders, err := filepath.Glob("../*/*.go")
	testkit.Check(t, err)
	for _, file := range folders {
		found = append(found, filepath.Base(filepath.Dir(file)))
	}
	slices.Sort(described)
	testkit.Equal(t, "the packages of test/doc.go", slices.Compact(found), described)
}

// TestReadmeShowsTheResponsesOfItsExamples runs the curl examples of the README, in order and with one server. After
// each, it expects the lines that the README shows.
func TestReadmeShowsTheResponsesOfItsExamples(t *testing.T) {
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
	if examples < 2 {
		t.Errorf("got %d examples, want at least 2", examples)
	}
}

func TestTestsOfReliabilityExist(t *testing.T) {
	t.Parallel()
	declared := harness.Shell(t, "../..", "git grep -h '^func Test' -- '*_test.go'")
	today := harness.Shell(t, "../..", "cut -f4 docs/defects.tsv")
	named := regexp.MustCompile(`\b(Test\w+)`).FindAllStringSubmatch(harness.ReadFile(t, "../../docs/reliability.md")+today, -1)
	for _, test := range named {
		if !strings.Contains(declared, "func "+test[1]+"(") {
			t.Errorf("there is no %s", test[1])
		}
	}
	if len(named) < 40 {
		t.Errorf("got the names of %d tests, want at least 40", len(named))
	}
}

// normalize removes carriage returns, and replaces times, because they differ between runs.
func normalize(output string) string {
	timestamp := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	return timestamp.ReplaceAllString(strings.ReplaceAll(output, "\r", ""), "TIME")
}

// wantLines expects the lines of shown, in this order, in the output of curl. Other lines are allowed only
// if the output contains the header of a response.
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

// petstoreCommand matches a petstore command in a shell, with its arguments.
var petstoreCommand = regexp.MustCompile(`^(?:sudo -u petstore |PETSTORE_\S+ )?(?:bin/)?petstore (.*)`)

// TestCommandsOfPagesAreValid parses the command line of each petstore command of the README
// and of docs/operations.md.
func TestCommandsOfPagesAreValid(t *testing.T) {
	t.Parallel()
	commands := map[string]bool{}
	for _, block := range append(harness.CodeBlocks(t, "../../README.md", "sh"), harness.CodeBlocks(t, "../../docs/operations.md", "sh")...) {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, " #")
			line, _, _ = strings.Cut(line, " |")
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

// wantValidCommandLine expects that args are a command with valid flags and arguments. It adds an invalid
// --set, which must be the only error. It returns the name of the command.
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

// programStart is the beginning of the code block in docs/embedding.md that is a complete program.
const programStart = "// Command shop "

// Every Go code block of docs/embedding.md, except the complete program, must be in the examples.
func TestEmbeddingDocumentShowsTestedCode(t *testing.T) {
	t.Parallel()
	examples := harness.ReadFile(t, "../../example_test.go")
	blocks := harness.CodeBlocks(t, "../../docs/embedding.md", "go")
	if len(blocks) < 4 {
		t.Errorf("got %d code blocks, want at least 4", len(blocks))
	}
	for _, code := range blocks {
		if !strings.HasPrefix(code, programStart) && !strings.Contains(examples, code) {
			t.Errorf("example_test.go lacks\n%s", code)
		}
	}
}

// TestProgramOfEmbeddingDocument builds the program of docs/embedding.md in an empty folder, with the
// commands of the page. It then runs the curl examples of the page.
func TestProgramOfEmbeddingDocument(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	testkit.Check(t, err)
	program, commands := harness.CodeBlocks(t, "../../docs/embedding.md", "go")[0], harness.CodeBlocks(t, "../../docs/embedding.md", "sh")
	if !strings.HasPrefix(program, programStart) || len(commands) != 2 {
		t.Fatalf("want the program first, and 2 blocks of commands: got %d and\n%s", len(commands), program)
	}
	dir := t.TempDir()
	harness.WriteFile(t, dir, "main.go", program)
	harness.Shell(t, dir, commands[0], "PETSTORE="+root)

	shop := exec.CommandContext(t.Context(), filepath.Join(dir, "shop"))
	shop.Dir, shop.Env = dir, append(os.Environ(), "SHOP_ADDRESS=127.0.0.1:0")
	log, err := shop.StderrPipe()
	testkit.Check(t, err)
	testkit.Check(t, shop.Start())
	t.Cleanup(func() { _ = shop.Process.Kill() })
	line, err := bufio.NewReader(log).ReadString('\n')
	_, line, _ = strings.Cut(line, "http://")
	address, _, found := strings.Cut(line, "/shop/docs/swagger/index.html")
	if err != nil || !found {
		t.Fatalf("got log %q and error %v, want the URL of Swagger UI", line, err)
	}

	_, printed, _ := strings.Cut(harness.ReadFile(t, "../../docs/embedding.md"), commands[1]+"```\n```\n")
	printed, _, _ = strings.Cut(printed, "```")
	curls := strings.ReplaceAll(commands[1], "127.0.0.1:8080", address)
	if diff := cmp.Diff(printed, harness.Shell(t, dir, curls)); diff != "" || printed == "" {
		t.Errorf("output of the examples (-want +got):\n%s", diff)
	}
	if status, _ := harness.Get(t, "http://"+address+"/shop/docs/swagger/index.html"); status != http.StatusOK {
		t.Errorf("got %d for Swagger UI, want 200", status)
	}
	testkit.Check(t, shop.Process.Signal(syscall.SIGTERM))
	rest, _ := io.ReadAll(log)
	if err := shop.Wait(); err != nil {
		t.Errorf("got %v and log %s, want a successful exit", err, rest)
	}
}

// TestReleaseContainsTheFilesOfItsPages checks the links of the pages in a release, except links to files
// that need the source code.
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
	source, links := []string{"Dockerfile", "CONTRIBUTING.md"}, 0
	for _, page := range released {
		if path.Ext(page) != ".md" {
			continue
		}
		for _, link := range regexp.MustCompile(`\]\(([^):#]+)[)#]`).FindAllStringSubmatch(harness.ReadFile(t, "../../"+page), -1) {
			links++
			target := path.Join(path.Dir(page), link[1])
			contains := func(file string) bool { return target == file || strings.HasPrefix(target, file+"/") }
			if !slices.ContainsFunc(released, contains) && !slices.Contains(source, target) {
				t.Errorf("%s refers to %s, which is not in the release", page, target)
			}
		}
	}
	if links < 40 || !slices.Contains(released, "README.md") || !slices.Contains(released, "docs/operations.md") {
		t.Errorf("got %d links of the files %v, want at least 40, and the pages among them", links, released)
	}
}
