//go:build unix

package serve

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A unixListener is a listener on a Unix socket. Close removes the socket, unless another process has replaced it.
type unixListener struct {
	*net.UnixListener
	path  string
	file  fs.FileInfo // the socket at path when it was opened
	close func() error
}

// listenUnix opens a Unix socket. If the path exists, listenUnix replaces it only if it is a socket that refuses
// connections, because its process was killed. mode is the mode of the socket in octal digits.
//
// Processes that start or stop at the same time could remove each other's socket between the check and the removal. So
// they lock a file with the name of the socket and .lock. It is never removed: a process could wait for the removed one.
func listenUnix(ctx context.Context, path, mode string) (net.Listener, error) {
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return nil, err
	}
	unlock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeUnused(ctx, path); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l := &unixListener{UnixListener: listener.(*net.UnixListener), path: path}
	l.SetUnlinkOnClose(false)
	l.close = sync.OnceValue(l.removeAndClose) // a second comparison could take a new file with the inode of the removed one for ours
	if err = os.Chmod(path, fs.FileMode(bits)); err == nil {
		l.file, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(err, l.UnixListener.Close(), os.Remove(path))
	}
	return l, nil
}

// removeUnused removes the socket at path if it refuses connections. It returns EADDRINUSE if a process accepts them, and
// another error if the file is not a socket.
func removeUnused(ctx context.Context, path string) error {
	file, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if file.Mode().Type() != fs.ModeSocket { // such a file refuses connections, too
		return errors.New("the file is not a socket: name another path")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return syscall.EADDRINUSE
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return syscall.EADDRINUSE
}

// lockSocket waits for the lock of the socket at path and takes it, until unlock is called.
func lockSocket(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// Close implements net.Listener. It may be called more than once.
func (l *unixListener) Close() error { return l.close() }

// removeAndClose removes the socket if it is still the one that was opened, and closes the listener. Until it is closed,
// no other file can have its inode.
func (l *unixListener) removeAndClose() error {
	unlock, err := lockSocket(l.path)
	if err != nil { // the next process on this path finds a socket that refuses connections
		return errors.Join(err, l.UnixListener.Close())
	}
	defer unlock()
	if file, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(file, l.file) {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.UnixListener.Close())
}
