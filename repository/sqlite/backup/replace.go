//go:build cgo && unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/folder"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/repository/sqlite/internal/storefile"
)

// Replace puts the file at with, a complete store in the same folder, in the place of the
// store at path, if there is one. It first writes the WAL of that store to its file, and
// keeps the file as path.replaced-TIME, in UTC. If the process is killed at any time, the
// previous store or the new one is at path, whole, and no WAL of the previous store is
// beside the new one.
//
// The recording of changes ends. Ids of the previous store are not given out again. API keys that are revoked in the
// previous store are revoked in the new one; with revokeKeys all are.
//
// A damaged file, or one with the WAL of another file, is kept as it is; its WAL gets a
// name that SQLite does not look for. path is no symbolic link.
//
// Replace returns an error and changes nothing while another process has the store open,
// and when the file at path is the database of another program. This process must not have
// the store open.
func Replace(ctx context.Context, path, with string, now time.Time, revokeKeys bool) (Replaced, error) {
	r := newReplacement(path, with, now, revokeKeys)
	if err := r.run(ctx); err != nil {
		return r.result, fmt.Errorf("replace the store %s: %w", path, sqlite.New(path).Remedy(err))
	}
	return r.result, nil
}

// CheckNotOpen returns an error if a process has the store at path open. This process must
// not have it open.
func CheckNotOpen(path string) error {
	if err := storefile.CheckNotOpen(path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Replaced is what Replace has done, also when it returns an error.
type Replaced struct {
	Kept []string // the names of all files that were kept, the store first
	// KeysErr is why the API keys of the previous store could not be read. Those that were revoked after the backup
	// are then usable again.
	KeysErr error
}

// A replacement is a call of Replace.
type replacement struct {
	path, with string
	now        time.Time
	revokeKeys bool
	suffix     string   // of the names of the files that are kept
	exists     bool     // the previous store
	lock       *os.File // of the previous store
	result     Replaced
}

func newReplacement(path, with string, now time.Time, revokeKeys bool) *replacement {
	return &replacement{path: path, with: with, now: now, revokeKeys: revokeKeys, suffix: storefile.ReplacedSuffix(now)}
}

// run runs the steps while no process opens the store.
func (r *replacement) run(ctx context.Context) error {
	unlock, err := storefile.LockFolder(ctx, r.path, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	defer func() { _ = r.lock.Close() }() // nil unless a step has locked it
	for _, step := range r.steps() {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// steps returns the steps of Replace. The process may be killed before and after each;
// each changes one thing, which the file system or SQLite does completely or not at all.
func (r *replacement) steps() []func(context.Context) error {
	ifExists := func(step func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			if !r.exists {
				return nil
			}
			return step(ctx)
		}
	}
	return []func(context.Context) error{
		r.checkPrevious, ifExists(r.writeWAL), r.succeed,
		ifExists(r.lockPrevious), ifExists(r.copyOwner), ifExists(r.removeLink),
		r.moveAside("-journal"), r.moveAside("-wal"), r.moveAside("-shm"),
		ifExists(r.keepPrevious),
		func(context.Context) error { return os.Rename(r.with, r.path) },
		func(context.Context) error { return folder.Sync(r.path) },
	}
}

// checkPrevious rejects the database of another program. A file that SQLite cannot read may
// be replaced.
func (r *replacement) checkPrevious(ctx context.Context) error {
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return storefile.ErrNotRegular
	}
	r.exists = true
	pool := storefile.OpenPool(r.path, storefile.ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	err = storefile.Identify(ctx, pool)
	tables, tablesErr := storefile.OtherTables(ctx, pool)
	if err != nil && tablesErr == nil && (tables != "" || !errors.Is(err, storefile.ErrNoStore)) {
		return storefile.ErrOtherProgram
	}
	return nil
}

// writeWAL writes the WAL of the previous store to its file, for which SQLite must be the
// only one that has it open, and then removes the WAL. It leaves a damaged file and its WAL
// as they are.
func (r *replacement) writeWAL(ctx context.Context) error {
	if err := storefile.CheckWAL(ctx, r.path); storefile.IsChanged(err) || storefile.HasWAL(r.path) && isDamaged(ctx, r.path) {
		return nil
	}
	pool := storefile.OpenPool(r.path, url.Values{"mode": {"rw"}, "_busy_timeout": {"0"}})
	_, err := pool.ExecContext(ctx, "PRAGMA journal_mode = DELETE")
	err = errors.Join(err, pool.Close())
	switch storefile.Code(err) {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return engine.ErrInUse
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return nil
	}
	return err
}

// isDamaged reports whether a file is damaged although it has its WAL: SQLite would write the
// WAL to it all the same.
func isDamaged(ctx context.Context, path string) bool {
	pool := storefile.OpenPool(path, storefile.ReaderPragmas)
	defer func() { _ = pool.Close() }()
	err := checkIntegrity(ctx, pool)
	return err != nil && storefile.Code(err) != sqlite3.ErrBusy && ctx.Err() == nil
}

// lockPrevious locks the previous store until Replace returns.
func (r *replacement) lockPrevious(context.Context) (err error) {
	r.lock, err = storefile.Lock(r.path)
	return err
}

// copyOwner gives the new store the permissions and the owner of the previous one.
func (r *replacement) copyOwner(context.Context) error {
	info, err := os.Stat(r.path)
	if err == nil {
		err = os.Chmod(r.with, info.Mode().Perm())
	}
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Chown(r.with, int(owner.Uid), int(owner.Gid)) != nil {
		return errors.New("it belongs to another user: run the command as that user")
	}
	return nil
}

// removeLink removes the second name of the previous store that a killed Replace has left.
func (r *replacement) removeLink(context.Context) error { return storefile.RemoveReplacedLink(r.path) }

// moveAside keeps what is left of the WAL, shared memory or journal of the previous store.
func (r *replacement) moveAside(name string) func(context.Context) error {
	return func(context.Context) error {
		err := os.Rename(r.path+name, r.path+name+r.suffix)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		r.result.Kept = append(r.result.Kept, r.path+name+r.suffix)
		return err
	}
}

// keepPrevious gives the previous store the name under which it is kept, its second one.
func (r *replacement) keepPrevious(context.Context) error {
	err := os.Link(r.path, r.path+r.suffix)
	if errors.Is(err, unix.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return errors.New("the file system has no hard links: move the store to another one")
	}
	if err == nil {
		r.result.Kept = append([]string{r.path + r.suffix}, r.result.Kept...)
	}
	return err
}
