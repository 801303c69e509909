package documents

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/test/harness"
)

// programStart begins the code block of docs/embedding.md that is a whole program.
const programStart = "// Command shop "

// Every other Go code block of docs/embedding.md must be part of the examples.
func TestEmbeddingDocumentShowsTestedCode(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("../../example_test.go")
	harness.Check(t, err)
	blocks := harness.CodeBlocks(t, "../../docs/embedding.md", "go")
	if len(blocks) < 4 {
		t.Errorf("got %d code blocks, want at least 4", len(blocks))
	}
	for _, code := range blocks {
		if !strings.HasPrefix(code, programStart) && !strings.Contains(string(examples), code) {
			t.Errorf("example_test.go lacks\n%s", code)
		}
	}
}

// TestProgramOfEmbeddingDocument builds the program of docs/embedding.md in an empty folder,
// with the commands of the page, and runs its curl examples.
func TestProgramOfEmbeddingDocument(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	harness.Check(t, err)
	program, commands := harness.CodeBlocks(t, "../../docs/embedding.md", "go")[0], harness.CodeBlocks(t, "../../docs/embedding.md", "sh")
	if !strings.HasPrefix(program, programStart) || len(commands) != 2 {
		t.Fatalf("want the program first, and 2 blocks of commands: got %d and\n%s", len(commands), program)
	}
	dir := t.TempDir()
	harness.Check(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	harness.Shell(t, dir, commands[0], "PETSTORE="+root)

	shop := exec.CommandContext(t.Context(), filepath.Join(dir, "shop"))
	shop.Dir, shop.Env = dir, append(os.Environ(), "SHOP_ADDRESS=127.0.0.1:0")
	log, err := shop.StderrPipe()
	harness.Check(t, err)
	harness.Check(t, shop.Start())
	t.Cleanup(func() { _ = shop.Process.Kill() })
	line, err := bufio.NewReader(log).ReadString('\n')
	_, line, _ = strings.Cut(line, "http://")
	address, _, found := strings.Cut(line, "/shop/docs/swagger/index.html")
	if err != nil || !found {
		t.Fatalf("got log %q and error %v, want the URL of Swagger UI", line, err)
	}

	page, _ := os.ReadFile("../../docs/embedding.md")
	_, printed, _ := strings.Cut(string(page), commands[1]+"```\n```\n")
	printed, _, _ = strings.Cut(printed, "```")
	curls := strings.ReplaceAll(commands[1], "127.0.0.1:8080", address)
	if diff := cmp.Diff(printed, harness.Shell(t, dir, curls)); diff != "" || printed == "" {
		t.Errorf("output of the examples (-want +got):\n%s", diff)
	}
	document := harness.Shell(t, dir, fmt.Sprintf("curl -sf http://%s/shop/docs/openapi.json", address))
	for _, want := range []string{`"url": "../v1"`, `"This server"`} {
		if !strings.Contains(document, want) {
			t.Errorf("the document lacks %s", want)
		}
	}
	harness.Shell(t, dir, fmt.Sprintf("curl -sf http://%s/shop/docs/swagger/index.html", address))

	harness.Check(t, shop.Process.Signal(syscall.SIGTERM))
	rest, _ := io.ReadAll(log)
	if err := shop.Wait(); err != nil {
		t.Errorf("got %v and log %s, want a successful exit", err, rest)
	}
}
