package harness

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// CodeBlocks returns the code blocks of a page in a language. It fails the test if there are none.
func CodeBlocks(t *testing.T, path, language string) (blocks []string) {
	t.Helper()
	for _, block := range strings.Split(ReadFile(t, path), "```"+language+"\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		blocks = append(blocks, code)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no code block in %s", path, language)
	}
	return blocks
}

// Shell runs shell commands in dir, with additional environment variables, and returns their standard
// output. It fails the test if one fails.
func Shell(t *testing.T, dir, commands string, environ ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", commands, err, output, &stderr)
	}
	return string(output)
}
