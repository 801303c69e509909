package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSeedDrawsABarOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, screen := openTerminal(t)
	cmd := command(t.Context(), t.TempDir(), "seed", "--count", "3000")
	cmd.Stderr = terminal
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	shown, _ := io.ReadAll(screen) // returns EIO when the terminal is closed
	if !strings.Contains(string(shown), "animals 100% |█") || strings.Contains(string(shown), "3000 of 3000") {
		t.Errorf("got %q, want a bar at 100%% and no lines", shown)
	}
}

// openTerminal opens a pseudo-terminal (pts(4)): the terminal for a program, and the screen,
// from which its output is read.
func openTerminal(t *testing.T) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, screen
}
