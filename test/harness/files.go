package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// OpenTerminal opens a pseudo-terminal (pts(4)): the terminal for a program, and the screen,
// from which its output is read.
func OpenTerminal(t *testing.T) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	Check(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	Check(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	Check(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	Check(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, screen
}

// AllowMounts lets cmd mount file systems in its own mount namespace. It fails the test if the
// machine does not allow that.
func AllowMounts(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	allowed := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		allowed.Cloneflags = syscall.CLONE_NEWUSER
		allowed.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	try := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "none", t.TempDir())
	try.SysProcAttr = allowed
	if out, err := try.CombinedOutput(); err != nil {
		t.Fatalf("cannot mount a file system: %v %s: run the test as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)", err, out)
	}
	cmd.SysProcAttr = allowed
	return cmd
}
