//go:build unix

package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
)

// staleSocket returns the path of a socket whose process was killed.
func staleSocket(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	listener := openSocket(t, path)
	listener.SetUnlinkOnClose(false)
	testkit.Check(t, listener.Close())
	return path
}

// openSocket opens a socket as listenUnix does, without the lock.
func openSocket(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	testkit.Check(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// wantAccepted expects that a process accepts connections on a socket.
func wantAccepted(t *testing.T, path string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	testkit.Check(t, err)
	testkit.Check(t, conn.Close())
}

// The test is a process that has found the stale socket, and has not replaced it yet.
func TestStartsOnAStaleSocketWaitForEachOther(t *testing.T) {
	t.Parallel()
	path := staleSocket(t)
	unlock, err := lockSocket(path)
	testkit.Check(t, err)
	second := make(chan error, 1)
	go func() {
		listener, err := listenUnix(context.Background(), path, "0600")
		if err == nil {
			_ = listener.Close()
		}
		second <- err
	}()
	select {
	case err := <-second:
		t.Errorf("got %v while another process replaces the socket, want that the second one waits", err)
	case <-time.After(testkit.Scaled(100 * time.Millisecond)):
	}
	testkit.Check(t, os.Remove(path))
	openSocket(t, path)
	unlock()
	if err := <-second; !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the second process: got %v, want %v", err, syscall.EADDRINUSE)
	}
	wantAccepted(t, path)
}

func TestCloseKeepsTheSocketOfASuccessor(t *testing.T) {
	t.Parallel()
	path := staleSocket(t)
	first, err := listenUnix(t.Context(), path, "0600")
	testkit.Check(t, err)
	testkit.Check(t, os.Remove(path))
	second, err := listenUnix(t.Context(), path, "0600")
	testkit.Check(t, err)
	testkit.Check(t, first.Close())
	testkit.Check(t, first.Close())
	wantAccepted(t, path)
	testkit.Check(t, second.Close())
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: got %v for the socket, want that it is removed", err)
	}
}
