package harness

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// UnreadPipe returns a pipe without a reading process. Writes to it block once it is full.
func UnreadPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	Check(t, err)
	t.Cleanup(func() { _ = reader.Close(); _ = writer.Close() })
	return reader, writer
}

// FullPipe returns a pipe to which every write blocks.
func FullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer = UnreadPipe(t)
	for written := 1; written > 0; { // on a loaded machine, the first deadline may pass before the pipe is full
		err := writer.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		if err == nil {
			written, err = writer.Write(make([]byte, 1<<20))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("filling the pipe: got %v, want a timeout", err)
		}
	}
	return reader, writer
}

// BrokenPipe returns the write end of a pipe whose read end is closed.
func BrokenPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer := UnreadPipe(t)
	Check(t, reader.Close())
	return writer
}

// AllowMounts lets cmd mount file systems in its own mount namespace. Without root that needs user
// namespaces (sysctl kernel.unprivileged_userns_clone=1).
func AllowMounts(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	Check(t, err)
	args := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	cmd.Path, cmd.Args = unshare, append(append(args, cmd.Path), cmd.Args[1:]...)
	return cmd
}

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
